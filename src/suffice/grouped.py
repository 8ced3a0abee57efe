"""One selector, many promises: its groups, and what is true of all of them together."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from suffice.book import TOLD
from suffice.certificate import Certificate
from suffice.controller import Controller
from suffice.errors import InvalidArgument, shown
from suffice.selecting import Selecting
from suffice.together import of_all

if TYPE_CHECKING:
    from suffice.groups import Group


class Grouped(Selecting):
    """Keeps the groups of a selector, and adds them up."""

    _groups: "dict[str, Group]"
    _numbered: "list[Group]"  # the same by number, less 1

    @property
    def groups(self) -> "Mapping[str, Group]":
        """The groups by name, in the order of their first decision; each tells its own debt, rate, cost and certificate."""
        return MappingProxyType(self._groups)

    def _group(self, name: Any) -> "Group":
        group = self._groups.get(name) if isinstance(name, str) else None
        if group is None:
            with self._lock:  # a fork waits for it: a child that starts in the middle of an import never gets past it
                from suffice.groups import add_group, make_group
            made = make_group(self, name)  # before the lock is taken: a fork takes it last of all
            with self._lock, self._fence:
                group = self._groups.get(name) or add_group(self, made)
        return group

    def _holder(self, decision: Any) -> tuple[Controller, Any]:
        if self._groups:
            from suffice.groups import holder

            return holder(self, decision)
        return self, decision

    def certificate(self, group: str | None = None) -> Certificate:
        """What is promised, whether it is so, and if not, why and what to do: of one group, or of all there is."""
        if group is not None:
            if not isinstance(group, str) or group not in self._groups:
                raise InvalidArgument(f"group must be one that has been asked for, got {shown(group)}")
            return self._groups[group].certificate()
        if not self._groups:
            return super().certificate()
        with self._lock, self._look:
            if not self._nested():
                for one in (self, *self._groups.values()):
                    one._give_up_overdue()
            parts = {name: one.certificate() for name, one in self._groups.items()}
            own = Certificate.make(self._promise, self._ledger.counts, self._ledger.outstanding())
        return of_all(own, parts)

    @property
    def told(self) -> int:
        """Outcomes counted, expired decisions included; those of all groups."""
        return int(self._ledger.book[TOLD]) + sum(group.told for group in list(self._groups.values()))

    @property
    def successes(self) -> float:
        """The sum of successes told."""
        return super().successes + sum(group.successes for group in list(self._groups.values()))

    @property
    def debt(self) -> float:
        """Successes owed: target·told − successes; negative when ahead. Of all groups together."""
        return super().debt + sum(group.debt for group in list(self._groups.values()))

    @property
    def pending(self) -> int:
        """Decisions whose outcome has not been told."""
        return super().pending + sum(group.pending for group in list(self._groups.values()))

    @property
    def rate(self) -> float | None:
        """The share of outcomes that succeeded; None before the first."""
        return self.successes / self.told if self.told else None

    @property
    def cost(self) -> float:
        """What was spent on all decisions settled so far, as far as it is known or was told."""
        return self._own_cost() + sum(group.cost for group in list(self._groups.values()))

    def _own_cost(self) -> float:
        """What was spent on decisions of no group."""
        return self._cost
