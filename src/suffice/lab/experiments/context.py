"""The value of contexts: a model that is shown the confidence of the cheapest API, beside the selector without one."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import ClassVar, Final

from suffice.best_mix import Optimum, contextual_optimum, optimum
from suffice.lab import run_results, statistics
from suffice.lab.experiment import Canvas, Experiment, Numbers, Settings, Task
from suffice.lab.experiments.context_figures import ratios, time_course
from suffice.lab.method_specs import LOOKING, feedback_of, methods
from suffice.lab.streams import ConfidentApis, Phases
from suffice.lab.verdict import OURS, Estimate, Verdict, judge, power
from suffice.promise.rules import MAX_DEBT
from suffice.simulator import Summary, summarize

PLAIN: Final = "suffice"
TARGETS: Final = {"COMMAND": 0.95, "YELP": 0.95, "SHOP": 0.95, "EXPW": 0.9, "IMDB": 0.9}
MOST_OF_OPTIMUM: Final = {"COMMAND": 0.45, "YELP": 0.75, "SHOP": 0.80, "EXPW": 0.87, "IMDB": 0.90}
FULL: Final = 10**5  # the horizon that these are claimed for
RECORDED, SHUFFLED = "recorded", "shuffled"
SHIFTS: Final = ("contexts", "outcomes", "both")
EARLY: Final = 10_000
MOST_SHUFFLED: Final = 1.05  # of C*, with contexts that are independent of outcomes
MOST_EARLY: Final = 1.05  # of the plain selector's cost, in the first steps
RIVALS: Final = ("linucb",)
TASKS_OF_RIVALS: Final = ("COMMAND", "YELP")
FIRST_MARK: Final = 100  # step of the curve over time


class Context(Experiment):
    """Five tasks of four APIs with a confidence; the same with shuffled confidences; shifts; a contextual rival."""

    name: ClassVar[str] = "context"
    place: ClassVar[int] = 10
    title: ClassVar[str] = "The value of contexts"
    about: ClassVar[str] = (
        "Which of four prediction APIs to call (FrugalML's recordings), when the confidence of the cheapest one is known; its "
        'price is paid every time. The selector with model="auto" beside the same selector without, on the same outcomes. '
        "Costs are those of the second half of each run, as shares of C*, the least cost of any mix that ignores contexts; "
        "with contexts the cost may be lower, though not for long below the per-context optimum. Shuffled: the same "
        "confidences, independent of outcomes. Shifts come at half time: the frequencies of the confidences are reversed "
        "(contexts), the outcomes at each confidence (outcomes), or both. The rival chases the target by a price that moves "
        "with outcomes."
    )
    levels: ClassVar = {
        "quick": {"seeds": 20, "horizon": 6_000},
        "default": {"seeds": 20, "horizon": 15_000},
        "deep": {"seeds": 20, "horizon": FULL},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        worlds = (RECORDED, SHUFFLED, *SHIFTS)
        runs = [(name, world, method) for name in TARGETS for world in worlds for method in (PLAIN, LOOKING)]
        runs += [(name, RECORDED, method) for name in TASKS_OF_RIVALS for method in RIVALS]
        return [
            {"run": f"context/{name}/{world}/{method}/seed={seed}", "task": name, "world": world, "method": method,
             "seed": seed, "horizon": settings["horizon"]}
            for name, world, method in runs for seed in range(settings["seeds"])
        ]  # fmt: skip

    @staticmethod
    def work(task: Task) -> Numbers:
        name, world, horizon = task["task"], task["world"], task["horizon"]
        stream, target = world_of(name, world, horizon), TARGETS[name]
        method = methods(stream, target, horizon, [task["method"]])[task["method"]](task["seed"])
        middle, early = run_results.midpoint(horizon), min(EARLY, horizon)
        summary = summarize(method, stream, horizon, task["seed"], marks={*trajectory(horizon), middle, early})
        at = {mark.step: mark for mark in summary.marks}
        numbers = asdict(run_results.outcome(summary, None)) | {
            key: task[key] for key in ("task", "world", "method", "seed", "horizon")
        }
        numbers |= {
            "late_rate": (summary.successes - at[middle].successes) / max(1, horizon - middle),
            "early_cost": at[early].cost / early,
            "feedback": feedback_of(method),
            "marks": [[step, at[step].successes, at[step].cost, at[step].largest_debt] for step in trajectory(horizon)],
        }
        return numbers | _context_report(summary)

    def collect(self, settings: Settings, results: Sequence[Numbers]) -> Numbers:
        rows, curves = [], {}
        optima = {name: optima_of(name) for name in TARGETS}
        for name, world, method in dict.fromkeys((r["task"], r["world"], r["method"]) for r in results):
            some = run_results.pick(results, task=name, world=world, method=method)
            rows.append(_aggregate(some, run_results.pick(results, task=name, world=world, method=PLAIN), optima[name]))
            if world == RECORDED and method in (PLAIN, LOOKING):
                curve = run_results.curve(some, TARGETS[name], optima[name][0].cost)
                curves[f"{name}/{method}"] = {part: curve[part] for part in ("step", "cost", "debt")}
        return {
            "horizon": settings["horizon"],
            "seeds": settings["seeds"],
            "early": min(EARLY, settings["horizon"]),
            "optima": {name: [plain.cost, contextual.cost] for name, (plain, contextual) in optima.items()},
            "curves": curves,
            "rows": rows,
        }

    def verdicts(self, numbers: Numbers) -> list[Verdict]:
        horizon = numbers["horizon"]
        reached = horizon if horizon < FULL else None
        verdicts = []
        for name, wanted in MOST_OF_OPTIMUM.items():
            row, plain = row_of(numbers, name), row_of(numbers, name, method=PLAIN)
            verdicts.append(judge(
                f"{name}, {TARGETS[name]:g}", OURS, f"at most {wanted:.2f} of C* by T={power(FULL)}",
                f"cost of the second half over C* (without contexts {plain['of_optimum']:.2f}, per-context optimum "
                f"{row['contextual_optimum']:.2f}; rate {row['late_rate']:.4f}, largest debt {row['largest_debt']:.2g})",
                _estimate(row, "of_optimum"), at_most=wanted, reached=reached,
            ))  # fmt: skip
        shuffled = max((row_of(numbers, name, SHUFFLED) for name in TARGETS), key=lambda row: float(row["of_optimum"]))
        early = max((row_of(numbers, name) for name in TARGETS), key=lambda row: float(row["early_of_plain"]))
        ours = [row for row in numbers["rows"] if row["method"] in (PLAIN, LOOKING)]
        worst = max(ours, key=lambda row: float(row["largest_debt"]))
        return [
            *verdicts,
            _by_mean("contexts that say nothing",
                     f"at most {MOST_SHUFFLED} of C* by T={power(FULL)} where contexts are shuffled",
                     f"cost of the second half over C*, worst of {len(TARGETS)} tasks ({shuffled['task']}; largest debt "
                     f"{shuffled['largest_debt']:.2g})", _estimate(shuffled, "of_optimum"), MOST_SHUFFLED, reached),
            _by_mean("at the start", f"over the first {numbers['early']:,} steps at most 5% above the plain selector",
                     f"cost over the plain selector's, paired, worst of {len(TARGETS)} tasks ({early['task']}; largest debt "
                     f"{early['largest_debt']:.2g})", _estimate(early, "early_of_plain"), MOST_EARLY,
                     horizon if horizon < EARLY else None),
            judge("never far behind", OURS,
                  f"debt is at most {MAX_DEBT} at every step, whatever the model plays, also through shifts",
                  f"largest debt, worst of {len(ours) * numbers['seeds']:,} runs ({worst['task']}, {worst['world']})",
                  Estimate.exact(worst["largest_debt"]), at_most=MAX_DEBT),
        ]  # fmt: skip

    def draw(self, numbers: Numbers, canvas: Canvas) -> None:
        rows = [(row_of(numbers, name, method=PLAIN), row_of(numbers, name), row_of(numbers, name, SHUFFLED))
                for name in TARGETS]  # fmt: skip
        ratios(canvas, rows, MOST_OF_OPTIMUM)
        time_course(canvas, numbers, TASKS_OF_RIVALS, PLAIN, LOOKING)


def trajectory(horizon: int) -> list[int]:
    """The steps between which the cost is averaged: their distances grow."""
    return [step for step in run_results.geometric(horizon, 10) if step >= min(FIRST_MARK, horizon)]


def world_of(name: str, world: str, horizon: int) -> ConfidentApis | Phases:
    """The stream of a task: as recorded, with contexts shuffled, or with a shift at half time."""
    if world in SHIFTS:
        return ConfidentApis.from_settings(task=name, shift=world, at=run_results.midpoint(horizon))
    return ConfidentApis(name, shuffled=world == SHUFFLED)


def optima_of(name: str) -> tuple[Optimum, Optimum]:
    """The optimum without contexts, and with them."""
    stream = ConfidentApis(name)
    return optimum(*stream.truth(), target=TARGETS[name]), contextual_optimum(*stream.cases(), target=TARGETS[name])


def row_of(numbers: Numbers, name: str, world: str = RECORDED, method: str | None = None) -> Numbers:
    """The row of one task, world and method; of the selector with a model if none is named."""
    key = (name, world, LOOKING if method is None else method)
    row: Numbers = next(r for r in numbers["rows"] if (r["task"], r["world"], r["method"]) == key)
    return row


def _context_report(summary: Summary) -> Numbers:
    """The share of decisions that the model made, and how often it lost trust or was reset; None without a model."""
    method = summary.method
    if not hasattr(method, "context_report") or method.model is None:
        return {"followed": None, "lost": None, "anew": None}
    report = method.context_report()
    return {"followed": report.followed / summary.steps, "lost": report.lost, "anew": report.anew}


def _aggregate(some: Sequence[Numbers], plain: Sequence[Numbers], optima: tuple[Optimum, Optimum]) -> Numbers:
    """One row from the runs of several seeds. Where the world shifts there is no one optimum."""
    first = some[0]
    row: Numbers = {
        "task": first["task"], "target": TARGETS[first["task"]], "world": first["world"], "method": first["method"],
        "feedback": first["feedback"], "seeds": len(some),
    }  # fmt: skip
    steady = first["world"] not in SHIFTS
    late, before = ([run["late_cost"] for run in group] for group in (some, plain))
    row["optimum"] = optima[0].cost if steady else None
    row["contextual_optimum"] = optima[1].cost / optima[0].cost if first["world"] == RECORDED else None
    if steady:
        _put(row, "of_optimum", statistics.mean([cost / optima[0].cost for cost in late]))
    _put(row, "late_of_plain", statistics.ratio(late, before))
    _put(
        row,
        "early_of_plain",
        statistics.ratio([run["early_cost"] for run in some], [run["early_cost"] for run in plain]),
    )
    for column in ("rate", "late_rate", "cost", "late_cost", "debt"):
        _put(row, column, statistics.mean([run[column] for run in some]))
    row["largest_debt"] = max(run["largest_debt"] for run in some)
    row["worst_window"] = min(run["worst_window"] for run in some)
    if first["followed"] is not None:
        row |= {what: statistics.mean([run[what] for run in some]).value for what in ("followed", "lost", "anew")}
    return row


def _put(row: Numbers, column: str, estimate: Estimate) -> None:
    row |= {column: estimate.value, f"{column}_low": estimate.low, f"{column}_high": estimate.high}


def _estimate(row: Numbers, column: str) -> Estimate:
    return Estimate(row[column], row[f"{column}_low"], row[f"{column}_high"])


def _by_mean(claim: str, says: str, measured: str, estimate: Estimate, at_most: float, reached: int | None) -> Verdict:
    """A verdict by the mean alone, with its interval: the worst of several tasks is partly bad luck."""
    verdict = judge(
        claim,
        OURS,
        says,
        f"{measured}; judged by the mean",
        Estimate.exact(estimate.value),
        at_most=at_most,
        reached=reached,
    )
    return replace(verdict, low=estimate.low, high=estimate.high)
