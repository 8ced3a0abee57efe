"""Our own bounds and choosers pass the contracts of `suffice.testing`, which users run on theirs."""

from suffice import Menu
from suffice.learning.bounds import KL, Bounds, HalfLog, Hoeffding, IntervalClosure, Ordered, Paper
from suffice.learning.choosers import Chooser, Optimist
from suffice.testing.bounds import BoundsContract
from suffice.testing.choosers import ChooserContract


class TestKL(BoundsContract):
    def make_bounds(self) -> Bounds:
        return KL()


class TestHoeffding(BoundsContract):
    def make_bounds(self) -> Bounds:
        return Hoeffding()


class TestPaper(BoundsContract):
    use_known_costs = False

    def make_bounds(self) -> Bounds:
        return Paper()


class TestHalfLog(BoundsContract):
    hold_at_all_times = False

    def make_bounds(self) -> Bounds:
        return HalfLog()


class TestOrdered(BoundsContract):
    hold_at_all_times = False

    def make_bounds(self) -> Bounds:
        return Ordered()


class TestIntervalClosure(BoundsContract):
    hold_at_all_times = False

    def make_bounds(self) -> Bounds:
        return IntervalClosure()


class OwnKL(KL):
    """A subclass of ours is a user's own: it runs as an object, not on a table."""


class TestOwnBounds(BoundsContract):
    def make_bounds(self) -> Bounds:
        return OwnKL()


class TestOptimist(ChooserContract):
    guarded = False

    def make_chooser(self, menu: Menu) -> Chooser | str:
        return "optimist"


class TestThompson(ChooserContract):
    def make_chooser(self, menu: Menu) -> Chooser | str:
        return "thompson"


class OwnOptimist(Optimist):
    """A subclass of ours is a user's own, behind the guard."""


class TestOwnChooser(ChooserContract):
    def make_chooser(self, menu: Menu) -> Chooser | str:
        return OwnOptimist()
