"""What looks at the page can see what is wrong with one: each check is shown a page that fails it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.support import browser as chromium
from tests.support.watching import NARROW, Watch, colours, cut_off, inaccessible, moving, sticking_out

ORIGIN = "http://127.0.0.1:1"  # nobody is there: what is asked for is answered here
HEAD = "<!doctype html><html lang=en><head><title>A page</title></head><body><main><h1>A page</h1>"

Show = Callable[..., tuple[Page, Watch]]


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[tuple[Page, Watch]]:
    """A narrow window, watched."""
    context = browser.new_context(viewport={"width": NARROW["width"], "height": NARROW["height"]})
    watch, page = Watch(context, ORIGIN), context.new_page()
    page.route(f"{ORIGIN}/favicon.ico", lambda route: route.fulfill(status=204))
    yield page, watch
    context.close()


@pytest.fixture
def show(window: tuple[Page, Watch]) -> Show:
    """Shows a page made of this text."""
    page, watch = window
    page.goto("about:blank")
    for seen in (watch.troubles, watch.outside, watch.asked, watch.expected, watch.allowed):
        seen.clear()

    def show(body: str, **headers: str) -> tuple[Page, Watch]:
        def answer(route: Route) -> None:
            route.fulfill(body=HEAD + body, headers={"content-type": "text/html; charset=utf-8", **headers})

        page.route(f"{ORIGIN}/", answer)
        page.goto(f"{ORIGIN}/")
        return page, watch

    return show


def wait_for(page: Page, seen: list[str], count: int = 1) -> None:
    """Wait until so much was seen."""
    until = time.monotonic() + 20
    while len(seen) < count and time.monotonic() < until:
        page.wait_for_timeout(10)


def test_a_good_page_passes_all_checks(show: Show) -> None:
    page, watch = show("<p>Fine.</p><label>Name <input name=name></label>")
    assert sticking_out(page) == []
    assert cut_off(page) == []
    assert moving(page) == []
    assert inaccessible(page) == []
    assert watch.verdict() == []
    assert watch.asked[0] == f"{ORIGIN}/"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("console.error('oh dear')", "console error: oh dear"),
        ("console.warn('oh dear')", "console warning: oh dear"),
        ("setTimeout(() => { throw new Error('oh dear') })", "uncaught: .*oh dear"),
        ("Promise.reject(new Error('oh dear'))", "uncaught: .*oh dear"),
        ("alert('oh dear')", "alert: oh dear"),
        ("fetch('/no').catch(() => 0)", "request failed: net::ERR_.* \\(http://127.0.0.1:1/no\\)"),
    ],
)
def test_trouble_is_seen(show: Show, script: str, said: str) -> None:
    page, watch = show(f"<script>{script}</script>")
    wait_for(page, watch.troubles)
    watch.allow("an earthquake")
    assert watch.verdict() != []
    watch.expect(said)
    if "fetch" in script:
        watch.expect("console error: Failed to load resource")
        wait_for(page, watch.troubles, 2)
    assert watch.verdict() == []
    watch.expect("an earthquake")
    assert watch.verdict() == ["did not come: an earthquake"]


@pytest.mark.parametrize(
    "body",
    [
        "<script>fetch('https://example.com/').catch(() => 0)</script>",
        "<img alt='' src='https://example.com/a.png'>",
        "<link rel=stylesheet href='https://example.com/a.css'>",
        "<script>fetch('http://127.0.0.1:2/').catch(() => 0)</script>",
    ],
)
def test_a_request_to_another_host_is_seen(show: Show, body: str) -> None:
    page, watch = show(body)
    wait_for(page, watch.outside)
    assert len(watch.outside) == 1
    assert any(one.startswith("asked another host: http") for one in watch.verdict())


def test_what_the_policy_of_the_page_forbids_is_seen(show: Show) -> None:
    page, watch = show("<p style='color: red'>x</p>", **{"content-security-policy": "style-src 'self'"})
    assert page.locator("p").inner_text() == "x"
    assert len(watch.verdict()) == 1
    assert "Content Security Policy" in watch.verdict()[0]


@pytest.mark.parametrize(
    "body",
    [
        "<div style='width: 2000px; height: 9px'></div>",
        "<p style='position: absolute; left: 300px; width: 200px'>out to the right</p>",
        "<p style='position: absolute; left: -50px'>out to the left</p>",
        "<p style='white-space: nowrap'>" + "long " * 40 + "</p>",
        "<div style='overflow-x: hidden; width: 600px'><p style='width: 600px'>held by what sticks out itself</p></div>",
        "<div style='overflow-x: hidden; width: 200px'><p style='width: 600px'>cut off by what does not</p></div>",
        "<div style='display: flex; width: 100px'><b style='display: block; width: 40px'>12,345,678</b><i>x</i></div>",
    ],
)
def test_what_sticks_out_is_seen(show: Show, body: str) -> None:
    assert sticking_out(show(body)[0]) != []


@pytest.mark.parametrize(
    "body",
    [
        "<div style='overflow-x: auto'><table style='width: 2000px'><tr><td>it scrolls</table></div>",
        "<p style='position: absolute; left: -9999px; width: 1px; height: 1px; overflow: hidden'>for readers</p>",
        "<p style='overflow: hidden; text-overflow: ellipsis; white-space: nowrap'>" + "long " * 40 + "</p>",
        "<p style='display: none; width: 2000px'>not there</p>",
    ],
)
def test_what_scrolls_or_is_hidden_does_not_stick_out(show: Show, body: str) -> None:
    page, _ = show(body)
    assert sticking_out(page) == []
    assert cut_off(page) == []


def test_a_text_that_is_cut_is_seen(show: Show) -> None:
    assert len(cut_off(show("<p style='overflow: hidden; width: 40px; white-space: nowrap'>12,345,678</p>")[0])) == 1


def test_what_moves_is_seen(show: Show) -> None:
    motion = "<style>@keyframes turn { to { rotate: 1turn } } b { animation: turn 1s infinite; display: block }</style>"
    assert len(moving(show(f"{motion}<b>round</b>")[0])) == 1


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("<input name=name>", "label"),
        ("<button></button>", "button-name"),
        ("<p style='color: #bbb; background: #fff'>pale</p>", "color-contrast"),
        ("<img src=data:,>", "image-alt"),
        ("<div role=checkbox>no state</div>", "aria-required-attr"),
    ],
)
def test_what_a_screen_reader_cannot_use_is_seen(show: Show, body: str, rule: str) -> None:
    assert any(rule in one for one in inaccessible(show(body)[0]))


def test_an_empty_picture_is_told_from_a_drawn_one(show: Show) -> None:
    draw = "const c = document.querySelector('canvas').getContext('2d'); c.moveTo(0, 0); c.lineTo(90, 50); c.stroke()"
    page, _ = show(f"<div data-test=chart-a><canvas></canvas></div><p>{draw}</p>")
    assert colours(page, "chart-a") == 1
    page.evaluate(draw)
    assert colours(page, "chart-a") > 3


# --- which browser


def test_a_browser_that_does_not_start_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in chromium.ON_PATH:
        stub = tmp_path / name
        stub.write_text("#!/bin/sh\necho Chromium 1.2.3\n")  # it knows its version, and no more
        stub.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    monkeypatch.delenv(chromium.NAMED, raising=False)
    with pytest.raises(chromium.NoBrowser, match=r"^no Chromium that starts was found: install one"):
        chromium.find()
    monkeypatch.setenv(chromium.NAMED, str(tmp_path / "chromium"))
    with pytest.raises(
        chromium.NoBrowser, match=r"^SUFFICE_BROWSER must name a Chromium that starts, got '.*chromium'"
    ):
        chromium.find()


@pytest.mark.parametrize(("named", "becomes"), [("", "be skipped"), ("require", "fail"), ("/no/such", "fail")])
def test_it_is_said_what_becomes_of_the_tests(tmp_path: Path, named: str, becomes: str) -> None:
    env = {**os.environ, "PATH": str(tmp_path), "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path), chromium.NAMED: named}
    command = [sys.executable, str(Path(chromium.__file__))]
    said = subprocess.run(command, env=env, capture_output=True, text=True, cwd=tmp_path)
    assert (said.returncode, said.stderr, said.stdout.count("\n")) == (1, "", 1)
    assert said.stdout.startswith(f"the browser tests will {becomes}: ")


def test_the_browser_that_is_named_is_taken(browser_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chromium.NAMED, browser_path)
    assert chromium.find() == browser_path
    monkeypatch.setenv(chromium.NAMED, "require")
    assert chromium.find() == browser_path
