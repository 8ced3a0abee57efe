"""What "auto" stands for: the best bounds, chooser and memory with a proof for the menu, that are quick enough on it."""

from suffice.kernels.compiler import available
from suffice.learning.bounds import Bounds, HalfLog, IntervalClosure, Ordered, resolve_bounds
from suffice.learning.choosers import Chooser, Thompson, resolve_chooser
from suffice.learning.containment import MOST_GRID, cells_of, order_of
from suffice.learning.memory import Memory, resolve_memory
from suffice.learning.records import INTERVALS
from suffice.menu.menu import Menu

PLAIN_CELLS = 24  # the most cells that are sampled quickly enough without a compiler
PLAIN_GRID = 8  # the most grid points whose differences are closed quickly enough without a compiler


def resolve(menu: Menu, bounds: object, chooser: object, memory: object) -> tuple[Bounds, Chooser | Thompson, Memory]:
    """Bounds, chooser and memory by name or as objects; "auto" becomes what suits the menu.

    With bounds that are named, "auto" is the optimist, which uses them, on the whole history.
    """
    free = isinstance(bounds, str) and bounds == "auto"
    if isinstance(chooser, str) and chooser == "auto":
        chooser = "thompson" if free and _may_sample(menu) else "optimist"
    resolved = resolve_bounds(_best(menu) if free else bounds)
    return resolved, resolve_chooser(chooser), resolve_memory(memory, "reset" if free else "full")


def _best(menu: Menu) -> str:
    order = order_of(menu)
    if order is None:
        return HalfLog.name
    most = MOST_GRID if available() else PLAIN_GRID
    return IntervalClosure.name if order.shape == INTERVALS and order.grid <= most else Ordered.name


def _may_sample(menu: Menu) -> bool:
    cells = cells_of(menu)
    return cells is not None and (cells.count <= PLAIN_CELLS or available())
