"""Groups: each keeps a promise of its own, whatever the others do; what is learned they share."""

import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice import InvalidArgument, Learning, Menu, SafeUnavailable, Selector, StateError, paper
from suffice.promise.group_certificate import GroupCertificate
from tests.support.looking import trust_of, unfair
from tests.support.own_models import Own

pytestmark = pytest.mark.usefixtures("warm")

WITH = Menu({"a": 0.1, "b": 0.4}, safe="all", skip="none", safe_cost=1.0)
WITHOUT = Menu({"a": 0.1, "b": 0.4}, safe="all", safe_cost=1.0)
NAMES = [None, "Berlin", "Łódź", "東京"]


# --- many groups


def zipf(groups: int, steps: int, seed: int) -> list[str]:
    """Groups of very different sizes: the k-th is 1/k times as likely as the first."""
    weights = 1.0 / np.arange(1, groups + 1)
    drawn = np.random.default_rng(seed).choice(groups, size=steps, p=weights / weights.sum())
    return [f"group {one}" for one in drawn.tolist()]


@pytest.mark.parametrize("model", [None, "auto"])
def test_a_thousand_groups_each_keep_their_promise(model: str | None) -> None:
    """Debt at most 5 after every outcome of every group, of 1,000 with a few outcomes to hundreds."""
    menu = Menu({"a": 0.1, "b": 0.3, "c": 0.5}, safe="all", skip="none", safe_cost=1.0)
    selector, rng = Selector(menu, 0.8, model=model), random.Random(0)
    told: Counter[str] = Counter()
    successes: Counter[str] = Counter()
    names = [f"group {one}" for one in range(1000)] + zipf(1000, 5000, 1)
    rng.shuffle(names)
    for name in names:
        x = rng.random()
        decision = selector.ask(group=name, context={"x": x, "task": "ab"[x < 0.3]} if model else None)
        success = {1: 1, -1: 0}.get(decision.role, rng.random() < 0.4 + 0.6 * x * decision.arm / 3)
        selector.tell(decision, success)
        told[name] += 1
        successes[name] += success
        assert 0.8 * told[name] - successes[name] <= 5 + 1e-9
    for name, count in told.items():
        certificate = selector.certificate(group=name)
        assert (certificate.outcomes, certificate.successes) == (count, successes[name])
        assert certificate.status == ("within" if certificate.debt > 0 else "kept")
        assert certificate.debt_at_most == 5
    total = selector.certificate()
    assert (total.outcomes, total.successes) == (6000, sum(successes.values()))
    assert total.debt == pytest.approx(0.8 * 6000 - total.successes)
    assert total.debt_at_most == 5 * 1000
    assert total.window(500) <= 0.8 * 500
    assert len(selector.groups) == 1000
    assert max(told.values()) > 400
    worst = max(selector.certificate(group=name).debt for name in told)
    assert total.status == "within"
    assert str(total).startswith(f"At most {worst:.4g} behind in any of 1,000 groups: in all ")
    assert sum(row.plays for row in selector.options()) == 6000
    if model:
        assert selector.context_report().followed > 0


def test_groups_learn_from_each_other() -> None:
    """A new group knows what the options do, and what a success is worth; alone it would have to find out."""
    menu = Menu({f"option {one}": 0.1 + one / 100 for one in range(30)}, safe="all", skip="none", safe_cost=1.0)

    def cost(selector: Selector, group: str | None, steps: int) -> float:
        rng, before = random.Random(1), selector.cost
        for _ in range(steps):
            decision = selector.ask(group=group)
            selector.tell(decision, decision.role > 0 or (decision.role == 0 and rng.random() < decision.arm / 31))
        return selector.cost - before

    shared = Selector(menu, 0.5)
    cost(shared, "old", 3000)
    assert cost(shared, "new", 300) < 0.8 * cost(Selector(menu, 0.5), None, 300)


def test_a_price_of_one_is_not_charged_to_another() -> None:
    """What the guard charges for an outcome is the price that its own group paid."""
    selector = Selector(WITH, 0.7, model="auto")
    for step in range(60):
        decision = selector.ask(context={"x": step / 60})
        selector.tell(decision, decision.role > 0)
    own = selector.engine.pricing(0).now
    assert own == pytest.approx(min(selector.price, 1.0 / 0.3))
    for step in range(40):
        decision = selector.ask(context={"x": step / 60}, group="other")
        selector.tell(decision, True)
        assert selector.engine.pricing(0).now == own
    group = selector.groups["other"]
    assert selector.engine.pricing(1).now == pytest.approx(max(0.0, group.price)) != own


# --- names and ids


def test_names() -> None:
    selector = Selector(WITH, 0.7)
    bad: list[Any] = ["", "x" * 201, 7, b"bytes", ["list"], {}, True, math.nan]
    for wrong in bad:
        for call in (selector.ask, lambda group: selector.ask_many(2, group=group)):
            with pytest.raises(InvalidArgument, match="group must be a name of 1 to 200 characters, got"):
                call(group=wrong)
        with pytest.raises(InvalidArgument, match="group must be one that has been asked for, got"):
            selector.certificate(group=wrong)
    assert dict(selector.groups) == {}
    for name in ("x" * 200, " ", "a/b\n\0", "\ud800", "😀"):
        selector.tell(selector.ask(group=name), True)
    assert Selector.from_state(selector.state()).state() == selector.state()
    with pytest.raises(TypeError):
        selector.groups["new"] = selector.groups[" "]  # type: ignore[index]
    with pytest.raises(InvalidArgument, match="group must be left out where the paper's first round is played"):
        paper(WITH, 0.7, 100).ask(group="a")


def test_a_group_is_a_view() -> None:
    """It shows the group as it is now, and cannot change it."""
    selector = Selector(WITH, 0.7)
    decision = selector.ask(group="a")
    group = selector.groups["a"]
    assert repr(group) == "<GroupView 'a' target=0.7 outcomes=0 successes=0 pending=1>"
    assert (group.name, group.rate, group.mean_cost) == ("a", None, None)
    selector.tell(decision, 0.5)
    assert repr(group) == "<GroupView 'a' target=0.7 outcomes=1 successes=0.5 pending=0>"
    assert (group.outcomes, group.rate, group.cost, group.mean_cost) == (1, 0.5, 0.1, 0.1)
    assert group.debt == pytest.approx(0.2)
    assert group.certificate() == selector.certificate(group="a")
    assert not [name for name in ("ask", "ask_many", "tell", "tell_many", "expire", "save") if hasattr(group, name)]
    with pytest.raises(AttributeError):
        group.outcomes = 5  # type: ignore[misc]


# --- limits and lost outcomes, per group


def test_one_broken_group_is_named() -> None:
    selector = Selector(WITH, 0.7)
    for _ in range(30):
        selector.tell(selector.ask(group="good"), True)
        selector.tell(selector.ask(group="bad"), False)  # the safe option fails there
    total = selector.certificate()
    assert not total.holds
    assert total.consistent
    assert (total.status, selector.certificate(group="bad").status) == ("infeasible", "infeasible")
    assert str(total).startswith(
        "OUT OF REACH in 1 of 2 groups ('bad'); in all 50% of 60 outcomes succeeded (target 70%). Ask for the certificate of "
        "such a group."
    )
    assert f"The group where it is worst is 'bad'. {selector.certificate(group='bad').advice()}" in str(total)
    assert selector.certificate(group="good").status == "kept"
    assert isinstance(total, GroupCertificate)
    assert total.groups["good"] == selector.certificate(group="good")


def test_a_success_of_the_skip_is_no_failure_of_the_safe_option() -> None:
    menu = Menu({"a": 0.2}, safe="all", skip="none", safe_success=0.9, safe_cost=1.0)
    selector = Selector(menu, 0.7, max_debt=0)
    for place in range(100):
        decision = selector.ask(group="good")
        selector.tell(decision, place % 50 > 0 if decision.is_safe else True)
        selector.tell(selector.ask(group="odd"), True)  # also where it is the skip
    total = selector.certificate()
    assert isinstance(total, GroupCertificate)
    odd = total.groups["odd"]
    assert (odd.assumption_violated, odd.safe_fails_too_often) == (True, False)
    assert odd.skip_successes == odd.skipped > 0
    assert not total.groups["good"].safe_fails_too_often
    assert total.groups["odd"].safe_failures == 0 < total.safe_failures
    assert "That does not endanger the target in any group." in str(total)


def test_a_group_without_outcomes_is_named() -> None:
    """What others have banked does not make up for outcomes that never came."""
    selector = Selector(WITHOUT, 0.7)
    for _ in range(50):
        selector.tell(selector.ask(group="good"), True)
    assert str(selector.certificate()).startswith("Kept: 100% of 50 outcomes succeeded (target 70%).")
    while selector.certificate().status != "unproven":
        selector.expire(selector.ask(group="silent"))
    silent, total = selector.certificate(group="silent"), selector.certificate()
    assert (silent.expired, silent.safe_lost) == (7, 1)
    assert silent.debt == pytest.approx(4.9)  # one more failure would owe 5.6, so the last one was a safe play
    assert total.debt < 0
    assert str(total).startswith(
        "UNPROVEN in 1 of 2 groups ('silent'); in all 87.7% of 57 outcomes succeeded (target 70%). Ask for"
    )
    assert "1 play of the safe option has no outcome and counts as neither: report it" in str(silent)


def test_decisions_without_a_group_are_one_more() -> None:
    selector = Selector(WITH, 0.7)
    selector.tell(selector.ask(group="a"), True)
    total = selector.certificate()
    assert isinstance(total, GroupCertificate)
    assert list(total.groups) == ["a"]
    selector.tell(selector.ask(), True)
    selector.tell(selector.ask(), False)
    total = selector.certificate()
    assert isinstance(total, GroupCertificate)
    assert list(total.groups) == ["", "a"]
    assert (total.outcomes, total.groups[""].outcomes) == (3, 2)
    assert "furthest behind is that of decisions without a group, now 0.4 behind" in str(total)


# --- contexts are each decision's own


def test_a_play_at_a_limit_does_not_count_as_the_models_choice() -> None:
    selector = Selector(WITH, 0.5, model=Own(), learning=Learning(guard=None))
    rng, played = random.Random(0), 0
    for step in range(300):
        trust_of(selector).given = 1
        decision = selector.ask(context={"x": step}, group="a")
        assert decision.role == 0 or not unfair(selector)
        played += bool(unfair(selector))
        selector.tell(decision, decision.role > 0 or (decision.role == 0 and rng.random() < 0.5))
        assert not unfair(selector)
    assert played > 20


# --- saving, copying, threads, forks


def grown(model: Any) -> Selector:
    """Three groups and none, with decisions told, out and expired."""
    selector, rng = Selector(WITH, 0.6, model=model), random.Random(0)
    for step in range(400):
        context = {"x": rng.random(), "task": rng.choice("abc")} if model and step % 9 else None
        decision = selector.ask(group=NAMES[step % 4], context=context)
        if step % 10 < 8:
            selector.tell(decision, decision.role > 0 or (decision.role == 0 and rng.random() < 0.7))
        elif step % 10 == 8:
            selector.expire(decision)
    return selector


def test_a_file_of_groups(tmp_path: Path) -> None:
    selector = grown("auto")
    for _ in range(3):  # again and again: nothing is counted twice
        selector.save(tmp_path / "state.json")
        again = Selector.load(tmp_path / "state.json")
        assert again.state() == selector.state()
        assert again.cost == pytest.approx(selector.cost)
        selector = again
    state = selector.state()
    state["accounts"][2]["name"] = state["accounts"][1]["name"]
    with pytest.raises(StateError, match="a name of its own"):
        Selector.from_state(state)
    for key, value in (("name", ""), ("name", 3), ("name", None), ("spent", -1), ("hints", [1]), ("counts", {})):
        state = selector.state()
        state["accounts"][1][key] = value
        with pytest.raises(StateError):
            Selector.from_state(state)
        del state["accounts"][1][key]
        with pytest.raises(StateError):
            Selector.from_state(state)
    state = selector.state()
    state["outstanding"][0][1] = (state["outstanding"][0][1] + 1) % len(state["accounts"])  # in another group
    with pytest.raises(StateError, match="the counts contradict each other"):
        Selector.from_state(state)


MANY = {"context": "contexts"}  # what `ask_many` calls an argument of `ask`


@pytest.mark.parametrize(
    "refused",
    [{"available": ["c"]}, {"audit": 1}, {"context": {"a": 1.0}}, {"group": ""}],
    ids=lambda given: next(iter(given)),
)
def test_a_refused_ask_makes_no_group(refused: dict[str, Any]) -> None:
    selector = Selector(WITH, 0.9)
    with pytest.raises(InvalidArgument):
        selector.ask(**{"group": "x", **refused})
    with pytest.raises(InvalidArgument):
        selector.ask_many(2, **{"group": "x", **{MANY.get(name, name): value for name, value in refused.items()}})
    modelled = Selector(WITH, 0.9, model="auto")
    with pytest.raises(InvalidArgument):
        modelled.ask(group="x", context={"a": object()})
    assert not selector.groups
    assert not modelled.groups


@pytest.mark.parametrize("model", [None, "auto"])
@pytest.mark.parametrize("needed", ["by a limit", "in an emergency"])
def test_an_ask_that_is_refused_for_want_of_the_safe_option_makes_no_group(needed: str, model: str | None) -> None:
    selector = Selector(WITH, 0.9, max_debt=0 if needed == "by a limit" else 5, model=model)
    selector.play_safe(needed == "in an emergency")
    before = selector.state()
    for call in (selector.ask, lambda **given: selector.ask_many(2, **given)):
        with pytest.raises(SafeUnavailable, match="list it in available, or set insist"):
            call(group="x", available=["a"])
        with pytest.raises(SafeUnavailable, match="nothing is available"):
            call(group="x", available=[], insist=True)
    assert selector.state() == before
    decision = selector.ask(group="x", available=["a"], insist=True)
    assert (decision.option, list(selector.groups)) == ("a", ["x"])


def test_a_clock_that_raises_makes_no_group() -> None:
    def clock() -> float:
        raise RuntimeError("no time")

    selector = Selector(WITH, 0.9, expire_after=5, clock=clock)
    with pytest.raises(RuntimeError, match="no time"):
        selector.ask(group="x")
    assert not selector.groups
