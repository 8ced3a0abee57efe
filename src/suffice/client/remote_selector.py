"""A selector that the service keeps, seen from here: the logic of both clients. What is sent goes through the line."""

import copy
import threading
import uuid
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from suffice.client import requests, responses
from suffice.client.delivery import deliver, flush, path_of, send
from suffice.client.httpx_adapter import JSON, Request
from suffice.client.outbox import CHUNK, Outcome
from suffice.client.problems import reasons, refusal
from suffice.client.requests import FALLBACK_ID
from suffice.client.responses import Overview, RemoteCertificate
from suffice.client.transport import Transport
from suffice.context.learner import ContextReport
from suffice.context.schema import listed
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
from suffice.numbers import positive_int
from suffice.promise.account import SAFE
from suffice.selector.records import Decision, OptionReport

FORBIDDEN: Final = 403


class AsyncRemoteSelector:
    """A selector that a service keeps, to be awaited; ask and tell as with `Selector`. Made by `AsyncClient.selector`.

    Safe to use from many threads.
    """

    def __init__(
        self, transport: Transport, name: str, menu: Menu | None, target: Any, horizon: Any, settings: Mapping[str, Any]
    ) -> None:
        self._transport, self._name, self._menu = transport, name, menu
        self._path = path_of(name)
        plan = check_plan(menu, target, horizon, settings)
        self._plan = None if plan is None else requests.encode(plan)
        self._confirmed = False  # whether the service is known to have it
        self._key = f"{name} at {transport.address}"  # what marks its decisions: the same in every process
        self._safe: tuple[int, Any] | None = None  # its arm and option, where there is no menu to say it
        self._outbox = transport.outbox(name)
        self._lock = threading.Lock()
        self._unasked = 0

    @property
    def name(self) -> str:
        """What the service calls it."""
        return self._name

    @property
    def menu(self) -> Menu | None:
        """What may be chosen; None for one that was made elsewhere, in a form that is not known here."""
        return self._menu

    @property
    def fallback_decisions(self) -> int:
        """How many decisions were made without the service: the safe option, because it could not be reached."""
        return self._unasked

    @property
    def undelivered(self) -> int:
        """How many outcomes are kept here until the service can be reached."""
        return len(self._outbox)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._key}>"

    # --- that it is there

    async def _open(self) -> None:
        """Make or confirm it, or find out what it is. With a fallback and a menu, that may wait."""
        if self._menu is None:
            await self._find()
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

    async def _find(self) -> None:
        try:
            self._menu = await self._transport.call(
                Request("GET", self._path), lambda said: responses.menu_of(said["plan"])
            )
        except AccessDenied as refused:
            if refused.status != FORBIDDEN or self._transport.fallback:
                raise
            return  # a key that may ask and tell need not be one that may look
        if self._menu is None and self._transport.fallback:  # what to play should the service go away
            last = (await self.options())[-1]
            self._safe = last.arm, last.option

    async def _prepare(self) -> None:
        """Before an ask or a tell: what could not be sent earlier, or a thousand outcomes of it."""
        await self._confirm()
        if len(self._outbox) and self._transport.clock() >= self._outbox.rest:
            await deliver(self._transport, self._name, self._outbox, chunks=1)

    # --- ask

    async def ask(
        self,
        *,
        available: Iterable[Any] | None = None,
        audit: bool = True,
        context: Any = None,
        group: str | None = None,
    ) -> Decision:
        """What to do now; as `Selector.ask`.

        Where the service cannot be reached and there is a fallback, it is the safe option, with the id FALLBACK_ID: telling
        how that one went changes nothing.
        """
        body = requests.ask_request(self._menu, available, audit, group)
        if context is not None:
            body["context"] = requests.context(context)
        return (await self._wish(body, None))[0]

    async def ask_many(
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
        be reached any more and there is a fallback, the rest are the safe option.
        """
        many = positive_int("count", count, 0)
        body = requests.ask_request(self._menu, available, audit, group)
        wishes: Iterable[tuple[dict[str, Any], int]]
        wishes = ((body, min(CHUNK, many - start)) for start in range(0, many, CHUNK))
        if contexts is not None:
            rows = [requests.context(row) for row in listed(contexts, many, "decision")]
            wishes = ((body | {"contexts": piece}, len(piece)) for piece in requests.pieces(rows) if piece)
        decisions: list[Decision] = []
        try:
            for one, length in wishes:
                decisions += await self._wish(one, length)
        except ServiceProblem as problem:
            problem.decisions = decisions  # they were asked, and are to be told
            raise
        return decisions

    async def _wish(self, body: dict[str, Any], count: int | None) -> list[Decision]:
        """The decisions of one request, whose key makes the service answer a retry as it did the first time."""
        content = requests.encode(body if count is None else body | {"count": count})
        request = Request("POST", f"{self._path}/ask", content, JSON | {"Idempotency-Key": uuid.uuid4().hex})
        try:
            await self._prepare()
            return await self._transport.call(request, lambda said: self._read(said, count))
        except ServiceUnreachable:
            if not self._transport.fallback:
                raise
            return [self._play_safe() for _ in range(count or 1)]

    def _read(self, said: Any, count: int | None) -> list[Decision]:
        rows = [said] if count is None else said["decisions"]
        if len(rows) != (count or 1):
            raise ValueError
        return [responses.decision(row, self._menu, self._key) for row in rows]

    def _play_safe(self) -> Decision:
        """The safe option is sure to succeed, so it can be played without asking; nobody counts it."""
        with self._lock:
            self._unasked += 1
        if self._menu is not None:
            arm, option = self._menu.n_arms - 1, self._menu.option(self._menu.n_arms - 1)
        else:
            arm, option = copy.deepcopy(self._safe or (0, None))
        return Decision(FALLBACK_ID, arm, option, SAFE, 0.0, self._key)

    # --- tell

    async def tell(self, decision: Decision | int, success: float, cost: float | None = None) -> None:
        """How a decision went; as `Selector.tell`, but telling the same again is no error.

        Another outcome for a decision that was told raises `AlreadyTold`. Where the service cannot be reached and there is a
        fallback, the outcome is kept and sent before one of the next calls that get through.
        """
        outcome = requests.outcome(self._key, self._menu, decision, success, cost)
        if outcome is not None:
            await self._deliver([outcome])

    async def tell_many(self, outcomes: Iterable[Sequence[Any]]) -> None:
        """Tell many outcomes, each (decision, success) or (decision, success, cost), a thousand per request.

        What can be seen to be wrong from here is raised before any is sent. Then each counts on its own: once all were
        sent, an error names those that the service refused (`failed`: decision to reason), and all others are counted. An
        error half-way names all that are not known to be counted there. Telling all of them again is safe.
        """
        found = [requests.outcome(self._key, self._menu, *item) for item in requests.listed(outcomes)]
        counted = [one for one in found if one is not None]
        seen: set[int] = set()
        for one in counted:
            if one.decision in seen:
                raise AlreadyTold(f"decision {one.decision} stands twice in the same call; nothing of it was told")
            seen.add(one.decision)
        if counted:
            await self._deliver(counted)

    async def _deliver(self, outcomes: list[Outcome]) -> None:
        """Send them; with a fallback, keep those that cannot be sent."""
        refused: list[dict[str, Any]] = []
        sent, full = 0, False
        try:
            await self._prepare()
            while sent < len(outcomes):
                length, found = await send(self._transport, self._path, self._outbox, outcomes[sent : sent + CHUNK])
                refused += found
                sent += length
        except ServiceProblem as problem:
            if not (self._transport.fallback and isinstance(problem, ServiceUnreachable)):
                problem.failed.update(reasons(refused) | {one.decision: str(problem) for one in outcomes[sent:]})
                raise
            full = self._outbox.add(outcomes[sent:])
        if full:
            warnings.warn(
                f"the service at {self._transport.address} could not be reached for so long that outcomes of {self._name!r} "
                f"are dropped, the oldest first, beyond the latest {len(self._outbox):,}",
                SufficeWarning,
                stacklevel=3,
            )
        if refused:
            raise refusal(refused, len(outcomes), "counted" if sent == len(outcomes) else "counted or kept")

    # --- where things stand

    async def overview(self) -> Overview:
        """Where it stands: told, rate, debt, pending, cost and the rest, all of one moment."""
        await self._prepare()
        return await self._transport.call(Request("GET", self._path), responses.overview)

    async def certificate(self, group: str | None = None) -> RemoteCertificate:
        """What is promised, whether it is so, and if not, why and what to do: of one group, or of all there is."""
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
        return await self._transport.call(request, lambda said: responses.options(said, self._menu))

    async def context_report(self) -> ContextReport:
        """What is made of contexts: whether the model is followed, how it did, what was missing."""
        await self._prepare()
        return await self._transport.call(Request("GET", f"{self._path}/context-report"), responses.context_report)

    async def archive(self) -> Overview:
        """Archive it: it can no longer be asked, and still be told. `Client.selector` with the same plan brings it back."""
        await self._prepare()
        return await self._transport.call(Request("DELETE", self._path), responses.overview)

    async def flush(self) -> None:
        """Send the outcomes that are kept. Raises if they cannot be sent, or if some are refused."""
        await flush(self._transport, self._name)


# --- what it is made from, and what a client does for all selectors


def check_plan(menu: Menu | None, target: Any, horizon: Any, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """The plan of a selector, checked; None where it is there already."""
    if menu is not None and not isinstance(menu, Menu):
        raise InvalidArgument(f"menu must be a Menu, got {quoted(menu)}")
    given = {"target": target, "horizon": horizon, **settings}
    for word, value in given.items():
        for needed, there in (("menu", menu), ("target", target)):
            if value is not None and there is None:
                raise InvalidArgument(f"{needed} must be given where {word} is")
    return None if menu is None or target is None else requests.plan(menu, target, horizon, settings)


async def list_selectors(transport: Transport, archived: bool, contains: str) -> list[Overview]:
    """All selectors of the service, or those whose names contain a text."""
    found: list[Overview] = []
    after = ""
    part = f"&contains={quote(_text('contains', contains), safe='')}" if contains else ""
    while True:
        query = f"limit=100&archived={'true' if archived else 'false'}" + part
        query += f"&after={quote(after)}" if after else ""
        some, after = await transport.call(Request("GET", f"/v1/selectors?{query}"), responses.page)
        found += some
        if not after:
            return found


def _text(word: str, value: Any, what: str = "text") -> str:
    if not isinstance(value, str):
        raise InvalidArgument(f"{word} must be {what}, got {quoted(value)}")
    return value
