"""The documentation builds without a warning, its links work, its snippets run, and its claims hold."""

import importlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
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

# Snippets that are not doctests: a mark in their text, and the test that runs them.
RUN_ELSEWHERE = {
    "class Shop": ("lab/test_lab.py", "test_the_stream_of_the_docs_works_as_it_stands"),
    "class Coin": ("lab/test_lab.py", "test_the_stream_of_the_docs_works_as_it_stands"),
    "compare(plan(": ("lab/test_compare.py", "test_the_lines_of_the_docs_work_as_they_stand"),
    'joblib.parallel_config(backend="dask")': ("lab/test_lab.py", "test_a_sweep_on_a_real_dask_cluster"),
}


def extension(monkeypatch: pytest.MonkeyPatch, name: str) -> Any:
    """A module of docs/_ext."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return importlib.import_module(name)


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
    for page in PAGES:
        assert (site / page).with_suffix(".html").exists(), page
    text = (site / "pictures.html").read_text("utf-8")
    assert text.count("only-light") == text.count("only-dark") >= 7
    assert not list(site.rglob("*mathjax*"))


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ('<a href="other.html">x</a>', "links to other.html, which is not there"),
        ('<a href="#there">x</a>', "links to #there: no such place"),
        ('<script src="https://cdn.example.com/x.js"></script>', "from another host"),
        ('<link rel="stylesheet" href="//fonts.example.com/x.css">', "from another host"),
        ('<img src="missing.svg">', "loads missing.svg, which is not there"),
    ],
)
def test_the_check_of_links_can_fail(page: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = extension(monkeypatch, "links")
    index = tmp_path / "index.html"
    index.write_text('<p id="here"><a href="#here">x</a><a href="https://example.com">out</a></p>')
    assert links.problems(tmp_path) == []
    index.write_text(page)
    assert [problem in text for text in links.problems(tmp_path)] == [True]
    index.write_text("<p></p>")
    (tmp_path / "a.css").write_text("@import 'https://example.com/b.css';")
    assert links.problems(tmp_path) == ["a.css loads https://example.com/b.css"]


# --- snippets and commands


def test_every_python_snippet_is_run() -> None:
    """A block of Python is a doctest, which pytest runs, or another test runs it."""
    elsewhere: set[str] = set()
    for page, text in PAGES.items():
        for _, language, code in BLOCK.findall(text):
            assert language not in ("{code-block}", "{code}", "{doctest}", "{testcode}"), f"{page}: use a plain fence"
            if language not in ("python", "py", "pycon", "python3") or code.startswith(">>> "):
                continue
            known = {mark for mark in RUN_ELSEWHERE if mark in code}
            assert known, f"{page}: a snippet that no test runs:\n{code}"
            elsewhere |= known
    assert elsewhere == set(RUN_ELSEWHERE)
    for file, test in RUN_ELSEWHERE.values():
        assert f"def {test}(" in (ROOT / "tests" / file).read_text("utf-8")


def commands() -> Iterator[tuple[str, str]]:
    """Every command that a page names, with the page. test_service_docs.py runs those of the service."""
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
    """What is wrong with a command; None if it exists. A missing argument is fine."""
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
def test_the_check_of_commands_can_fail(command: str) -> None:
    assert exists(command)


# --- claims


def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("_figures.runs")


def test_the_pictures_say_what_the_runs_say(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = figures(monkeypatch)
    page = " ".join(PAGES["pictures.md"].split())
    for fact in runs.facts():
        assert fact in page
    through, late = runs.shift(), runs.late()
    assert through.debts["suffice"].max() <= runs.MAX_DEBT
    for lag in runs.LAGS:
        most = runs.MAX_DEBT + runs.TARGET * min(lag - 1, runs.IN_FLIGHT)
        assert late.largest[lag] <= late.bound[lag] <= most + 1e-9, lag
    assert all(late.bound[lag] == pytest.approx(runs.MAX_DEBT + runs.TARGET * (lag - 1)) for lag in (1, 3, 10, 30, 100))


def test_the_pictures_are_those_of_the_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures(monkeypatch)
    matplotlib = importlib.import_module("matplotlib")
    drawn = {
        path.name: path.read_text("utf-8") for path in importlib.import_module("_figures.__main__").write(tmp_path)
    }
    patterns = ("how_*.svg", "hero*.svg", "decision_path*.svg")
    assert set(drawn) == {path.name for pattern in patterns for path in (DOCS / "figures").glob(pattern)}
    for name, text in drawn.items():
        committed = (DOCS / "figures" / name).read_text("utf-8")
        version = re.search(r"Matplotlib v([\d.]+),", committed)
        if version is None or version[1] == matplotlib.__version__:  # other versions write other SVG
            assert text == committed, f"{name}: run python -m docs._figures"


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
