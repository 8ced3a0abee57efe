"""How many steps an ask and a tell take, and how often a function is compiled: counted, so that neither grows unnoticed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import suffice
from suffice.kernels.compiler import OFF, available

MOST_OF_AN_ASK = 20
MOST_OF_A_TELL = 30

PLAIN = """
import json, sys
sys.path.insert(0, "tests")
from test_calls import counted_run
print(json.dumps(counted_run()))
"""

COMPILED = """
import json, suffice
from suffice.kernels.compiler import signatures
suffice.warmup()
print(json.dumps(signatures()))
"""


def calls_of(step: Callable[[], Any]) -> tuple[list[str], Any]:
    """The Python functions that a step calls, and what it gives."""
    names: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        found = step()
    finally:
        sys.setprofile(None)
    return names[1:], found  # without the step itself


def counted_run() -> tuple[int, int]:
    """The most calls of an ask, and of a tell, between the limits and at them, at times when nothing is due."""
    menu = suffice.Menu({"small": 0.1, "middle": 0.2, "large": 0.4}, everything="a person", nothing="skip")
    selector = suffice.Selector(menu, 0.9, bounds="half-log", chooser="optimist")
    asks, tells = [], []
    for step in range(400):
        names, decision = calls_of(selector.ask)
        success = step % 12 > 0 or decision.is_everything
        told, _ = calls_of(lambda decision=decision, success=success: selector.tell(decision, success))  # type: ignore[misc]
        asks.append(len(names) + 1)  # `ask` itself is the step
        if "refresh" not in told:  # bounds anew, at steps that double
            tells.append(len(told))
    return max(asks), max(tells)


def run(code: str, **environment: str) -> Any:
    """What a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return json.loads(done.stdout)


def test_an_ask_and_a_tell_take_few_calls_without_a_compiler() -> None:
    ask, tell = run(PLAIN, **{OFF: "1"})
    assert ask <= MOST_OF_AN_ASK, ask
    assert tell <= MOST_OF_A_TELL, tell


@pytest.mark.skipif(not available(), reason="the extra `fast` is not installed")
def test_each_function_is_compiled_for_one_kind_of_arguments() -> None:
    found = run(COMPILED)
    assert len(found) > 50
    assert {name: count for name, count in found.items() if count > 1} == {}
