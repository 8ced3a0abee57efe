"""What a selector takes as contexts and models, what it refuses, and what its context report says."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import suffice
from suffice import InvalidArgument, InvalidContext, Selector
from suffice.lab.streams import SyntheticContext
from tests.support.context_models import SMALL, needs_compiler


def test_errors_name_the_field_and_change_nothing() -> None:
    selector = Selector(SMALL, 0.5, model="auto")
    selector.tell(selector.ask(context={"length": 3, "task": "chat"}), True)
    before = selector.state()
    bad: dict[str, Any] = {
        "'weather'": {"length": 3, "weather": 1.0},
        "'length'": {"length": "long"},
        "'task'": {"task": 2.5},
        "a row of 2 without names": [1.0, 2.0],
        "got 7": 7,
    }
    for match, context in bad.items():
        with pytest.raises(InvalidContext, match=match):
            selector.ask(context=context)
        with pytest.raises(InvalidContext, match=match):
            selector.ask_many(2, contexts=[{"length": 1.0}, context])
        with pytest.raises(InvalidContext, match=match):
            selector.ask(context=context, audit=False)
    assert selector.state() == before


def test_a_selector_without_a_model_refuses_contexts() -> None:
    plain = Selector(SMALL, 0.5)
    for ask in (lambda: plain.ask(context={}), lambda: plain.ask_many(1, contexts=[{}])):
        with pytest.raises(InvalidArgument, match=r'context must be left out where .*model="auto"'):
            ask()
    with pytest.raises(InvalidArgument, match="a context report needs a model"):
        plain.context_report()
    assert (plain.outcomes, plain.pending) == (0, 0)


@pytest.mark.parametrize(
    ("contexts", "match"),
    [([{}], "must hold 2, one per decision"), (7, "must list one per decision"), ("ab", "must list")],
)
def test_contexts_must_be_one_per_decision(contexts: Any, match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        Selector(SMALL, 0.5, model="auto").ask_many(2, contexts=contexts)


def test_models_that_are_none_are_refused() -> None:
    class OwnChooser(suffice.learning.choosers.Optimist):
        pass

    with pytest.raises(InvalidArgument, match="model must be"):
        Selector(SMALL, 0.5, model="the best there is")
    with pytest.raises(InvalidArgument, match="bounds and chooser must be given by name where there is a model"):
        Selector(SMALL, 0.5, model="auto", learning=suffice.Learning(chooser=OwnChooser()))


def test_an_array_has_a_context_per_row() -> None:
    selector = Selector(SMALL, 0.9, model="auto")
    assert len(selector.ask_many(3, contexts=np.array([[0.1, 1.0], [0.2, 2.0], [0.3, 3.0]]))) == 3
    assert selector.context_report().fields.keys() == {"0", "1"}


def test_too_many_fields_are_refused_before_memory_is_allocated() -> None:
    selector = Selector(SMALL, 0.9, model="auto")
    with pytest.raises(InvalidContext, match="at most 128 fields, got 1536"):
        selector.ask(context=np.zeros(1536))
    assert selector.pending == 0
    selector.tell(selector.ask(context={"x": 1.0}), True)


@needs_compiler
def test_a_simulation_with_contexts_compiles_its_steps() -> None:
    """In a process that has compiled nothing yet, on a menu too small to be compiled by itself."""
    code = (
        "import os, suffice; from suffice.lab.streams import SyntheticContext; stream = SyntheticContext()\n"
        "os.environ['SUFFICE_NO_COMPILE'] = '1'\n"  # earlier processes may have left machine code
        "method = suffice.Selector(stream.menu, 0.9, model='auto')\n"
        "del os.environ['SUFFICE_NO_COMPILE']\n"
        "assert method.learner.compiled is None\n"
        "assert suffice.simulate(method, stream, 50).method.learner.compiled is not None"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.compiled
def test_the_context_report_says_how_much_is_saved() -> None:
    stream = SyntheticContext(tilt=3.0)
    with_model = suffice.simulate(Selector(stream.menu, 0.9, model="auto"), stream, 20_000)
    report = with_model.method.context_report()
    assert report.saved > 2.0 * report.saved_error > 0.0
    assert "It saves 0." in str(report)
    plain = suffice.simulate(Selector(stream.menu, 0.9), stream, 20_000)
    # Apart from the surplus and the time before trust, it is what the plain selector pays more.
    assert report.saved == pytest.approx(plain.mean_cost - with_model.mean_cost, abs=4.0 * report.saved_error + 0.1)
