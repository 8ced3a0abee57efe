"""What looking saves on recorded APIs, at full length: the claims of docs/context.md, with few seeds here, all in the lab."""

import pytest

import suffice
from suffice.lab.streams import ConfidentApis
from suffice.promise.rules import MAX_DEBT

STEPS = 100_000
CLAIMS = {"COMMAND": (0.95, 0.45), "YELP": (0.95, 0.75), "SHOP": (0.95, 0.80), "EXPW": (0.9, 0.87), "IMDB": (0.9, 0.90)}
needs_compiler = pytest.mark.compiled


def late(trace: suffice.Trace, best: suffice.Optimum) -> float:
    return float(trace.costs[STEPS // 2 :].mean()) / best.cost


LONGER = [pytest.param(task, 8, marks=pytest.mark.long) for task in ("SHOP", "EXPW", "IMDB")]


@needs_compiler
@pytest.mark.parametrize(("task", "seeds"), [("COMMAND", 2), ("YELP", 2), *LONGER])
def test_looking_pays(task: str, seeds: int) -> None:
    target, claimed = CLAIMS[task]
    stream = ConfidentApis(task)
    best = suffice.optimum(*stream.truth(), target)
    ratios, starts = [], []
    for seed in range(seeds):
        looking = suffice.simulate(suffice.Selector(stream.menu, target, model="auto", seed=seed), stream, STEPS, seed)
        plain = suffice.simulate(suffice.Selector(stream.menu, target, seed=seed), stream, STEPS, seed)
        assert looking.largest_debt <= MAX_DEBT
        ratios.append(late(looking, best))
        starts.append(looking.costs[:10_000].mean() / plain.costs[:10_000].mean())
    assert sum(ratios) / seeds <= claimed
    assert sum(starts) / seeds <= 1.05


@needs_compiler
@pytest.mark.parametrize("task", ["COMMAND"])
def test_contexts_that_say_nothing_cost_nothing(task: str) -> None:
    target, _ = CLAIMS[task]
    stream = ConfidentApis(task, shuffled=True)
    best = suffice.optimum(*stream.truth(), target)
    trace = suffice.simulate(suffice.Selector(stream.menu, target, model="auto"), stream, STEPS)
    assert late(trace, best) <= 1.05
    assert trace.largest_debt <= MAX_DEBT
    assert trace.method.context_report().followed == 0
