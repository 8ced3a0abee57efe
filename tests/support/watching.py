"""Checks of a page in a browser: its log, its requests, its layout, its accessibility."""

import re
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page, Request, WebError

NARROW = {"width": 390, "height": 844}
WIDE = {"width": 1440, "height": 900}
SEVERE = ("serious", "critical")
LEFT = "net::ERR_ABORTED"  # the page itself cancelled the request


@dataclass
class Watch:
    """Collects what goes wrong in all pages of a context; tests declare what they expect."""

    context: BrowserContext
    origin: str  # requests to other origins are problems
    troubles: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context.on("console", self._console)
        self.context.on("weberror", self._error)
        self.context.on("dialog", self._dialog)
        self.context.on("request", self._request)
        self.context.on("requestfailed", self._failed)

    def expect(self, *patterns: str) -> None:
        """Declare troubles that must occur at least once."""
        self.expected += patterns

    def allow(self, *patterns: str) -> None:
        """Declare troubles that may occur."""
        self.allowed += patterns

    def verdict(self) -> list[str]:
        """Unexpected troubles, and expected ones that did not occur."""
        known = (*self.expected, *self.allowed)
        wrong = [one for one in self.troubles if not any(re.search(pattern, one) for pattern in known)]
        quiet = [
            pattern for pattern in self.expected if not any(re.search(pattern, trouble) for trouble in self.troubles)
        ]
        return [
            *wrong,
            *(f"asked another host: {url}" for url in self.outside),
            *(f"did not come: {pattern}" for pattern in quiet),
        ]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            where = message.location.get("url", "")
            self.troubles.append(f"console {message.type}: {message.text} ({where})")

    def _error(self, error: WebError) -> None:
        self.troubles.append(f"uncaught: {error.error}")

    def _dialog(self, dialog: Dialog) -> None:
        self.troubles.append(f"{dialog.type}: {dialog.message}")  # the page uses no dialogs of the browser
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        self.asked.append(request.url)
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about") and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.outside.append(request.url)

    def _failed(self, request: Request) -> None:
        if request.failure != LEFT:
            self.troubles.append(f"request failed: {request.failure} ({request.url})")


# --- layout


STICKING_OUT = """() => {
  const width = document.documentElement.clientWidth;
  const found = [];
  const named = (one) => {
    const test = one.closest("[data-test]");
    const said = (one.textContent || "").trim().replace(/\\s+/g, " ").slice(0, 40);
    return `${one.tagName.toLowerCase()}.${one.getAttribute("class") || ""} in ${test ? test.dataset.test : "-"} "${said}"`;
  };
  // What scrolls inside of something sticks out of nothing; what is cut off by something is lost.
  const holder = (one) => {
    for (let up = one.parentElement; up && up !== document.body; up = up.parentElement)
      if (getComputedStyle(up).overflowX !== "visible") return up;
    return null;
  };
  const whole = document.scrollingElement;
  if (whole.scrollWidth > width) found.push(`the page is ${whole.scrollWidth} wide, the window ${width}`);
  for (const one of document.body.querySelectorAll("*")) {
    if (!one.checkVisibility({visibilityProperty: true}) || one.closest("svg, .uplot")) continue;
    const box = one.getBoundingClientRect();
    if (box.width <= 1 || box.height <= 1) continue;  // for screen readers only
    const up = holder(one);
    const scrolls = up && ["auto", "scroll"].includes(getComputedStyle(up).overflowX);
    const edge = up ? up.getBoundingClientRect() : {left: 0, right: width, width};
    if (scrolls || edge.width <= 1) continue;
    if (box.right > edge.right + 1 || box.left < edge.left - 1)
      found.push(`${named(one)} reaches from ${box.left.toFixed()} to ${box.right.toFixed()} of ${edge.right.toFixed()}`);
    const style = getComputedStyle(one);
    if (style.display !== "inline" && style.overflowX === "visible" && one.scrollWidth > one.clientWidth + 1
        && one.clientWidth > 0 && !one.firstElementChild)
      found.push(`${named(one)} needs ${one.scrollWidth} and has ${one.clientWidth}`);
  }
  return found;
}"""


def sticking_out(page: Page) -> list[str]:
    """Elements that are wider than the window or than their box."""
    found: list[str] = page.evaluate(STICKING_OUT)
    return found


CUT_OFF = """() => [...document.querySelectorAll("body *")].filter((one) => {
  const style = getComputedStyle(one);
  return one.checkVisibility({visibilityProperty: true}) && !one.firstElementChild && one.clientWidth > 8
    && ["hidden", "clip"].includes(style.overflowX) && style.textOverflow !== "ellipsis"
    && one.tagName !== "INPUT" && one.scrollWidth > one.clientWidth + 1;
}).map((one) => `${one.tagName.toLowerCase()}.${one.className} "${one.textContent.trim().slice(0, 40)}"`)"""


def cut_off(page: Page) -> list[str]:
    """Texts that are cut without an ellipsis."""
    found: list[str] = page.evaluate(CUT_OFF)
    return found


MOVING = """() => document.getAnimations().filter((one) => {
  const timing = one.effect ? one.effect.getComputedTiming() : {duration: 0};
  return one.playState === "running" && Number(timing.duration) > 20;
}).map((one) => `${one.effect.target.tagName.toLowerCase()}.${one.effect.target.className}`)"""


def moving(page: Page) -> list[str]:
    """Elements with running animations."""
    found: list[str] = page.evaluate(MOVING)
    return found


# --- accessibility


def inaccessible(page: Page) -> list[str]:
    """The serious and critical findings of axe-core, with their places."""
    source = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(source)  # evaluated, as the content security policy of the page allows no foreign script
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['impact']} {one['id']}: {one['help']}: "
        + "; ".join(" ".join(node["target"]) for node in one["nodes"][:5])
        for one in found["violations"]
        if one["impact"] in SEVERE
    ]


def drawn(page: Page, chart: str) -> str:
    """The picture of a chart as a data URL."""
    text: str = page.locator(f"[data-test={chart}] canvas").first.evaluate("(canvas) => canvas.toDataURL()")
    return text


def colours(page: Page, chart: str) -> int:
    """The number of colours in the picture of a chart; an empty one has one or two."""
    count: int = page.locator(f"[data-test={chart}] canvas").first.evaluate(
        """(canvas) => {
          const pixels = new Uint32Array(
            canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
          return new Set(pixels).size;
        }"""
    )
    return count
