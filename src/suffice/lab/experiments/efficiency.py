"""What the same promise costs: the default selector beside the paper at its best step, and what each part of it saves."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from suffice.best_mix import Optimum, optimum
from suffice.lab import run_results, statistics
from suffice.lab.experiment import Canvas, Experiment, Numbers, Settings, Task
from suffice.lab.streams import (
    HiddenCosts,
    LabelRanks,
    Phases,
    PredictionApis,
    RequiredThreshold,
    Rides,
    Stream,
    UnitPoints,
)
from suffice.lab.streams.apis import TASKS
from suffice.lab.streams.base import truth_of
from suffice.lab.verdict import OURS, Estimate, Verdict, judge, power
from suffice.learning.settings import Learning
from suffice.promise.rules import MAX_DEBT
from suffice.selector.paper import paper
from suffice.selector.selector import Selector
from suffice.simulator import summarize

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCALES: Final = (1, 5, 20)
YARDSTICK: Final = tuple(f"paper-{scale}" for scale in SCALES)
# Each step of the ladder changes one thing. The last is given every success rate, so that only the price is unknown.
LADDER: Final[Mapping[str, Learning]] = {
    "kl": Learning(bounds="kl", prices="straight"),
    "half-log": Learning(bounds="half-log", prices="straight"),
    "price curve": Learning(bounds="half-log"),
    "containment": Learning(bounds="ordered"),
    "differences": Learning(bounds="interval-closure"),
    "suffice": Learning(),
    "knows all": Learning(bounds="half-log"),
}
CERTAIN: Final = 10**12  # plays: the width of a bound is then below 10^-5
SHIFT: Final = (4000, 2000, 6000)
LAST_STEPS: Final = 4000
MOST_OF_YARDSTICK: Final = {10**4: 1 / 4, 10**5: 1 / 12, 10**6: 1 / 30}


class Efficiency(Experiment):
    """The paper's intervals over several horizons; APIs, labels, rides and a threshold; told costs; a shift that ends."""

    name: ClassVar[str] = "efficiency"
    place: ClassVar[int] = 9
    title: ClassVar[str] = "What the same promise costs"
    about: ClassVar[str] = (
        "The default selector, without the horizon or anything else about the stream, beside the paper's algorithm at the "
        "best of three steps, 1, 5 and 20/√T, chosen afterwards: the yardstick. All meet the same outcomes. Regret is "
        "shadow-priced: what is owed at the end is added at its price. On the paper's intervals a ladder shows what each part "
        "saves: sharper thresholds, a price that rests on a hint, the outcomes of options that contain others, differences "
        "of intervals, and sampling instead of optimism."
    )
    levels: ClassVar = {
        "quick": {"seeds": 20, "horizons": [10**4], "horizon": 20_000},
        "default": {"seeds": 20, "horizons": [10**4, 10**5], "horizon": 10**5},
        "deep": {"seeds": 20, "horizons": [10**4, 10**5, 10**6], "horizon": 10**5},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        wanted = [("intervals", horizon, [*YARDSTICK, *LADDER]) for horizon in settings["horizons"]]
        wanted += [(world, settings["horizon"], [*YARDSTICK, "suffice"]) for world in WORLDS if world != "intervals"]
        wanted += [("shift", sum(SHIFT), [*YARDSTICK, "suffice"])]
        return [
            {"run": f"efficiency/{world}/{power(horizon)}/{method}/seed={seed}", "world": world, "horizon": horizon,
             "method": method, "seed": seed}
            for world, horizon, methods in wanted for method in methods for seed in range(settings["seeds"])
        ]  # fmt: skip

    @staticmethod
    def work(task: Task) -> Numbers:
        world, horizon = task["world"], task["horizon"]
        stream, target, best = world_of(world)
        method = method_of(task["method"], stream, target, horizon, task["seed"])
        marks = (max(1, horizon - LAST_STEPS), horizon)
        summary = summarize(method, stream, horizon, task["seed"], marks=marks)
        numbers = {**run_results.row(summary, best), "world": world, "method": task["method"]}
        late, end = summary.marks
        last = (end.cost - late.cost) / (end.step - late.step)
        return {**numbers, "last_cost": last, **_parts(stream, best, target, summary.plays)}

    def collect(self, settings: Settings, results: Sequence[Numbers]) -> Numbers:
        rows: list[Numbers] = []
        pairs = []
        for world, horizon in dict.fromkeys((result["world"], result["horizon"]) for result in results):
            results_by_method = {
                method: run_results.pick(results, world=world, horizon=horizon, method=method)
                for method in dict.fromkeys(
                    r["method"] for r in results if (r["world"], r["horizon"]) == (world, horizon)
                )
            }
            priced = {method: [run["priced_regret"] for run in runs] for method, runs in results_by_method.items()}
            best = min(YARDSTICK, key=lambda method: float(np.mean(priced[method])))
            if world not in ("intervals", "shift"):
                pairs.append((priced["suffice"], priced[best]))
            for method, runs in results_by_method.items():
                share = statistics.ratio(priced[method], priced[best])
                row = run_results.aggregate(runs, world=world, horizon=horizon, method=method)
                row |= {
                    "yardstick": method == best,
                    "share": share.value,
                    "share_low": share.low,
                    "share_high": share.high,
                }
                row |= {
                    part: statistics.mean([run[part] for run in runs]).value
                    for part in ("boundary", "between", "last_cost")
                }
                rows.append(row)
        overall = statistics.geometric(pairs)
        _, target, optima = world_of("shift")
        return {
            "seeds": settings["seeds"],
            "horizon": settings["horizon"],
            "geometric": [overall.value, overall.low, overall.high],
            "target": target,
            "last_optimum": optima.cost,
            "rows": rows,
        }

    def verdicts(self, numbers: Numbers) -> list[Verdict]:
        ours = [row for row in numbers["rows"] if row["method"] == "suffice"]
        verdicts = []
        for row in ours:
            if row["world"] == "intervals" and row["horizon"] in MOST_OF_YARDSTICK:
                wanted, by = MOST_OF_YARDSTICK[row["horizon"]], power(row["horizon"])
                says = f"at most 1/{round(1 / wanted)} of the yardstick's regret by T={by}"
                number = "shadow-priced regret as a share of the yardstick's"
                verdicts.append(judge(f"intervals, {by}", OURS, says, number, _share(row), at_most=wanted))
        others = [row for row in ours if row["world"] not in ("intervals", "shift")]
        worst = max(others, key=lambda row: float(row["share_high"]))
        told = max((row for row in others if "told" in row["world"]), key=lambda row: float(row["share_high"]))
        behind = max(ours, key=lambda row: float(row["largest_debt"]))
        shift = next(row for row in ours if row["world"] == "shift")
        theirs = [row["last_cost"] for row in numbers["rows"] if row["world"] == "shift" and row["method"] != "suffice"]
        return [
            *verdicts,
            judge("nowhere above", OURS, "nowhere above the yardstick",
                  f"share of the yardstick's, worst of {len(others)} worlds ({worst['world']})", _share(worst), at_most=1.0),
            judge("on the whole", OURS, "at most 1/8 of the yardstick's regret",
                  f"geometric mean of the shares in {len(others)} worlds", Estimate(*numbers["geometric"]), at_most=1 / 8),
            judge("told costs", OURS, "at most half of it where costs are told, with noise",
                  f"share of the yardstick's, worst where costs are told ({told['world']})", _share(told), at_most=1 / 2),
            judge("never far behind", OURS, f"debt is at most {MAX_DEBT} at every step",
                  f"largest debt, worst of all runs ({behind['world']})", Estimate.exact(behind["largest_debt"]),
                  at_most=MAX_DEBT),
            judge("a shift that ends", OURS, "4,000 steps after its end the cost is within 10% of that phase's optimum",
                  f"mean cost of the last {LAST_STEPS:,} steps over that phase's optimum (the paper: "
                  f"{min(theirs) / numbers['last_optimum']:.2f} to {max(theirs) / numbers['last_optimum']:.2f})",
                  Estimate.exact(shift["last_cost"] / numbers["last_optimum"]), at_most=1.1),
        ]  # fmt: skip

    def draw(self, numbers: Numbers, canvas: Canvas) -> None:
        rows = [row for row in numbers["rows"] if row["world"] == "intervals"]
        horizons = sorted({row["horizon"] for row in rows})
        _ladder(canvas, rows, sorted({horizons[0], horizons[-1]}))
        if len(horizons) > 1:
            _growth(canvas, rows, horizons)
        _worlds(canvas, [row for row in numbers["rows"] if row["method"] == "suffice" and row["world"] != "shift"])


# --- worlds and methods

WORLDS: Final = ("intervals", *TASKS, "labels", "rides", "needs", "intervals, told", "labels, told")


def _target(world: str) -> float:
    return 0.8 if world.split(",")[0] in ("intervals", "labels", "shift") else 0.9


def world_of(name: str) -> tuple[Stream, float, Optimum]:
    """A stream, its target and its optimum; of the shift that ends, that of its last phase."""
    target = _target(name)
    if name == "shift":
        shift = Phases.from_settings(easy=SHIFT[0], hard=SHIFT[1], again=SHIFT[2])
        last = shift.truths()[-1]
        return shift, target, optimum(last.success, last.cost, target)
    kind = name.split(",")[0]
    stream = _steady_world(kind)
    stream = HiddenCosts(stream) if "told" in name else stream
    return stream, target, optimum(*truth_of(stream), target)


def _steady_world(kind: str) -> Stream:
    if kind in TASKS:
        return PredictionApis(kind)
    if kind == "labels":
        return LabelRanks.cifar100(tuple(range(1, 100)))
    kinds: dict[str, Callable[[], Stream]] = {"intervals": UnitPoints, "rides": Rides, "needs": RequiredThreshold}
    return kinds[kind]()


def method_of(name: str, stream: Stream, target: float, horizon: int, seed: int) -> Selector:
    """The paper at one of its steps, or a step of the ladder."""
    if name in YARDSTICK:
        return paper(stream.menu, target, horizon, SCALES[YARDSTICK.index(name)] / horizon**0.5)
    selector = Selector(stream.menu, target, seed=seed, learning=LADDER[name])
    if name == "knows all":
        success, _ = truth_of(stream)
        inner = range(stream.menu.n_arms)[stream.menu.interior]
        tally = [[arm, CERTAIN, float(success[arm]) * CERTAIN, 0, 0.0] for arm in inner]
        learned = {**selector.learner.state(), "tally": tally}
        selector.learner.restore(learned, 0.0)
    return selector


def _parts(stream: Stream, best: Optimum, target: float, plays: Sequence[int]) -> dict[str, float]:
    """The regret in expectation, priced: of the skip and the safe option, and of all between."""
    if not hasattr(stream, "truth"):
        return {"boundary": 0.0, "between": 0.0}
    success, cost = truth_of(stream)
    lost = np.array(plays) * (cost - best.cost - best.price * (success - target))
    ends = lost[-1] + (lost[0] if stream.menu.has_skip else 0.0)
    return {"boundary": float(ends), "between": float(lost.sum() - ends)}


def _share(row: Numbers) -> Estimate:
    return Estimate(row["share"], row["share_low"], row["share_high"])


# --- figures


def _ladder(canvas: Canvas, rows: Sequence[Numbers], horizons: Sequence[int]) -> None:
    """Where the cost goes, step by step: boundary plays, an unsettled price, and learning."""
    panels = np.atleast_1d(canvas.panels("efficiency_ladder", len(horizons), width=9.0 / len(horizons), height=3.2))
    for place, (panel, horizon) in enumerate(zip(panels, horizons, strict=True)):
        _bars(canvas, panel, [row for row in rows if row["horizon"] == horizon], names=place == 0)
        panel.set_title(f"T = {power(horizon)}", fontsize=9)
    panels[0].figure.legend(*panels[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=3)


def _bars(canvas: Canvas, panel: "Axes", rows: Sequence[Numbers], *, names: bool) -> None:
    price = next(row["between"] for row in rows if row["method"] == "knows all")
    shown = [row for row in rows if row["yardstick"] or row["method"] in LADDER]
    places = np.arange(len(shown))[::-1]
    parts = {
        "the skip and the safe option": [max(row["boundary"], 0.0) for row in shown],
        "an unsettled price": [min(price, row["between"]) for row in shown],
        "learning": [max(row["between"] - price, 0.0) for row in shown],
    }
    left = np.zeros(len(shown))
    for colour, (label, values) in zip(("safe", "best fixed", "paper"), parts.items(), strict=True):
        panel.barh(places, values, left=left, color=canvas.colour(colour), label=label, height=0.7)
        left += np.array(values)
    for place, total, row in zip(places, left, shown, strict=True):
        panel.text(total, place, f" {total:,.0f} (debt ≤ {row['largest_debt']:,.1f})", va="center", fontsize=7,
                   color=panel.title.get_color())  # fmt: skip
    panel.set_yticks(places, [_named(row["method"]) for row in shown] if names else [])
    panel.set(xlabel="shadow-priced regret in expectation", xlim=(0, left.max() * 1.45))
    panel.ticklabel_format(axis="x", style="plain")
    panel.locator_params(axis="x", nbins=4)


def _growth(canvas: Canvas, rows: Sequence[Numbers], horizons: Sequence[int]) -> None:
    panel = canvas.panels("efficiency_growth", 1, width=6.0, height=3.4)

    def lost(horizon: int, methods: Sequence[str]) -> float:
        return min(
            float(r["boundary"] + r["between"]) for r in rows if r["horizon"] == horizon and r["method"] in methods
        )

    best = [lost(horizon, YARDSTICK) for horizon in horizons]
    panel.plot(horizons, best, color=canvas.colour("paper"), marker="s", label="paper, best step")
    styles = ("-", "--", "-.", ":", (0, (5, 1)), "-", ":")
    for style, method in zip(styles, LADDER, strict=True):
        colour = canvas.colour("suffice" if method == "suffice" else "safe" if method == "knows all" else "a = 20")
        values = [lost(horizon, [method]) for horizon in horizons]
        panel.plot(horizons, values, color=colour, marker="o", markersize=4, linestyle=style, label=_named(method))
    panel.set(xscale="log", yscale="log", xlabel="T", ylabel="shadow-priced regret in expectation")
    panel.figure.legend(fontsize=7, loc="outside right upper")


def _worlds(canvas: Canvas, rows: Sequence[Numbers]) -> None:
    panel = canvas.panels("efficiency_worlds", 1, width=6.5, height=0.24 * len(rows) + 1.2)
    shown = sorted(rows, key=lambda row: float(row["share"]))
    places = np.arange(len(shown))[::-1]
    values = np.array([row["share"] for row in shown])
    ends = np.array([[row["share_low"], row["share_high"]] for row in shown]).T
    panel.errorbar(values, places, xerr=np.abs(ends - values), color=canvas.colour("suffice"), marker="o", linestyle="none",
                   markersize=5)  # fmt: skip
    panel.axvline(1.0, linestyle=":", color=canvas.colour("safe"))
    panel.axvline(0.0, color=canvas.colour("safe"), linewidth=0.5)
    names = [
        f"{row['world']}, T = {power(row['horizon'])}" if row["world"] == "intervals" else row["world"] for row in shown
    ]
    panel.set_yticks(places, names)
    panel.set(xlabel="shadow-priced regret of suffice, as a share of the paper's at its best step")


def _named(method: str) -> str:
    return {
        "kl": "KL, straight price", "half-log": "+ half-log", "price curve": "+ price curve", "containment": "+ containment",
        "differences": "+ differences", "suffice": "suffice (samples, guarded)", "knows all": "knows every success",
    }.get(method, method.replace("paper-", "paper, a = "))  # fmt: skip
