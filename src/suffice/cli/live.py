"""`suffice demo --live`: what is printed while simulated users ask a service, and at the end."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from suffice.cli.commands import require
from suffice.cli.tables import plain_table, tenths
from suffice.cli.terminal import console, interactive, interruptible
from suffice.errors import InvalidArgument
from suffice.numbers import positive, positive_int
from suffice.promise.wording import percent

if TYPE_CHECKING:
    from suffice.lab.live.server import LiveService, Observation

OFTEN: Final = 0.5  # seconds between updates in a terminal
SELDOM: Final = 5.0  # … and elsewhere
RECENT: Final = 10  # updates over which the recent cost is taken

Observations = Sequence["Observation"]


def live(port: int, pace: float, first: int, seconds: float | None, seed: int) -> None:
    """Run the demo until Ctrl-C, SIGTERM, or for so many seconds; then print the certificates."""
    positive("pace", pace)
    if seconds is not None:
        positive("seconds", seconds)
    positive_int("first", first, 0)
    positive_int("seed", seed, 0)
    if positive_int("port", port, 0) > 65535:
        raise InvalidArgument(f"port must be at most 65535, got {port}")
    require("demo --live", "live")
    from suffice.lab.live.server import LiveService

    where = console()
    with interruptible(), LiveService(port=port, pace=pace, first=first, seed=seed) as service:
        if interactive(where):  # no spinner: the service may print on the next line that it compiles
            where.print("starting the service ...")
        service.start()
        where.print(_story(service, pace, first))
        with suppress(KeyboardInterrupt):  # the usual end
            _watch(service, where, seconds)
        service.stop()
        _end(service, where)


# --- the beginning


def _story(service: "LiveService", pace: float, first: int) -> Group:
    scenarios = Table.grid(padding=(0, 0, 0, 2))
    for scenario in service.scenarios:
        scenarios.add_row(Text(scenario.name, style="bold"), Text(scenario.about))
    at_once = f" The first {first:,} of each run at full speed." if first else ""
    return Group(
        Text("\nOpen ").append(service.address, style=f"bold link {service.address}"),
        Text(
            f"\nA service runs there, and three simulated users ask it what to do and report the outcomes, {pace:g} times a "
            f"second each.{at_once} Their streams shift, and shift back, again and again:\n"
        ),
        scenarios,
        Text(
            "\nWatch the debt, the successes owed: it stays below its bound at every shift. What changes is the cost, which "
            "rises while only expensive options work and falls when cheap options work again.\n"
            "Nothing is stored: Ctrl-C ends it and prints the three certificates.\n"
        ),
    )


# --- meanwhile


def _watch(service: "LiveService", where: Console, seconds: float | None) -> None:
    """Show a table of all scenarios: in a terminal one that moves, elsewhere again and again."""
    past: deque[Observations] = deque(maxlen=RECENT)
    moving = Live(console=where, auto_refresh=False, transient=True) if interactive(where) else nullcontext()
    with moving as screen:
        for observations in _observe(service, seconds, SELDOM if screen is None else OFTEN):
            past.append(observations)
            table = Padding(_table(observations, past[0]), (0, 0, 1, 0))
            if screen is None:
                where.print(table)
            else:
                screen.update(table, refresh=True)


def _observe(service: "LiveService", seconds: float | None, every: float) -> Iterator[Observations]:
    """Observations at intervals; the last at the end of the time."""
    while seconds is None or service.seconds < seconds:
        time.sleep(every if seconds is None else max(0.0, min(every, seconds - service.seconds)))
        yield service.observe()


def _table(observations: Observations, before: Observations) -> Table:
    """Two lines for each scenario: numbers now, and below each number its limit or comparison."""
    table = plain_table("scenario", "outcomes", "success", "debt", "cost*")
    table.caption, table.caption_justify = "* of what always playing the safe option costs", "left"
    for observation, earlier in zip(observations, before, strict=True):
        now, then = observation.overview, earlier.overview
        recent = _share(now.cost - then.cost, now.outcomes - then.outcomes, now.safe_cost)
        kept = "green" if now.holds else "red"
        cells = (
            (f"{now.outcomes:,}", f"{now.pending:,} pending", ""),
            ("–" if now.rate is None else percent(now.rate), f"≥ {percent(now.target)}", kept),
            (tenths(now.debt), f"≤ {tenths(now.debt_at_most)}", kept),
            (_share(now.cost, now.outcomes, now.safe_cost), f"now {recent:>6}", ""),
        )
        table.add_row(
            Text(observation.scenario.name, style="bold").append(f"\n{observation.words}\n", style="not bold dim"),
            *(Text(value, style=style).append(f"\n{limit}", style="not bold dim") for value, limit, style in cells),
        )
    return table


def _share(cost: float, outcomes: int, safe_cost: float) -> str:
    return f"{cost / outcomes / safe_cost:.1%}" if outcomes > 0 else "–"


# --- the end


def _end(service: "LiveService", where: Console) -> None:
    for observation, certificate in zip(service.observe(), service.certificates(), strict=True):
        overview = observation.overview
        share = _share(overview.cost, overview.outcomes, overview.safe_cost)
        text = Text(f"{certificate}\nIt cost {share} of what always playing the safe option does.")
        where.print(Panel(text, title=observation.scenario.name, title_align="left"))
    where.print(Text("Your own: `suffice serve` (`make serve` in a checkout), and docs/service/index.md.", style="dim"))
