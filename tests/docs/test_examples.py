"""The gallery: every example runs as it is and prints what its page shows, and every one has a page with both figures."""

import ast
import importlib
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from suffice.kernels.compiler import OFF
from tests.support.paths import ROOT

EXAMPLES, GALLERY = ROOT / "examples", ROOT / "docs" / "gallery"
HELPERS = {"figure", "render", "watch"}
NAMES = sorted({path.stem for path in EXAMPLES.glob("*.py")} - HELPERS)
FITTED = {"own_model", "top_k"}  # another version of scikit-learn may fit a little otherwise
INSTALLED = {  # what is imported beyond NumPy and suffice, and what brings it
    frozenset[str](): ".",
    frozenset({"sklearn"}): ". scikit-learn",
    frozenset({"fastapi", "httpx"}): "'.[client,service]'",
}
SAID = re.compile(r"([\d.]+)% worked, cost ([\d.]+), largest debt ([+-][\d.]+)")


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if an example were started in its folder, with none of its helpers left behind."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    for name in HELPERS:
        monkeypatch.delitem(sys.modules, name, raising=False)


def helper(name: str) -> ModuleType:
    return importlib.import_module(name)


def run(*arguments: str) -> str:
    """As whoever installed no compiler runs it: what is shown was rendered with one, and is the same."""
    plain = {**os.environ, OFF: "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        env=plain,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def shown(name: str) -> str:
    return (GALLERY / "output" / f"{name}.txt").read_text(encoding="utf-8")


def said(text: str) -> list[tuple[float, ...]]:
    """Rate, cost and largest debt, wherever they stand."""
    return [tuple(map(float, found)) for found in SAID.findall(text)]


@pytest.mark.parametrize("name", NAMES)
def test_it_prints_what_its_page_shows(name: str) -> None:
    now, then = run(str(EXAMPLES / f"{name}.py")), shown(name)
    if name not in FITTED:
        assert now == then, f"python examples/render.py {name}"
        return
    assert "Kept: " in now
    assert len(said(now)) == len(said(then)) > 0
    for (rate, cost, debt), (old_rate, old_cost, _) in zip(said(now), said(then), strict=True):
        assert abs(rate - old_rate) < 1.5
        assert cost == pytest.approx(old_cost, rel=0.3)
        assert debt <= 0.95  # it was one ask, one tell


@pytest.mark.parametrize("name", NAMES)
def test_cost_never_stands_without_debt_nor_alone(name: str) -> None:
    text = shown(name)
    assert len(said(text)) == text.count("% worked") > 0
    assert re.search(r"optimum|best fixed mix|in hindsight", text)
    assert re.search(
        r"(for|showing|always)[^\n]* (everybody|all|widest|ten|them)[^\n]*\bcosts? ?|a person for all", text, re.I
    )


@pytest.mark.parametrize("name", NAMES)
def test_it_is_short_helpful_and_names_no_place(
    name: str, modules: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
    assert f"    python examples/{name}.py" in text
    assert not re.search(r"/(home|root|work|tmp)/", text + shown(name))
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert ended.value.code == 0
    assert f"python examples/{name}.py" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_page(name: str, modules: None) -> None:
    assert name in helper("render").NAMES
    index, page = ((GALLERY / f"{one}.md").read_text(encoding="utf-8") for one in ("index", name))
    assert f"]({name}.md)" in index
    assert f"\n{name}\n" in index[index.index("{toctree}") :]
    assert f"{{literalinclude}} ../../examples/{name}.py" in page
    assert f"{{literalinclude}} output/{name}.txt" in page
    assert f"](figures/{name}.svg)" in page
    for ending in ("", "-dark"):
        drawn = (GALLERY / "figures" / f"{name}{ending}.svg").read_text(encoding="utf-8")
        assert "success rate" in drawn
        assert "<dc:date>" not in drawn


@pytest.mark.parametrize("name", NAMES)
def test_its_page_says_what_to_install_and_offers_it(name: str) -> None:
    tree, page = (ast.parse((EXAMPLES / f"{name}.py").read_text("utf-8")), (GALLERY / f"{name}.md").read_text("utf-8"))
    named = {one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names}
    named |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    others = {one.split(".")[0] for one in named} - sys.stdlib_module_names - {"numpy", "suffice", "watch"}
    assert f"It needs `pip install {INSTALLED[frozenset(others)]}`." in page
    for file in (f"{name}.py", "watch.py"):
        assert f"[{file}](../../examples/{file})" in page


def test_nothing_is_left_over(modules: None) -> None:
    assert sorted(helper("render").NAMES) == NAMES
    for folder, ending in (("output", ".txt"), ("figures", ".svg"), ("", ".md")):
        there = {path.stem.removesuffix("-dark") for path in (GALLERY / folder).glob(f"*{ending}")}
        assert there - {"index"} == set(NAMES)


# --- what the pages say of them


def test_a_bad_day_costs_money_and_not_the_promise() -> None:
    days = said(shown("llm_routing"))
    assert days[2][1] > 1.5 * max(days[0][1], days[3][1], days[4][1])
    assert shown("llm_routing").count("Kept: ") == 2
    assert all(debt <= 0.9 for _, _, debt in days)


def test_what_cannot_be_met_is_said() -> None:
    met, not_met = shown("llm_correctness").split("Target 85%")
    assert "Kept: 75" in met
    assert "TARGET OUT OF REACH" in not_met
    assert "lower the target (less than" in not_met


def test_a_threshold_by_hand_rots() -> None:
    (_, _, first), _, (ours, _, debt), (by_hand, _, owed) = said(shown("router_score"))
    assert ours > 89.5 > 85.0 > by_hand
    assert first < 0.9 > debt
    assert owed > 500


def test_a_bad_model_costs_what_the_guard_allows() -> None:
    none, good, bad, guarded, earned = (cost for _, cost, _ in said(shown("own_model")))
    assert good < 0.8 * none < none < 0.5 * bad
    assert guarded < 1.1 * none
    assert earned == none  # it was never followed
    assert all(debt <= 0.9 for _, _, debt in said(shown("own_model")))


# --- what can be given


def test_another_week(modules: None) -> None:
    short = [str(EXAMPLES / "llm_routing.py"), "--queries", "300"]
    assert run(*short) == run(*short, "--seed", "4") != run(*short, "--seed", "5")


def test_a_file_of_demand_and_both_figures(tmp_path: Path) -> None:
    demand = np.random.default_rng(1).random(1500)
    np.savez(tmp_path / "demand.npz", nswdemand=demand.astype(np.float32))
    arguments = ["--path", str(tmp_path / "demand.npz"), "--figure", str(tmp_path / "it.svg")]
    text = run(str(EXAMPLES / "intervals.py"), *arguments)
    assert f"of {1500 - 7 * 48:,} succeeded" in text
    light, dark = ((tmp_path / f"it{ending}.svg").read_text(encoding="utf-8") for ending in ("", "-dark"))
    assert "width quoted" in light
    assert "summer" not in light  # that is in the made-up year
    assert light != dark
    first = light
    run(str(EXAMPLES / "intervals.py"), *arguments)
    assert (tmp_path / "it.svg").read_text(encoding="utf-8") == first


# --- the helpers


def test_render_keeps_what_is_printed_and_drawn(
    tmp_path: Path, modules: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    render = helper("render")
    (tmp_path / "mine.py").write_text(
        "import sys\nprint('größer')\nopen(sys.argv[2], 'w').write('drawn')\n", encoding="utf-8"
    )
    monkeypatch.setattr(render, "HERE", tmp_path)
    monkeypatch.setattr(render, "GALLERY", tmp_path / "gallery")
    monkeypatch.setattr(render, "NAMES", ("mine",))
    monkeypatch.setattr(sys, "argv", ["render.py"])
    render.main()
    assert (tmp_path / "gallery" / "output" / "mine.txt").read_text(encoding="utf-8") == "größer\n"
    assert (tmp_path / "gallery" / "figures" / "mine.svg").read_text(encoding="utf-8") == "drawn"
    monkeypatch.setattr(sys, "argv", ["render.py", "yours"])
    with pytest.raises(SystemExit):
        render.main()
    assert "NAME must be one of mine, got yours" in capsys.readouterr().err


def test_watch_says_cost_and_debt_of_a_part(modules: None) -> None:
    watch = helper("watch").Watch()
    for success, cost, debt in ((1, 1.0, -0.1), (0, 0.0, 0.8), (1, 0.5, 0.7)):
        watch.note("it", success, cost, debt)
    assert watch.said() == " 66.7% worked, cost 0.500, largest debt +0.8"
    assert watch.said(0, 1) == "100.0% worked, cost 1.000, largest debt -0.1"


def test_a_curve_is_the_mean_of_the_last_sixteenth(modules: None) -> None:
    values = np.random.default_rng(1).random(1000)
    at, means = helper("figure").smooth(values)
    assert at[0] == 61
    assert at[-1] == 999
    for place, mean in zip(at.tolist(), means.tolist(), strict=True):
        assert mean == pytest.approx(values[place - 61 : place + 1].mean())
    assert helper("figure").smooth(np.ones(3))[1].tolist() == [1.0, 1.0, 1.0]
