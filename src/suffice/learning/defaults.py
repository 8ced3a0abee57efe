"""What "auto" stands for: the best that is proven for the menu at hand, and that is found in good time."""

from typing import Any

from suffice.kernels.compiler import available
from suffice.learning.bounds import Bounds, HalfLog, IntervalClosure, Ordered, resolve_bounds
from suffice.learning.choosers import resolve_chooser
from suffice.learning.containment import MOST_GRID, cells_of, order_of
from suffice.learning.memory import Memory, named_memory
from suffice.learning.records import INTERVALS
from suffice.menu.menu import Menu

PLAIN_CELLS = 24  # so many cells can be sampled in good time without a compiler
PLAIN_GRID = 8  # and so many points of a grid have their differences closed


def resolve(menu: Menu, bounds: Any, chooser: Any, memory: Any) -> tuple[Bounds, Any, Memory]:
    """Bounds, chooser and memory by name or as objects; "auto" becomes what suits the menu.

    Who names bounds wants the optimist that uses them, on the whole history: "auto" then stands for that.
    """
    free = isinstance(bounds, str) and bounds == "auto"
    if isinstance(chooser, str) and chooser == "auto":
        chooser = "thompson" if free and _may_sample(menu) else "optimist"
    found = resolve_bounds(_best(menu) if free else bounds)
    return found, resolve_chooser(chooser), named_memory(memory, "reset" if free else "full")


def _best(menu: Menu) -> str:
    order = order_of(menu)
    if order is None:
        return HalfLog.name
    most = MOST_GRID if available() else PLAIN_GRID
    return IntervalClosure.name if order.shape == INTERVALS and order.grid <= most else Ordered.name


def _may_sample(menu: Menu) -> bool:
    cells = cells_of(menu)
    return cells is not None and (cells.count <= PLAIN_CELLS or available())
