"""A selector that a service keeps, seen from a client: the logic that both clients share."""

import copy
import threading
import uuid
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import quote

from suffice.client import requests, responses
from suffice.client.delivery import deliver, flush, path_of, send
from suffice.client.httpx_adapter import JSON, Request
from suffice.client.outbox import CHUNK, Outcome
from suffice.client.problems import ResultJson, of_decision, reasons, refusal
from suffice.client.requests import FALLBACK_ID, JsonObject, RemoteDecision
from suffice.client.responses import DecisionJson, Overview, RemoteCertificate
from suffice.client.transport import Transport
from suffice.context.learner import ContextReport
from suffice.context.schema import list_contexts
from suffice.errors import (
    AccessDenied,
    AlreadyTold,
    InvalidArgument,
    ServiceProblem,
    ServiceUnreachable,
    SufficeWarning,
    quoted,
)
from suffice.menu.menu import Menu
from suffice.numbers import flag, positive_int
from suffice.promise.record import SAFE
from suffice.selector.records import Decision, OptionReport

FORBIDDEN: Final = 403


class AsyncRemoteSelector:
    """A selector that a service keeps, to be awaited; ask and tell as with `Selector`. Made by `AsyncClient.selector`.

    Safe to use from many threads.
    """

    def __init__(
        self, transport: Transport, name: str, menu: Menu | None, target: object,
        settings: Mapping[str, object],
    ) -> None:  # fmt: skip
        self._transport, self._name, self._menu = transport, name, menu
        self._path = path_of(name)
        plan = check_plan(menu, target, settings)
        self._plan = None if plan is None else requests.encode(plan)
        self._confirmed = False  # whether the service has confirmed the plan
        self._key = f"{name} at {transport.address}"  # marks the decisions of this selector, the same in every process
        self._safe: tuple[int, object] | None = None  # arm and option of the safe option, where the menu is not known
        self._outbox = transport.outbox(name)
        self._lock = threading.Lock()
        self._fallback_decisions = 0

    @property
    def name(self) -> str:
        """The name of the selector in the service."""
        return self._name

    @property
    def menu(self) -> Menu | None:
        """The options; None for a selector that was not made by a Python client."""
        return self._menu

    @property
    def fallback_decisions(self) -> int:
        """How many decisions were the safe option because the service could not be reached."""
        return self._fallback_decisions

    @property
    def undelivered(self) -> int:
        """How many outcomes wait here until the service can be reached."""
        return len(self._outbox)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._key}>"

    # --- making it

    async def _open(self) -> None:
        """Make or confirm it, or read its menu. With a fallback and a menu, that may wait until the service is back."""
        if self._menu is None:
            await self._read_menu()
            return
        try:
            await self._confirm()
        except ServiceUnreachable:
            if not self._transport.fallback:
                raise

    async def _confirm(self) -> None:
        if not self._confirmed and self._plan is not None:
            await self._transport.call(Request("PUT", self._path, self._plan, JSON), responses.check_selector)
        self._confirmed = True

    async def _read_menu(self) -> None:
        try:
            self._menu = await self._transport.call(Request("GET", self._path), responses.menu_of)
        except AccessDenied as refused:
            if refused.status != FORBIDDEN or self._transport.fallback:
                raise
            return  # a key for asks and tells need not have the scope read
        if self._menu is None and self._transport.fallback:  # the fallback needs the safe option
            last = (await self.options())[-1]
            self._safe = last.arm, last.option

    async def _prepare(self) -> None:
        """Before each call: confirm the plan, and deliver up to a thousand outcomes that wait."""
        await self._confirm()
        if len(self._outbox) and self._transport.clock() >= self._outbox.retry_at:
            await deliver(self._transport, self._name, self._outbox, chunks=1)

    # --- ask

    async def ask(
        self,
        *,
        available: Iterable[object] | None = None,
        audit: bool = True,
        context: object = None,
        group: str | None = None,
        insist: bool = False,
    ) -> RemoteDecision:
        """One decision; as `Selector.ask`. Its id is a string.

        Where the service cannot be reached and there is a fallback, it is the safe option, with the id FALLBACK_ID; its
        outcome is not sent.
        """
        body = requests.ask_request(self._menu, available, audit, group, insist)
        if context is not None:
            body["context"] = requests.context(context)
        return (await self._ask(body, None))[0]

    async def ask_many(
        self,
        count: int,
        *,
        available: Iterable[object] | None = None,
        audit: bool = True,
        contexts: Iterable[object] | None = None,
        group: str | None = None,
        insist: bool = False,
    ) -> list[RemoteDecision]:
        """So many decisions at once, a thousand per request; as `Selector.ask_many`.

        An error after the first thousand holds the decisions that had arrived, in its attribute `decisions`. Where the
        service cannot be reached any more and there is a fallback, the rest are the safe option.
        """
        many = positive_int("count", count, 0)
        body = requests.ask_request(self._menu, available, audit, group, insist)
        asks: Iterable[tuple[JsonObject, int]]
        asks = ((body, min(CHUNK, many - start)) for start in range(0, many, CHUNK))
        if contexts is not None:
            rows = [requests.context(row) for row in list_contexts(contexts, many)]
            asks = ((body | {"contexts": piece}, len(piece)) for piece in requests.pieces(rows) if piece)
        decisions: list[RemoteDecision] = []
        try:
            for piece, length in asks:
                decisions += await self._ask(piece, length)
        except ServiceProblem as problem:
            problem.decisions = decisions  # the service counts them as asked, so their outcomes must be told
            raise
        return decisions

    async def _ask(self, body: JsonObject, count: int | None) -> list[RemoteDecision]:
        """The decisions of one request. Its idempotency key makes the service answer a retry as it did the first time."""
        content = requests.encode(body if count is None else body | {"count": count})
        request = Request("POST", f"{self._path}/ask", content, JSON | {"Idempotency-Key": uuid.uuid4().hex})
        try:
            await self._prepare()
            if count is None:
                return [await self._transport.call(request, self._decision)]
            return await self._transport.call(request, partial(self._decisions, count=count))
        except ServiceUnreachable:
            if not self._transport.fallback:
                raise
            return [self._play_safe() for _ in range(count or 1)]

    def _decision(self, reply: DecisionJson) -> RemoteDecision:
        return responses.decision(reply, self._menu, self._key)

    def _decisions(self, reply: Mapping[str, list[DecisionJson]], count: int) -> list[RemoteDecision]:
        rows = reply["decisions"]
        if len(rows) != count:
            raise ValueError
        return [self._decision(row) for row in rows]

    def _play_safe(self) -> RemoteDecision:
        """The safe option is sure to succeed, so it can be played without the service, which then does not count it."""
        with self._lock:
            self._fallback_decisions += 1
        if self._menu is not None:
            arm, option = self._menu.n_arms - 1, self._menu.option(self._menu.n_arms - 1)
        else:
            arm, option = copy.deepcopy(self._safe or (0, None))
        return RemoteDecision.make(FALLBACK_ID, arm, option, SAFE, 0.0, self._key)

    # --- tell

    async def tell(self, decision: Decision | str, success: float, cost: float | None = None) -> None:
        """The outcome of a decision; as `Selector.tell`, but telling the same again is no error.

        Another outcome for a decision that was told raises `AlreadyTold`. Where the service cannot be reached and there is a
        fallback, the outcome is kept, and sent with one of the next calls that succeed.
        """
        outcome = requests.outcome(self._key, self._menu, decision, success, cost)
        if outcome is not None:
            await self._deliver([outcome])

    async def tell_many(self, outcomes: Iterable[Sequence[object]]) -> None:
        """Tell many outcomes, each (decision, success) or (decision, success, cost), a thousand per request.

        An outcome that is wrong in itself raises before any is sent. Then each counts on its own: after all were sent, an
        error names those that the service refused (`failed`: decision to reason), and all others are counted. An error
        half-way names all that may not be counted. Telling all of them again is safe.
        """
        checked = [requests.outcome(self._key, self._menu, *row) for row in requests.listed(outcomes)]
        counted = [outcome for outcome in checked if outcome is not None]
        seen: set[str] = set()
        for outcome in counted:
            if outcome.decision in seen:
                raise AlreadyTold(f"decision {outcome.decision} appears twice in the same call; nothing was counted")
            seen.add(outcome.decision)
        if counted:
            await self._deliver(counted)

    async def cancel(self, decision: Decision | str) -> None:
        """Take back a decision that was never carried out; as `Selector.cancel`, but cancelling again is no error."""
        identity = requests.identity_of(self._key, decision)
        if identity == FALLBACK_ID:
            return  # the service does not count it
        content = requests.encode({"decision": identity})
        await self._confirm()
        try:
            await self._transport.call(Request("POST", f"{self._path}/cancel", content, JSON), responses.check_selector)
        except ServiceProblem as problem:
            raise of_decision(problem) from None

    async def play_safe(self, on: bool = True) -> None:
        """Issue the safe option whatever happens, until it is switched off; as `Selector.play_safe`."""
        content = requests.encode({"on": flag("on", on)})
        await self._confirm()
        await self._transport.call(Request("POST", f"{self._path}/play-safe", content, JSON), responses.check_selector)

    async def _deliver(self, outcomes: list[Outcome]) -> None:
        """Send them; with a fallback, keep those that cannot be sent."""
        refused: list[ResultJson] = []
        sent, dropped = 0, False
        try:
            await self._prepare()
            while sent < len(outcomes):
                chunk = outcomes[sent : sent + CHUNK]
                refused += await send(self._transport, self._path, chunk)
                sent += len(chunk)
        except ServiceProblem as problem:
            if not (self._transport.fallback and isinstance(problem, ServiceUnreachable)):
                unsure = {outcome.decision: str(problem) for outcome in outcomes[sent:]}
                problem.failed.update(reasons(refused) | unsure)
                raise
            dropped = self._outbox.add(outcomes[sent:])
        if dropped:
            warnings.warn(
                f"the service at {self._transport.address} could not be reached for so long that outcomes of {self._name!r} "
                f"are dropped, the oldest first, beyond the latest {len(self._outbox):,}",
                SufficeWarning,
                stacklevel=3,
            )
        if refused:
            raise refusal(refused, len(outcomes), "counted" if sent == len(outcomes) else "counted or kept")

    # --- its state

    async def overview(self) -> Overview:
        """Outcomes, rate, debt, pending decisions, cost and the rest, all at one moment."""
        await self._prepare()
        return await self._transport.call(Request("GET", self._path), responses.overview)

    async def certificate(self, group: str | None = None) -> RemoteCertificate:
        """What is promised, whether it holds, and if not, why and what to do: of one group, or of the whole selector."""
        await self._prepare()
        query = "" if group is None else f"?group={quote(_text('group', group, 'a name'), safe='')}"
        return await self._transport.call(Request("GET", f"{self._path}/certificate{query}"), responses.certificate)

    async def options(self, most: int | None = None) -> list[OptionReport]:
        """A row per arm: how often it was played, how it did, and what is certain of it.

        `most`: only so many, those played most often first.
        """
        await self._prepare()
        query = "" if most is None else f"?order=plays&limit={positive_int('most', most)}"
        request = Request("GET", f"{self._path}/options{query}")

        def read(reply: Mapping[str, list[JsonObject]]) -> list[OptionReport]:
            return responses.options(reply, self._menu)

        return await self._transport.call(request, read)

    async def context_report(self) -> ContextReport:
        """Whether the selector follows its model, how the model did, what contexts lacked."""
        await self._prepare()
        return await self._transport.call(Request("GET", f"{self._path}/context-report"), responses.context_report)

    async def archive(self) -> Overview:
        """Archive it: it answers no more asks, and still accepts outcomes. `Client.selector` with its plan brings it back."""
        await self._prepare()
        return await self._transport.call(Request("DELETE", self._path), responses.overview)

    async def flush(self) -> None:
        """Send the outcomes that wait. Raises if they cannot be sent, or if some are refused."""
        await flush(self._transport, self._name)


# --- for the clients


async def open_selector(
    transport: Transport, name: str, menu: Menu | None, target: object, settings: Mapping[str, object]
) -> AsyncRemoteSelector:
    """The selector with this name, made or confirmed."""
    selector = AsyncRemoteSelector(transport, name, menu, target, settings)
    await selector._open()
    return selector


def check_plan(menu: Menu | None, target: object, settings: Mapping[str, object]) -> JsonObject | None:
    """The plan of a selector, checked; None for one that exists already."""
    if menu is not None and not isinstance(menu, Menu):
        raise InvalidArgument(f"menu must be a Menu, got {quoted(menu)}")
    arguments = {"target": target, **settings}
    for word, value in arguments.items():
        for needed, required in (("menu", menu), ("target", target)):
            if value is not None and required is None:
                raise InvalidArgument(f"{needed} must be given where {word} is")
    return None if menu is None or target is None else requests.plan(menu, target, settings)


async def list_selectors(transport: Transport, archived: bool, contains: str) -> list[Overview]:
    """All selectors of the service, or those whose names contain a text."""
    selectors: list[Overview] = []
    after = ""
    part = f"&contains={quote(_text('contains', contains), safe='')}" if contains else ""
    while True:
        query = f"limit=100&archived={'true' if archived else 'false'}" + part
        query += f"&after={quote(after)}" if after else ""
        some, after = await transport.call(Request("GET", f"/v1/selectors?{query}"), responses.page)
        selectors += some
        if not after:
            return selectors


def _text(word: str, value: object, what: str = "text") -> str:
    if not isinstance(value, str):
        raise InvalidArgument(f"{word} must be {what}, got {quoted(value)}")
    return value
