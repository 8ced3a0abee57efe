"""Threads that take turns as often as they can, so that races show."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERVAL = 1e-5  # seconds between switches


@contextmanager
def often_switched() -> Iterator[None]:
    """Threads switch a hundred times a millisecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def together(work: Callable[[int], object], count: int) -> None:
    """Run `work` in so many threads at once, each with its number. Raises the first error of any."""
    errors: list[BaseException] = []
    start = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            start.wait(10)
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    with often_switched():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    if errors:
        raise errors[0]


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Another thread repeats `work` while the body runs. Raises its first error at the end."""
    stop, errors = threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    with often_switched():
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(10)
    if errors:
        raise errors[0]
