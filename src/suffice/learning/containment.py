"""How learning uses a menu's order of containment: which options to pool, and the cells that options consist of."""

from dataclasses import dataclass

import numpy as np

from suffice.kernels.rows import Floats, Ints, Mask
from suffice.learning.records import CHAIN, INTERVALS, LISTS, PAIRS, SPANS
from suffice.menu.menu import Menu
from suffice.menu.options import PositionOrder, covers, key, superset

MOST_PAIRS = 1 << 20  # of an option and one that contains it
MOST_COMPARED = 4096  # options whose pairs are compared
MOST_ASKED = 256  # options of an order of the user's own: each pair is one call of the function
MOST_CELLS = 256  # a sample takes time in the square of them
MOST_LISTED = 1 << 18  # cells of all options together, where they are no spans
MOST_GRID = 64  # points of the grid up to which differences are worth their time, which grows with the cube


@dataclass(frozen=True, slots=True)
class PoolingOrder:
    """Which arms contain which: a shape that the kernels know, or a list for each arm of those that contain it."""

    shape: int
    grid: int = 0
    starts: Ints | None = None
    outer: Ints | None = None

    @property
    def pairs(self) -> int:
        return 0 if self.outer is None else self.outer.size


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells that options consist of: per arm its first and the one after its last, or a 0 or 1 for each."""

    form: int
    count: int
    members: Floats | None = None


def order_of(menu: Menu) -> PoolingOrder | None:
    """The menu's order, or None if there is none, or none that is quick enough to use."""
    if len(menu.options) < 2 or menu.order is None:
        return None
    if menu.order == "chain":
        return PoolingOrder(CHAIN)
    grid = _grid(menu)
    if grid:
        return PoolingOrder(INTERVALS, grid=grid)
    nested = _nested(menu)
    if nested is None:
        return None
    first = int(menu.has_skip)
    counts = np.zeros(menu.n_arms + 1, dtype=np.int64)
    counts[first + 1 : menu.n_arms] = nested.sum(axis=1)
    _, outer = np.nonzero(nested)
    if outer.size > MOST_PAIRS or outer.size == len(menu.options):
        return None
    return PoolingOrder(PAIRS, starts=np.cumsum(counts), outer=outer + first)


def cells_of(menu: Menu) -> Cells | None:
    """The cells of the options, or None where options have no cells in common or too many of them."""
    fails = int(menu.safe_success < 1)  # mass that no option holds
    inner = len(menu.options)
    if inner < 2 or menu.order is None:
        return None
    spans = np.zeros((menu.n_arms, 2))
    if menu.order == "chain" and inner < MOST_CELLS:
        spans[menu.interior, 1] = np.arange(1, inner + 1)
        spans[-1, 1] = inner + 1
        return Cells(SPANS, inner + 1, spans.ravel())
    grid = _grid(menu)
    if grid:
        count = 2 * grid + 1 + fails  # points, the gaps between them, and what lies nowhere
        if count > MOST_CELLS:
            return None
        ends = np.rint(np.array(menu.options) * grid)
        spans[menu.interior] = np.stack([2 * ends[:, 0], 2 * ends[:, 1] + 1], axis=1)
        spans[-1, 1] = count - fails
        return Cells(SPANS, count, spans.ravel())
    if menu.order is not superset:
        return None
    called, names = _called(menu)
    if 1 << names > MOST_CELLS or (menu.n_arms << names) > MOST_LISTED:
        return None
    # A cell is a pattern of items that are right; an option holds those in which one of its items is.
    held = np.zeros((menu.n_arms, 1 << names))
    held[menu.interior] = (called[:, None] & np.arange(1 << names)) != 0
    held[-1] = 1.0
    return Cells(LISTS, 1 << names, held.ravel())


def _grid(menu: Menu) -> int:
    """Into how many cells a menu of all intervals on a grid cuts the line; 0 for other menus."""
    if menu.order is not covers or len(menu.options) < 2:
        return 0
    ends = np.array(menu.options, dtype=np.float64)
    cells = round(1.0 / ends[0, 1])
    if len(ends) != cells * (cells + 1) // 2 - 1 or menu.safe != (0.0, 1.0):
        return 0
    expected = np.stack(np.triu_indices(cells + 1, 1), axis=1)
    inner = expected[expected[:, 1] - expected[:, 0] < cells]  # the whole range is the safe option
    return cells if np.allclose(ends * cells, inner, atol=1e-6) else 0


def _called(menu: Menu) -> tuple[Ints, int]:
    """The items of each option as bits of a number, and how many items there are."""
    names = sorted({name for option in menu.options for name in option})
    bit = {name: 1 << place for place, name in enumerate(names)}
    kind = np.int64 if len(names) < 63 else object  # whole numbers of any length
    return np.array([sum(bit[name] for name in option) for option in menu.options], dtype=kind), len(names)


def _nested(menu: Menu) -> Mask | None:
    """For each two interior options, whether the second contains the first; None if that takes too long to compute."""
    if menu.order is superset and len(menu.options) <= MOST_COMPARED:
        called, _ = _called(menu)
        return np.asarray((called[:, None] & ~called[None, :]) == 0, dtype=np.bool_)
    if isinstance(menu.order, PositionOrder) and len(menu.options) <= MOST_COMPARED:
        places = menu.order.places
        points = np.array([[place[key(option[name])] for name, place in places.items()] for option in menu.options])
        return np.asarray((points[:, None, :] <= points[None, :, :]).all(axis=2), dtype=np.bool_)
    if len(menu.options) > MOST_ASKED:
        return None
    inner = range(menu.n_arms)[menu.interior]
    return np.array([[menu.nested(a, b) for b in inner] for a in inner], dtype=np.bool_)
