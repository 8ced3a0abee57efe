"""Selectors that are kept: in files, and as copies."""

import math
import os
import time
from collections.abc import Callable
from typing import Any, Self

from suffice.bounds import NAMED as NAMED_BOUNDS
from suffice.bounds import Bounds
from suffice.checks import whole
from suffice.choosers import NAMED as NAMED_CHOOSERS
from suffice.choosers import Chooser
from suffice.errors import InvalidArgument, StateError
from suffice.grouped import Grouped
from suffice.memory import written
from suffice.menu import Menu
from suffice.promise import Promise
from suffice.recipes import again, name_of, same_menu
from suffice.saving import read_state, reading


class Kept(Grouped):
    """Writes down what there is to a selector, and makes it again from that."""

    _guard: float
    _seed: int

    def _recipe(self) -> dict[str, Any]:
        try:
            return self._menu.recipe()
        except InvalidArgument as error:  # options or an order of one's own: they must be passed again when loading
            return {"kind": None, "why": str(error), "arms": self._menu.arms, "nothing": self._menu.has_nothing}

    def state(self) -> dict[str, Any]:
        """Everything there is to this selector, in JSON's terms."""
        with self._lock, self._look:
            return {**super().state(), "cost": self._own_cost()}  # each group says its own

    def _state(self) -> dict[str, Any]:
        self._unseat_all()
        return {
            "menu": self._recipe(),
            "horizon": self._horizon,
            "bounds": name_of(self._learner.bounds, NAMED_BOUNDS),
            "chooser": name_of(self._learner.chooser, NAMED_CHOOSERS),
            "prices": self._prices,
            "hint": self._learner.hint(),
            "guard": None if math.isinf(self._guard) else self._guard,
            "seed": self._seed,
            "kept": self._learner.kept(),
            "proposed": sorted(self._proposed),
            "model": None if self._looking is None else self._looking.recipe(),
            "notes": self._notes_written(),
            "groups": [group.part() for group in self._groups.values()],
            "memory": written(self._learner.memory),
            "opened": self._opened,
            "tally": self._learner.rows(),
        }

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        menu: Menu | None = None,
        bounds: Bounds | None = None,
        chooser: Chooser | None = None,
        model: Any = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """The selector that was saved, pending decisions included. Objects of your own must be passed again."""
        return cls.from_state(read_state(path), menu=menu, bounds=bounds, chooser=chooser, model=model, clock=clock)

    @classmethod
    def from_state(
        cls,
        state: dict[str, Any],
        *,
        menu: Menu | None = None,
        bounds: Bounds | None = None,
        chooser: Chooser | None = None,
        model: Any = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """The selector that `state()` wrote down."""
        with reading(state, cls.__name__):
            if "kept" not in state:  # as it was before there was a choice
                state = {"prices": "straight", "guard": None, "seed": 0, "kept": {}, "proposed": [], **state}
            if not {"model", "notes", "groups"} & set(state):  # as it was before there were contexts
                state = {"model": None, "notes": [], "groups": [], **state}
            promise = Promise.from_state(state["promise"])
            make: Any = cls
            selector: Self = make(
                same_menu(menu, state["menu"]),
                promise.target,
                state["horizon"],
                cap=promise.cap,
                step=promise.fixed_step,
                start=promise.start,
                bounds=again("bounds", bounds, state["bounds"]),
                chooser=again("chooser", chooser, state["chooser"]),
                prices=state["prices"],
                guard=state["guard"],
                model=again("model", model, state["model"]),
                seed=state["seed"],
                memory=state["memory"],
                max_pending=state["max_pending"],
                expire_after=state["expire_after"],
                clock=clock,
            )
            selector._promise = promise
            selector._restore(state)
        return selector

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._elsewhere = sum(whole("told", part["counts"]["told"], 0) for part in state["groups"])
        self._set_up()
        if state["prices"] == "curve":
            self._learner.take_hint(state["hint"])
        price = self._learner.price(self._ledger.page())
        self._learner.fill(state["tally"], self._steps(), price, state["kept"])
        self._proposed = {whole("proposed", identity, 0) for identity in state["proposed"]}
        self._opened = whole("opened", state["opened"], 0)
        self._take_notes(state["notes"])
        if state["groups"]:
            from suffice.groups import restore_groups

            restore_groups(self, state["groups"])
        self._open()

    def _notes_written(self) -> list[list[Any]]:
        if self._looking is None:
            return []
        return [[one, *self._looking.written(note)] for one, note in self._notes.items()]

    def _unseat_all(self) -> None:
        if self._looking is not None and self._desk is not None:
            for identity in self._looking.all_seated():
                self._unseat(self._looking, identity)

    def _take_notes(self, rows: list[list[Any]]) -> None:
        for one, *note in rows:
            if self._looking is None:
                raise StateError("there must be a model where there are contexts")
            self._notes[whole("note", one, 0)] = self._looking.again(note)

    # --- copies

    def __getstate__(self) -> dict[str, Any]:
        with self._lock, self._look:
            self._unseat_all()
            return {**super().__getstate__(), "_parts": [group.copied() for group in self._groups.values()]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = state.pop("_parts")
        self._groups, self._numbered = {}, []
        super().__setstate__(state)
        if parts:
            from suffice.groups import paste_groups

            paste_groups(self, parts)
