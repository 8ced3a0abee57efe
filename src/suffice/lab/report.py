"""What `suffice reproduce` writes beside its figures: the numbers as JSON and CSV, the verdicts as CSV."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from suffice.lab.experiment import Experiment, Numbers, Settings
from suffice.lab.verdict import Verdict


class Result:
    """An experiment that was run."""

    def __init__(self, experiment: Experiment, settings: Settings, numbers: Numbers) -> None:
        self.experiment, self.settings, self.numbers = experiment, settings, numbers
        self.verdicts = experiment.verdicts(numbers)


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
