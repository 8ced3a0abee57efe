"""The rows of a fleet: arrays for compiled code, or objects where there is no compiler."""

from collections.abc import Callable

import numpy as np

from suffice.fleet import calls
from suffice.fleet.calls import NOTHING_OUT, SKIPPED, FleetPlace
from suffice.kernels.compiler import native
from suffice.kernels.rows import Floats, Ints, Rows, address_of, copy_of, from_rows, to_rows
from suffice.learning.arm_blocks import NewTable
from suffice.learning.arm_table import cheapest, expected_debt, rebuild, refresh_own
from suffice.learning.prices import clipped_price
from suffice.learning.records import ArmRow, Pricing, Table
from suffice.learning.tables import CompiledTable, as_arrays
from suffice.promise.account import limit, reserve, skip
from suffice.promise.record import SKIP, Account
from suffice.selector.verbs import decide, is_open, price_of, role_of


class CompiledRows:
    """Arrays, in each a row for every selector."""

    def __init__(self, count: int, account: Account, pricing: Pricing, made: NewTable) -> None:
        self.accounts: Rows = np.repeat(to_rows(Account, [account]), count)
        self.pricings: Rows = np.repeat(to_rows(Pricing, [pricing]), count)
        table = CompiledTable(made)  # all selectors start alike
        if made.head.leaves:
            table.call(rebuild, made.head.ceiling)
        self.heads: Rows = np.repeat(table.heads, count)
        self.arms: Rows = np.tile(table.arms, (count, 1))
        self.rooms: Floats = np.tile(table.cells, (count, 1))
        self.out: Ints = np.full(count, NOTHING_OUT, dtype=np.int64)
        self._note_addresses()

    def _note_addresses(self) -> None:
        """Write the addresses of the arrays down for compiled code."""
        arrays = (self.accounts, self.pricings, self.heads, self.arms, self.rooms, self.out)
        size, count = self.arms.shape
        accounts, pricings, heads, arms, rooms, out = (address_of(array) for array in arrays)
        place = FleetPlace(accounts, pricings, heads, arms, rooms, out, size, count, self.rooms.shape[1])
        self._place = to_rows(FleetPlace, [place])
        self._address = address_of(self._place)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        native(function)(self._address, *arguments)

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._note_addresses()

    def ask(self, which: Ints, result: Ints) -> None:
        """Write a decision for each selector listed, by one call of compiled code, which no interrupt can cut short."""
        self._call(calls.ask_fleet, which, result)

    def tell(self, which: Ints, units: Ints, costs: Floats, *, expired: bool) -> None:
        """Settle the decision of each selector listed."""
        self._call(calls.tell_fleet, which, units, costs, expired)

    def account(self, index: int) -> Account:
        """A copy of the account of one selector."""
        return Account(*self.accounts[index].item())

    def restore(self, accounts: Rows, pricings: Rows, arms: Rows, steps: Ints, unplayed: Ints, out: Ints) -> None:
        """Replace the counts, and compute all else from them."""
        self.accounts[:], self.pricings[:], self.arms[:], self.out[:] = accounts, pricings, arms, out
        self.heads["steps"], self.heads["unplayed"] = steps, unplayed
        self._call(calls.refresh_fleet)


class PlainRows:
    """Objects, in lists with one for every selector. A step works on a copy of the account, then replaces it at once."""

    def __init__(self, count: int, account: Account, pricing: Pricing, made: NewTable) -> None:
        self._accounts = [(copy_of(account), NOTHING_OUT) for _ in range(count)]  # with the arm that each has out
        self._pricings = [copy_of(pricing) for _ in range(count)]
        self._tables = [
            Table(copy_of(made.head), from_rows(ArmRow, made.arms), made.room.tolist()) for _ in range(count)
        ]
        for table in self._tables:
            if made.head.leaves:
                rebuild(table, made.head.ceiling)

    @property
    def out(self) -> Ints:
        """The arm that each has out, NOTHING_OUT or SKIPPED."""
        return np.array([arm for _, arm in self._accounts], dtype=np.int64)

    def ask(self, which: Ints, result: Ints) -> None:
        """Write a decision for each selector listed."""
        for place, index in enumerate(which.tolist()):
            account, pricing, table = copy_of(self._accounts[index][0]), self._pricings[index], self._tables[index]
            at_limit = limit(account)
            price = price_of(account, pricing, pricing, False, at_limit)
            arm = cheapest(table, max(0.0, price)) if is_open(at_limit, table.head) else -1
            result[place] = arm = decide(at_limit, table.head, arm)
            if role_of(table.head, arm) == SKIP:
                skip(account)
                self._accounts[index] = account, SKIPPED
                calls.learn_own(table, pricing, account, arm, 0, 0.0)
            else:
                reserve(account, role_of(table.head, arm), expected_debt(table, arm, account.target))
                self._accounts[index] = account, arm

    def tell(self, which: Ints, units: Ints, costs: Floats, *, expired: bool) -> None:
        """Settle the decision of each selector listed."""
        for index, success, cost in zip(which.tolist(), units.tolist(), costs.tolist(), strict=True):
            (before, arm), pricing, table = self._accounts[index], self._pricings[index], self._tables[index]
            account = copy_of(before)
            learns = calls.settle_out(account, table.head, arm, success, expired)
            self._accounts[index] = account, NOTHING_OUT
            if learns:
                calls.learn_own(table, pricing, account, arm, success, cost)

    def account(self, index: int) -> Account:
        """A copy of the account of one selector."""
        return copy_of(self._accounts[index][0])

    @property
    def accounts(self) -> Rows:
        """All accounts as an array."""
        return to_rows(Account, [account for account, _ in self._accounts])

    @property
    def pricings(self) -> Rows:
        """All prices as an array."""
        return to_rows(Pricing, self._pricings)

    @property
    def arms(self) -> Rows:
        """All arms as an array, a row for each selector."""
        return np.stack([as_arrays(table).arms for table in self._tables])

    def restore(self, accounts: Rows, pricings: Rows, arms: Rows, steps: Ints, unplayed: Ints, out: Ints) -> None:
        """Replace the counts, and compute all else from them."""
        self._accounts = list(zip(from_rows(Account, accounts), out.tolist(), strict=True))
        self._pricings = from_rows(Pricing, pricings)
        for index, table in enumerate(self._tables):
            table.head.steps, table.head.unplayed = int(steps[index]), int(unplayed[index])
            self._tables[index] = table = table._replace(arms=from_rows(ArmRow, arms[index]))
            account, pricing = self._accounts[index][0], self._pricings[index]
            pricing.now = clipped_price(pricing, account)
            refresh_own(table, pricing.now)


FleetRows = CompiledRows | PlainRows
