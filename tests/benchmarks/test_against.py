"""The statistics by which two versions are compared, and the cases that are compared."""

import random

import pytest

from benchmarks.against import Row, chosen, page, scenes
from benchmarks.against_cases import PARTS, Case, Player
from benchmarks.against_stats import LIMIT, Session, ratio_of
from benchmarks.against_versions import ROOT, Version

STILL = Version("old", ROOT / "src")


def sessions(ratio: float, *, seed: int, count: int = 8, luck: float = 0.02) -> list[Session]:
    """Made-up timings: each process has a pace of its own, some blocks are hit by other work, and the machine drifts."""
    rng = random.Random(seed)
    found: list[Session] = []
    for _ in range(count):
        paces = [1e-6 * rng.lognormvariate(0.0, luck), 1e-6 * ratio * rng.lognormvariate(0.0, luck)]
        blocks = []
        for _ in range(80 // count):
            drift = rng.uniform(0.7, 1.4)
            hit = [rng.choice((1.0,) * 9 + (3.0,)) * rng.lognormvariate(0.0, 0.03) for _ in range(2)]
            blocks.append((paces[0] * drift * hit[0], paces[1] * drift * hit[1]))
        found.append(blocks)
    return found


@pytest.mark.parametrize("count", [1, 4, 8])
def test_a_slower_version_is_found(count: int) -> None:
    for seed in range(20):
        ratio = ratio_of(sessions(1.3, seed=seed, count=count))
        assert ratio.value == pytest.approx(1.3, rel=0.1)
        assert ratio.low > LIMIT, seed
        assert ratio.slower
        assert not ratio.same


def test_equal_versions_are_not_told_apart() -> None:
    """A process of its own has its own pace: nearly all intervals contain 1 all the same, and none is marked."""
    for count in (4, 8):
        ratios = [ratio_of(sessions(1.0, seed=seed, count=count)) for seed in range(200)]
        assert sum(ratio.same for ratio in ratios) >= 180
        assert not any(ratio.slower for ratio in ratios)


def test_a_page_marks_what_is_slower_and_says_what_failed() -> None:
    def make() -> Player:
        return Player(lambda count: None)

    base, slow, broken = (Row(Case("core", label, make)) for label in ("base", "slow", "broken"))
    beside = Row(Case("core", "beside", make, beside="base"))
    base.sessions = [list(one) for one in sessions(1.0, seed=1)]
    slow.sessions = [list(one) for one in sessions(1.3, seed=2)]
    beside.sessions = [[(3 * old, 3 * new) for old, new in one] for one in base.sessions]
    broken.trouble = "old: AttributeError"
    text = page([base, slow, broken, beside], [], STILL, Version("new", ROOT / "src"), 60.0)
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("|")}
    assert "**slower**" in rows["core: slow"]
    assert "**slower**" not in rows["core: base"]
    assert "old: AttributeError" in rows["core: broken"]
    assert rows["beside / base"].count("3.000 (3.000 to 3.000)") == 2


def test_cases_have_names_of_their_own_and_what_they_stand_beside() -> None:
    cases = chosen([], quick=False)
    keys = [case.key for case in cases]
    assert len(set(keys)) == len(keys)
    assert {case.part for case in cases} == set(PARTS)
    for case in cases:
        assert not case.beside or f"{case.part}: {case.beside}" in keys
    assert [case.label for case in chosen(["cliffs: one group"], quick=True)] == ["ask + tell, n = 210", "one group"]
    assert len(scenes([Row(case) for case in cases])) == len(PARTS)
