"""The stage: the service in a process of its own, and the players, each in a thread, who ask it over HTTP."""

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
BEHIND: Final = 1.0  # seconds: who fell behind by more does not rush to make up for it
SLOWEST: Final = 1e6  # seconds between two decisions: no lock can be waited for for ages


@dataclass(frozen=True, slots=True)
class Observation:
    """A world as it is now, and where its selector stands."""

    world: Scenario
    words: str  # of the phase that it is in
    overview: Overview


class LiveService:
    """The service and its worlds: `with Stage(...) as stage` takes the port, `stage.start()` begins, and the end ends all.

    Args:
        port: where the service listens, on this machine only; 0 for any port that is free.
        pace: decisions per second of each world.
        first: so many decisions of each world come as fast as they can.
        seed: which draw of the worlds.
        worlds: who plays; all three if left out.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        pace: float = PACE,
        first: int = FIRST,
        seed: int = 0,
        worlds: Sequence[Scenario] | None = None,
    ) -> None:
        self.worlds = all_scenarios() if worlds is None else list(worlds)
        self._settings = Settings(store="memory:", port=port, access_log=False, log_level="error")
        self._pace, self._first, self._seed = pace, first, seed
        self._closing = ExitStack()
        self._stopped = threading.Event()
        self._trouble: Exception | None = None
        self._selectors: list[RemoteSelector] = []
        self._players: list[SimulatedUser] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._socket = self._closing.enter_context(bind(self._settings))
        self.address = address_of(self._settings, self._socket)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._closing.close()

    def start(self) -> None:
        """Start the service, make the selectors, and let the worlds play."""
        self._closing.callback(_end, serving(self._settings, self._socket))
        self._socket.close()  # the service has it now: should that end, nobody waits for an answer from here
        client = self._closing.enter_context(Client(self.address))
        for place, world in enumerate(self.worlds):
            selector = client.selector(world.name, world.menu, world.target, expire_after=world.expire_after)
            self._selectors.append(selector)
            self._players.append(SimulatedUser(world, selector, self._seed + place))
        self._began = time.monotonic()
        for player in self._players:
            self._threads.append(threading.Thread(target=self._play, args=(player,), daemon=True))
            self._threads[-1].start()

    @property
    def seconds(self) -> float:
        """For how long it has been playing."""
        return time.monotonic() - self._began

    def looks(self) -> list[Observation]:
        """Where everything stands. Raises what went wrong, if something did."""
        if self._trouble is not None:
            raise self._trouble
        return [
            Observation(player.world, player.phase.words, selector.overview())
            for player, selector in zip(self._players, self._selectors, strict=True)
        ]

    def certificates(self) -> list[RemoteCertificate]:
        """What was promised to each world, and whether it is so."""
        return [selector.certificate() for selector in self._selectors]

    def stop(self) -> None:
        """No more decisions; the service stays, so that one can look."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(STOPPING)

    def _play(self, player: SimulatedUser) -> None:
        try:
            due = time.monotonic()
            while not self._stopped.wait(max(0.0, due - time.monotonic())):
                player.step()
                now = time.monotonic()
                hurried = player.steps <= self._first
                due = now if hurried else max(due + min(1.0 / self._pace, SLOWEST), now - BEHIND)
        except Exception as error:  # whatever it is: the thread that looks says it
            self._trouble = error
            self._stopped.set()


def serving(settings: Settings, sock: socket.socket) -> SpawnProcess:
    """The service on this socket, ready to answer. It ends with this process, whatever becomes of that."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(settings, sock, theirs, os.getpid()), name="suffice", daemon=True)
    with uninterrupted():
        process.start()
    theirs.close()
    try:
        said = ours.recv() if ours.poll(STARTING) else f"it took more than {STARTING:.0f} seconds"
        if said:
            raise SufficeError(f"the service could not start: {said}")
    except BaseException as error:
        process.kill()
        process.join()
        if isinstance(error, EOFError):
            raise SufficeError(f"the service could not start: it ended with exit code {process.exitcode}") from None
        raise
    finally:
        ours.close()
    return process


def _end(process: SpawnProcess) -> None:
    process.terminate()
    process.join(STOPPING)
    if process.is_alive():
        process.kill()
        process.join()
