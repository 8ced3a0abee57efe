"""Selectors of the service, kept in memory and on disk, and through a restart."""

from typing import Any, Final

from . import menus
from .of_selectors import COINS, CONTAINED, EASY, LOOKING, OPTIMIST, PARTS, SHIFTING, SHIFTING_COINS, THOMPSON
from .records import Flow, Serving, Spec, World


def _case(
    name: str, menu: Spec, target: float, steps: int, settings: Spec, world: World = COINS, flow: Flow | None = None,
    on_disk: bool = False, **more: Any,
) -> Serving:  # fmt: skip
    restarted = name.endswith("restarted")  # which nothing but a file outlives
    kept = on_disk or restarted
    return Serving(
        f"service: {name}", menu, target, steps, {**settings, **more}, world, flow or Flow(), kept, restarted
    )


SERVICE: Final = [
    _case("two", menus.TWO, 0.9, 300, OPTIMIST),
    _case("two, on disk", menus.TWO, 0.9, 200, OPTIMIST, flow=Flow(delay=8), on_disk=True),
    _case("two, restarted", menus.TWO, 0.85, 200, OPTIMIST, flow=Flow(delay=8)),
    _case("top, thompson", menus.TOP, 0.9, 250, CONTAINED, SHIFTING, Flow(delay=5)),
    _case("top, thompson, restarted", menus.TOP, 0.9, 200, CONTAINED, SHIFTING, Flow(batch=3, delay=5)),
    _case("five, thompson, restarted", menus.FIVE, 0.8, 160, {**THOMPSON, "memory": "window 200"}, SHIFTING_COINS,
          Flow(batch=4, delay=2)),
    _case("told", menus.TOLD, 0.8, 200, OPTIMIST, flow=Flow(delay=6, twice=0.1)),
    _case("told twice, on disk", menus.TOLD_BARE, 0.85, 150, OPTIMIST, flow=Flow(delay=6, twice=0.2), on_disk=True),
    _case("many at once", menus.TWO, 0.9, 100, OPTIMIST, flow=Flow(batch=10, delay=4)),
    _case("many at once, on disk", menus.TOP_BARE, 0.95, 100, CONTAINED, EASY, Flow(batch=10, delay=4), on_disk=True),
    _case("overdue", menus.TWO, 0.8, 200, OPTIMIST, flow=Flow(delay=10, lost=0.03, seconds=1.0), expire_after=8.0),
    _case("overdue, restarted", menus.TWO, 0.8, 200, OPTIMIST, flow=Flow(delay=10, lost=0.03, seconds=1.0), expire_after=8.0),
    _case("at most 6 out", menus.FIVE, 0.8, 200, OPTIMIST, flow=Flow(delay=10), in_flight=6),
    _case("groups", menus.TWO, 0.9, 250, OPTIMIST, flow=Flow(groups=("a", "b", "c"), delay=3)),
    _case("groups, restarted", menus.TOP, 0.8, 200, CONTAINED, EASY, Flow(groups=("a", "b", None), delay=3)),
    _case("model", menus.TWO, 0.8, 250, LOOKING, flow=Flow(contexts=True, delay=3)),
    _case("model, restarted", menus.TOLD, 0.8, 100, LOOKING, flow=Flow(contexts=True, batch=4, delay=3)),
    _case("model, groups, on disk", menus.TWO, 0.85, 150, LOOKING,
          flow=Flow(contexts=True, groups=("a", "b"), delay=3), on_disk=True),
    _case("restricted, unaudited", menus.FIVE, 0.8, 200, OPTIMIST, flow=Flow(restricted=0.5, unaudited=0.2)),
    _case("restricted, unaudited, restarted", menus.SUBSETS, 0.9, 150, CONTAINED, PARTS,
          Flow(restricted=0.3, unaudited=0.3, delay=3)),
    _case("fractions, imperfect, restarted", menus.GOOD, 0.8, 200, OPTIMIST,
          World("coins", (6.0,), best=0.97, fractions=True), Flow(delay=3)),
    _case("long menu, restarted", menus.TOP_LONG, 0.9, 150, {**OPTIMIST, "bounds": "contained"}, EASY,
          Flow(delay=3, batch=2)),
    _case("straight, slack, 2 behind", menus.TWO, 0.95, 150, OPTIMIST, prices="straight", max_surplus=9, max_debt=2),
    _case("insisted on, restarted", menus.FIVE, 0.9, 200, OPTIMIST, SHIFTING_COINS,
          Flow(restricted=0.5, insisted=0.7, delay=3)),
]  # fmt: skip
