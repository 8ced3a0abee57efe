"""The charts and texts of the page, from its own modules in a real browser: ranges, summaries, colours, foreign texts."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.sites import Site
from tests.support.visiting import Visitor

Visit = Callable[..., Visitor]
UNSEEN = "\u202egnp.exe"


@pytest.fixture
def asked(visit: Visit, site: Site) -> Callable[..., Any]:
    """Calls a module of the page: `asked("words.js", "(words, x) => words.percent(x)", 0.5)`."""
    visitor = visit(site)
    page = visitor.go()

    def ask(module: str, body: str, *given: Any) -> Any:
        script = f"async ([url, given]) => ({body})(await import(url), ...given)"
        return page.evaluate(script, [f"{site.url}static/{module}", list(given)])

    return ask


def stretch(number: int, rate: float) -> dict[str, Any]:
    """A stretch of 100 outcomes as the server sends it."""
    told = 100 * (number + 1)
    bounds = {"debt_at_most": 1.0, "ahead_at_most": told**0.5}
    return {
        "start": number,
        "end": number + 1,
        "outcomes": 100,
        "rate": rate,
        "total": told,
        "total_rate": 0.9,
        **bounds,
    }


def test_stretches_that_fail_do_not_flatten_the_rate(asked: Callable[..., Any]) -> None:
    draw = """(drawings, coarse) => {
      const {range, summary} = drawings.rate({known: {target: 0.9}, coarse, told: 0});
      return [...range, summary];
    }"""
    steady = [stretch(number, 0.9) for number in range(40)]
    low, high, said = asked("charts/drawings.js", draw, steady)
    assert "single stretches" not in said
    assert 0.8 < low < 0.9 < high < 1.0
    broken = [stretch(number, 0.0 if number % 3 == 0 else 0.9) for number in range(40)]
    below, above, said = asked("charts/drawings.js", draw, broken)
    assert above - below < 2.5 * (high - low)  # the scale cuts them off
    assert below < low  # and shows that it does
    assert said.endswith(" In single stretches between 0% and 90%.")


def test_a_bound_on_the_wrong_side_of_the_mean_is_explained(asked: Callable[..., Any]) -> None:
    body = "(tables, all) => all.map((one) => tables.bounded(...one, (value) => value === null ? '–' : String(value)))"
    cases = [
        (("at most", 0.9, 0.95), "at most 0.95"),
        (("at most", None, 0.95), "at most 0.95"),
        (("at most", 0.9, 0.9), ""),
        (("at most", 1.0, 0.897), "so far; thought to be at most 0.897"),
        (("at most", 0.9, None), "at most –"),
        (("at least", 0.4, 0.3), "at least 0.3"),
        (("at least", 0.2, 0.3), "so far; thought to be at least 0.3"),
    ]
    given, said = zip(*cases, strict=True)
    assert tuple(asked("selector/tables.js", body, given)) == said


def test_foreign_texts_hide_nothing(asked: Callable[..., Any]) -> None:
    write = "(words, value) => words.option(value)"
    assert asked("words.js", write, UNSEEN) == r"\u202egnp.exe"
    assert asked("words.js", write, ["a\nb", "c"]) == r"a\u000ab + c"
    assert asked("words.js", write, {"\u2066x": [1.5, None]}) == r"\u2066x [1.5, null]"
    for harmless in ("שלום", "👩\u200d💻", "naïve ½", "<b>"):
        assert asked("words.js", write, harmless) == harmless


def test_names_are_quoted_for_the_shell(asked: Callable[..., Any]) -> None:
    line = asked("words.js", "(words, name) => words.curl('PUT', `http://x/${name}`, {a: name}, false)", "it's")
    assert "it%27s" in line
    assert r"it'\''s" in line


# --- on the page


def light(visitor: Visitor, colour: str) -> float:
    """The luminance of a colour of the style sheet, from 0 to 1, as WCAG defines it."""
    found: float = visitor.page.evaluate(
        """(name) => {
          const context = new OffscreenCanvas(1, 1).getContext("2d");
          context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
          context.fillRect(0, 0, 1, 1);
          const linear = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
          const [red, green, blue] = [...context.getImageData(0, 0, 1, 1).data].map((part) => linear(part / 255));
          return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        }""",
        colour,
    )
    return found


def test_forced_colours_are_used(visit: Visit, site: Site) -> None:
    name = site.make("forced")
    visitor = visit(site, forced_colors="active", color_scheme="dark")
    page = visitor.selector(name)
    page.evaluate("document.documentElement.dataset.theme = 'light'")  # forced colours win over the theme
    assert abs(light(visitor, "ink") - light(visitor, "card")) > 0.5
    chosen, other = (page.locator(f"input[value={value}] + span") for value in ("all", "day"))
    outline = "(one) => getComputedStyle(one).outlineStyle"
    assert chosen.evaluate(outline) == "solid"
    assert other.evaluate(outline) == "none"
