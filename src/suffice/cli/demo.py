"""`suffice demo`: label ranks, first easy, then hard, and four ways to choose; or, with --live, a service to look at."""

from typing import Annotated

from cyclopts import App, Group, Parameter
from rich.panel import Panel
from rich.text import Text

from suffice.cli.boards import board_cells
from suffice.cli.commands import OPTIONS, Flag, MaybeWhole, Whole, command
from suffice.cli.live import live
from suffice.cli.tables import table_of
from suffice.cli.terminal import console, progress
from suffice.errors import InvalidArgument
from suffice.lab.demo import Demo, PhaseCosts, run_demo
from suffice.lab.live import FIRST, PACE
from suffice.numbers import positive_int, rate
from suffice.promise.wording import percent

TABLE = Group("Without --live", sort_key=5)
LIVE = Group("With --live", sort_key=6)
TARGET, EASY_STEPS, HARD_STEPS = 0.8, 20_000, 10_000


def demo(
    *,
    live_: Annotated[Flag, Parameter(
        name="--live", group=OPTIONS,
        help="Start the service, with three simulated users, and print where to look. Ctrl-C ends it.")] = False,
    target: Annotated[float, Parameter(group=TABLE, help="The success rate to hold.")] = TARGET,
    easy: Annotated[Whole, Parameter(
        group=TABLE, help="How many easy images come first (true label among the classifier's first five).")] = EASY_STEPS,
    hard: Annotated[Whole, Parameter(
        group=TABLE, help="How many hard ones follow (true label at rank 80 or beyond).")] = HARD_STEPS,
    port: Annotated[MaybeWhole, Parameter(group=LIVE, help="The port to listen on; any that is free if left out.")] = None,
    pace: Annotated[float | None, Parameter(
        group=LIVE, show_default=f"{PACE:g}", help="Decisions per second of each user.")] = None,
    first: Annotated[MaybeWhole, Parameter(
        group=LIVE, show_default=f"{FIRST:,}", help="So many decisions of each user run at full speed at the start.")] = None,
    seconds: Annotated[float | None, Parameter(group=LIVE, help="End after so many seconds; else Ctrl-C ends it.")] = None,
    seed: Annotated[Whole, Parameter(group=OPTIONS, help="Which draw.")] = 0,
) -> None:  # fmt: skip
    """See it work: in the terminal, or with --live in a browser.

    How many labels to show? CIFAR-100 label ranks, first easy, then hard, and four ways to choose: a table in a few seconds.
    With --live, a service on this machine: three simulated users, whose streams shift again and again, ask it what to do,
    and a page shows how the promise is kept.
    """
    if not live_:
        for name, value in {"port": port, "pace": pace, "first": first, "seconds": seconds}.items():
            if value is not None:
                raise InvalidArgument(f"{name} must go with --live")
        _show_table(target, easy, hard, seed)
    elif (target, easy, hard) != (TARGET, EASY_STEPS, HARD_STEPS):
        raise InvalidArgument("target, easy and hard must be left out with --live: its streams are fixed")
    else:
        live(port or 0, PACE if pace is None else pace, FIRST if first is None else first, seconds, seed)


def _show_table(target: float, easy: int, hard: int, seed: int) -> None:
    where = console()
    rate("target", target)
    for name, value, least in (("easy", easy, 1), ("hard", hard, 1), ("seed", seed, 0)):
        positive_int(name, value, least)
    where.print(_story(target, easy, hard))
    with progress(where) as report:
        result = run_demo(target, easy, hard, seed, report)
    where.print(table_of(*_cells(result, target)))
    certificate = Text(str(result.board.certificates["suffice"]))
    where.print(Panel(certificate, title="suffice's certificate", title_align="left"))
    where.print(Text(_conclusion(result), style="dim"))


def _story(target: float, easy: int, hard: int) -> Text:
    return Text(
        "\nA classifier ranks 100 labels. We show the first k of 0, 5, 10, 20, 50 or 100 and learn only whether the "
        f"true label was among them; showing k costs k/100. The goal: succeed {percent(target)} of the time and show "
        f"little. The ranks are drawn from those of a real classifier on CIFAR-100: {easy:,} easy ones (rank 5 or better) "
        f"come first; then, unannounced, {hard:,} hard ones (rank 80 or worse), where only showing all 100 works.\n"
    )


def _cells(result: Demo, target: float) -> tuple[list[str], list[list[Text]]]:
    """The table of methods with the cost of each phase, and the least possible cost, knowing both beforehand."""
    board = result.board
    headings, lines = board_cells(board)
    for line, row in zip(lines, board.rows, strict=True):
        line += _by_phase(result.costs[row.method])
    words = ["least possible", percent(target), "0.0", "", "", f"{result.optimum.both:.3f}"]
    lines.append([*(Text(word, style="dim") for word in words), *_by_phase(result.optimum)])
    return [*headings, "on easy\nimages", "on hard\nimages"], lines


def _by_phase(costs: PhaseCosts) -> list[Text]:
    return [Text(f"{costs.easy:.3f}"), Text(f"{costs.hard:.3f}")]


def _conclusion(result: Demo) -> str:
    target, share = result.board.setting.target, result.costs["suffice"].both / result.costs["always safe"].both
    return (
        "Debt: successes owed; below 0 is ahead. A cost below the least possible is bought with debt. †: fails far more often "
        f"than allowed. The paper and the projected price have the step 20/√T. suffice held {percent(target)} "
        f"and spent {percent(share)} of what always playing the safe option costs.\n"
        "Next: `suffice demo --live` (`make live` in a checkout) to watch it on a page, the ten lines in README.md, or "
        "`suffice compare` on your own stream (pip install 'suffice[lab]')."
    )


app: App = command(
    demo,
    "suffice demo",
    "suffice demo --target 0.95 --hard 20_000",
    "suffice demo --live",
)
