"""The page in a real browser with a server that requires keys."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.sites import Site, serving
from tests.support.visiting import Visitor

Visit = Callable[..., Visitor]
REFUSED = "status of 401"
FORBIDDEN = "status of 403"


@dataclass(frozen=True)
class Keyed:
    """A site that requires keys."""

    site: Site
    all: str
    read: str


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    folder = tmp_path_factory.mktemp("keyed")
    store = f"sqlite:///{folder / 'suffice.db'}"
    maker = Site(folder, store)
    keys = Keyed(maker, maker.key("use", "manage", "read"), maker.key("read"))
    with serving(folder, store, keys="required") as site:
        site.http.headers["authorization"] = f"Bearer {keys.all}"
        site.make("locked", max_debt=0)
        site.flow("locked", 30, at_once=1)
        yield Keyed(site, keys.all, keys.read)


def enter(visitor: Visitor, key: str, *, remember: bool = False) -> None:
    """Enter a key."""
    dialog = visitor.test("key-dialog")
    expect(dialog).to_be_visible()
    dialog.locator("input[name=key]").fill(key)
    if remember:
        dialog.get_by_role("checkbox").check()
    visitor.test("key-submit").click()


def test_a_key_is_asked_for_and_a_wrong_one_refused(visit: Visit, keyed: Keyed) -> None:
    visitor = visit(keyed.site)
    visitor.watch.expect(REFUSED)
    page = visitor.page
    page.goto(visitor.url)
    for wrong in ("guess", keyed.all[:-4] + "AAAA"):
        enter(visitor, wrong)
        expect(visitor.test("key-error")).not_to_be_empty()
        expect(visitor.test("key-dialog")).to_be_visible()
        assert visitor.test("selector").count() == 0
        assert kept(page, wrong) == []
    enter(visitor, keyed.all)
    expect(visitor.test("key-dialog")).to_be_hidden()
    visitor.expect_status("kept", "Kept", visitor.listed("locked"))
    visitor.selector("locked")
    visitor.expect_charted("chart-rate", 30)  # all requests carry the key
    visitor.test("ask").click()
    visitor.test("worked").click()
    visitor.expect_tile("outcomes", "31")
    assert not any(keyed.all in url for url in visitor.watch.asked)
    for label, said in (("Decisions", "decision,"), ("Certificate", '{"target":')):
        with page.expect_download() as saving:
            page.get_by_role("button", name=label).click()
        assert Path(saving.value.path()).read_text().lstrip("\ufeff").startswith(said)


@pytest.mark.parametrize("remember", [False, True])
def test_a_key_is_kept_as_chosen_and_forgotten(visit: Visit, keyed: Keyed, remember: bool) -> None:
    visitor = visit(keyed.site)
    visitor.watch.expect(REFUSED)
    page = visitor.page
    page.goto(visitor.url)
    enter(visitor, keyed.all, remember=remember)
    expect(visitor.listed("locked")).to_be_visible()
    page.reload()
    expect(visitor.listed("locked")).to_be_visible()
    assert kept(page, keyed.all) == (["localStorage"] if remember else ["sessionStorage"])
    other = visitor.context.new_page()
    other.goto(visitor.url)
    if remember:
        expect(other.locator("[data-test=selector]").first).to_be_visible()
    else:
        expect(other.locator("[data-test=key-dialog]")).to_be_visible()
    other.close()
    visitor.test("forget-key").click()
    expect(visitor.test("key-dialog")).to_be_visible()
    assert kept(page, keyed.all) == []
    assert visitor.test("selector").count() == 0


def kept(page: Page, key: str) -> list[str]:
    """Where the browser stores a key."""
    found: list[str] = page.evaluate(
        """(key) => ["sessionStorage", "localStorage"].filter(
          (place) => JSON.stringify({...window[place]}).includes(key))""",
        key,
    )
    return found


def test_missing_scopes_are_explained(visit: Visit, keyed: Keyed) -> None:
    visitor = visit(keyed.site)
    visitor.watch.expect(REFUSED, FORBIDDEN)
    page = visitor.page
    page.goto(visitor.at_route("selectors/locked"))
    enter(visitor, keyed.read)
    expect(visitor.test("tile-outcomes")).to_be_visible()
    visitor.test("ask").click()
    expect(visitor.test("refused")).to_contain_text("use")
    expect(visitor.test("hand-error")).to_be_hidden()  # not twice
    expect(visitor.test("key-dialog")).to_be_hidden()
    visitor.test("play-safe").click()
    visitor.test("confirm").click()
    refused = page.locator(".head + .error")
    expect(refused).to_contain_text("This needs a key with the scope manage; the key ")
    expect(visitor.test("play-safe")).to_be_disabled()
    expect(visitor.test("safe-banner")).to_be_hidden()
    assert not keyed.site.known("locked")["playing_safe"]
    visitor.go("new")
    page.locator("[data-test=make] input[name=name]").fill("not-mine")
    visitor.test("submit").click()
    expect(visitor.test("make-error")).to_contain_text("manage")
    assert keyed.site.http.get("/v1/selectors/not-mine").status_code == 404


def test_forgotten_in_one_tab_is_forgotten_in_all(visit: Visit, keyed: Keyed) -> None:
    visitor = visit(keyed.site)
    visitor.watch.expect(REFUSED)
    page = visitor.page
    page.goto(visitor.at_route("selectors/locked"))
    enter(visitor, keyed.all, remember=True)
    visitor.test("ask").click()
    expect(visitor.test("asked").first).to_be_visible()
    other = visitor.context.new_page()
    other.goto(visitor.url)
    expect(other.locator("[data-test=selector]").first).to_be_visible()
    visitor.test("forget-key").click()
    expect(visitor.test("key-dialog")).to_be_visible()
    expect(other.locator("[data-test=key-dialog]")).to_be_visible()
    assert other.locator("[data-test=selector]").count() == 0
    assert page.evaluate("Object.keys(sessionStorage)") == []  # nor what it had loaded
    other.close()


def test_entering_a_key_late_loses_no_input(visit: Visit, keyed: Keyed) -> None:
    visitor = visit(keyed.site)
    visitor.watch.expect(REFUSED)
    page = visitor.page
    page.goto(visitor.at_route("new"))  # the form needs no key
    name = page.locator("[data-test=make] input[name=name]")
    name.fill("typed-before")
    page.locator("input[name=kind][value=top_k]").check(force=True)
    visitor.test("submit").click()
    expect(visitor.test("key-dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(visitor.test("make-error")).to_contain_text("wants a key")
    expect(name).to_have_value("typed-before")
    visitor.test("submit").click()
    enter(visitor, keyed.all)
    expect(page.locator("h1")).to_have_text("typed-before")
    assert keyed.site.known("typed-before")["plan"]["menu"]["kind"] == "top_k"


def test_redirects_do_not_get_the_key(visit: Visit, keyed: Keyed) -> None:
    visitor = visit(keyed.site)
    visitor.watch.expect(REFUSED)
    page = visitor.page
    page.goto(visitor.url)
    enter(visitor, keyed.all)
    expect(visitor.listed("locked")).to_be_visible()
    page.route("**/v1/**", lambda one: one.fulfill(status=307, headers={"location": f"{visitor.url}elsewhere"}))
    expect(visitor.test("connection")).to_have_attribute("data-state", "lost")
    page.wait_for_timeout(1_000)
    assert not any("elsewhere" in url for url in visitor.watch.asked)
