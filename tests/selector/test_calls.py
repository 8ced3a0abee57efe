"""How many steps an ask and a tell take, and how often a function is compiled: counted, so that neither grows unnoticed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import suffice
from suffice.kernels.compiler import OFF
from tests.support.calling import Api, serve

MOST_OF_AN_ASK = 20
MOST_OF_A_TELL = 30
MOST_OVER_HTTP = 85  # of an ask; a tell learns as well
MOST_OF_A_TELL_OVER_HTTP = 127
HERE = str(Path(suffice.__file__).parent)

PLAIN = """
import json, sys
sys.path.insert(0, ".")
from tests.selector.test_calls import counted_run
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
    menu = suffice.Menu({"small": 0.1, "middle": 0.2, "large": 0.4}, safe="a person", skip="skip", safe_cost=1.0)
    selector = suffice.Selector(menu, 0.9, learning=suffice.Learning(bounds="half-log", chooser="optimist"))
    asks, tells = [], []
    for step in range(400):
        names, decision = calls_of(selector.ask)
        success = step % 12 > 0 or decision.is_safe
        told, _ = calls_of(lambda decision=decision, success=success: selector.tell(decision, success))  # type: ignore[misc]
        if "look" not in names:  # for events, now and then
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


class Counted:
    """Calls of functions of ours, in every thread that is asked to count; a coroutine that goes on is no new call."""

    def __init__(self) -> None:
        self.frames: dict[int, FrameType] = {}  # kept, so that no two have the same id

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(HERE):
            self.frames[id(frame)] = frame


async def calls_over_http(api: Api, path: str, body: Any) -> tuple[int, Any]:
    """How many functions of ours a request calls, in the server's thread and the store's; and the answer."""
    sent: list[Any] = []
    text = b"" if body is None else json.dumps(body).encode()
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"%d" % len(text))]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": headers,
        "client": ("127.0.0.1", 50_000), "server": ("localhost", 80),
    }  # fmt: skip

    async def receive() -> Any:
        return {"type": "http.request", "body": text, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    counted, writing = Counted(), api.service.store._writing  # type: ignore[attr-defined]
    writing.submit(sys.setprofile, counted.note).result()
    sys.setprofile(counted.note)
    try:
        await api.app(scope, receive, send)
    finally:
        sys.setprofile(None)
        writing.submit(sys.setprofile, None).result()
    assert sent[0]["status"] == 200
    return len(counted.frames), json.loads(sent[1]["body"])


@pytest.mark.compiled
def test_an_ask_and_a_tell_over_http_take_few_calls(tmp_path: Path) -> None:
    async def do(api: Api) -> tuple[int, int]:
        await api.put()
        for _ in range(4):  # at first more is done: the selector is loaded, the option written
            ask, decision = await calls_over_http(api, "/v1/selectors/router/ask", None)
            outcome = {"decision": decision["decision"], "success": True}
            tell, _ = await calls_over_http(api, "/v1/selectors/router/tell", outcome)
        return ask, tell

    ask, tell = serve(do, f"sqlite:///{tmp_path}/suffice.db")
    assert ask <= MOST_OVER_HTTP, ask
    assert tell <= MOST_OF_A_TELL_OVER_HTTP, tell


@pytest.mark.compiled
def test_each_function_is_compiled_for_one_kind_of_arguments() -> None:
    found = run(COMPILED)
    assert len(found) > 50
    assert {name: count for name, count in found.items() if count > 1} == {}
