"""What is easily got wrong with contexts: late outcomes, models that come back empty, models that are shared, tables."""

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import SGDClassifier

import suffice
from suffice import InvalidContext, Menu, Selector, StateError
from suffice.context.models import LogisticModel, SklearnModel
from suffice.kernels.compiler import available
from suffice.lab.streams import SyntheticContext
from tests.support.looking import model_of

MENU = Menu({"small": 0.1, "large": 0.4}, safe="a person", skip="later")
NUMBERS = {"x": "number"}


def chance(x: float, arm: int) -> float:
    return 0.99 if (arm == 2 or x > 0.5) else 0.2


def outcome(rng: random.Random, decision: Any, x: float) -> bool:
    return decision.is_safe or (not decision.is_skip and rng.random() < chance(x, decision.arm))


def run(selector: Selector, steps: int, rng: random.Random) -> None:
    for _ in range(steps):
        x = rng.random()
        decision = selector.ask(context={"x": x})
        selector.tell(decision, outcome(rng, decision, x))


def test_what_expired_and_came_after_all_does_no_lasting_harm() -> None:
    """Every outcome comes after its decision was given up: the model must end up knowing what it was told, not half of it."""
    said = {}
    for late in (False, True):
        now = [0.0]
        selector = Selector(MENU, 0.9, model="auto", expire_after=1.0, clock=lambda now=now: now[0])  # type: ignore[misc]
        rng, out = random.Random(0), []
        for _ in range(3000):
            x = rng.random()
            now[0] += 1.0
            decision = selector.ask(context={"x": x})
            out.append((decision, outcome(rng, decision, x)))
            if len(out) > (2 if late else 0):
                selector.tell(*out.pop(0))
        assert (selector.certificate().amended > 1000) == late
        assert selector.context_report().anew == 0
        said[late] = model_of(selector).predict({"x": 0.9})[0][1]
    assert said[False] > 0.95
    assert said[True] > 0.9


def test_a_model_that_comes_back_empty_is_not_trusted(tmp_path: Path) -> None:
    def model() -> Any:
        return SGDClassifier(loss="log_loss", average=True, random_state=0)

    selector = Selector(MENU, 0.9, model=model())
    run(selector, 3000, random.Random(1))
    assert selector.context_report().trusted
    selector.save(tmp_path / "selector.json")
    again = Selector.load(tmp_path / "selector.json", model=model())
    assert not again.context_report().trusted
    run(again, 3000, random.Random(2))
    assert again.context_report().trusted  # earned anew
    with pytest.raises(StateError, match=r"is not the one that comes with suffice: pass it as model=\.\.\."):
        Selector.load(tmp_path / "selector.json", model="auto")


def test_a_model_of_ours_is_nobody_elses() -> None:
    model = LogisticModel(NUMBERS)
    first = Selector(MENU, 0.9, model=model)
    run(first, 1500, random.Random(3))
    before = model_of(first).predict({"x": 0.9})[0].tolist()
    second = Selector(MENU, 0.9, model=model)
    assert model_of(second) is not model_of(first)
    assert (
        model_of(second).predict({"x": 0.9})[0].tolist() == before
    )  # what it has learned of the same menu comes along
    run(second, 300, random.Random(4))
    assert model_of(first).predict({"x": 0.9})[0].tolist() == before
    third = Selector(Menu({"other": 0.3}, safe="all"), 0.9, model=model)
    assert len(model_of(third).predict({"x": 0.9})[0]) == 2


def test_adapters_forget() -> None:
    model = SklearnModel(SGDClassifier(loss="log_loss", random_state=0))
    model.open(MENU)
    for step in range(400):
        model.update({"x": step % 2}, 1, float(step % 2), None)
    assert model.predict({"x": 1.0})[0][1] > 0.8
    model.forget()
    assert model.predict({"x": 1.0})[0][1] == pytest.approx(0.5)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda d: np.array([d["x"], d["y"]]).T])
def test_a_table_asks_for_many(make: Any) -> None:
    selector = Selector(MENU, 0.9, model="auto")
    decisions = selector.ask_many(3, contexts=make({"x": [0.1, 0.2, 0.3], "y": [1.0, 2.0, 3.0]}))
    assert len(decisions) == 3
    assert len(model_of(selector).features.schema.names) == 2
    assert selector.context_report().fields.keys() in ({"x", "y"}, {"0", "1"})


def test_too_many_fields_are_refused_before_they_cost_anything() -> None:
    selector = Selector(MENU, 0.9, model="auto")
    with pytest.raises(InvalidContext, match="at most 128 fields, got 1536"):
        selector.ask(context=np.zeros(1536))
    assert selector.pending == 0
    selector.tell(selector.ask(context={"x": 1.0}), True)  # and nothing of it stays


@pytest.mark.skipif(not available(), reason="the extra `fast` is not installed")
def test_a_run_with_contexts_compiles_its_steps_by_itself() -> None:
    """In a process that has compiled nothing yet, where a small menu would not begin to."""
    code = (
        "import os, suffice; from suffice.lab.streams import SyntheticContext; stream = SyntheticContext()\n"
        "os.environ['SUFFICE_NO_COMPILE'] = '1'\n"  # machine code of earlier processes may be at hand
        "method = suffice.Selector(stream.menu, 0.9, model='auto')\n"
        "del os.environ['SUFFICE_NO_COMPILE']\n"
        "assert method.learner.compiled is None\n"
        "assert suffice.simulate(method, stream, 50).method.learner.compiled is not None"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_context_report_says_what_is_saved() -> None:
    stream = SyntheticContext(tilt=3.0)
    looking = suffice.simulate(Selector(stream.menu, 0.9, model="auto"), stream, 20_000)
    report = looking.method.context_report()
    assert report.saved is not None
    assert report.saved_error is not None
    assert report.saved > 2.0 * report.saved_error > 0.0
    assert "It saves 0." in str(report)
    plain = suffice.simulate(Selector(stream.menu, 0.9), stream, 20_000)
    # What is banked and where trust comes late aside, it is what the plain selector pays more.
    assert report.saved == pytest.approx(plain.mean_cost - looking.mean_cost, abs=4.0 * report.saved_error + 0.1)
