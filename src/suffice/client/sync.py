"""The client that blocks: httpx.Client does the I/O, and `remote_selector` holds the logic; its awaits never suspend here."""

import time
import warnings
from collections.abc import Callable, Coroutine
from fractions import Fraction
from functools import partial, wraps
from typing import Concatenate, Literal, ParamSpec, Self, TypeVar, Unpack

import httpx

from suffice.client import httpx_adapter
from suffice.client.delivery import flush, undelivered_warning
from suffice.client.remote_selector import AsyncRemoteSelector, list_selectors, open_selector
from suffice.client.requests import Settings
from suffice.client.responses import Overview
from suffice.client.transport import Transport
from suffice.errors import ServiceProblem, SufficeWarning
from suffice.menu.menu import Menu

P = ParamSpec("P")
T = TypeVar("T")


def run(work: Coroutine[object, None, T]) -> T:
    """Run a coroutine to its end. All that it awaits is done when it is called, so it never suspends."""
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
        url: the address of the service; left out, that in SUFFICE_URL.
        key: a key of the service; left out, that in SUFFICE_KEY. A service that runs open needs none.
        fallback: "safe": while the service cannot be reached, asks return the safe option, and outcomes are kept until they
            can be delivered. None: `ServiceUnreachable` is raised.
        retries: how often a request is sent again after no answer, a 5xx, a 429 with a Retry-After, or an answer that is not
            one of a suffice service, such as a page or a redirection. The waits between double, up to 2 seconds, and a
            Retry-After of up to 30 seconds (2 with a fallback) is kept. A retry never makes a second decision nor a second
            outcome.
        timeout: seconds to wait for an answer; for a connection at most 2 seconds. Or an `httpx.Timeout`.
        keep: with a fallback, how many outcomes of each selector are kept at most; beyond it the oldest are dropped.
        transport: an httpx transport, for certificates, a proxy or a socket.
        sleep: a function that waits.
        clock: a function that returns the time in seconds.

    With a fallback only the first call that fails waits for all retries. For a second (or as long as the service says) all
    others fall back at once; then one call tries again, once. Refusals (a wrong key, another plan, a bad argument)
    are raised with a fallback as well. An ask whose answer got lost may leave a decision in the service whose outcome is
    never told: give the selector an `expire_after`, so that it expires.

    Many threads may use one client, which reuses its connections. Make a client in each process: connections do not
    survive a fork. Close it, or use it in a `with` statement: it then delivers the outcomes that wait, if it can.
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
        # Without a reference to this client: one that is dropped without being closed frees its connections at once.
        send, wait = partial(_send, self._http), partial(_wait, sleep)
        self._transport = Transport(address, send, wait, fallback=fallback, retries=retries, keep=keep, clock=clock)

    def selector(
        self,
        name: str,
        menu: Menu | None = None,
        target: float | Fraction | None = None,
        **settings: Unpack[Settings],
    ) -> "RemoteSelector":
        """The selector with this name: made if it does not exist, confirmed if it does (409 if its plan differs).

        The arguments are those of `Selector`, except what JSON cannot carry: objects of your own, and the clock. Arguments
        that are left out have the service's defaults, which are those of `Selector`.

        With a name alone, the selector must exist. Its options are as the menu has them if a Python client made it, and
        otherwise as JSON has them: lists for tuples. With a name and a menu it must exist as well, and no request is sent
        before the first decision; a key with the scope use is enough for that.

        With a fallback and a menu this succeeds while the service is down; the selector is then made at first contact.
        """
        return RemoteSelector(run(open_selector(self._transport, name, menu, target, dict(settings))))

    def list_selectors(self, archived: bool = False, contains: str = "") -> list[Overview]:
        """All selectors of the service and their states; archived ones only with `archived`.

        `contains`: only those whose names contain this text; case does not matter.
        """
        return run(list_selectors(self._transport, archived, contains))

    def flush(self) -> None:
        """Send the outcomes of all selectors that wait. Raises if they cannot be sent, or if some are refused."""
        run(flush(self._transport))

    def close(self) -> None:
        """Send the outcomes that wait, and close all connections. Those that cannot be sent are lost, with a warning."""
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
    method: Callable[Concatenate[AsyncRemoteSelector, P], Coroutine[object, None, T]],
) -> Callable[Concatenate["RemoteSelector", P], T]:
    """The method of the blocking selector that runs this one."""

    @wraps(method)
    def call(self: "RemoteSelector", /, *given: P.args, **named: P.kwargs) -> T:
        return run(method(self._awaited, *given, **named))

    return call


class RemoteSelector:
    """A selector that a service keeps; ask and tell as with `Selector`. Made by `Client.selector`."""

    def __init__(self, awaited: AsyncRemoteSelector) -> None:
        self._awaited = awaited

    @property
    def name(self) -> str:
        """The name of the selector in the service."""
        return self._awaited.name

    @property
    def menu(self) -> Menu | None:
        """The options; None for a selector that was not made by a Python client."""
        return self._awaited.menu

    @property
    def fallback_decisions(self) -> int:
        """How many decisions were the safe option because the service could not be reached."""
        return self._awaited.fallback_decisions

    @property
    def undelivered(self) -> int:
        """How many outcomes wait here until the service can be reached."""
        return self._awaited.undelivered

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {repr(self._awaited).partition(' ')[2]}"

    ask = blocking(AsyncRemoteSelector.ask)
    ask_many = blocking(AsyncRemoteSelector.ask_many)
    tell = blocking(AsyncRemoteSelector.tell)
    tell_many = blocking(AsyncRemoteSelector.tell_many)
    cancel = blocking(AsyncRemoteSelector.cancel)
    play_safe = blocking(AsyncRemoteSelector.play_safe)
    certificate = blocking(AsyncRemoteSelector.certificate)
    options = blocking(AsyncRemoteSelector.options)
    context_report = blocking(AsyncRemoteSelector.context_report)
    overview = blocking(AsyncRemoteSelector.overview)
    archive = blocking(AsyncRemoteSelector.archive)
    flush = blocking(AsyncRemoteSelector.flush)
