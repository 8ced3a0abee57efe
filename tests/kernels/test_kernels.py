"""The kernels: the same arms as a plain scan, always; compiled, uncompiled and by objects; and the tree's invariants."""

import copy
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice import Learning, Menu, Rule, Selector, warmup
from suffice.kernels.compiler import compiled
from suffice.learning.bounds import NAMED
from suffice.learning.choosers import Optimist
from suffice.learning.custom_learner import CustomLearner
from suffice.learning.table_learner import TableLearner
from suffice.selector.plain import PlainEngine

needs_compiler = pytest.mark.compiled


MENUS = {
    "small, known": Menu({i: (i + 1) / 12 for i in range(10)}, safe="all", skip="none", safe_cost=1.0),
    "small, told": Menu(range(10), safe="all", safe_cost=3.0),
    "large, known": Menu.intervals(step=0.05, skip=True),
    "large, told": Menu(range(150), safe="all", skip="none", safe_cost=1.0),
    "large, no skip": Menu.top_k(range(1, 120), classes=120, skip=False),
}


@pytest.mark.parametrize("menu", MENUS.values(), ids=MENUS.keys())
@pytest.mark.parametrize("kind", ["half-log", "kl", "hoeffding", "paper"])
@pytest.mark.parametrize("rule", [None, Rule(), Rule(horizon=1500)], ids=["two limits", "rule", "horizon"])
def test_compiled_uncompiled_and_objects_play_the_same_arms(menu: Menu, kind: str, rule: Rule | None) -> None:
    """Also with outcomes that come late, expire and are amended, across several epochs and the end of the horizon."""
    own = type("Own", (NAMED[kind],), {})()  # a subclass is a user's own
    contestants = [
        Selector(menu, 0.8, rule=rule, learning=Learning(bounds=kind)),
        Selector(menu, 0.8, rule=rule, learning=Learning(bounds=own, chooser=Optimist())),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUFFICE_NO_COMPILE", "1")
        plain = Selector(menu, 0.8, rule=rule, learning=Learning(bounds=kind))
    assert isinstance(plain.learner, TableLearner)
    assert plain.learner.compiled is None
    assert isinstance(plain.engine, PlainEngine)
    contestants.append(plain)
    assert isinstance(contestants[1].learner, CustomLearner)
    rng = np.random.default_rng(0)
    truth = np.concatenate([[0.0] * menu.has_skip, np.sort(rng.random(len(menu.options))), [1.0]])
    out: list[list[Any]] = []
    for step in range(1800):
        if step == 900:
            contestants = [copy.deepcopy(selector) for selector in contestants]
        decisions = [selector.ask() for selector in contestants]
        assert len({(decision.arm, decision.price) for decision in decisions}) == 1, f"step {step}"
        out.append(decisions)
        while len(out) > (0 if step % 300 < 200 else 4):
            late = out.pop(int(rng.integers(len(out))))
            success, cost = bool(rng.random() < truth[late[0].arm]), float(rng.random())
            known = menu.known_cost(late[0].arm)
            for selector, decision in zip(contestants, late, strict=True):
                if step % 97 == 0:
                    selector.expire(decision)
                selector.tell(decision, success, cost if known is None else None)
    assert len({selector.outcomes for selector in contestants}) == 1
    states = [selector.state() for selector in contestants]
    assert states[0]["accounts"] == states[1]["accounts"] == states[2]["accounts"]
    assert len({json.dumps(state["learner"]["tally"]) for state in states}) == 1


FIRST = (
    "import sys, suffice; s = suffice.Selector(suffice.Menu.top_k([5, 10], classes=100, skip=True), 0.9); "
    "s.tell(s.ask(), True); s.ask(); print('numba' in sys.modules)"
)


@pytest.mark.parametrize("warm", [False, pytest.param(True, marks=needs_compiler)])
def test_small_menus_are_compiled_only_where_machine_code_is_at_hand(warm: bool, tmp_path: Path) -> None:
    environment = dict(os.environ)
    if warm:
        warmup()  # leaves it in the cache
    else:
        environment["NUMBA_CACHE_DIR"] = str(tmp_path)
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == f"{warm}\n"


@needs_compiler
@pytest.mark.parametrize("what", ["nobody's home", "nowhere to write"])
def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """As for a user without a home, on a disk that only others may write to."""
    import numba

    def refused(*_: Any, **__: Any) -> Any:
        raise RuntimeError(what)

    if what == "nobody's home":
        for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("pathlib.Path.home", refused)
    else:
        monkeypatch.setattr("numba.core.dispatcher.FunctionCache", refused)

    def double(number: float) -> float:
        return 2.0 * number

    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    assert compiled(double)(3.0) == 6.0
    assert before == numba.config.CACHE_DIR  # type: ignore[attr-defined]


@pytest.mark.compiled
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that signal")
def test_a_signal_handler_that_interrupts_the_compiler_is_refused(tmp_path: Path) -> None:
    """Its selector cannot be made then; the one that is being compiled, and later ones, are unharmed."""
    code = """
import signal, sys
from suffice import Menu, ReentrantCall, Selector

menu, refused, other = Menu({i: i / 100 for i in range(70)}, safe="all", safe_cost=1.0, skip="none"), [], []

def handler(*_):
    try:
        Selector(menu, 0.9, seed=1).ask()
    except ReentrantCall as error:
        refused.append(str(error))
    except BaseException as error:
        other.append(f"{type(error).__name__}: {error}")

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
selector = Selector(menu, 0.9)
for _ in range(6):
    selector.tell(selector.ask(), True)
signal.setitimer(signal.ITIMER_REAL, 0)
later = Selector(menu, 0.9)
later.tell(later.ask(), True)
print(len(refused) > 0, other, selector.outcomes, later.outcomes)
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "SUFFICE_NO_COMPILE": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["True", "[]", "6", "1"], done.stdout + done.stderr
