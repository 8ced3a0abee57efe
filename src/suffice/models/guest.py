"""A model of a user's own, as the selector deals with it: checked, and never trusted further than its numbers."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InvalidArgument, shown
from suffice.menu import Menu
from suffice.models.base import Model

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
ROW: Final = "row"  # how an array is marked where contexts are written down


class Guest:
    """Asks a model of anybody's for an arm, and hands outcomes on to it."""

    def __init__(self, model: Model, menu: Menu) -> None:
        self.model, self._menu = model, menu
        self.name = str(getattr(model, "name", type(model).__name__))
        known = [menu.known_cost(arm) for arm in range(menu.arms)]
        self._known = np.array([math.nan if cost is None else cost for cost in known])
        self._lower: Floats = np.nan_to_num(self._known)
        self._seen: tuple[Any, Floats, Floats] | None = None  # the last context, and what was predicted for it
        opened = getattr(model, "open", None)
        if opened is not None:
            opened(menu)

    def read(self, context: Any) -> Any:
        """A context as it is: what it must look like is the model's affair."""
        return context

    def note(self, context: Any) -> None:
        """Nothing: a model takes contexts in by itself."""

    def compile(self) -> None:
        """Nothing: a model is as fast as it is."""

    def _predict(self, context: Any) -> tuple[Floats, Floats]:
        if self._seen is None or self._seen[0] is not context:
            mean, deviation = self.model.predict(context)
            self._seen = context, self._column("mean", mean), self._column("deviation", deviation)
        return self._seen[1], self._seen[2]

    def _column(self, name: str, values: Any) -> Floats:
        column = np.asarray(values, dtype=np.float64)
        if column.shape != (self._menu.arms,):
            raise InvalidArgument(
                f"a model must predict a {name} for each of {self._menu.arms} arms, got {shown(values)}"
            )
        return column

    def cheapest(self, context: Any, price: float, width: float, allowed: Mask | None) -> int:
        """The arm with the least cost − price·(success, so many deviations up). A NaN makes an arm one that never succeeds."""
        self._seen = None
        mean, deviation = self._predict(context)
        above = getattr(self.model, "upper", None)
        upper = (
            mean + width * np.abs(deviation) if above is None else self._column("upper success", above(context, width))
        )
        upper = np.clip(np.nan_to_num(upper, nan=0.0), 0.0, 1.0)
        upper[-1] = float(self._menu.everything_success)
        if self._menu.has_nothing:
            upper[0] = 0.0
        scores = self._costs(context) - price * upper
        if allowed is not None:
            scores[~allowed] = math.inf
        return int(scores.argmin())

    def _costs(self, context: Any) -> Floats:
        costs = getattr(self.model, "costs", None)
        if costs is None or not np.isnan(self._known).any():
            return self._lower.copy()
        told = np.clip(np.nan_to_num(self._column("cost", costs(context))), 0.0, self._menu.max_cost)
        return np.asarray(np.where(np.isnan(self._known), told, self._known))

    def said(self, context: Any, arm: int) -> float | None:
        """The mean success that was predicted for an arm; None if it is no probability."""
        mean = float(self._predict(context)[0][arm])
        return mean if 0.0 <= mean <= 1.0 else None

    def learn(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        """Hand an outcome on."""
        self.model.update(context, arm, success, cost)

    def begin(self) -> None:
        """Let the model forget, if it can."""
        forget = getattr(self.model, "forget", None)
        if forget is not None:
            forget()

    def report(self) -> dict[str, Any]:
        """What the model has to say of the contexts it saw."""
        report = getattr(self.model, "report", None)
        return {} if report is None else dict(report())

    # --- saving

    def state(self) -> Any:
        """What the model has learned, where it can say so."""
        state = getattr(self.model, "state", None)
        return None if state is None else state()

    def restore(self, state: Any) -> None:
        """Take over what was learned, where it was said."""
        if state is not None:
            self.model.restore(state)  # type: ignore[attr-defined]

    def written(self, context: Any) -> Any:
        """A context in JSON's terms; None if it has no such form: then its outcome will not reach the model."""
        return _written(context)

    def again(self, written: Any) -> Any:
        """A context that was written down."""
        if isinstance(written, Mapping) and set(written) == {ROW}:
            return np.array([math.nan if value is None else value for value in written[ROW]], dtype=np.float64)
        return written


def _written(context: Any) -> Any:
    if isinstance(context, np.ndarray) and context.ndim == 1 and context.dtype.kind in "fiub":
        return {ROW: [_written(value) for value in context.tolist()]}
    if isinstance(context, np.generic):
        return _written(context.item())
    if isinstance(context, float):
        return context if math.isfinite(context) else None
    if context is None or isinstance(context, str | bool | int):
        return context
    if isinstance(context, Mapping) and all(isinstance(key, str) for key in context):
        return {key: _written(value) for key, value in context.items()}
    if isinstance(context, list | tuple):
        return [_written(value) for value in context]
    return None
