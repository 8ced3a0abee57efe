"""The documentation: it builds without a warning, its links lead somewhere, and what it shows runs and is so."""

import importlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from cyclopts import CycloptsError, MissingArgumentError

import suffice
from suffice.cli import application
from tests.support.paths import ROOT

DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix(): path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md"))}
BLOCK = re.compile(r"^(`{3,})(\{?[\w-]*\}?)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)

# What the documentation has to have, and in this order: the book, part by part.
BOOK = {
    "Start": ["start", "menus", "pictures"],
    "Guide": ["context", "late", "choosers", "memory", "comparison", "faq"],
    "Gallery": ["gallery/index"],
    "The promise": ["promise", "theory", "prices", "bounds", "efficiency"],
    "Service": [
        "service/index",
        "service/api",
        "service/client",
        "service/running",
        "service/operating",
        "service/stores",
    ],
    "Lab": ["reproduce", "lab", "rivals", "results"],
    "Reference": ["reference/index", "extending", "code", "glossary", "stability", "changelog", "contributing"],
}

# Snippets that stand in a file of their own: what is in them, and the test that runs them from the page, or line by line.
RUN_ELSEWHERE = {
    "class Shop": ("lab/test_lab.py", "test_the_stream_of_the_docs_works_as_it_stands"),
    "class Coin": ("lab/test_lab.py", "test_the_stream_of_the_docs_works_as_it_stands"),
    "perform(plan(": ("lab/test_compare.py", "test_the_lines_of_the_docs_work_as_they_stand"),
    'joblib.parallel_config(backend="dask")': ("lab/test_lab.py", "test_a_sweep_on_a_real_dask_cluster"),
}


def extension(monkeypatch: pytest.MonkeyPatch, name: str) -> Any:
    """A module of docs/_ext."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return importlib.import_module(name)


class Sidebar(HTMLParser):
    """The captions of a page's sidebar, and the pages below each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.parts: dict[str, list[str]] = {}
        self._inside = self._caption = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        classes = (given.get("class") or "").split()
        self._inside = "main" not in classes and (self._inside or "sidebar-tree" in classes)
        self._caption = "caption-text" in classes
        if self._inside and tag == "a" and self.parts:
            self.parts[next(reversed(self.parts))].append((given["href"] or "").removesuffix(".html"))

    def handle_data(self, data: str) -> None:
        if self._inside and self._caption:
            self.parts[data] = []
            self._caption = False


# --- the site


def test_the_site_builds_without_a_warning_and_its_links_lead_somewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "--keep-going", "-b", "html", str(DOCS), str(site)],
        capture_output=True, text=True, timeout=600, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert extension(monkeypatch, "links").problems(site) == []
    parts = Sidebar((site / "start.html").read_text("utf-8")).parts
    assert list(parts) == list(BOOK)
    for caption, pages in BOOK.items():
        wanted = ["#" if page == "start" else page for page in pages]  # "#" is the page that we are on
        assert [page for page in parts[caption] if page in wanted] == wanted, caption
    for page in PAGES:
        assert (site / page).with_suffix(".html").exists(), page
    text = (site / "pictures.html").read_text("utf-8")
    assert text.count("only-light") == text.count("only-dark") >= 7
    assert not list(site.rglob("*mathjax*"))


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ('<a href="other.html">x</a>', "links to other.html, which is not there"),
        ('<a href="#there">x</a>', "links to #there: no such place"),
        ('<script src="https://cdn.example.com/x.js"></script>', "from another host"),
        ('<link rel="stylesheet" href="//fonts.example.com/x.css">', "from another host"),
        ('<img src="missing.svg">', "loads missing.svg, which is not there"),
    ],
)
def test_the_check_of_links_notices(page: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = extension(monkeypatch, "links")
    index = tmp_path / "index.html"
    index.write_text('<p id="here"><a href="#here">x</a><a href="https://example.com">out</a></p>')
    assert links.problems(tmp_path) == []
    index.write_text(page)
    (found,) = links.problems(tmp_path)
    assert said in found
    index.write_text("<p></p>")
    (tmp_path / "a.css").write_text("@import 'https://example.com/b.css';")
    assert links.problems(tmp_path) == ["a.css loads https://example.com/b.css"]


def test_links_into_the_repository_become_links_of_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = extension(monkeypatch, "repository").for_the_site
    docs = tmp_path / "docs"
    for name in ("gallery/one.md", "figures/a.svg", "figures/a-dark.svg", "figures/b.svg"):
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).touch()
    page = docs / "service" / "index.md"

    def there(text: str, page: Path = page) -> str:
        return str(site(text, page, docs))

    assert there("[x](../../examples/one.py)") == "[x](../gallery/one.md)"
    assert there("[x](../../examples/two.py)") == "[x](../../examples/two.py)"  # no page of its own: for download
    assert (
        there("[x](../../examples/one.py)", docs / "gallery" / "one.md") == "[x](../../examples/one.py)"
    )  # its own, too
    assert there("[x](../../README.md#honest-limits)") == "[x](../index.md)"
    assert there("[x](../../benchmarks/RESULTS.md)") == "[x](../results.md)"
    assert there("[x](../promise.md#y)") == "[x](../promise.md#y)"
    assert there("([promise.md](../promise.md#y))") == "([](../promise.md#y))"  # on the site: the title
    assert there("```text\n[x](../../README.md)\n```") == "```text\n[x](../../README.md)\n```"
    top = docs / "top.md"
    twins = "![A](figures/a.svg){.only-light}\n![A](figures/a-dark.svg){.only-dark}"
    assert there("![A](figures/a.svg)", top) == twins == there(twins, top)
    assert there("![B](figures/b.svg)", top) == "![B](figures/b.svg)"
    assert there("```python\n>>> 1\n1\n\n```", top) == "```python\n>>> 1\n1\n```"


# --- what is shown runs


def test_every_python_snippet_is_run() -> None:
    """A block of Python is a doctest, which pytest runs, or another test runs it."""
    elsewhere: set[str] = set()
    for page, text in PAGES.items():
        for _, language, code in BLOCK.findall(text):
            assert language not in ("{code-block}", "{code}", "{doctest}", "{testcode}"), f"{page}: use a plain fence"
            if language not in ("python", "py", "pycon", "python3") or code.startswith(">>> "):
                continue
            known = {mark for mark in RUN_ELSEWHERE if mark in code}
            assert known, f"{page}: a snippet that nobody runs:\n{code}"
            elsewhere |= known
    assert elsewhere == set(RUN_ELSEWHERE)
    for file, test in RUN_ELSEWHERE.values():
        assert f"def {test}(" in (ROOT / "tests" / file).read_text("utf-8")


def commands() -> Iterator[tuple[str, str]]:
    """Every command of ours that a page names, with the page. Those of the service are run by test_service_docs.py."""
    shown = {**{page: text for page, text in PAGES.items() if "service/" not in page}, "README.md": ""}
    shown["README.md"] = (ROOT / "README.md").read_text("utf-8")
    for page, text in shown.items():
        blocks = "\n".join(
            code for _, language, code in BLOCK.findall(text) if language in ("", "sh", "bash", "console")
        )
        indented = "\n".join(re.findall(r"^ {4}(.*)$", BLOCK.sub("", text), re.MULTILINE))
        lines = re.findall(r"^(?:\$ )?((?:suffice|make) .*)$", f"{blocks}\n{indented}", re.MULTILINE)
        inline = re.findall(r"(?<!`)`((?:suffice|make) [^`]+)`", BLOCK.sub("", text))
        yield from ((page, " ".join(command.split("  #")[0].split(" # ")[0].split())) for command in [*lines, *inline])


def exists(command: str) -> str | None:
    """What is wrong with a command; None if it can be given as it is, or with what it still asks for."""
    name, *words = shlex.split(command.replace("…", "...").removesuffix("..."))
    if name == "make":
        done = subprocess.run(["make", "-n", *words], capture_output=True, text=True, cwd=ROOT, timeout=60)
        return done.stderr if done.returncode else None
    try:
        application().parse_args(words, print_error=False, exit_on_error=False)
    except MissingArgumentError:
        return None
    except CycloptsError as error:
        return str(error)
    return None


def test_every_command_that_is_named_exists() -> None:
    named = sorted(set(commands()))
    assert len({command for _, command in named}) >= 15
    wrong = {f"{page}: {command}": problem for page, command in named if (problem := exists(command)) is not None}
    assert wrong == {}


@pytest.mark.parametrize("command", ["suffice nonsense", "suffice demo --nonsense", "make nonsense"])
def test_the_check_of_commands_notices(command: str) -> None:
    assert exists(command)


# --- what is said is so


def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("_figures.runs")


def test_the_pictures_say_what_the_runs_say(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = figures(monkeypatch)
    page = " ".join(PAGES["pictures.md"].split())
    for fact in runs.facts():
        assert fact in page
    through, late = runs.shift(), runs.late()
    assert through.debts["suffice"].max() <= runs.TARGET
    assert all(late.largest[lag] <= late.bound[lag] == pytest.approx(runs.TARGET * lag) for lag in runs.LAGS)


def test_the_pictures_are_those_of_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures(monkeypatch)
    matplotlib = importlib.import_module("matplotlib")
    written = importlib.import_module("_figures.__main__").write(tmp_path)
    assert {path.name for path in written} == {
        path.name for pattern in ("how_*.svg", "hero*.svg") for path in (DOCS / "figures").glob(pattern)
    }
    for path in written:
        kept = (DOCS / "figures" / path.name).read_text("utf-8")
        drawn = path.read_text("utf-8")
        shown = f"figures/{path.name.removesuffix('-dark.svg').removesuffix('.svg')}.svg"
        assert shown in PAGES["pictures.md"] or shown in (ROOT / "README.md").read_text("utf-8")
        if f"Matplotlib v{matplotlib.__version__}" in kept:  # another version draws the same in other words
            assert drawn == kept, f"{path.name}: python -m docs._figures"


def test_every_figure_is_shown_and_has_its_dark_twin() -> None:
    shown = {match for text in PAGES.values() for match in re.findall(r"figures/([\w-]+)\.svg\)", text)} | {"hero"}
    for folder in (DOCS / "figures", DOCS / "gallery" / "figures"):
        names = {path.name for path in folder.iterdir()}
        light = {name.removesuffix(".svg") for name in names if not name.endswith("-dark.svg")}
        assert names == {f"{name}{ending}.svg" for name in light for ending in ("", "-dark")}
        assert light <= shown
        for path in folder.glob("*-dark.svg"):
            inks = re.findall(r'<text style="([^"]*)"', path.read_text("utf-8"))
            assert inks, path.name
            assert all(re.search("fill: #(?!000|222)", ink) for ink in inks), f"{path.name}: dark words on a dark page"


def test_how_to_cite_is_what_the_file_says() -> None:
    cited, page = (ROOT / "CITATION.cff").read_text("utf-8"), PAGES["stability.md"]
    assert f"version: {suffice.__version__}\n" in cited
    assert f"suffice, version {suffice.__version__}." in page
    for name in re.findall(r"family-names: (\w+)", cited):
        assert page.count(name) == 2
    (title,) = set(re.findall(r"title: (Efficient .*)", cited))
    assert page.count(title) == 2


def test_the_glossary_names_what_there_is() -> None:
    names = re.findall(r"`((?:\w+\.)?\w+)(?:\(|`)", PAGES["glossary.md"])
    owners = {name: getattr(suffice, name) for name in suffice.__all__}
    dotted = [name.split(".") for name in names if "." in name]
    checked = [(owner, name) for owner, name in dotted if owner in owners]
    assert len(checked) >= 15
    for owner, name in checked:
        assert hasattr(owners[owner], name), f"{owner}.{name}"
    for argument in re.findall(r"`Selector\((\w+)=", PAGES["glossary.md"]):
        assert argument in suffice.Selector.__init__.__annotations__, argument


def test_pages_name_no_place_of_a_machine() -> None:
    for page, text in PAGES.items():
        assert not re.search(r"(?<![\w.])/(home|root|work|tmp)/", text), page
