"""The checks of `tests.support.watching` report pages that fail them."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.support.watching import NARROW, Watch, cut_off, inaccessible, moving, sticking_out

ORIGIN = "http://127.0.0.1:1"  # no server listens there: the test answers the requests
HEAD = "<!doctype html><html lang=en><head><title>A page</title></head><body><main><h1>A page</h1>"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": NARROW["width"], "height": NARROW["height"]})
    page = context.new_page()
    page.route(f"{ORIGIN}/favicon.ico", lambda route: route.fulfill(status=204))
    yield page
    context.close()


def show(page: Page, body: str, **headers: str) -> Watch:
    watch = Watch(page.context, ORIGIN)
    page.route(
        f"{ORIGIN}/", lambda route: route.fulfill(body=HEAD + body, headers={"content-type": "text/html", **headers})
    )
    page.goto(f"{ORIGIN}/")
    page.wait_for_timeout(300)
    return watch


@pytest.mark.parametrize(
    ("check", "body"),
    [
        (sticking_out, "<div style='width: 2000px; height: 9px'></div>"),
        (sticking_out, "<p style='position: absolute; left: -50px'>out to the left</p>"),
        (cut_off, "<p style='overflow: hidden; width: 40px; white-space: nowrap'>12,345,678</p>"),
        (
            moving,
            "<style>@keyframes t { to { rotate: 1turn } } b { animation: t 1s infinite }</style><b>x</b>",
        ),
        (inaccessible, "<input name=name>"),
        (inaccessible, "<p style='color: #bbb; background: #fff'>pale</p>"),
    ],
)
def test_a_bad_page_is_reported(page: Page, check: Callable[[Page], list[str]], body: str) -> None:
    show(page, body)
    assert check(page)
