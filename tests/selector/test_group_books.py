"""Groups against a book of their own each: whatever is asked, told, given up, cancelled, copied or saved, in any order."""

import copy
import json
import math
import os
import pickle
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import suffice
from suffice import Learning, Menu, Selector
from suffice.promise.certificate import Certificate, worst
from suffice.selector.records import Decision
from tests.support.book import OTHER, SAFE, SKIP, Book
from tests.support.looking import Clock, trust_of
from tests.support.own_models import Own, Wild

pytestmark = pytest.mark.usefixtures("warm")

WITH = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)
WITHOUT = Menu({"a": 0.1, "b": 0.4}, safe="all", safe_cost=1.0)
TARGET = Fraction(7, 10)
KINDS = {1: SAFE, 0: OTHER, -1: SKIP}
NAMES = [None, "Berlin", "Łódź", "東京"]
MODELS: dict[str | None, type[Own]] = {"Own": Own, "Wild": Wild}
COPIES: dict[str, Callable[[Selector], Selector]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda selector: pickle.loads(pickle.dumps(selector)),
    "reload": lambda selector: Selector.from_state(
        json.loads(json.dumps(selector.state(), allow_nan=False)),
        model=MODELS[selector.model]() if selector.model in MODELS else None,
        clock=selector._clock,
    ),
}


def counted(selector: Selector) -> dict[str, Any]:
    """The accounts and the decisions, without what was learned: a model notes contexts, and a group borrows hints."""
    state = selector.state()
    accounts = [(account["name"], account["counts"], account["spent"]) for account in state["accounts"]]
    return {"accounts": accounts, **{name: state[name] for name in ("next_id", "outstanding", "expired")}}


class Machine(RuleBasedStateMachine):
    """After each step every certificate is recounted."""

    @initialize(
        model=st.sampled_from([None, "auto", Own, Wild]),
        menu=st.sampled_from([WITH, WITHOUT]),
        plain=st.booleans(),
        max_debt=st.sampled_from([0, 1, 5]),
        in_flight=st.sampled_from([0, 2, 200]),
        patience=st.sampled_from([None, 20.0]),
    )
    def begin(self, model: Any, menu: Menu, plain: bool, max_debt: int, in_flight: int, patience: float | None) -> None:
        self.before = os.environ.get("SUFFICE_NO_COMPILE", "")
        os.environ["SUFFICE_NO_COMPILE"] = "1" if plain else ""
        Clock.now, self.menu, self.patience = 0.0, menu, patience
        made = model if model is None or isinstance(model, str) else model()
        self.selector = Selector(
            menu,
            TARGET,
            model=made,
            learning=Learning(guard=None),
            max_debt=max_debt,
            in_flight=in_flight,
            expire_after=patience,
            clock=Clock(),
        )
        self.books = {name: Book(TARGET, Fraction(max_debt), in_flight, None, menu.has_skip) for name in NAMES}
        self.open: list[tuple[str | None, Decision, float]] = []  # out
        self.gone: list[tuple[str | None, Decision]] = []  # given up
        self.skips: list[tuple[str | None, Decision]] = []
        self.spent: dict[str | None, float] = dict.fromkeys(NAMES, 0.0)
        self.counts: dict[str | None, Counter[str]] = {name: Counter() for name in NAMES}
        self.order: dict[str | None, None] = {}

    def teardown(self) -> None:
        os.environ["SUFFICE_NO_COMPILE"] = getattr(self, "before", "")

    @rule(
        name=st.sampled_from(NAMES),
        x=st.sampled_from([0.1, 0.9, math.nan, math.inf, None]),
        with_context=st.booleans(),
        audit=st.integers(0, 5),
        trusted=st.booleans(),
        available=st.sampled_from([None, None, None, ["a"], ["all", "a"], ["b", "a"], ["all"]]),
        insist=st.booleans(),
    )
    def ask(
        self, name: str | None, x: Any, with_context: bool, audit: int, trusted: bool, available: list[str] | None,
        insist: bool,
    ) -> None:  # fmt: skip
        looks, book = self.selector.contextual, self.books[name]
        if looks and trusted:
            trust_of(self.selector).given = 1
        given: dict[str, Any] = {"context": {"x": x, "task": "ab"[audit % 2]}} if looks and with_context else {}
        given |= {"group": name, "audit": audit > 0, "available": available, "insist": insist}
        without = available is not None and "all" not in available
        if without and not insist and book.must_be_safe():
            before = counted(self.selector)
            with pytest.raises(suffice.SafeUnavailable, match="insist"):
                self.selector.ask(**given)
            assert counted(self.selector) == before
            return
        decision = self.selector.ask(**given)
        assert available is None or decision.is_skip or decision.option in available
        self.order[name] = None
        if not audit:
            self.counts[name]["unaudited"] += 1
            return
        insisted = without and book.must_be_safe()
        book.ask(decision.id, KINDS[decision.role], insisted)
        self.counts[name]["asked"] += 1
        self.counts[name]["insisted"] += insisted
        if decision.is_skip:
            self.counts[name]["skipped"] += 1
            self.skips.append((name, decision))
        else:
            self.open.append((name, decision, Clock.now))

    @precondition(lambda self: self.open)
    @rule(place=st.integers(0, 10**6), success=st.sampled_from([0.0, 1.0, 0.5]), bare=st.booleans())
    def tell(self, place: int, success: float, bare: bool) -> None:
        name, decision, _ = self.open.pop(place % len(self.open))
        success = 1.0 if decision.is_safe else success
        self.selector.tell(decision.id if bare else decision, success)
        self.books[name].tell(decision.id, Fraction(success))
        self.spent[name] += self.menu.known_cost(decision.arm) or 0.0
        with pytest.raises(suffice.AlreadyTold):
            self.selector.tell(decision, success)

    @precondition(lambda self: self.skips)
    @rule(place=st.integers(0, 10**6), success=st.sampled_from([0.0, 0.0, 0.5, 1.0]), bare=st.booleans())
    def tell_a_skip(self, place: int, success: float, bare: bool) -> None:
        """It was settled when it was asked: a failure says nothing new, and a success amends it."""
        at = place % len(self.skips)
        name, decision = self.skips[at]
        before = counted(self.selector)
        self.selector.tell(decision.id if bare else decision, success)
        if not success:
            assert counted(self.selector) == before
            return
        del self.skips[at]
        self.books[name].tell(decision.id, Fraction(success))

    @precondition(lambda self: self.open)
    @rule(place=st.integers(0, 10**6))
    def expire(self, place: int) -> None:
        name, decision, _ = self.open.pop(place % len(self.open))
        self.selector.expire(decision)
        self._expired(name, decision)

    def _expired(self, name: str | None, decision: Decision) -> None:
        self.books[name].expire(decision.id)
        self.gone.append((name, decision))
        self.counts[name]["expired"] += not decision.is_safe
        self.spent[name] += self.menu.known_cost(decision.arm) or 0.0

    @precondition(lambda self: self.open)
    @rule(place=st.integers(0, 10**6), bare=st.booleans())
    def cancel(self, place: int, bare: bool) -> None:
        name, decision, _ = self.open.pop(place % len(self.open))
        self.selector.cancel(decision.id if bare else decision)
        self.books[name].cancel(decision.id)
        self.counts[name]["cancelled"] += 1
        with pytest.raises(suffice.AlreadyTold):
            self.selector.tell(decision, True)

    @precondition(lambda self: self.gone)
    @rule(place=st.integers(0, 10**6), success=st.booleans())
    def amend(self, place: int, success: bool) -> None:
        name, decision = self.gone.pop(place % len(self.gone))
        success = success or decision.is_safe
        self.selector.tell(decision, success)
        self.books[name].tell(decision.id, Fraction(success))

    @rule(seconds=st.integers(1, 15))
    def wait(self, seconds: int) -> None:
        Clock.now += seconds
        self.selector.certificate()  # a read expires what is overdue, in all groups
        since = -math.inf if self.patience is None else Clock.now - self.patience
        for name, decision, asked in self.open:
            if asked < since:
                self._expired(name, decision)
        self.open = [entry for entry in self.open if entry[2] >= since]

    @rule(how=st.sampled_from(list(COPIES)))
    def copied(self, how: str) -> None:
        before = self.selector.state()
        self.selector = COPIES[how](self.selector)
        after = self.selector.state()
        assert after == before or self.selector.model in MODELS  # which says nothing of what it has learned

    @invariant()
    def recount(self) -> None:
        if not hasattr(self, "books"):
            return
        selector, books = self.selector, self.books
        assert list(selector.groups) == [name for name in self.order if name is not None]
        for name in selector.groups:
            self._check(selector.certificate(group=name), name)
            assert selector.groups[name].outcomes == books[name].outcomes
            assert selector.groups[name].pending == books[name].pending
            assert selector.groups[name].cost == pytest.approx(self.spent[name])
        total = selector.certificate()
        assert (total.consistent, total.violations) == (True, 0)
        assert total.status == worst(self._status(name) for name in self.order or [None])
        assert total.outcomes == selector.outcomes == sum(book.outcomes for book in books.values())
        assert total.successes == selector.successes == float(sum(book.successes for book in books.values()))
        assert total.debt == pytest.approx(selector.debt) == pytest.approx(sum(float(b.debt) for b in books.values()))
        assert total.pending == selector.pending == sum(book.pending for book in books.values())
        assert total.expired == sum(counts["expired"] for counts in self.counts.values())
        assert selector.cost == pytest.approx(sum(self.spent.values()))
        if not selector.groups:
            self._check(total, None)

    def _owed(self, name: str | None) -> Fraction:
        return self.books[name].owed_at_most(self.patience is not None)

    def _status(self, name: str | None) -> str:
        """The safe option never fails here, so nothing is worse than unproven."""
        owed = self._owed(name)
        return "unproven" if owed > self.books[name].debt_at_most() else "within" if owed > 0 else "kept"

    def _check(self, certificate: Certificate, name: str | None) -> None:
        book, counts = self.books[name], self.counts[name]
        book.recount()
        assert (certificate.consistent, certificate.violations) == (True, 0)
        assert certificate.status == self._status(name)
        assert (certificate.outcomes, certificate.successes) == (book.outcomes, float(book.successes))
        assert certificate.debt == pytest.approx(float(book.debt), abs=1e-9)
        assert round(certificate.debt_at_most * 10**9) == book.debt_at_most() * 10**9  # to the last billionth
        assert round(certificate.owed_at_most * 10**9) == self._owed(name) * 10**9
        if self.menu.has_skip:
            assert certificate.ahead_at_most == pytest.approx(float(book.ahead_at_most()))
        assert certificate.pending == book.pending
        assert (certificate.amended, certificate.safe_lost) == (book.late_successes, book.lost)
        assert (certificate.skip_successes, certificate.uncovered) == (float(book.skip_successes), float(book.beyond))
        assert certificate.assumption_violated == (book.skip_successes > 0)
        for what in ("asked", "skipped", "cancelled", "insisted", "unaudited", "expired"):
            assert getattr(certificate, what) == counts[what], what


Machine.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestMachine = Machine.TestCase
