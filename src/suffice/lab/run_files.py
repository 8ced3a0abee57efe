"""What a comparison writes down: its numbers as JSON and CSV, and a figure of rate, debt and cost so far."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from suffice.best_mix import Optimum
from suffice.lab.experiment import Canvas, Experiment, Numbers
from suffice.lab.report import csv_text
from suffice.lab.run import Comparison, Row
from suffice.lab.verdict import Estimate

NAME = "run"


def numbers(found: Comparison, about: dict[str, Any]) -> Numbers:
    """A comparison in JSON's terms; what is not a number becomes null."""
    document: Numbers = finite(
        {
            **about,
            "target": found.target,
            "horizon": found.horizon,
            "seeds": list(found.seeds),
            "window": found.window,
            "optimum": benchmark(found.best, mix=found.mix),
            "contextual_optimum": benchmark(found.looking),
            "unreachable": found.unreachable,
            "rows": [asdict(row) for row in found.rows],
            "skipped": found.skipped,
            "certificates": {name: _certificate(certificate) for name, certificate in found.certificates.items()},
        }
    )
    return document


def benchmark(best: Optimum | None, **more: Any) -> dict[str, Any] | None:
    """An optimum in JSON's terms."""
    return None if best is None else {"cost": best.cost, "price": best.price, "price_ahead": best.price_ahead, **more}


def _certificate(certificate: Any) -> dict[str, Any]:
    names = (
        "outcomes",
        "successes",
        "rate",
        "debt",
        "debt_at_most",
        "ahead_at_most",
        "holds",
        "breach",
        "feasible",
        "consistent",
    )
    return {**{name: getattr(certificate, name) for name in names}, "text": str(certificate)}


def finite(value: Any) -> Any:
    """The same with null in the place of nan and infinity, which JSON does not know.

    >>> finite({"a": [1.5, float("nan")]})
    {'a': [1.5, None]}
    """
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(found: Comparison, about: dict[str, Any], folder: Path) -> list[Path]:
    """Write run.json, run.csv, run.svg, run-dark.svg and run.png; their paths. Needs matplotlib."""
    from suffice.lab import drawing

    document = {**numbers(found, about), "curves": found.curves}
    (folder / f"{NAME}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (folder / f"{NAME}.csv").write_text(csv_text([flat(row) for row in found.rows]), encoding="utf-8")
    # Only `draw` is asked of it; the rest of an experiment is not needed to make a figure.
    drawing.draw(cast(Experiment, _Figure()), document, folder)
    return [folder / f"{NAME}{ending}" for ending in (".json", ".csv", ".svg", "-dark.svg", ".png")]


def flat(row: Row) -> dict[str, Any]:
    """A row with its intervals in columns of their own."""
    cells: dict[str, Any] = {}
    for name in row.__slots__:
        cells |= spread(name, getattr(row, name))
    return cells


def spread(name: str, value: Any) -> dict[str, Any]:
    """An estimate as three columns, anything else as one.

    >>> spread("cost", Estimate(2.0, 1.5, 2.5)), spread("method", "paper")
    ({'cost': 2.0, 'cost_low': 1.5, 'cost_high': 2.5}, {'method': 'paper'})
    """
    if not isinstance(value, Estimate):
        return {name: value}
    return {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}


class _Figure:
    """Rate, debt and cost so far, one line per method."""

    def draw(self, document: Numbers, canvas: Canvas) -> None:
        rate, debt, cost = canvas.panels(NAME, 3)
        for name, curve in document["curves"].items():
            for panel, values in ((rate, "rate"), (debt, "debt"), (cost, "cost")):
                panel.plot(curve["step"], curve[values], color=canvas.colour(name), label=name, linewidth=1.2)
        grey = canvas.colour("target")
        rate.axhline(document["target"], linestyle=":", color=grey)
        debt.axhline(0.0, linestyle=":", color=grey)
        if document["optimum"] is not None:
            cost.axhline(document["optimum"]["cost"], linestyle=":", color=grey, label="optimum")
        if document["contextual_optimum"] is not None:
            looking = document["contextual_optimum"]["cost"]
            cost.axhline(looking, linestyle="--", color=grey, label="optimum, looking at the context")
        lowest = min(min(curve["rate"]) for curve in document["curves"].values())
        rate.set(
            ylabel="success rate so far (dotted: the target)",
            ylim=(max(0.0, min(lowest, document["target"]) - 0.05), 1.02),
        )
        debt.set_ylabel("successes owed (debt)")
        cost.set_ylabel("mean cost so far")
        for panel in (rate, debt, cost):
            panel.set_xlabel("steps")
        cost.legend(fontsize=8)
