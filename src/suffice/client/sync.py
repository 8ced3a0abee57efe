"""The client that blocks: it does the steps of `remote` with httpx.Client and holds no logic of its own."""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from fractions import Fraction
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack

import httpx

from suffice.client import wire
from suffice.client.bodies import Settings
from suffice.client.delivery import flush, leaving
from suffice.client.line import Line
from suffice.client.remote import Remote, planned, standings
from suffice.client.replies import RemoteCertificate, Standing
from suffice.client.steps import Answer, Lost, Request, Steps, Wait
from suffice.context.learner import Insight
from suffice.errors import ServiceProblem, SufficeWarning
from suffice.menu import Menu
from suffice.records import Arm, Decision

T = TypeVar("T")


class Client:
    """A decision service, as if its selectors were in this process.

    ::

        selector = suffice.Client("http://127.0.0.1:8470", key).selector("routing", menu, target=0.9)
        decision = selector.ask()
        selector.tell(decision, success=True)

    Args:
        url: the address of the service; else that in SUFFICE_URL.
        key: a key that lets you in; else that in SUFFICE_KEY. It is not needed where the service runs open.
        fallback: "everything": while the service cannot be reached, asks return everything, which is sure to succeed, and
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
        fallback: Literal["everything"] | None = None,
        retries: int = 3,
        timeout: float | httpx.Timeout = wire.TIMEOUT,
        keep: int = 100_000,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        address = wire.address_of(url)
        self._line = Line(address, fallback=fallback, retries=retries, keep=keep, clock=clock)
        self._sleep = sleep
        self._http = httpx.Client(**wire.options(address, key, timeout), transport=transport)

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
        selector = RemoteSelector(self, *planned(self._line, name, menu, target, horizon, settings))
        self._do(selector._open())
        return selector

    def standings(self, archived: bool = False, contains: str = "") -> list[Standing]:
        """All selectors of the service and where they stand; those that were archived only if asked for.

        `contains`: only those whose names contain this text, in capitals or not.
        """
        return self._do(standings(self._line, archived, contains))

    def flush(self) -> None:
        """Send the outcomes that are kept, of all selectors. Raises if they cannot be sent, or if some are refused."""
        self._do(flush(self._line))

    def close(self) -> None:
        """Send the outcomes that are kept, and close all connections. What cannot be sent is lost, with a warning."""
        try:
            self.flush()
        except ServiceProblem as problem:
            warnings.warn(leaving(self._line, problem), SufficeWarning, stacklevel=2)
        finally:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._line.address}>"

    def _do(self, steps: Steps[T]) -> T:
        with closing(steps):
            came: Answer | Lost | None = None
            while True:
                try:
                    step = steps.send(came)
                except StopIteration as done:
                    result: T = done.value
                    return result
                came = self._step(step)

    def _step(self, step: Request | Wait) -> Answer | Lost | None:
        if isinstance(step, Wait):
            self._sleep(step.seconds)
            return None
        try:
            return wire.answer(
                self._http.request(step.method, step.path, content=step.content, headers=dict(step.headers))
            )
        except httpx.RequestError as error:
            return wire.lost(error)


class RemoteSelector(Remote):
    """A selector that a service keeps: ask and tell as with `Selector`. Made by `Client.selector`."""

    def __init__(self, client: Client, line: Line, name: str, menu: Menu | None, plan: dict[str, Any] | None) -> None:
        super().__init__(line, name, menu, plan)
        self._do = client._do

    def ask(
        self,
        *,
        available: Iterable[Any] | None = None,
        audit: bool = True,
        context: Any = None,
        group: str | None = None,
    ) -> Decision:
        """What to do now; as `Selector.ask`.

        Where the service cannot be reached and there is a fallback, it is everything, with the id UNASKED: telling how that
        one went changes nothing.
        """
        return self._do(self._ask(available, audit, context, group))

    def ask_many(
        self,
        count: int,
        *,
        available: Iterable[Any] | None = None,
        audit: bool = True,
        contexts: Iterable[Any] | None = None,
        group: str | None = None,
    ) -> list[Decision]:
        """So many decisions at once, a thousand per request; as `Selector.ask_many`.

        An error after the first thousand holds those that had come, in its attribute `decisions`. Where the service cannot
        be reached any more and there is a fallback, the rest are everything.
        """
        return self._do(self._ask_many(count, available, audit, contexts, group))

    def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """How a decision went; as `Selector.tell`, but telling the same again is no error.

        Another outcome for a decision that was told raises `AlreadyTold`. Where the service cannot be reached and there is a
        fallback, the outcome is kept and sent before one of the next calls that get through.
        """
        self._do(self._tell(decision, success, cost))

    def tell_many(self, outcomes: Iterable[Sequence[Any]]) -> None:
        """Tell many outcomes, each (decision, success) or (decision, success, cost), a thousand per request.

        What can be seen to be wrong from here is raised before any is sent. Then each counts on its own: once all were
        sent, an error names those that the service refused (`failed`: decision to reason), and all others are counted. An
        error half-way names all that are not known to be counted there. Telling all of them again is safe.
        """
        self._do(self._tell_many(outcomes))

    def certificate(self, group: str | None = None) -> RemoteCertificate:
        """What is promised, whether it is so, and if not, why and what to do: of one group, or of all there is."""
        return self._do(self._certificate(group))

    def arms(self, most: int | None = None) -> list[Arm]:
        """A row per arm: how often it was played, how it did, and what is certain of it.

        `most`: only so many, those played most often first.
        """
        return self._do(self._arms(most))

    def insight(self) -> Insight:
        """What is made of contexts: whether the model is followed, how it did, what was missing."""
        return self._do(self._insight())

    def standing(self) -> Standing:
        """Where it stands: told, rate, debt, pending, cost and the rest, all of one moment."""
        return self._do(self._standing())

    def archive(self) -> Standing:
        """Archive it: it can no longer be asked, and still be told. `Client.selector` with the same plan brings it back."""
        return self._do(self._archive())

    def flush(self) -> None:
        """Send the outcomes that are kept. Raises if they cannot be sent, or if some are refused."""
        self._do(flush(self._line, self._name))
