"""The client that blocks: httpx.Client sends, and the logic is that of `remote`, which then never has to wait."""

import time
import warnings
from collections.abc import Callable, Coroutine
from fractions import Fraction
from functools import partial, wraps
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar, Unpack

import httpx

from suffice.client import httpx_adapter
from suffice.client.delivery import flush, undelivered_warning
from suffice.client.remote_selector import AsyncRemoteSelector, list_selectors
from suffice.client.requests import Settings
from suffice.client.responses import Overview
from suffice.client.transport import Transport
from suffice.errors import ServiceProblem, SufficeWarning
from suffice.menu.menu import Menu

P = ParamSpec("P")
T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run the logic to its end. What it awaits is done by then, so it gets there without a break."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("a client that blocks was made to await")


class Client:
    """A decision service, as if its selectors were in this process.

    ::

        selector = suffice.Client("http://127.0.0.1:8470", key).selector("routing", menu, target=0.9)
        decision = selector.ask()
        selector.tell(decision, success=True)

    Args:
        url: the address of the service; else that in SUFFICE_URL.
        key: a key that lets you in; else that in SUFFICE_KEY. It is not needed where the service runs open.
        fallback: "safe": while the service cannot be reached, asks return the safe option, and
            outcomes are kept until they can be delivered. None: `Unreachable` is raised.
        retries: how often a request is sent again when nothing comes back, or a 5xx, or 429 with a Retry-After, or what no
            suffice service answers: a page, a redirection. The waits between double, up to 2 seconds, and a Retry-After of
            up to 30 seconds (2 with a fallback) is kept. A retry never makes a second decision nor a second outcome.
        timeout: seconds to wait for an answer; a connection is waited for 2 seconds at most. Or an `httpx.Timeout`.
        keep: with a fallback, how many outcomes of each selector are kept at most; beyond it the oldest are dropped.
        transport: of httpx, where the connection needs certificates, a proxy or a socket of its own.
        sleep: how to wait.
        clock: where the time comes from, in seconds.

    With a fallback only the first call that fails waits for all retries. For a second (or as long as the service says) all
    others fall back at once; then one call tries again, once. Refusals (a wrong key, another plan, a bad argument)
    are raised with a fallback as well. An ask whose answer got lost may leave a decision with the service that nobody
    holds: give the selector an `expire_after`, so that it is given up.

    One client may be used by many threads, and reuses its connections. Make a client in each process: connections do not
    survive a fork. Close it, or use it in a `with` statement: what is kept is then delivered, if it can be.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        fallback: Literal["safe"] | None = None,
        retries: int = 3,
        timeout: float | httpx.Timeout = httpx_adapter.TIMEOUT,
        keep: int = 100_000,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        address = httpx_adapter.address_of(url)
        self._http = httpx.Client(**httpx_adapter.options(address, key, timeout), transport=transport)
        # Neither holds this client: one that is let go of without being closed lets go of its connections at once.
        send, wait = partial(_send, self._http), partial(_wait, sleep)
        self._transport = Transport(address, send, wait, fallback=fallback, retries=retries, keep=keep, clock=clock)

    def selector(
        self,
        name: str,
        menu: Menu | None = None,
        target: float | Fraction | None = None,
        horizon: int | None = None,
        **settings: Unpack[Settings],
    ) -> "RemoteSelector":
        """The selector of this name: made if it is not there, confirmed if it is (409 if it is another one).

        The arguments are those of `Selector`, less what JSON cannot carry: objects of your own, and the clock. What is left
        out has the service's default, which is that of `Selector` but for `max_pending`, 1,000.

        With a name alone it is one that is there already. Its options are then as the menu has them if a Python client made
        it, and as JSON has them if not: lists for tuples. With a name and a menu it is also one that is there, and
        nothing is asked before the first decision; a key that may only ask and tell is enough for that.

        With a fallback and a menu this succeeds while the service is down; the selector is then made at first contact.
        """
        selector = AsyncRemoteSelector(self._transport, name, menu, target, horizon, settings)
        run(selector._open())
        return RemoteSelector(selector)

    def list_selectors(self, archived: bool = False, contains: str = "") -> list[Overview]:
        """All selectors of the service and where they stand; those that were archived only if asked for.

        `contains`: only those whose names contain this text, in capitals or not.
        """
        return run(list_selectors(self._transport, archived, contains))

    def flush(self) -> None:
        """Send the outcomes that are kept, of all selectors. Raises if they cannot be sent, or if some are refused."""
        run(flush(self._transport))

    def close(self) -> None:
        """Send the outcomes that are kept, and close all connections. What cannot be sent is lost, with a warning."""
        try:
            self.flush()
        except ServiceProblem as problem:
            warnings.warn(undelivered_warning(self._transport, problem), SufficeWarning, stacklevel=2)
        finally:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._transport.address}>"


async def _send(http: httpx.Client, request: httpx_adapter.Request) -> httpx.Response:
    return http.request(request.method, request.path, content=request.content, headers=request.headers)


async def _wait(sleep: Callable[[float], object], seconds: float) -> None:
    sleep(seconds)


def blocking(
    method: Callable[Concatenate[AsyncRemoteSelector, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["RemoteSelector", P], T]:
    """The same method of the selector that blocks."""

    @wraps(method)
    def call(self: "RemoteSelector", /, *given: P.args, **named: P.kwargs) -> T:
        return run(method(self._awaited, *given, **named))

    return call


class RemoteSelector:
    """A selector that a service keeps: ask and tell as with `Selector`. Made by `Client.selector`."""

    def __init__(self, awaited: AsyncRemoteSelector) -> None:
        self._awaited = awaited

    @property
    def name(self) -> str:
        """What the service calls it."""
        return self._awaited.name

    @property
    def menu(self) -> Menu | None:
        """What may be chosen; None for one that was made elsewhere, in a form that is not known here."""
        return self._awaited.menu

    @property
    def fallback_decisions(self) -> int:
        """How many decisions were made without the service: the safe option, because it could not be reached."""
        return self._awaited.fallback_decisions

    @property
    def undelivered(self) -> int:
        """How many outcomes are kept here until the service can be reached."""
        return self._awaited.undelivered

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._awaited._key}>"

    ask = blocking(AsyncRemoteSelector.ask)
    ask_many = blocking(AsyncRemoteSelector.ask_many)
    tell = blocking(AsyncRemoteSelector.tell)
    tell_many = blocking(AsyncRemoteSelector.tell_many)
    certificate = blocking(AsyncRemoteSelector.certificate)
    options = blocking(AsyncRemoteSelector.options)
    context_report = blocking(AsyncRemoteSelector.context_report)
    overview = blocking(AsyncRemoteSelector.overview)
    archive = blocking(AsyncRemoteSelector.archive)
    flush = blocking(AsyncRemoteSelector.flush)
