"""The gallery: every example runs as it is and prints what its page shows, and every example has a page with its figures."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from suffice.kernels.compiler import OFF
from tests.support.paths import ROOT

EXAMPLES, GALLERY = ROOT / "examples", ROOT / "docs" / "gallery"
HELPERS = {"figure", "render", "watch"}
NAMES = sorted({path.stem for path in EXAMPLES.glob("*.py")} - HELPERS)
FITTED = {"own_model", "top_k"}  # their numbers depend on the version of scikit-learn
UNCOMPILED = {"intervals", "router_score"}  # recorded with a compiler; these are run without, and must print the same
INSTALLED = {  # the imports beyond NumPy and suffice, and what installs them
    frozenset[str](): ".",
    frozenset({"sklearn"}): ". scikit-learn",
    frozenset({"fastapi", "httpx"}): "'.[client,service]'",
}
PART = re.compile(r"([\d.]+)% worked, cost ([\d.]+), largest debt ([+-][\d.]+)")


def run(name: str, *arguments: str) -> str:
    environment = {**os.environ, OFF: "1"} if name in UNCOMPILED else None
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        capture_output=True, encoding="utf-8", timeout=300, env=environment,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def recorded(name: str) -> str:
    return (GALLERY / "output" / f"{name}.txt").read_text(encoding="utf-8")


def parts(text: str) -> list[tuple[float, ...]]:
    """Rate, cost and largest debt, wherever a text has them."""
    return [tuple(map(float, numbers)) for numbers in PART.findall(text)]


@pytest.mark.parametrize("name", NAMES)
def test_it_prints_what_its_page_shows(name: str) -> None:
    now, then = run(name), recorded(name)
    if name not in FITTED:
        assert now == then, f"python examples/render.py {name}"
        return
    assert "Kept: " in now
    for (rate, cost, debt), (old_rate, old_cost, _) in zip(parts(now), parts(then), strict=True):
        assert abs(rate - old_rate) < 1.5
        assert cost == pytest.approx(old_cost, rel=0.3)
        assert debt <= 5.0


@pytest.mark.parametrize("name", NAMES)
def test_a_cost_is_shown_with_its_debt_and_a_yardstick(name: str) -> None:
    text = recorded(name)
    assert len(parts(text)) == text.count("% worked") > 0
    assert re.search(r"optimum|best fixed mix|in hindsight", text)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_page(name: str) -> None:
    index, page = ((GALLERY / f"{one}.md").read_text(encoding="utf-8") for one in ("index", name))
    assert f"]({name}.md)" in index
    assert f"{{literalinclude}} ../../examples/{name}.py" in page
    assert f"{{literalinclude}} output/{name}.txt" in page
    assert f"](figures/{name}.svg)" in page
    for file in (f"{name}.py", "watch.py"):
        assert f"[{file}](../../examples/{file})" in page
    text = (EXAMPLES / f"{name}.py").read_text("utf-8")
    assert len(text.splitlines()) < 80
    assert f"    python examples/{name}.py" in text
    assert f"It needs `pip install {INSTALLED[frozenset(imports(text))]}`." in page


def imports(text: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(text)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"numpy", "suffice", "watch"}


def test_nothing_is_left_over() -> None:
    for folder, ending in (("output", ".txt"), ("figures", ".svg"), ("", ".md")):
        files = {path.stem.removesuffix("-dark") for path in (GALLERY / folder).glob(f"*{ending}")}
        assert files - {"index"} == set(NAMES)


def test_the_pages_say_what_the_outputs_say() -> None:
    days = parts(recorded("llm_routing"))
    assert days[2][1] > 1.5 * max(days[0][1], days[3][1], days[4][1])  # the bad day costs more
    assert all(debt <= 5.0 for _, _, debt in days)
    assert "OUT OF REACH" in recorded("llm_correctness").split("Target 85%")[1]
    _, _, (ours, _, debt), (by_hand, _, owed) = parts(recorded("router_score"))
    assert ours > 89.5 > 85.0 > by_hand
    assert owed > 500 > 5.0 > debt
    none, good, bad, guarded, _ = (cost for _, cost, _ in parts(recorded("own_model")))
    assert good < 0.8 * none < none < 0.5 * bad
    assert guarded < 1.1 * none


def test_a_file_of_demand_and_both_figures(tmp_path: Path) -> None:
    np.savez(tmp_path / "demand.npz", nswdemand=np.random.default_rng(1).random(1500).astype(np.float32))
    text = run("intervals", "--path", str(tmp_path / "demand.npz"), "--figure", str(tmp_path / "it.svg"))
    assert f"of {1500 - 7 * 48:,} outcomes succeeded" in text
    light, dark = ((tmp_path / f"it{ending}.svg").read_text(encoding="utf-8") for ending in ("", "-dark"))
    assert "width quoted" in light
    assert light != dark
