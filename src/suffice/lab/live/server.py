"""The live service: the HTTP service in a process of its own, and simulated users, each in a thread, that ask it."""

import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from typing import Final, Self

from suffice.client import Client, Overview, RemoteCertificate, RemoteSelector
from suffice.errors import SufficeError
from suffice.lab.live import FIRST, PACE
from suffice.lab.live.scenarios import Scenario, all_scenarios
from suffice.lab.live.simulated_user import SimulatedUser
from suffice.service.http.server import address_of, bind
from suffice.service.http.settings import Settings
from suffice.service.http.workers import uninterrupted, work

STARTING: Final = 600.0  # seconds: the first start on a machine compiles for a minute, and for minutes on a busy one
STOPPING: Final = 60.0  # seconds
BEHIND: Final = 1.0  # seconds: a user that is late by more does not catch up


@dataclass(frozen=True, slots=True)
class Observation:
    """A scenario now, and the overview of its selector."""

    scenario: Scenario
    words: str  # of the current phase
    overview: Overview


class LiveService:
    """A service and its simulated users: `with LiveService(...) as live` takes the port, `live.start()` starts them.

    Args:
        port: where the service listens, on this machine only; 0 for any port that is free.
        pace: decisions per second in each scenario.
        first: so many decisions of each scenario run at full speed.
        seed: which draw of the scenarios.
        scenarios: which to play; all three if left out.
    """

    def __init__(
        self, *, port: int = 0, pace: float = PACE, first: int = FIRST, seed: int = 0,
        scenarios: Sequence[Scenario] | None = None,
    ) -> None:  # fmt: skip
        self.scenarios = all_scenarios() if scenarios is None else list(scenarios)
        self._settings = Settings(store="memory:", port=port, access_log=False, log_level="error")
        self._pace, self._first, self._seed = pace, first, seed
        self._closing = ExitStack()
        self._stopped = threading.Event()
        self._error: Exception | None = None
        self._selectors: list[RemoteSelector] = []
        self._users: list[SimulatedUser] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._socket = self._closing.enter_context(bind(self._settings))
        self.address = address_of(self._settings, self._socket)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._closing.close()

    def start(self) -> None:
        """Start the service, make the selectors, and start the users."""
        self._closing.callback(_end, serving(self._settings, self._socket))
        self._socket.close()  # the service has its own copy: if it ends, clients get an error instead of waiting
        client = self._closing.enter_context(Client(self.address))
        for place, scenario in enumerate(self.scenarios):
            selector = client.selector(
                scenario.name, scenario.menu, scenario.target, expire_after=scenario.expire_after
            )
            self._selectors.append(selector)
            self._users.append(SimulatedUser(scenario, selector, self._seed + place))
        self._began = time.monotonic()
        for user in self._users:
            self._threads.append(threading.Thread(target=self._play, args=(user,), daemon=True))
            self._threads[-1].start()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def observe(self) -> list[Observation]:
        """All scenarios now. Raises the error of a user, if there was one."""
        if self._error is not None:
            raise self._error
        return [
            Observation(user.scenario, user.phase.words, selector.overview())
            for user, selector in zip(self._users, self._selectors, strict=True)
        ]

    def certificates(self) -> list[RemoteCertificate]:
        """The certificate of each scenario."""
        return [selector.certificate() for selector in self._selectors]

    def stop(self) -> None:
        """End the decisions; the service stays, so that it can be looked at."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(STOPPING)

    def _play(self, user: SimulatedUser) -> None:
        try:
            due = time.monotonic()
            while not self._stopped.wait(max(0.0, due - time.monotonic())):
                user.step()
                now = time.monotonic()
                due = now if user.steps <= self._first else max(due + 1.0 / self._pace, now - BEHIND)
        except Exception as error:  # `observe` raises it in the main thread
            self._error = error
            self._stopped.set()


def serving(settings: Settings, sock: socket.socket) -> SpawnProcess:
    """The service on this socket, ready to answer. It ends with this process, however that ends."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(settings, sock, sender, os.getpid()), name="suffice", daemon=True)
    with uninterrupted():
        process.start()
    sender.close()
    try:
        failure = receiver.recv() if receiver.poll(STARTING) else f"it took more than {STARTING:.0f} seconds"
        if failure:
            raise SufficeError(f"the service could not start: {failure}")
    except BaseException as error:
        process.kill()
        process.join()
        if isinstance(error, EOFError):
            raise SufficeError(f"the service could not start: it ended with exit code {process.exitcode}") from None
        raise
    finally:
        receiver.close()
    return process


def _end(process: SpawnProcess) -> None:
    process.terminate()
    process.join(STOPPING)
    if process.is_alive():
        process.kill()
        process.join()
