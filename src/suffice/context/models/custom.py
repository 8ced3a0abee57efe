"""A user's own model, or an adapter, behind checks of what it predicts."""

import copy
import json
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from suffice.context.models.base import Model
from suffice.errors import InvalidArgument, StateError, quoted
from suffice.kernels.rows import Floats, Mask
from suffice.menu.menu import Menu
from suffice.menu.options import from_json, to_json


class CustomModel:
    """Picks arms from a model's predictions, and passes outcomes on to it."""

    def __init__(self, model: Model, menu: Menu) -> None:
        self.model, self._menu = model, menu
        self.name = str(getattr(model, "name", type(model).__name__))
        known = [menu.known_cost(arm) for arm in range(menu.n_arms)]
        self._known = np.array([math.nan if cost is None else cost for cost in known])
        self._lower: Floats = np.nan_to_num(self._known)  # 0 where the cost is not known
        self._predicted: tuple[object, Floats, Floats] | None = None  # the last context and its predictions
        start = getattr(model, "open", None)
        if start is not None:
            start(menu)

    def read(self, context: object) -> object:
        """The context itself; a copy of one that the user may change before its outcome is reported."""
        self._predicted = None
        if isinstance(context, dict | list):
            return copy.copy(context)
        if isinstance(context, np.ndarray):
            return context.copy()
        return context.copy() if hasattr(context, "iloc") and hasattr(context, "copy") else context

    def observe(self, context: object) -> None:
        """Do nothing: a model sees the context when it predicts."""

    def compile(self) -> None:
        """Do nothing: a user's model is not compiled."""

    def _predict(self, context: object) -> tuple[Floats, Floats]:
        if self._predicted is None or self._predicted[0] is not context:
            mean, deviation = self.model.predict(context)
            self._predicted = context, self._column("mean", mean), self._column("deviation", deviation)
        return self._predicted[1], self._predicted[2]

    def _column(self, name: str, values: ArrayLike) -> Floats:
        column = np.asarray(values, dtype=np.float64)
        if column.shape != (self._menu.n_arms,):
            raise InvalidArgument(
                f"a model must predict a {name} for each of {self._menu.n_arms} arms, got {quoted(values)}"
            )
        return column

    def cheapest(self, context: object, price: float, width: float, allowed: Mask | None) -> int:
        """The arm with the least cost − price·(success, so many deviations up). A NaN counts as a success of 0."""
        self._predicted = None
        mean, deviation = self._predict(context)
        with np.errstate(all="ignore"):  # of infinities
            upper = mean + width * np.abs(deviation)
        upper = np.clip(np.nan_to_num(upper, nan=0.0), 0.0, 1.0)
        upper[-1] = float(self._menu.safe_success)
        if self._menu.has_skip:
            upper[0] = 0.0
        scores = self._costs(context) - price * upper
        if allowed is not None:
            scores[~allowed] = math.inf
        return int(scores.argmin())

    def _costs(self, context: object) -> Floats:
        costs = getattr(self.model, "costs", None)
        if costs is None or not np.isnan(self._known).any():
            return self._lower.copy()
        predicted: Floats = np.clip(np.nan_to_num(self._column("cost", costs(context))), 0.0, self._menu.safe_cost)
        np.copyto(predicted, self._known, where=~np.isnan(self._known))
        return predicted

    def prediction(self, context: object, arm: int) -> float:
        """The mean success predicted for an arm."""
        mean = float(self._predict(context)[0][arm])
        if not 0.0 <= mean <= 1.0:
            raise InvalidArgument(f"a model must predict successes from 0 to 1, got {mean}")
        return mean

    def learn(self, context: object, arm: int, success: float, cost: float | None) -> None:
        """Pass an outcome on."""
        self.model.update(context, arm, success, cost)

    def amend(self, context: object, arm: int, success: float) -> None:
        """Pass on that a failure was a success; to a model without `amend`, as one more outcome."""
        amend = getattr(self.model, "amend", None)
        if amend is not None:
            amend(context, arm, success)
        else:
            self.model.update(context, arm, success, None)

    def reset(self) -> None:
        """Make the model start again, if it can."""
        forget = getattr(self.model, "forget", None)
        if forget is not None:
            forget()

    # --- saving

    def state(self) -> Any:
        """What the model has learned, if it has a state. Raises if that is not JSON."""
        state = getattr(self.model, "state", None)
        return None if state is None else json.loads(json.dumps(state(), allow_nan=False))

    def restore(self, state: object) -> None:
        """Take over a saved state, if there is one."""
        if state is None:
            return
        try:
            self.model.restore(state)  # type: ignore[attr-defined]
        except Exception as error:
            raise StateError(f"the model must take over what it wrote down: {type(error).__name__}: {error}") from error

    def write_context(self, context: object) -> Any:
        """A context as JSON; None if it has no such form, and then its outcome is not passed on after a reload."""
        try:
            return to_json(context)
        except (InvalidArgument, RecursionError):
            return None

    def read_context(self, written: Any) -> object:
        """The context that `write_context` wrote."""
        context: object = from_json(written)
        return context
