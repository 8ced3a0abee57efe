"""The compiled engine with a model that reads contexts."""

import threading
from collections.abc import Callable

import numpy as np

from suffice.context.learner import ContextLearner, DecisionRecord
from suffice.context.models.logistic import LogisticModel
from suffice.kernels.compiler import native
from suffice.kernels.rows import address_of, to_rows
from suffice.learning.arm_table import FIT_FIRST
from suffice.learning.tables import CompiledTable
from suffice.selector import context_calls as calls
from suffice.selector.compiled import CompiledEngine
from suffice.selector.compiled_calls import IN_SLOT, Slot
from suffice.selector.context_calls import NO_ROOM, NOT_READY, ContextPlace
from suffice.selector.plain import DECLINED


class CompiledContextEngine(CompiledEngine):
    """Like `CompiledEngine`, but an ask with a context is one call of compiled code, if the model came with suffice."""

    learner: ContextLearner

    def __init__(self, learner: ContextLearner, table: CompiledTable) -> None:
        self._place = to_rows(ContextPlace, [ContextPlace()])
        self._version = 0  # of the model's arrays whose addresses are noted; 0: none
        self._busy = False
        super().__init__(learner, table)

    def attach(self, lock: threading.RLock, failed: Callable[[int, Exception], None]) -> None:
        """Take the lock of the controller, because reading a context takes several steps."""
        self._lock = lock

    def _set_up(self) -> None:
        super()._set_up()
        self._version = 0
        self._native_ask = native(calls.ask_context_at)
        self._native_tell = native(calls.tell_context_at)
        self._ready = native(calls.ready_at)
        self.ask_fast, self.tell_fast = self._decline, self._tell_in_context

    def open(self) -> None:
        self._busy = False
        super().open()

    def _decline(self, address: int, row: int, now: float) -> tuple[int, int, float]:
        """Decline: an ask without a context takes the slow path, which keeps the model's tally."""
        return DECLINED

    def ask_in_context(self, row: int, now: float, context: object) -> tuple[int, int, float]:
        """Decide in a context: Python reads it, and one call of compiled code does the rest."""
        with self._lock:
            model = self.learner.model
            if self._busy or not isinstance(model, LogisticModel) or not model.features.schema.names:
                return DECLINED
            self._busy = True
            try:
                ready = self._ready(self.address, now)
                if ready == NO_ROOM:
                    self._free_next_slot()
                elif ready == NOT_READY:
                    return DECLINED
                if ready != calls.READY and self._ready(self.address, now) != calls.READY:
                    return DECLINED
                features = model.read(context)
                model.observe(features)
                if model.version != self._version:
                    self._take_arrays(model)
                decided: tuple[int, int, float] = self._native_ask(self.address, row, now, self._context, features)
                if decided[0] == FIT_FIRST:
                    self.fit()
                    decided = self._native_ask(self.address, row, now, self._context, features)
                return decided
            finally:
                self._busy = False

    def _tell_in_context(self, address: int, identity: int, units: int, cost: float) -> int:
        with self._lock:
            model = self.learner.model
            if self._busy or not isinstance(model, LogisticModel) or not model.features.schema.names:
                return 0
            self._busy = True
            try:
                if model.version != self._version:
                    self._take_arrays(model)
                return int(self._native_tell(address, identity, units, cost, self._context))
            finally:
                self._busy = False

    def _take_arrays(self, model: LogisticModel) -> None:
        """Note the addresses of the model's arrays, which it has replaced."""
        learner, fields = self.learner, len(model.features.schema.names)
        if int(self._header["fields"][0]) != fields:
            # The first context fixes the number of fields, so no outstanding decision has features of another number.
            rows = np.zeros(max(1, len(self._array("slots")) * fields))
            self._header["features"], self._header["fields"] = self._keep(rows), fields
            self._drop_unused_arrays()
        arrays = learner.arrays(model)
        self._model_arrays = arrays  # kept alive while their addresses are in use
        place = self._place
        for name, array in arrays.items():
            place[name] = address_of(array)
        place["watch_size"], place["knots_size"] = len(learner.watch.room), len(arrays["knots"])
        place["active"], place["width"], place["part"] = len(arrays["index"]), model.features.width, model.part
        place["rows"], place["cost_rows"] = len(arrays["means"]), len(arrays["noise"])
        self._context, self._version = address_of(place), model.version

    def _note_of(self, slot: Slot, identity: int) -> object:
        if slot.noted != IN_SLOT:
            return super()._note_of(slot, identity)
        fields, mask = int(self._header["fields"][0]), int(self._header["mask"][0])
        first = (identity & mask) * fields
        return DecisionRecord(
            self._array("features")[first : first + fields].copy(), None, max(0.0, slot.price), slot.decided_by
        )

    # --- copies

    def __getstate__(self) -> dict[str, object]:
        unshared = ("_lock", "_context", "_model_arrays", "_native_ask", "_native_tell", "_ready")
        return {name: value for name, value in super().__getstate__().items() if name not in unshared}
