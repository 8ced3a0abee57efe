"""Several server processes on one socket: they are started, watched, replaced when one dies, and stopped together."""

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
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Final, TypeAlias

from suffice.errors import SufficeError
from suffice.service.http import logs
from suffice.service.http.settings import Settings

WATCH_EVERY: Final = 0.2  # seconds
RESTART_AFTER: Final = 1.0  # seconds before a process that died is replaced
KILL_AFTER: Final = 10.0  # seconds beyond the shutdown timeout before a process that does not stop is killed

Pipe: TypeAlias = "Connection[str, str]"


@dataclass(slots=True)
class Worker:
    """A process and its message: None while it starts, "" once it is ready, or why it could not start."""

    process: SpawnProcess
    pipe: Pipe
    message: str | None = None

    def receive(self) -> None:
        """Read its message, if there is one."""
        try:
            while self.message is None and self.pipe.poll():
                self.message = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            self.message = f"a server process ended while it started, with exit code {self.process.exitcode}"


def supervise(settings: Settings, sock: socket.socket, ready: Callable[[], None]) -> None:
    """Run as many processes as the settings say, until a signal stops them."""
    context = multiprocessing.get_context("spawn")  # a fork would share the state of this process
    signals: list[int] = []  # received so far
    handled = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda sig, _: signals.append(sig)) for number in handled}
    workers = [_start(context, settings, sock) for _ in range(settings.workers)]
    try:
        _watch(workers, lambda: _start(context, settings, sock), ready, signals)
    finally:
        _stop(workers, settings.shutdown_timeout + KILL_AFTER, signals)
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch(workers: list[Worker], start: Callable[[], Worker], ready: Callable[[], None], signals: list[int]) -> None:
    announced = False
    while not signals:
        connection.wait([worker.process.sentinel for worker in workers], WATCH_EVERY)
        for place, worker in enumerate(workers):
            worker.receive()
            if worker.message and not announced:
                raise SufficeError(worker.message)
            if not worker.process.is_alive() and not signals:
                facts = {"pid": worker.process.pid, "code": worker.process.exitcode, "reason": worker.message or None}
                logs.events.error("a process died", extra=facts)
                time.sleep(RESTART_AFTER)
                workers[place] = start()
        if not announced and all(worker.message == "" for worker in workers):
            announced = True
            ready()


def _stop(workers: list[Worker], seconds: float, signals: list[int]) -> None:
    """Pass every signal on to all processes; and kill those that do not stop in time."""
    deadline, passed = time.monotonic() + seconds, 0
    while any(worker.process.is_alive() for worker in workers) and time.monotonic() < deadline:
        if passed < max(1, len(signals)):
            passed += 1
            for worker in workers:
                worker.process.terminate()
        connection.wait([worker.process.sentinel for worker in workers if worker.process.is_alive()], WATCH_EVERY)
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
    """Block Ctrl-C for processes that start here: a terminal sends it to all of its processes, even while they import.

    The parent, which passes it on, receives it when the block ends.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else the first start would start it, and unblock signals after it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def work(settings: Settings, sock: socket.socket, pipe: Pipe, parent: int) -> None:
    """What each process does."""
    from suffice.service.http.server import run

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logs.setup(settings.log_level, settings.log_format)
    try:
        run(settings, sock, lambda: pipe.send(""), parent)
    except SufficeError as error:
        pipe.send(str(error))
        sys.exit(2)
