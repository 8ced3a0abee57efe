"""The report: one HTML file that needs no other, the numbers as JSON and CSV, the verdicts as CSV."""

import base64
import csv
import html
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from suffice.lab.experiment import Experiment, Numbers, Settings
from suffice.lab.verdict import OURS, REPRODUCED, Verdict

STYLE: Final = """
:root { color-scheme: light dark; --ink: #222; --page: #fff; --line: #ddd; --dim: #666; --good: #007a55; --bad: #b3360b;
  --wait: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --page: #16181c; --line: #3a3d42; --dim: #a0a4aa;
  --good: #4fd1a5; --bad: #ff8f66; --wait: #f0c05a; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 70rem;
  margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; margin: 1rem 0; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.reproduced { color: var(--good); font-weight: 600; } .failed { color: var(--bad); font-weight: 600; }
.waiting { color: var(--wait); font-weight: 600; } .dim { color: var(--dim); }
.verdicts { table-layout: fixed; min-width: 50rem; } .verdicts th:nth-child(1) { width: 32%; }
.verdicts th:nth-child(2) { width: 25%; } .verdicts th:nth-child(3) { text-align: right; width: 16%; } a { color: inherit; }
img { max-width: 100%; height: auto; } .wide { overflow-x: auto; }
h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }
h3 { margin-bottom: 0; }
"""
HEAD: Final = f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>suffice: the paper, reproduced</title><style>{STYLE}</style></head><body>
<h1>The paper, reproduced</h1>"""


class Result:
    """An experiment that was run."""

    def __init__(self, experiment: Experiment, settings: Settings, numbers: Numbers) -> None:
        self.experiment, self.settings, self.numbers = experiment, settings, numbers
        self.verdicts = experiment.verdicts(numbers)
        self.figures: list[str] = []


def write_numbers(results: list[Result], folder: Path, about: Mapping[str, str]) -> None:
    """numbers.json, verdicts.csv, and a CSV of rows per experiment: the same bytes for the same seed."""
    document = {
        **about,
        "experiments": {
            result.experiment.name: {
                "settings": result.settings,
                "verdicts": [asdict(verdict) for verdict in result.verdicts],
                "numbers": result.numbers,
            }
            for result in results
        },
    }
    (folder / "numbers.json").write_text(json.dumps(document, indent=1) + "\n")
    verdicts = [{"experiment": r.experiment.name, **asdict(v)} for r in results for v in r.verdicts]
    (folder / "verdicts.csv").write_text(csv_text(verdicts))
    for result in results:
        (folder / f"{result.experiment.name}.csv").write_text(csv_text(result.numbers.get("rows", [])))


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV, with a column for every name that any of them has.

    >>> print(csv_text([{"a": 1}, {"a": 2, "b": "x"}]).strip())
    a,b
    1,
    2,x
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def json_text(document: object, indent: int = 1) -> str:
    """JSON that every reader takes: nan and infinity become null.

    >>> print(json_text({"a": [1.5, float("nan")]}, indent=0).replace("\\n", ""))
    {"a": [1.5,null]}
    """
    return json.dumps(_finite(document), indent=indent) + "\n"


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_page(results: list[Result], folder: Path, about: Mapping[str, str], made: str) -> Path:
    """Write report.html: verdicts first, then each experiment with its figures and numbers. It needs no other file."""
    verdicts = [verdict for result in results for verdict in result.verdicts]
    of_paper = _share([verdict for verdict in verdicts if verdict.source != OURS])
    of_suffice = _share([verdict for verdict in verdicts if verdict.source == OURS])
    parts = [
        HEAD,
        "<p><em>Efficient Online Conformal Selection with Limited Feedback</em> (Gollapudi, Kollias, Munagala and Sinop, "
        f"2026), claim by claim. {of_paper} of its claims are reproduced at level “{html.escape(about['level'])}”, and "
        f"{of_suffice} of what suffice promises itself. Intervals are 95%, over seeds; “no interval” stands where no chance "
        "is involved, or where the number is the worst of all runs. Every method is shown whether the option played worked, "
        "and its cost; nothing else.</p>",
        f'<p class="dim">{html.escape(made)}</p>',
        *(_verdicts(result) for result in results),
        *(_section(result, folder) for result in results),
        "</body></html>",
    ]
    path = folder / "report.html"
    path.write_text("\n".join(parts) + "\n")
    return path


def _share(verdicts: list[Verdict]) -> str:
    return f"{sum(verdict.status == REPRODUCED for verdict in verdicts)} of {len(verdicts)}"


def _verdicts(result: Result) -> str:
    name, title = result.experiment.name, html.escape(result.experiment.title)
    rows = "".join(
        f"<tr><td><strong>{html.escape(v.claim)}</strong><br>{html.escape(v.says)}<br>"
        f"<span class=dim>{html.escape(v.source)}</span></td>"
        f"<td>{html.escape(v.measured)}</td><td class=number>{number(v.value)}<br>"
        f"<span class=dim>{span(v)}</span></td><td>{html.escape(v.wanted)}</td>"
        f'<td class="{_kind(v)}">{html.escape(v.status)}</td></tr>'
        for v in result.verdicts
    )
    return (
        f'<h3><a href="#{name}">{title}</a></h3>'
        f"<div class=wide><table class=verdicts><tr><th>the claim</th><th>what was measured</th><th>number</th>"
        f"<th>wanted</th><th>verdict</th></tr>{rows}</table></div>"
    )


def _kind(verdict: Verdict) -> str:
    if verdict.status == REPRODUCED:
        return "reproduced"
    return "waiting" if verdict.status.startswith("not reached") else "failed"


def _section(result: Result, folder: Path) -> str:
    experiment = result.experiment
    figures = "".join(_figure(name, folder, experiment.title) for name in result.figures)
    settings = html.escape(json.dumps(result.settings))
    return (
        f'<h2 id="{experiment.name}">{html.escape(experiment.title)}</h2><p>{html.escape(experiment.about)}</p>{figures}'
        f"<p class=dim>numbers: {experiment.name}.csv; settings: {settings}</p>"
    )


def _figure(name: str, folder: Path, title: str) -> str:
    """A figure inside the page, light or dark as the reader's screen is."""

    def inlined(ending: str) -> str:
        content = (folder / f"{name}{ending}.svg").read_bytes()
        return f"data:image/svg+xml;base64,{base64.b64encode(content).decode()}"

    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{inlined("-dark")}">'
        f'<img src="{inlined("")}" alt="{html.escape(title)}: {html.escape(name)}"></picture>'
    )


def number(value: float) -> str:
    """Four digits, with commas.

    >>> number(0.123456), number(1234567.0), number(0.0), number(20)
    ('0.1235', '1,234,567', '0', '20')
    """
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def brief(value: float, digits: int = 3) -> str:
    """Three digits, or all those before the point, with commas; never a negative zero.

    >>> brief(0.12345), brief(-12345.6), brief(99.96), brief(1.0), brief(-0.0), brief(0.0000456, 2)
    ('0.123', '-12,346', '100', '1.00', '0', '4.6e-5')
    """
    value = round(value, 9) + 0.0  # a debt is a sum of many terms with rounding errors
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) < 1e-4:
        return f"{value:.{min(2, digits) - 1}e}".replace("e-0", "e-")
    shown = value if abs(value) >= 10**digits else float(f"{value:.{digits}g}")
    return f"{shown:,.{max(0, digits - 1 - math.floor(math.log10(abs(shown))))}f}"


def span(verdict: Verdict) -> str:
    """The interval of a verdict, or that there is none."""
    return "no interval" if verdict.low == verdict.high else f"{number(verdict.low)} to {number(verdict.high)}"
