"""Selectors that are asked and told step by step. Bounds and choosers are always named: "auto" depends on the machine."""

from typing import Any, Final

from . import menus
from .records import Flow, Selecting, Spec, World

EASY, COINS = World(), World("coins", (5.0,))
SHIFTING = World("needs", (6.0, 1.2, 4.0))
SHIFTING_COINS = World("coins", (8.0, 1.5, 6.0))
POINTS, MOVING = World("points", (0.4,)), World("points", (0.25, 0.6, 0.4))
PARTS, SHIFTING_PARTS = World("parts", (2.0,)), World("parts", (4.0, 1.0))
OPTIMIST: Final[Spec] = {"bounds": "half-log", "chooser": "optimist", "memory": "full"}
THOMPSON: Final[Spec] = {"bounds": "half-log", "chooser": "thompson", "memory": "reset"}
CONTAINED: Final[Spec] = {"bounds": "contained", "chooser": "thompson", "memory": "reset"}
CLOSED: Final[Spec] = {"bounds": "closed", "chooser": "optimist", "memory": "full"}
LOOKING: Final[Spec] = {**OPTIMIST, "model": "auto"}


def _case(
    name: str, menu: Spec, target: float, steps: int, settings: Spec, world: World = EASY, flow: Flow | None = None,
    **more: Any,
) -> Selecting:  # fmt: skip
    return Selecting(f"selector: {name}", menu, target, steps, {**settings, **more}, world, flow or Flow())


# Each menu with bounds that suit it.
# Every second one has a small surplus, so that its price moves between both limits.
_PARTS = [
    _case(f"{name}, {bounds}, {chooser}, {memory}", menu, target, 800, {"max_surplus": 7} if turn % 2 else {}, world, None,
          bounds=bounds, chooser=chooser, memory=memory, seed=place)
    for place, (name, menu, world, target, ways) in enumerate([
        ("two", menus.TWO, COINS, 0.9, [
            ("half-log", "optimist", "full"), ("kl", "optimist", "full"), ("hoeffding", "optimist", "reset"),
            ("half-log", "thompson", "reset"), ("paper", "optimist", "full"), ("closed", "optimist", "discount 200"),
        ]),
        ("two bare", menus.TWO_BARE, COINS, 0.85, [
            ("half-log", "optimist", "reset"), ("kl", "thompson", "full"), ("hoeffding", "optimist", "window 200"),
        ]),
        ("told", menus.TOLD, COINS, 0.8, [
            ("half-log", "optimist", "full"), ("kl", "optimist", "reset"), ("hoeffding", "optimist", "full"),
            ("half-log", "thompson", "window 200"), ("paper", "optimist", "full"),
        ]),
        ("told bare", menus.TOLD_BARE, SHIFTING_COINS, 0.95, [
            ("half-log", "thompson", "reset"), ("half-log", "optimist", "discount 200"),
        ]),
        ("five", menus.FIVE, SHIFTING_COINS, 0.9, [
            ("half-log", "optimist", "reset"), ("half-log", "thompson", "full"), ("kl", "optimist", "window 200"),
            ("hoeffding", "optimist", "discount 200"),
        ]),
        ("chain told", menus.CHAIN_TOLD, EASY, 0.85, [
            ("contained", "optimist", "reset"), ("contained", "thompson", "full"), ("half-log", "optimist", "window 200"),
        ]),
        ("top", menus.TOP, EASY, 0.9, [
            ("contained", "thompson", "reset"), ("contained", "optimist", "full"), ("half-log", "optimist", "full"),
            ("kl", "optimist", "reset"), ("hoeffding", "thompson", "full"), ("paper", "optimist", "full"),
            ("contained", "thompson", "window 200"), ("contained", "thompson", "discount 200"),
        ]),
        ("top bare", menus.TOP_BARE, SHIFTING, 0.95, [
            ("contained", "thompson", "reset"), ("contained", "optimist", "reset"), ("closed", "thompson", "full"),
        ]),
        ("top long", menus.TOP_LONG, EASY, 0.9, [
            ("contained", "optimist", "reset"), ("half-log", "optimist", "full"), ("kl", "optimist", "full"),
        ]),
        ("loose", menus.LOOSE, COINS, 0.8, [
            ("half-log", "optimist", "reset"), ("hoeffding", "optimist", "full"), ("half-log", "thompson", "reset"),
        ]),
        ("loose told", menus.LOOSE_TOLD, COINS, 0.85, [("half-log", "optimist", "full"), ("kl", "optimist", "reset")]),
        ("thresholds", menus.THRESHOLDS, EASY, 0.85, [
            ("contained", "thompson", "reset"), ("contained", "optimist", "window 200"), ("half-log", "optimist", "full"),
        ]),
        ("thresholds known", menus.THRESHOLDS_KNOWN, SHIFTING, 0.9, [
            ("contained", "thompson", "reset"), ("hoeffding", "optimist", "full"), ("contained", "optimist", "discount 200"),
        ]),
        ("thresholds bare", menus.THRESHOLDS_BARE, EASY, 0.5, [("contained", "thompson", "full")]),
        ("subsets", menus.SUBSETS, PARTS, 0.9, [
            ("contained", "thompson", "reset"), ("contained", "optimist", "full"), ("kl", "optimist", "full"),
            ("half-log", "thompson", "discount 200"),
        ]),
        ("subsets all", menus.SUBSETS_ALL, SHIFTING_PARTS, 0.8, [
            ("contained", "thompson", "reset"), ("contained", "optimist", "window 200"),
        ]),
        ("spans small", menus.SPANS_SMALL, POINTS, 0.8, [
            ("closed", "thompson", "reset"), ("closed", "optimist", "full"), ("contained", "optimist", "reset"),
            ("half-log", "optimist", "full"),
        ]),
        ("spans", menus.SPANS, POINTS, 0.9, [
            ("contained", "optimist", "reset"), ("half-log", "optimist", "full"), ("kl", "optimist", "full"),
        ]),
        ("spans bare", menus.SPANS_BARE, MOVING, 0.85, [
            ("closed", "thompson", "reset"), ("closed", "optimist", "window 200"), ("contained", "thompson", "full"),
        ]),
        ("grid", menus.GRID, EASY, 0.9, [("contained", "optimist", "reset"), ("half-log", "thompson", "full")]),
        ("grid known", menus.GRID_KNOWN, SHIFTING, 0.8, [("contained", "optimist", "full")]),
        ("letters", menus.LETTERS, SHIFTING, 0.85, [
            ("contained", "optimist", "reset"), ("contained", "thompson", "full"),
        ]),
        ("lists", menus.LISTS, COINS, 0.9, [("half-log", "optimist", "full")]),
        ("one", menus.ONE, COINS, 0.99, [("half-log", "optimist", "reset"), ("half-log", "thompson", "full")]),
    ])
    for turn, (bounds, chooser, memory) in enumerate(ways, place)
]  # fmt: skip

# Long runs: epochs end, memories are reset, and moments are thinned out.
_LONG = [
    _case("long: top shifting", menus.TOP, 0.9, 5_000, CONTAINED, World("needs", (8.0, 0.8, 8.0))),
    _case("long: five shifting", menus.FIVE, 0.8, 5_000, {**OPTIMIST, "memory": "reset"}, SHIFTING_COINS),
    _case("long: five window", menus.FIVE, 0.85, 3_000, {**OPTIMIST, "memory": "window 200"}, SHIFTING_COINS),
    _case("long: two told late", menus.TWO, 0.9, 5_000, THOMPSON, COINS, Flow(delay=30, lost=0.001)),
    _case("long: spans of the envelope", menus.SPANS_LONG, 0.8, 3_000, {**OPTIMIST, "bounds": "contained"}, POINTS,
          max_surplus=4),
    _case("long: spans of the envelope, half-log", menus.SPANS_LONG, 0.5, 2_500, OPTIMIST, POINTS, max_surplus=4),
    _case("long: spans of the envelope, kl", menus.SPANS_LONG, 0.85, 600, {**OPTIMIST, "bounds": "kl"}, POINTS),
    _case("long: spans of the envelope, reset", menus.SPANS_LONG, 0.9, 1_500, {**OPTIMIST, "memory": "reset"}, MOVING),
    _case("long: top long", menus.TOP_LONG, 0.8, 3_000, {**OPTIMIST, "memory": "reset"}, SHIFTING, max_surplus=9),
    _case("long: loose window", menus.LOOSE, 0.5, 1_500, {**OPTIMIST, "memory": "window 200"}, SHIFTING_COINS),
    _case("long: two kl", menus.TWO, 0.9, 4_000, {**OPTIMIST, "bounds": "kl"}, COINS),
    _case("long: subsets", menus.SUBSETS, 0.9, 2_000, CONTAINED, SHIFTING_PARTS),
    _case("long: spans", menus.SPANS_SMALL, 0.9, 2_000, {**CLOSED, "memory": "reset"}, World("points", (0.25, 0.6))),
    _case("long: chain told", menus.CHAIN_TOLD, 0.85, 3_000, CONTAINED, SHIFTING),
    _case("long: bare", menus.TOP_BARE, 0.9, 3_000, CONTAINED, SHIFTING, Flow(delay=5)),
    _case("long: told", menus.TOLD, 0.95, 3_000, OPTIMIST, COINS),
]  # fmt: skip

# The promise: its step, start and cap, and imperfect safe options.
_PROMISES = [
    _case("target 0.999", menus.TOP, 0.999, 5_000, CONTAINED, World("needs", (100.0,)), max_surplus=2),
    _case("target 0.99", menus.TWO, 0.99, 3_000, OPTIMIST, World("coins", (30.0,)), max_surplus=4),
    _case("target 0.5", menus.TOLD, 0.5, 500, OPTIMIST, COINS),
    _case("target 0.95, no nothing", menus.TWO_BARE, 0.95, 600, OPTIMIST, World("coins", (20.0,))),
    _case("straight", menus.TOP, 0.9, 500, CONTAINED, prices="straight"),
    _case("straight, horizon", menus.TWO, 0.9, 500, OPTIMIST, COINS, prices="straight", rule={"horizon": 500}),
    _case("curve, horizon", menus.FIVE, 0.85, 700, OPTIMIST, COINS, prices="curve", rule={"horizon": 700}),
    _case("slack 10", menus.TWO, 0.9, 500, OPTIMIST, COINS, max_surplus=10.0),
    _case("slack 25, straight", menus.TOP, 0.85, 500, CONTAINED, max_surplus=25, prices="straight"),
    _case("step", menus.TWO, 0.8, 500, OPTIMIST, COINS, rule={"step": 0.05}),
    _case("step, cheap", menus.TOP, 0.9, 500, CONTAINED, rule={"step": 0.1, "start": "cheap"}),
    _case("cheap", menus.TWO, 0.9, 500, OPTIMIST, COINS, rule={"start": "cheap", "max_surplus": 20}),
    _case("start 2.5", menus.FIVE, 0.8, 500, OPTIMIST, COINS, rule={"start": 2.5, "max_surplus": 20}),
    _case("start 1, bare", menus.TWO_BARE, 0.85, 500, OPTIMIST, COINS, rule={"start": 1.0, "step": 0.07}),
    _case("cap 4", menus.TWO, 0.9, 500, OPTIMIST, COINS, rule={"cap": 4.0}),
    _case("cap 30, slack", menus.TOP, 0.95, 500, CONTAINED, rule={"cap": 30.0, "max_surplus": 12}),
    _case("a rule without numbers", menus.TWO, 0.9, 600, OPTIMIST, COINS, rule={}),
    _case("a rule without numbers, late", menus.TOP_BARE, 0.85, 500, CONTAINED, EASY, Flow(delay=9), rule={}),
    _case("never behind", menus.TWO, 0.9, 600, OPTIMIST, COINS, max_debt=0),
    _case("never behind, late", menus.TOP, 0.8, 600, CONTAINED, EASY, Flow(delay=12), max_debt=0, in_flight=0),
    _case("never behind, bare", menus.TWO_BARE, 0.85, 500, OPTIMIST, COINS, max_debt=0, max_surplus=4),
    _case("2.5 behind", menus.FIVE, 0.85, 500, THOMPSON, SHIFTING_COINS, max_debt=2.5),
    _case("30 behind, straight", menus.TOP, 0.9, 800, CONTAINED, SHIFTING, max_debt=30, prices="straight"),
    _case("imperfect", menus.GOOD, 0.9, 2_000, OPTIMIST, World("coins", (9.0,), best=0.97), max_surplus=9),
    _case("imperfect, fractions", menus.GOOD_TOLD, 0.8, 900, OPTIMIST, World("coins", (20.0,), best=1.0, fractions=True)),
    _case("imperfect, worse than said", menus.GOOD, 0.9, 800, OPTIMIST, World("coins", (4.0,), best=0.85)),
    _case("imperfect, bare", menus.GOOD_BARE, 0.85, 600, THOMPSON, World("coins", (5.0, 0.6), best=0.95)),
    _case("imperfect, told", menus.GOOD_TOLD, 0.8, 600, OPTIMIST, World("coins", (3.0,), best=0.9)),
    _case("imperfect, top", menus.TOP_GOOD, 0.95, 2_000, CONTAINED, World("needs", (4.0,), best=0.99)),
    _case("imperfect, spans", menus.SPANS_GOOD, 0.8, 500, {**CLOSED, "chooser": "thompson"}, POINTS),
    _case("imperfect, subsets", menus.SUBSETS_GOOD, 0.95, 500, CONTAINED, World("parts", (3.0,), best=0.98)),
    _case("everything fails", menus.TWO, 0.9, 400, OPTIMIST, World("coins", (9.0,), best=0.6)),
    _case("everything fails, bare", menus.TOP_BARE, 0.95, 400, CONTAINED, World("needs", (1.0,), best=0.9)),
    _case("little banked", menus.TOP, 0.8, 600, CONTAINED, World("needs", (12.0,)), max_surplus=2),
    _case("little banked, told", menus.TOLD, 0.5, 600, OPTIMIST, World("coins", (9.0,)), max_surplus=1),
    _case("little banked, bare", menus.TWO_BARE, 0.95, 600, OPTIMIST, World("coins", (20.0,)), max_surplus=2),
    _case("little banked, late", menus.FIVE, 0.5, 600, OPTIMIST, World("coins", (9.0,)), Flow(delay=12), max_surplus=1),
    _case("nothing succeeds", menus.TOP, 0.5, 600, CONTAINED, World("needs", (9.0,), leak=0.3), max_surplus=1),
    _case("nothing succeeds, told", menus.TOLD, 0.5, 600, OPTIMIST, World("coins", (9.0,), leak=0.2),
          rule={"max_surplus": 1, "start": "cheap"}),
    _case("fractions", menus.TWO, 0.85, 600, OPTIMIST, World("coins", (12.0,), fractions=True)),
    _case("fractions, thompson", menus.TOP_BARE, 0.8, 500, CONTAINED, World("needs", (9.0,), fractions=True)),
    _case("fractions, told", menus.TOLD_BARE, 0.5, 500, OPTIMIST, World("coins", (3.0,), fractions=True)),
    _case("costs above the most", menus.TOLD, 0.8, 400, OPTIMIST, World("coins", (3.0,), cost_scale=1.6)),
    _case("costs told though known", menus.FIVE, 0.8, 400, OPTIMIST, COINS, Flow(priced=True)),
]  # fmt: skip

# Choosers and guards.
_CHOOSERS = [
    _case("own chooser: turns", menus.TWO, 0.8, 600, OPTIMIST, COINS, chooser="own: turns"),
    _case("own chooser: turns, small guard", menus.TOLD, 0.8, 600, OPTIMIST, COINS, chooser="own: turns", guard=0.05),
    _case("own chooser: turns, bare", menus.TOP_BARE, 0.9, 500, CONTAINED, chooser="own: turns", guard=0.2),
    _case("own chooser: greedy", menus.FIVE, 0.85, 600, OPTIMIST, COINS, chooser="own: greedy"),
    _case("own chooser: greedy, no guard", menus.TOP, 0.9, 500, CONTAINED, chooser="own: greedy", guard=None),
    _case("own chooser: sighted", menus.FIVE, 0.8, 1_500, OPTIMIST, COINS, chooser="own: sighted", max_surplus=7),
    _case("own chooser: sighted, kl", menus.TOLD, 0.8, 1_500, OPTIMIST, COINS, chooser="own: sighted", guard=0.1, bounds="kl"),
    _case("own bounds", menus.TWO, 0.85, 600, OPTIMIST, COINS, bounds="own: cautious"),
    _case("own bounds, told", menus.TOLD_BARE, 0.8, 500, OPTIMIST, COINS, bounds="own: cautious"),
    _case("own bounds and chooser", menus.TOP, 0.9, 500, OPTIMIST, bounds="own: cautious", chooser="own: turns", guard=0.1),
    _case("own chooser, saved", menus.FIVE, 0.8, 500, OPTIMIST, COINS, Flow(saved=True), chooser="own: greedy"),
    _case("small guard, thompson", menus.TOP, 0.9, 600, CONTAINED, guard=0.01),
    _case("small guard, thompson, told", menus.TOLD, 0.8, 600, THOMPSON, COINS, guard=0.02),
    _case("small guard, shifting", menus.FIVE, 0.9, 900, THOMPSON, SHIFTING_COINS, guard=0.05),
    _case("no guard, thompson", menus.SUBSETS, 0.9, 500, CONTAINED, PARTS, guard=None),
    _case("reseeded", menus.TOP, 0.9, 500, CONTAINED, EASY, Flow(reseeded=7)),
    _case("seed 12345", menus.FIVE, 0.8, 500, THOMPSON, COINS, seed=12_345),
]  # fmt: skip

# Late, lost, expired, repeated and restricted decisions.
_FLOWS = [
    _case("late", menus.TWO, 0.9, 600, OPTIMIST, COINS, Flow(delay=20)),
    _case("late, thompson", menus.TOP, 0.85, 600, CONTAINED, SHIFTING, Flow(delay=40)),
    _case("late, bare", menus.TWO_BARE, 0.95, 500, OPTIMIST, COINS, Flow(delay=15)),
    _case("late and lost", menus.TOLD, 0.9, 500, OPTIMIST, COINS, Flow(delay=10, lost=0.03)),
    _case("hoarded: 700 out", menus.TWO, 0.8, 1_200, OPTIMIST, COINS, Flow(hoard=700, delay=100)),
    _case("hoarded: 650 out, top", menus.TOP_BARE, 0.9, 1_000, CONTAINED, EASY, Flow(hoard=650, delay=20)),
    _case("hoarded at most 50", menus.TWO, 0.9, 600, OPTIMIST, COINS, Flow(hoard=200, delay=10), in_flight=50),
    _case("at most 5 out", menus.TOP, 0.85, 500, CONTAINED, EASY, Flow(delay=20, lost=0.005), in_flight=5),
    _case("at most 8 out, bare", menus.TWO_BARE, 0.8, 500, OPTIMIST, COINS, Flow(delay=25), in_flight=8),
    _case("given up", menus.TWO, 0.8, 600, OPTIMIST, COINS, Flow(delay=5, given_up=0.05, amended=0.5)),
    _case("given up, told", menus.TOLD, 0.8, 500, THOMPSON, COINS, Flow(given_up=0.1, amended=0.7)),
    _case("given up, window", menus.TOP, 0.8, 500, {**CONTAINED, "memory": "window 200"}, EASY,
          Flow(delay=3, given_up=0.1, amended=0.6)),
    _case("given up, chain told", menus.CHAIN_TOLD, 0.8, 500, CONTAINED, EASY, Flow(given_up=0.08, amended=1.0)),
    _case("given up, fractions", menus.TWO_BARE, 0.8, 600, OPTIMIST, World("coins", (12.0,), fractions=True),
          Flow(delay=4, given_up=0.15, amended=0.9)),
    _case("overdue", menus.TWO, 0.9, 600, OPTIMIST, COINS, Flow(delay=14, seconds=1.0), expire_after=12.0),
    _case("overdue and lost", menus.TOP, 0.8, 600, CONTAINED, EASY, Flow(delay=8, lost=0.05, seconds=0.5), expire_after=3.5),
    _case("overdue, bare", menus.TOLD_BARE, 0.85, 500, OPTIMIST, COINS, Flow(delay=12, lost=0.02, seconds=1.0),
          expire_after=10.0, in_flight=30),
    _case("told twice", menus.FIVE, 0.9, 500, OPTIMIST, COINS, Flow(delay=6, twice=0.2)),
    _case("told by number", menus.TWO, 0.8, 400, THOMPSON, COINS, Flow(delay=6, twice=0.1, by_number=True)),
    _case("told together", menus.TOP, 0.9, 400, CONTAINED, EASY, Flow(delay=9, together=True)),
    _case("many at once", menus.TWO, 0.9, 150, OPTIMIST, COINS, Flow(batch=7, delay=3)),
    _case("many at once, thompson", menus.TOP_BARE, 0.8, 120, CONTAINED, EASY, Flow(batch=12)),
    _case("many at once, told together", menus.SPANS, 0.85, 60, {**OPTIMIST, "bounds": "contained"}, POINTS,
          Flow(batch=15, delay=2, together=True)),
    _case("restricted", menus.FIVE, 0.8, 500, OPTIMIST, COINS, Flow(restricted=0.5)),
    _case("restricted, thompson", menus.TOP, 0.9, 500, CONTAINED, EASY, Flow(restricted=0.7)),
    _case("restricted, bare", menus.TOLD_BARE, 0.8, 400, OPTIMIST, COINS, Flow(restricted=0.6)),
    _case("restricted, long", menus.LOOSE, 0.8, 300, OPTIMIST, COINS, Flow(restricted=0.3)),
    _case("insisted on", menus.FIVE, 0.9, 600, OPTIMIST, SHIFTING_COINS, Flow(restricted=0.5, insisted=0.7, delay=3)),
    _case("insisted on, bare", menus.TOP_BARE, 0.95, 500, CONTAINED, SHIFTING, Flow(restricted=0.4, insisted=1.0), max_debt=0),
    _case("restricted, own chooser", menus.TWO, 0.8, 400, OPTIMIST, COINS, Flow(restricted=0.5), chooser="own: turns"),
    _case("unaudited", menus.TWO, 0.9, 600, OPTIMIST, COINS, Flow(unaudited=0.4)),
    _case("unaudited, thompson", menus.TOP, 0.8, 400, CONTAINED, EASY, Flow(unaudited=0.2, delay=4)),
    _case("saved", menus.TWO, 0.9, 500, OPTIMIST, COINS, Flow(saved=True, delay=10)),
    _case("saved, thompson", menus.TOP, 0.85, 500, CONTAINED, SHIFTING, Flow(saved=True, delay=10)),
    _case("saved, window", menus.FIVE, 0.8, 500, {**THOMPSON, "memory": "window 200"}, SHIFTING_COINS, Flow(saved=True)),
    _case("saved, given up", menus.TOLD, 0.8, 500, {**OPTIMIST, "memory": "discount 200"}, COINS,
          Flow(saved=True, given_up=0.1, amended=0.8)),
    _case("saved, own order", menus.LETTERS, 0.8, 400, CONTAINED, EASY, Flow(saved=True, delay=5)),
    _case("saved, spans", menus.SPANS, 0.8, 300, {**OPTIMIST, "bounds": "contained"}, POINTS, Flow(saved=True)),
    _case("copied", menus.TWO, 0.8, 500, OPTIMIST, COINS, Flow(copied=True, delay=10)),
    _case("copied, thompson", menus.SUBSETS, 0.9, 400, CONTAINED, PARTS, Flow(copied=True, delay=5)),
    _case("copied, overdue", menus.TOP, 0.9, 400, CONTAINED, EASY, Flow(copied=True, delay=9, seconds=1.0), expire_after=7.0),
    _case("saved and copied, long", menus.LOOSE, 0.8, 400, OPTIMIST, COINS, Flow(saved=True, copied=True, delay=5)),
    _case("all at once", menus.FIVE, 0.8, 500, THOMPSON, SHIFTING_COINS,
          Flow(batch=3, delay=12, lost=0.01, given_up=0.03, amended=0.5, twice=0.05, restricted=0.1, unaudited=0.1,
               seconds=1.0, saved=True, copied=True), expire_after=30.0, in_flight=60),
]  # fmt: skip

# Groups.
_GROUPS = [
    _case("groups", menus.TWO, 0.9, 900, OPTIMIST, COINS, Flow(groups=("north", "south", "east"))),
    _case("groups and nobody", menus.TOP, 0.8, 800, CONTAINED, SHIFTING, Flow(groups=("a", "b", None), delay=6)),
    _case("groups, told", menus.TOLD_BARE, 0.85, 600, OPTIMIST, COINS, Flow(groups=("a", "b"), given_up=0.05, amended=0.5)),
    _case("groups, overdue", menus.TWO, 0.8, 600, OPTIMIST, COINS, Flow(groups=("a", "b"), delay=9, seconds=1.0, lost=0.02),
          expire_after=8.0),
    _case("groups, many at once", menus.TOP_BARE, 0.9, 150, CONTAINED, EASY, Flow(groups=("a", "b"), batch=6, delay=3)),
    _case("groups, saved", menus.FIVE, 0.8, 600, THOMPSON, COINS, Flow(groups=("a", "b", None), delay=7, saved=True)),
    _case("groups, copied", menus.TWO, 0.9, 600, OPTIMIST, COINS, Flow(groups=("a", None), delay=7, copied=True)),
    _case("groups, at most 6 out", menus.TWO, 0.8, 500, OPTIMIST, COINS, Flow(groups=("a", "b"), delay=12), in_flight=6),
    _case("groups, their own prices", menus.TWO, 0.9, 4_000, OPTIMIST, COINS, Flow(groups=("a", "b", "b", "b"))),
    _case("groups, unaudited, restricted", menus.FIVE, 0.8, 500, OPTIMIST, COINS,
          Flow(groups=("a", "b"), unaudited=0.2, restricted=0.3, twice=0.05)),
    _case("groups, own chooser", menus.TWO, 0.8, 400, OPTIMIST, COINS, Flow(groups=("a", "b")), chooser="own: turns"),
]  # fmt: skip

# Models.
_SEEN = Flow(contexts=True)
_MODELS = [
    _case("model", menus.TWO, 0.8, 2_500, LOOKING, World("coins", (3.0,)), _SEEN),
    _case("model, told", menus.TOLD, 0.85, 2_000, LOOKING, COINS, Flow(contexts=True, delay=8)),
    _case("model, thompson", menus.TOP, 0.9, 2_000, {**CONTAINED, "model": "auto"}, World("needs", (3.0,)), _SEEN),
    _case("model, bare", menus.TWO_BARE, 0.8, 600, LOOKING, COINS, Flow(contexts=True, lost=0.01, delay=4)),
    _case("model, small guard", menus.TWO, 0.8, 1_500, LOOKING, COINS, _SEEN, guard=0.001),
    _case("model, groups", menus.TWO, 0.8, 2_500, LOOKING, COINS, Flow(contexts=True, groups=("a", "b", None), delay=3)),
    _case("model, saved", menus.TWO, 0.8, 1_200, LOOKING, COINS, Flow(contexts=True, delay=6, saved=True)),
    _case("model, copied", menus.TOLD, 0.8, 2_000, LOOKING, COINS, Flow(contexts=True, delay=6, copied=True)),
    _case("model, given up", menus.TWO, 0.8, 500, LOOKING, COINS, Flow(contexts=True, delay=6, given_up=0.1, amended=0.6)),
    _case("model, many at once", menus.TWO, 0.9, 120, LOOKING, COINS, Flow(contexts=True, batch=5, restricted=0.3)),
    _case("model, shifting", menus.TWO, 0.8, 900, {**LOOKING, "memory": "reset"}, SHIFTING_COINS, _SEEN),
    _case("model, the world turned over", menus.TWO, 0.8, 3_000, LOOKING, World("coins", (3.0, 0.1, 40.0)), _SEEN),
    _case("model, the world turned over, told", menus.TOLD, 0.5, 3_000, LOOKING, World("coins", (40.0, 0.2)), _SEEN,
          max_surplus=9),
    _case("function", menus.TOLD, 0.8, 2_000, OPTIMIST, World("coins", (2.0,)), _SEEN, model="own: guess"),
    _case("function, groups", menus.TOLD, 0.8, 2_000, OPTIMIST, COINS, Flow(contexts=True, groups=("a", "b"), delay=4),
          model="own: guess"),
    _case("function, saved", menus.TOLD_BARE, 0.8, 2_000, OPTIMIST, COINS, Flow(contexts=True, saved=True, delay=3),
          model="own: guess", guard=0.3),
]  # fmt: skip


def _other(
    kind: str, name: str, menu: Spec, target: float, steps: int, settings: Spec, world: World, flow: Flow
) -> Selecting:
    return Selecting(f"{kind}: {name}", menu, target, steps, settings, world, flow, kind)


_Row = tuple[str, Spec, float, int, Spec, World, Flow]
_RANGES: list[_Row] = [
    ("plain", menus.RANGE, 0.9, 500, {}, EASY, Flow()),
    ("slack", menus.RANGE, 0.8, 500, {"max_surplus": 20}, SHIFTING, Flow(delay=5)),
    ("horizon", menus.RANGE_UNIT, 0.95, 600, {"rule": {"horizon": 600}}, EASY, Flow()),
    ("step, start", menus.RANGE, 0.85, 500, {"rule": {"step": 0.4, "start": 7.5}}, SHIFTING, Flow()),
    ("cheap", menus.RANGE_UNIT, 0.8, 500, {"rule": {"start": "cheap", "horizon": 500}}, EASY, Flow(delay=9, lost=0.01)),
    ("low may succeed", menus.RANGE_UNIT, 0.9, 500, {"low_fails": False}, World(leak=0.4), Flow()),
    ("overdue", menus.RANGE, 0.9, 500, {"expire_after": 7.0}, EASY, Flow(delay=9, seconds=1.0)),
    ("given up, many at once", menus.RANGE, 0.9, 120, {"in_flight": 25}, EASY,
     Flow(batch=5, delay=9, given_up=0.05, amended=0.5)),
    ("saved", menus.RANGE_UNIT, 0.99, 500, {}, EASY, Flow(delay=4, saved=True, twice=0.05)),
    ("copied, fractions", menus.RANGE, 0.8, 500, {}, World(phases=(9.0,), fractions=True), Flow(copied=True)),
    ("unaudited", menus.RANGE, 0.999, 1_500, {"max_surplus": 5}, EASY, Flow(unaudited=0.3)),
]  # fmt: skip

_PRINTED: list[_Row] = [
    ("two", menus.TWO, 0.8, 500, {"horizon": 500}, COINS, Flow()),
    ("top", menus.TOP, 0.9, 600, {"horizon": 600, "step": 0.1}, EASY, Flow()),
    ("told, late", menus.TOLD, 0.8, 500, {"horizon": 500}, COINS, Flow(delay=6)),
    ("spans", menus.SPANS, 0.85, 500, {"horizon": 500}, POINTS, Flow()),
    ("long spans, copied", menus.SPANS_LONG, 0.8, 600, {"horizon": 600}, POINTS, Flow(copied=True)),
    ("saved in the first round", menus.LOOSE, 0.8, 100, {"horizon": 100}, COINS, Flow(saved=True, restricted=0.3)),
]

_OTHERS = [_other("threshold", *row) for row in _RANGES] + [_other("paper", *row) for row in _PRINTED]

SELECTORS: Final = [
    *_PARTS, *_LONG, *_PROMISES, *_CHOOSERS, *_FLOWS, *_GROUPS, *_MODELS, *_OTHERS,
]  # fmt: skip
