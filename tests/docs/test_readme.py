"""README in one screen: its picture is drawn from what it says, its links lead somewhere, its commands are there."""

import re
import sys

import numpy as np
import pytest

from suffice.lab.streams import LabelRanks
from tests.support.paths import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
sys.path.insert(0, str(ROOT))

from docs._figures import hero  # noqa: E402


def test_it_fits_a_screen() -> None:
    assert len(TEXT.splitlines()) < 65
    assert TEXT.count("\n## ") == 0


def test_every_link_leads_to_a_file() -> None:
    links = re.findall(r'\]\(([^)#]+)|(?:src|srcset)="([^"]+)"', TEXT)
    found = [one or other for one, other in links]
    assert len(found) > 15
    for link in found:
        assert (ROOT / link).is_file(), link


def test_every_command_is_in_the_makefile() -> None:
    rules = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = set(re.findall(r"`?make ([a-z-]+)", TEXT))
    assert commands == {"demo", "test", "live", "serve", "docs", "figures"}
    assert commands <= rules


@pytest.fixture(scope="module")
def run() -> hero.Hero:
    return hero.hero()


def test_the_picture_says_what_the_run_gave(run: hero.Hero) -> None:
    said = re.sub(r"\s+", " ", TEXT)
    assert f"Never more than {run.largest_debt['suffice']:.1f} of a success was owed" in said
    assert f"the tuned threshold owed {run.largest_debt['tuned']:,.0f}" in said
    paid = f"suffice paid {run.cost['suffice']:.2f}; with perfect foresight"
    assert f"{paid}, {hero.TARGET:.0%} in each stretch would cost {run.optimum:.3f}" in said
    hard = slice(hero.PHASE, 2 * hero.PHASE)
    fallen = float(run.successes["tuned"][hard].mean())
    assert f"a tuned threshold falls from {hero.TARGET:.0%} to {fallen:.0%}" in said
    assert run.rate["suffice"] >= hero.TARGET
    picture = (ROOT / "docs" / "figures" / "hero.svg").read_text()
    for label in (f"suffice: {run.rate['suffice']:.1%}", f"suffice: {run.cost['suffice']:.2f}"):
        assert label in picture


def test_the_threshold_was_tuned_fairly() -> None:
    """It is the cheapest of the menu that reaches the target before the world changes."""
    success = LabelRanks.cifar100().truth()[0]
    shown = LabelRanks.cifar100().shown
    enough = shown[np.flatnonzero(success >= hero.TARGET)]
    assert enough.min() == hero.TUNED
