"""`suffice demo --live`: what is said and shown while three worlds use a service, and when it ends."""

import os
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from suffice.cli.commands import require_live
from suffice.cli.terminal import console, fitted, interruptible, plain_table, tenths, watched, write_json
from suffice.errors import InvalidArgument
from suffice.numbers import positive, positive_int
from suffice.promise.certificate import Certificate, percent

if TYPE_CHECKING:
    from suffice.client import RemoteCertificate
    from suffice.lab.live.server import LiveService, Observation

OFTEN: Final = 0.5  # seconds between looks in a terminal
SELDOM: Final = 5.0  # … and elsewhere
RECENT: Final = 10  # looks back that count as now

Looks = Sequence["Observation"]


def live(
    port: int, pace: float, first: int, seconds: float | None, opened: bool | None, seed: int, as_json: bool
) -> None:
    """Play until Ctrl-C, SIGTERM, or for so many seconds; then say what came of it."""
    positive("pace", pace)
    if seconds is not None:
        positive("seconds", seconds)
    positive_int("first", first, 0)
    positive_int("seed", seed, 0)
    if positive_int("port", port, 0) > 65535:
        raise InvalidArgument(f"port must be at most 65535, got {port}")
    require_live("demo --live")
    from suffice.lab.live.server import LiveService

    where = console(as_json)
    with interruptible(), LiveService(port=port, pace=pace, first=first, seed=seed) as stage:
        if watched(where):  # no spinner: the service may say that it compiles, on the line below
            where.print("starting the service ...")
        stage.start()
        where.print(_story(stage, pace, first))
        _open(stage.address, opened, where)
        with suppress(KeyboardInterrupt):  # that is how it ends
            _watch(stage, where, seconds)
        stage.stop()
        _end(stage, where, as_json)


# --- the beginning


def _story(stage: "LiveService", pace: float, first: int) -> Group:
    worlds = Table.grid(padding=(0, 0, 0, 2))
    for world in stage.worlds:
        worlds.add_row(Text(world.name, style="bold"), Text(world.about))
    at_once = f" The first {first:,} of each come as fast as they can." if first else ""
    return Group(
        Text("\nOpen ").append(stage.address, style=f"bold link {stage.address}"),
        Text(
            f"\nA service runs there, and three worlds ask it what to do and tell it how it went, {pace:g} times a second "
            f"each.{at_once} Each world shifts, and shifts back, again and again:\n"
        ),
        worlds,
        Text(
            "\nWatch the debt, the successes owed: it stays below its bound at every shift. What gives way is the cost, which "
            "rises while only dear options work and falls when cheap ones do again.\n"
            "Nothing is kept: it ends with Ctrl-C, with the three certificates.\n"
        ),
    )


def _open(address: str, wanted: bool | None, where: Console) -> None:
    """Open the page, if it is wanted, or if somebody sits before a screen."""
    screen = sys.platform in ("darwin", "win32") or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    if wanted is None:
        wanted = watched(where) and sys.stdin.isatty() and screen and "CI" not in os.environ
    if wanted:
        import webbrowser

        if not webbrowser.open(address):
            where.print(Text("There is no browser here that could be opened: the address is above.", style="yellow"))


# --- meanwhile


def _watch(stage: "LiveService", where: Console, seconds: float | None) -> None:
    if not watched(where):
        for looks in _looking(stage, seconds, SELDOM):
            for look in looks:
                where.print(_line(look), soft_wrap=True)
        return
    past: deque[Looks] = deque(maxlen=RECENT)
    with Live(console=where, auto_refresh=False, transient=True) as moving:
        for looks in _looking(stage, seconds, OFTEN):
            past.append(looks)
            moving.update(Padding(fitted(_table(looks, past[0]), where), (0, 0, 1, 0)), refresh=True)


def _looking(stage: "LiveService", seconds: float | None, every: float) -> Iterator[Looks]:
    """A look now and then; the last when the time is over."""
    while seconds is None or stage.seconds < seconds:
        time.sleep(every if seconds is None else max(0.0, min(every, seconds - stage.seconds)))
        yield stage.looks()


def _table(looks: Looks, before: Looks) -> Table:
    """Two lines for each world: how it is now, and below each number what it is held against."""
    table = plain_table("world", "told", "success", "debt", "cost*")
    table.caption, table.caption_justify = "* of what always playing the safe option costs", "left"
    for look, earlier in zip(looks, before, strict=True):
        now, then, safe = look.overview, earlier.overview, look.overview.safe_cost
        recent = _share(now.cost - then.cost, now.outcomes - then.outcomes, safe)
        cells = (
            (f"{now.outcomes:,}", f"{now.pending:,} pending"),
            ("–" if now.rate is None else percent(now.rate), f"≥ {percent(now.target)}"),
            (tenths(now.debt), f"≤ {tenths(now.debt_at_most)}"),
            (
                _share(now.cost, now.outcomes, safe),
                f"now {recent:>6}",
            ),
        )
        kept = "green" if now.holds else "red"
        table.add_row(
            Text(look.world.name, style="bold").append(f"\n{look.words}\n", style="not bold dim"),
            *(
                Text(number, style=kept if place in (1, 2) else "").append(f"\n{against}", style="not bold dim")
                for place, (number, against) in enumerate(cells)
            ),
        )
    return table


def _line(look: "Observation") -> Text:
    overview = look.overview
    rate = (
        "nothing told yet" if overview.rate is None else f"{percent(overview.rate)} of {overview.outcomes:,} succeeded"
    )
    cost = _share(overview.cost, overview.outcomes, overview.safe_cost)
    return Text(
        f"{look.world.name}: {rate} (target {percent(overview.target)}), debt {tenths(overview.debt)} (at most "
        f"{tenths(overview.debt_at_most)}), cost {cost} of the safe option's, {overview.pending:,} pending; now {look.words}"
    )


def _share(cost: float, told: int, safe: float) -> str:
    return f"{cost / told / safe:.1%}" if told > 0 else "–"


# --- the end


def _end(stage: "LiveService", where: Console, as_json: bool) -> None:
    looks, certificates = stage.looks(), stage.certificates()
    if as_json:
        found = zip(looks, certificates, strict=True)
        worlds = {look.world.name: _numbers(look, certificate) for look, certificate in found}
        write_json({"address": stage.address, "seconds": round(stage.seconds, 1), "worlds": worlds})
        return
    for look, certificate in zip(looks, certificates, strict=True):
        overview = look.overview
        share = _share(overview.cost, overview.outcomes, overview.safe_cost)
        text = Text(f"{certificate}\nIt cost {share} of what always playing the safe option does.")
        where.print(Panel(text, title=look.world.name, title_align="left"))
    where.print(Text("Your own: `suffice serve` (`make serve` in a checkout), and docs/service/index.md.", style="dim"))


def _numbers(look: "Observation", certificate: "RemoteCertificate") -> dict[str, Any]:
    """A certificate and the cost that goes with it."""
    said = {
        one.name: getattr(certificate, one.name) for one in fields(Certificate) if one.name not in ("promise", "counts")
    }
    return {
        "about": look.world.about, "mean_cost": look.overview.mean_cost, "safe_cost": look.overview.safe_cost,
        "status": certificate.status, **said, "text": certificate.text,
    }  # fmt: skip
