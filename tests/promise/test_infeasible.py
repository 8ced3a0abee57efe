"""The verdict "infeasible": no selection leads it astray, and it is found where it is true."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from suffice import Menu, Selector
from suffice.kernels.compiler import available, compiled
from suffice.kernels.rows import from_rows, to_rows
from suffice.promise.account import asked
from suffice.promise.certificate import Certificate, evidence_against
from suffice.promise.record import Account
from suffice.promise.rules import Promise
from tests.support.spells import ONE, play_spells

LOOK = 50  # decisions between two looks at the certificate


class Verdict(NamedTuple):
    """What the certificates of a run said."""

    plays: int  # of the safe option at the first alarm; 0 if there was none
    mistaken: bool  # at any alarm, the safe option would have failed on at most 1 − target of all asked so far
    at_end: bool


def watched(target: float, seed: int, total: int, *world: Any) -> Verdict:
    """Play a world, and look at the certificate all the time."""
    promise, (_, _, safe_hard, safe_easy, *_) = Promise.make(target), world
    accounts, state = to_rows(Account, [promise.open()]), np.array([seed * 7919 + 1, 0, 0], dtype=np.int64)
    plays, mistaken, alarm = 0, False, False
    for done in range(LOOK, total + 1, LOOK):
        compiled(play_spells)(accounts, state, LOOK, *world)
        account = from_rows(Account, accounts)[0]
        alarm = evidence_against(account) >= math.log(100)
        if alarm:
            hard = int(state[2])
            expected = hard * (1.0 - safe_hard) + (done - hard) * (1.0 - safe_easy)
            plays, mistaken = plays or account.safe_plays, mistaken or expected <= (1.0 - target) * done
    return Verdict(plays, mistaken, alarm)


def hidden_worlds(spells: list[float]) -> list[Verdict]:
    """A thousand worlds whose safe option is good enough on average, and bad where it is played."""
    verdicts, rng = [], np.random.default_rng(5)
    for seed in range(1000):
        target = float(rng.choice([0.8, 0.9, 0.95]))
        allowed, hard = 1.0 - target, float(rng.uniform(0.1, 0.4))
        failing = allowed * float(rng.uniform(0.5, 0.9))  # of the safe option, on average
        easy = failing * float(rng.uniform(0.0, 0.5))
        world = (
            hard, float(rng.choice(spells)), 1.0 - min(1.0, (failing - (1.0 - hard) * easy) / hard), 1.0 - easy,
            float(rng.uniform(0.2, 0.7)), 1.0 - allowed * float(rng.uniform(0.2, 1.5)), bool(seed % 4),
        )  # fmt: skip
        verdicts.append(watched(target, seed, 6_000, *world))
    return verdicts


@pytest.mark.skipif(not available(), reason="there is no compiler")
@pytest.mark.parametrize("spell", [1.0, 20.0, 200.0])
def test_it_is_seldom_said_by_mistake(spell: float) -> None:
    """In at most ten of a thousand worlds, at any look; and at the end, where spells are short beside the run.

    Where a spell lasts long, most of what was asked may have been hard. Then no way of choosing could have held the target
    so far: to say so is no mistake, and it is taken back when easy cases come.
    """
    verdicts = hidden_worlds([spell])
    assert sum(verdict.mistaken for verdict in verdicts) <= 10
    assert sum(verdict.at_end for verdict in verdicts) <= 10 or spell == 200.0


@pytest.mark.skipif(not available(), reason="there is no compiler")
@pytest.mark.parametrize("target", [0.9, 0.95, 0.99])
def test_it_is_found_where_it_is_true(target: float) -> None:
    """The safe option is three points below the target and nothing else is better: 95% within 4,000 of its plays."""
    plays = []
    for seed in range(200):
        worse = target - 0.03
        found = watched(target, seed, 12_000, 0.5, 1.0, worse, worse, worse - 0.05, worse - 0.05, False).plays
        plays.append(found or 10**9)
    assert np.quantile(plays, 0.95) <= 4_000, np.quantile(plays, [0.5, 0.95])


def models_in_spells(worlds: int, steps: int) -> int:
    """How many of so many worlds a selector with a model calls infeasible, where the safe option is good enough on average."""
    wrong = 0
    for seed in range(worlds):
        rng = np.random.default_rng(seed)
        menu = Menu({"small": 0.02, "large": 0.2, "expert": 1.0}, safe="expert", safe_success=0.94)
        selector = Selector(menu, 0.9, model="auto", seed=seed)
        selector.compile()
        hard = False
        for _ in range(steps):
            hard = bool(rng.random() < 0.25) if rng.random() < 0.02 else hard
            decision = selector.ask(context={"hard": hard, "noise": float(rng.random())})
            rates = {"small": (0.92, 0.2), "large": (0.97, 0.5), "expert": (0.99, 0.79)}[decision.option]
            selector.tell(decision, bool(rng.random() < rates[hard]))
        wrong += selector.certificate().status == "infeasible"
    return wrong


def test_a_model_that_sends_hard_cases_to_safe_is_no_evidence() -> None:
    assert models_in_spells(12, 2_000) == 0


@pytest.mark.long
def test_models_in_spells_are_seldom_called_infeasible() -> None:
    assert models_in_spells(1000, 3_000) <= 10


def test_evidence_is_a_mixture_of_bets() -> None:
    """By its definition: the mean wealth of thirty bets, which multiply at every failure and shrink at every ask."""
    account = Promise.make(0.9).open()
    account.outcomes, account.pending, account.safe_lost, account.safe_shortage = 700, 20, 3, 95 * ONE
    assert asked(account) == 723
    bets = np.geomspace(0.02, 2.0, 30)
    wealth = np.mean([math.exp(bet) ** 95 * math.exp(-(math.exp(bet) - 1.0) * 0.1) ** 723 for bet in bets])
    assert evidence_against(account) == pytest.approx(math.log(wealth))


def test_what_is_outstanding_or_lost_counts_as_a_success_of_safe() -> None:
    promise = Promise.make(0.9)
    account = promise.open()
    account.safe_plays = account.outcomes = 60
    account.safe_shortage, account.safe_failures = 40 * ONE, 40
    assert Certificate.make(promise, account).status in ("infeasible", "bug")
    account.pending = 1000
    assert Certificate.make(promise, account).evidence < math.log(100)
