"""Several processes on one socket, each with an app of its own: started, watched, replaced when one dies, stopped together."""

import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any, Final

from suffice.errors import SufficeError
from suffice.service.http import logs
from suffice.service.http.settings import Settings

LOOK: Final = 0.2  # seconds between looks
BREATH: Final = 1.0  # seconds before one that died is replaced
MORE: Final = 10.0  # seconds beyond the shutdown timeout before one that does not stop is killed


@dataclass(slots=True)
class Worker:
    """A process, and what it has said: nothing yet, "" when it was ready, or why it could not start."""

    process: SpawnProcess
    pipe: Any
    said: str | None = None

    def listen(self) -> None:
        """Take note of what it says."""
        try:
            while self.said is None and self.pipe.poll():
                self.said = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            self.said = f"a server process ended while it started, with exit code {self.process.exitcode}"


def supervise(settings: Settings, sock: socket.socket, ready: Callable[[], None]) -> None:
    """Run as many processes as the settings say, until told to stop."""
    context = multiprocessing.get_context("spawn")  # nothing of this process leaks into them
    asked: list[int] = []
    before = {one: signal.signal(one, lambda sig, _: asked.append(sig)) for one in (signal.SIGINT, signal.SIGTERM)}
    workers = [_start(context, settings, sock) for _ in range(settings.workers)]
    try:
        _watch(workers, lambda: _start(context, settings, sock), ready, asked)
    finally:
        _stop(workers, settings.shutdown_timeout + MORE, asked)
        for one, handler in before.items():
            signal.signal(one, handler)


def _watch(workers: list[Worker], start: Callable[[], Worker], ready: Callable[[], None], asked: list[int]) -> None:
    announced = False
    while not asked:
        connection.wait([worker.process.sentinel for worker in workers], LOOK)
        for place, worker in enumerate(workers):
            worker.listen()
            if worker.said and not announced:
                raise SufficeError(worker.said)
            if not worker.process.is_alive() and not asked:
                said = {"pid": worker.process.pid, "code": worker.process.exitcode, "reason": worker.said or None}
                logs.events.error("a process died", extra=said)
                time.sleep(BREATH)
                workers[place] = start()
        if not announced and all(worker.said == "" for worker in workers):
            announced = True
            ready()


def _stop(workers: list[Worker], seconds: float, asked: list[int]) -> None:
    """Ask all to stop, once for each time that we were asked; and end those that do not."""
    deadline, told = time.monotonic() + seconds, 0
    while any(worker.process.is_alive() for worker in workers) and time.monotonic() < deadline:
        if told < max(1, len(asked)):
            told += 1
            for worker in workers:
                worker.process.terminate()
        connection.wait([worker.process.sentinel for worker in workers if worker.process.is_alive()], LOOK)
    for worker in workers:
        if worker.process.is_alive():
            worker.process.kill()
        worker.process.join()


def _start(context: SpawnContext, settings: Settings, sock: socket.socket) -> Worker:
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(settings, sock, theirs, os.getpid()), name="suffice")
    with uninterrupted():
        process.start()
    theirs.close()
    return Worker(process, ours)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C reaches all of a terminal's processes: who is started here never hears it, not even while it imports.

    The parent, which passes it on, hears it a moment later.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which the first start would do, and listen to signals again after it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def work(settings: Settings, sock: socket.socket, pipe: Any, parent: int) -> None:
    """What each process does."""
    from suffice.service.http.server import run

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logs.setup(settings.log_level, settings.log_format)
    try:
        run(settings, sock, lambda: pipe.send(""), parent)
    except SufficeError as error:
        pipe.send(str(error))
        sys.exit(2)
