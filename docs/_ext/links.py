"""Look at a built site: does every link inside lead somewhere, and does a page ask any other host for anything?

`python docs/_ext/links.py build/docs` prints what is wrong, a line each, and ends with 1 if anything is.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ASSETS = {
    "script": "src",
    "img": "src",
    "source": "src",
    "iframe": "src",
    "audio": "src",
    "video": "src",
    "embed": "src",
}
CSS_URL = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//[^"')\s]+)""")


class Page(HTMLParser):
    """The places in a page, where its links lead, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.assets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Called for every tag."""
        given = {name: value for name, value in attributes if value}
        if "id" in given:
            self.places.add(str(given["id"]))
        if tag == "a" and "href" in given:
            self.links.append(str(given["href"]))
        # What a <link> loads: styles and icons, and not the page's neighbours.
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "shortcut icon", "preload", "preconnect"):
            self.assets.append(str(given.get("href", "")))
        if ASSETS.get(tag) in given:
            self.assets.append(str(given[ASSETS[tag]]))


def problems(site: Path) -> list[str]:
    """What is wrong with a site, a sentence each."""
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    found = [problem for path, page in pages.items() for problem in _wrong(site, path, page, pages)]
    for style in sorted(site.rglob("*.css")):
        found += [f"{style.relative_to(site)} loads {url}" for url in CSS_URL.findall(style.read_text("utf-8"))]
    return found


def _wrong(site: Path, path: Path, page: Page, pages: dict[Path, Page]) -> list[str]:
    here, found = path.relative_to(site), []
    for address in page.assets:
        parts = urlsplit(address)
        if parts.netloc or parts.scheme not in ("", "data"):
            found.append(f"{here} loads {address} from another host")
        elif not parts.scheme and not (path.parent / unquote(parts.path)).exists():
            found.append(f"{here} loads {address}, which is not there")
    for address in page.links:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue  # to other hosts: `make docs-links`
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
        if not target.exists():
            found.append(f"{here} links to {address}, which is not there")
        elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in pages[target].places:
            found.append(f"{here} links to {address}: no such place on that page")
    return found


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]).resolve())
    print("\n".join(wrong) or "all links inside lead somewhere, and nothing is loaded from elsewhere")
    sys.exit(bool(wrong))
