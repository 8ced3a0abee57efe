"""Bad input: every argument of every public call, wrong in every way. One clear sentence, and the state as it was."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np
import pytest

import suffice
from suffice import InvalidArgument, Learning, Menu, Rule, Selector, ThresholdSelector, paper, simulate
from suffice.lab.rivals import AlwaysSafe, Projected
from suffice.lab.streams import LabelRanks
from tests.support.refusals import refused as refused_within

KNOWN = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)
TOLD = Menu(["a", "b"], safe="all", skip="none", safe_cost=1.0)
NOT_NUMBERS: list[Any] = ["0.9", None, [], {}, object(), b"1", 1j, np.array([0.5])]
NOT_FINITE = [math.nan, math.inf, -math.inf, Decimal("NaN"), np.float64("nan"), np.float32("inf")]
refused = partial(refused_within, shorter_than=250)


@pytest.mark.parametrize("bad", [*NOT_NUMBERS, True])
def test_arguments_that_must_be_numbers(bad: Any) -> None:
    refused(lambda: Selector(KNOWN, bad), "target must be a number, got ")
    refused(lambda: Selector(KNOWN, 0.9, max_debt=bad), "max_debt must be a number, got ")
    for name in ("max_surplus", "expire_after"):
        if bad is not None:
            refused(partial(Selector, KNOWN, 0.9, **{name: bad}), f"{name} must be a number, got ")
    for name in ("max_surplus", "step", "cap"):
        if bad is not None:
            refused(partial(Rule, **{name: bad}), f"{name} must be a number, got ")
    refused(lambda: ThresholdSelector(bad, 1, 0.9), "low must be a number, got ")
    refused(lambda: ThresholdSelector(0, bad, 0.9), "high must be a number, got ")


@pytest.mark.parametrize("bad", NOT_FINITE)
def test_arguments_that_must_be_finite(bad: Any) -> None:
    refused(lambda: Selector(KNOWN, bad), "target must be finite, got ")
    for name in ("max_debt", "max_surplus", "expire_after"):
        refused(partial(Selector, KNOWN, 0.9, **{name: bad}), f"{name} must be finite, got ")
    for name in ("max_surplus", "step", "cap"):
        refused(partial(Rule, **{name: bad}), f"{name} must be finite, got ")
    refused(lambda: Selector(KNOWN, 0.9, rule=Rule(start=bad, step=1)), "start must be finite, got ")
    refused(lambda: ThresholdSelector(bad, 1, 0.9), "low must be finite, got ")
    refused(lambda: ThresholdSelector(0, 1, 0.9, rule=Rule(start=bad, step=1)), "start must be finite, got ")


@pytest.mark.parametrize("bad", [0, 1, -0.1, 1.1, 0.0, 1.0, Fraction(3, 2), 10**99])
def test_targets_out_of_range(bad: Any) -> None:
    message = "target must lie strictly between 0 and 1, got "
    refused(lambda: Selector(KNOWN, bad), message)
    refused(lambda: paper(KNOWN, bad, 100), message)
    refused(lambda: ThresholdSelector(0, 1, bad), message)
    refused(lambda: Projected(KNOWN, bad, 100), message)


@pytest.mark.parametrize("bad", [0, -1, Fraction(-1, 2), Fraction(1, 10**400)])
def test_numbers_that_must_be_positive(bad: Any) -> None:
    for name in ("max_surplus", "expire_after"):
        refused(partial(Selector, KNOWN, 0.9, **{name: bad}), f"{name} must be above 0 (at least 1e-100), got ")
    for name in ("max_surplus", "step", "cap"):
        refused(partial(Rule, **{name: bad}), f"{name} must be above 0 (at least 1e-100), got ")


@pytest.mark.parametrize("bad", [-1, Fraction(-1, 2), -1e-9, 10**9])
def test_debts_that_cannot_be_allowed(bad: Any) -> None:
    refused(lambda: Selector(KNOWN, 0.9, max_debt=bad), "max_debt must lie between 0 and ")
    refused(lambda: ThresholdSelector(0, 1, 0.9, max_debt=bad), "max_debt must lie between 0 and ")


@pytest.mark.parametrize("bad", [0, -5, 1.5, 1e300, "10", math.nan, [10], True, Decimal(10)])
def test_counts(bad: Any) -> None:
    refused(lambda: Rule(horizon=bad), "horizon must be ")
    refused(lambda: paper(KNOWN, 0.9, bad), "horizon must be ")
    if bad != 0 or bad is True:
        refused(lambda: Selector(KNOWN, 0.9, in_flight=bad), "in_flight must be ")
    refused(lambda: simulate(Selector(KNOWN, 0.9), LabelRanks.cifar100(), bad), "horizon must be ")
    if bad != 0 or bad is True:
        refused(lambda: Selector(KNOWN, 0.9).ask_many(bad), "count must be ")


def test_other_arguments_of_a_selector() -> None:
    refused(lambda: Selector("menu", 0.9), "menu must be a Menu, got 'menu'")  # type: ignore[arg-type]
    refused(lambda: paper(None, 0.9, 10), "menu must be a Menu, got None")  # type: ignore[arg-type]
    refused(lambda: AlwaysSafe([], 0.9), "menu must be a Menu, got []")  # type: ignore[arg-type]
    refused(lambda: Rule(max_surplus=1, step=1), "give max_surplus or step, not both")
    refused(lambda: Rule(start="cheap"), 'step must be given, or the horizon, where the start is not "safe" but ')
    refused(
        lambda: Selector(KNOWN, 0.9, max_debt=1, rule=Rule()), "max_debt, in_flight and max_surplus must be left out"
    )
    starts: list[tuple[Any, str]] = [
        ("fast", 'start must be "safe", "cheap" or a number from 0 to the cap 10'),
        (11, "start must lie between 0 and the cap 10, got 11"), (-1, "start must lie between 0 and the cap 10, got -1"),
    ]  # fmt: skip
    for start, message in starts:
        refused(lambda: Selector(KNOWN, 0.9, rule=Rule(start=start, step=1)), message)  # noqa: B023
    refused(lambda: Selector(KNOWN, 0.9, on_event=3), "on_event must be a function")  # type: ignore[arg-type]
    refused(
        lambda: Selector(KNOWN, 0.9, learning=Learning(chooser="best")),
        'chooser must be one of "auto", "optimist", "thompson" or an object',
    )
    refused(lambda: Selector(KNOWN, 0.9, learning=Learning(chooser=object())), "chooser must be one of")  # type: ignore[arg-type]
    refused(lambda: Selector(KNOWN, 0.9, learning=Learning(memory="short")), 'memory must be "auto", "full", "reset"')
    refused(lambda: Selector(KNOWN, 0.9, clock=3), "clock must be a function")  # type: ignore[arg-type]
    weak = Menu(["a"], safe="all", safe_success=0.8, safe_cost=1.0)
    refused(lambda: Selector(weak, 0.9), "safe_success must be above the target 0.9")
    refused(lambda: ThresholdSelector(1, 1, 0.9), "low must be below high")
    high = Rule(start=2, step=0.1)
    refused(lambda: ThresholdSelector(0, 1, 0.9, rule=high), "start must lie between low and high, got 2")
    refused(lambda: ThresholdSelector(0, 1, 0.9, low_fails=1), "low_fails must be True or False")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["known", "told", "threshold"])
class TestTheStateStaysAsItWas:
    """Compare state() before and after every refused call."""

    def selector(self, kind: str) -> Selector | ThresholdSelector:
        selector: Selector | ThresholdSelector
        if kind == "threshold":
            selector = ThresholdSelector(0, 10, 0.7)
        else:
            selector = Selector(KNOWN if kind == "known" else TOLD, 0.7)
        for decision in selector.ask_many(5)[:3]:
            selector.tell(decision, True, 0.1)
        selector.expire(3)
        return selector

    def unchanged(self, kind: str, call: Callable[[Any], object], error: type[Exception], message: str) -> None:
        selector = self.selector(kind)
        before = selector.state()
        with pytest.raises(error) as raised:
            call(selector)
        assert str(raised.value).startswith(message), str(raised.value)
        assert isinstance(raised.value, suffice.SufficeError)
        assert selector.state() == before

    @pytest.mark.parametrize("bad", [*NOT_NUMBERS, math.nan, math.inf, -0.1, 1.0001, 2, Decimal("NaN")])
    def test_success(self, kind: str, bad: Any) -> None:
        self.unchanged(kind, lambda s: s.tell(4, bad, 0.1), InvalidArgument, "success must ")
        self.unchanged(kind, lambda s: s.tell_many([(4, bad, 0.1)]), InvalidArgument, "success must ")

    @pytest.mark.parametrize("bad", [*[x for x in NOT_NUMBERS if x is not None], *NOT_FINITE, -1, True])
    def test_cost(self, kind: str, bad: Any) -> None:
        self.unchanged(kind, lambda s: s.tell(4, True, bad), InvalidArgument, "cost must be ")

    def test_decisions(self, kind: str) -> None:
        self.unchanged(kind, lambda s: s.tell(0, True, 0.1), suffice.AlreadyTold, "decision 0 was settled before")
        self.unchanged(kind, lambda s: s.tell(99, True, 0.1), suffice.UnknownDecision, "decision 99 was never asked")
        self.unchanged(kind, lambda s: s.tell(-2, True, 0.1), suffice.UnknownDecision, "decision -2 was never asked")
        self.unchanged(kind, lambda s: s.expire(0), suffice.AlreadyTold, "decision 0 was settled before")
        self.unchanged(kind, lambda s: s.expire(3), suffice.AlreadyTold, "decision 3 has expired before")
        self.unchanged(kind, lambda s: s.expire(99), suffice.UnknownDecision, "decision 99 was never asked")
        foreign = Selector(KNOWN, 0.7).ask()
        message = "decision 0 was asked of another selector"
        self.unchanged(kind, lambda s: s.tell(foreign, True, 0.1), suffice.ForeignDecision, message)
        for bad in ("4", None, 4.0, [4], True):
            message = "decision must be a Decision or its id, got "
            self.unchanged(kind, methodcaller("tell", bad, True, 0.1), InvalidArgument, message)

    def test_lists(self, kind: str) -> None:
        twice = [(4, True, 0.1), (4, True, 0.1)]
        self.unchanged(kind, lambda s: s.tell_many(twice), suffice.AlreadyTold, "decision 4 appears twice")
        mixed = [(4, True, 0.1), (0, True, 0.1)]
        self.unchanged(kind, lambda s: s.tell_many(mixed), suffice.AlreadyTold, "decision 0 was settled before")
        for bad in (4, (4,), "ab"):
            message = "outcomes must hold (decision, success)"
            self.unchanged(kind, methodcaller("tell_many", [bad]), InvalidArgument, message)
        self.unchanged(kind, lambda s: s.tell_many(5), InvalidArgument, "outcomes must be a sequence")
        self.unchanged(kind, lambda s: s.ask_many(-1), InvalidArgument, "count must be at least 0, got -1")

    def test_ask(self, kind: str) -> None:
        for bad in ("ab", 3, ["z"]):
            message = (
                "available must "
                if bad != ["z"] or kind == "threshold"
                else "option must be one of the menu's, got 'z'"
            )
            self.unchanged(kind, methodcaller("ask", available=bad), InvalidArgument, message)
        for bad_flag in (1, None, "yes"):
            message = "audit must be True or False"
            self.unchanged(kind, methodcaller("ask", audit=bad_flag), InvalidArgument, message)


def test_a_missing_cost_keeps_the_decision_pending() -> None:
    selector = Selector(TOLD, 0.5)
    while (decision := selector.ask()).option in ("all", "none"):
        selector.tell(decision, decision.option == "all")
    before = selector.state()
    with pytest.raises(InvalidArgument, match="cost must be told for option 'a': the menu does not know"):
        selector.tell(decision, True)
    assert selector.state() == before
    selector.tell(decision, True, 0.2)


def test_streams_and_simulate() -> None:
    stream = LabelRanks.cifar100()
    used = Selector(stream.menu, 0.9)
    used.ask()
    refused(lambda: simulate(used, stream, 10), "method must be a fresh one")
    refused(lambda: simulate(Selector(KNOWN, 0.9), stream, 10), "method must have the stream's menu")
    refused(lambda: LabelRanks(KNOWN), "menu must be a top_k menu of 100 classes")
    refused(lambda: LabelRanks(stream.menu, [-1] * 100), "histogram must hold one count of at least 0 per rank")
    refused(lambda: LabelRanks(stream.menu, least=101), "least and most must leave a rank that occurs")
    refused(lambda: Projected(stream.menu, 0.9, 100, step=0), "step must be above 0")


HUGE: list[Any] = [10**400, 10**5000, Fraction(10**400), Decimal("1e999999999"), -(10**400)]


@pytest.mark.parametrize("bad", HUGE, ids=["int", "unprintable int", "fraction", "decimal", "negative"])
def test_astronomical_numbers_get_a_sentence_too(bad: Any) -> None:
    for name in ("max_surplus", "max_debt", "expire_after"):
        refused(partial(Selector, KNOWN, 0.9, **{name: bad}), f"{name} must ")
    for name in ("max_surplus", "step", "cap"):
        refused(partial(Rule, **{name: bad}), f"{name} must be ")
    refused(lambda: Selector(KNOWN, 0.9, rule=Rule(start=bad, step=1)), "start must ")
    refused(lambda: Selector(KNOWN, bad), "target must be ")
    refused(lambda: ThresholdSelector(bad, 1, 0.9), "low must be ")
    refused(lambda: Menu(["a"], safe="all", safe_cost=bad), "safe_cost must be ")
    refused(lambda: Menu({"a": bad}, safe="all", safe_cost=1.0), "options must ")
    selector = Selector(TOLD, 0.9)
    decision = selector.ask()
    before = selector.state()
    refused(lambda: selector.tell(decision, bad), "success must be ")
    refused(lambda: selector.tell(decision, True, bad), "cost must be ")
    if isinstance(bad, int):
        refused(lambda: Rule(horizon=bad), "horizon must be ")
        refused(lambda: Selector(KNOWN, 0.9, in_flight=bad), "in_flight must be ")
        refused(lambda: Menu.thresholds(0, 1, horizon=bad, skip=True, safe_cost=1.0), "horizon must be ")
        with pytest.raises(suffice.UnknownDecision, match="was never asked of this selector"):
            selector.tell(bad, True)
    refused(lambda: selector.tell(np.array([1, 2]), True), "decision must be a Decision or its id")  # type: ignore[arg-type]
    refused(lambda: selector.tell(decision, Decimal("sNaN")), "success must be finite")  # type: ignore[arg-type]
    assert selector.state() == before


@pytest.mark.parametrize("bad", [math.nan, None, "noon", math.inf])
def test_a_clock_that_tells_no_time(bad: Any) -> None:
    now: list[Any] = [0.0]
    selector = Selector(KNOWN, 0.9, expire_after=10, clock=lambda: now[0])
    selector.ask()
    before = selector.state()
    now[0] = bad
    refused(selector.ask, "clock must return seconds, got ")
    refused(selector.certificate, "clock must return seconds, got ")
    assert selector.state() == before


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("identity", ["0", " 0 ", 0.0, 0.9, True])
def test_a_decision_with_a_forged_id_is_refused(identity: Any, compiled: bool) -> None:
    selector = Selector(Menu(["a"], safe="S", skip="K", costs=[0.1], safe_cost=1.0), 0.9)
    if compiled and not selector.compile():
        pytest.skip("needs the extra fast")
    decision = selector.ask()
    with pytest.raises((suffice.ForeignDecision, InvalidArgument)):
        selector.tell(decision._replace(id=identity), True)
    assert (selector.pending, selector.outcomes) == (1, 0)
