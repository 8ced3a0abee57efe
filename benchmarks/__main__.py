"""Run with `python -m benchmarks`, from the repository's root."""

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import suffice
from benchmarks.agreement import Disagreement, check
from benchmarks.contestants import CONTESTANTS
from benchmarks.extras import creation, extras
from benchmarks.measure import QUICK, Plan, measure
from benchmarks.report import page


def main() -> int:
    names = ", ".join(kind.name for kind in CONTESTANTS)
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time per decision: suffice and peers.")
    parser.add_argument("--quick", action="store_true", help="about a minute, rough numbers")
    parser.add_argument("--only", action="append", metavar="NAME", help=f"those whose name contains this, of {names}")
    parser.add_argument("--out", type=Path, help="where to write; by default this folder, or nowhere with --only")
    given = parser.parse_args()
    kinds = [kind for kind in CONTESTANTS if not given.only or any(name in kind.name for name in given.only)]
    if not kinds:
        parser.error(f"--only must be part of one of {names}")
    plan = QUICK if given.quick else Plan()
    warnings.simplefilter("ignore")  # peers warn of their own affairs with each call
    start = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - start:6.1f} s  {what}", file=sys.stderr, flush=True)

    warmup = getattr(suffice, "warmup", None)
    if warmup is not None:
        say("suffice.warmup()")
        warmup()
    try:
        agreed = check()
    except Disagreement as error:
        print(error, file=sys.stderr)
        return 1
    say(agreed)
    service = "" if given.only else _service(given.quick, say)
    # The rest first: its memory and caches are best measured before the contestants fill both.
    rows, created = ([], []) if given.only else (extras(plan, say), creation(plan))
    timings = list(measure(kinds, plan, say))
    report = page(timings, created, rows, service, agreed, plan, time.monotonic() - start)
    folder = given.out or (None if given.only else Path(__file__).parent)
    if folder is None:
        print(report)
        return 0
    from benchmarks.figure import draw  # only here: a look at one contestant needs no matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "RESULTS.md").write_text(report, encoding="utf-8")
    draw(timings, folder)
    say(f"wrote RESULTS.md and decision_time.svg in {folder.name}/")
    return 0


def _service(quick: bool, say: Callable[[str], None]) -> str:
    """The service under load, as far as it can be measured here."""
    say("the service")
    try:
        from benchmarks.service import QUICK as QUICK_LOAD
        from benchmarks.service import Effort, measured
    except ImportError as error:
        return f"Not measured: {error}."
    return measured(QUICK_LOAD if quick else Effort(), say)


if __name__ == "__main__":
    sys.exit(main())
