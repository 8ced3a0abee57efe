"""README: its length, its links, and the numbers of its figure."""

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
    assert len(TEXT.splitlines()) < 70


def test_every_link_leads_to_a_file() -> None:
    links = [path or source for path, source in re.findall(r'\]\(([^)#]+)|(?:src|srcset)="([^"]+)"', TEXT)]
    assert len(links) > 15
    assert [link for link in links if not (ROOT / link).is_file()] == []


@pytest.fixture(scope="module")
def run() -> hero.Hero:
    return hero.hero()


def test_the_caption_says_what_the_run_gave(run: hero.Hero) -> None:
    text = " ".join(TEXT.replace("`suffice`", "suffice").split())
    assert f"never more than {run.largest_debt['suffice']:.1f} successes behind" in text
    assert f"the tuned threshold was {run.largest_debt['tuned']:,.0f} behind" in text
    paid = f"suffice paid {run.cost['suffice']:.2f} per decision; with perfect foresight"
    assert f"{paid}, {hero.TARGET:.0%} in each stretch would cost {run.optimum:.3f}" in text
    hard = slice(hero.PHASE, 2 * hero.PHASE)
    fallen = float(run.successes["tuned"][hard].mean())
    assert f"a tuned threshold falls from {hero.TARGET:.0%} to {fallen:.0%}" in text
    assert run.rate["suffice"] >= hero.TARGET
    picture = (ROOT / "docs" / "figures" / "hero.svg").read_text()
    for label in (f"suffice: {run.rate['suffice']:.1%}", f"suffice: {run.cost['suffice']:.2f}"):
        assert label in picture


def test_the_threshold_was_tuned_fairly() -> None:
    """It is the cheapest of the menu that reaches the target before the shift."""
    stream = LabelRanks.cifar100()
    good_enough = stream.shown[np.flatnonzero(stream.truth()[0] >= hero.TARGET)]
    assert good_enough.min() == hero.TUNED
