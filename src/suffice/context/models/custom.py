"""A model of a user's own, as the selector deals with it: checked, and never trusted further than its numbers."""

import copy
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice.context.models.base import Model
from suffice.errors import InvalidArgument, StateError, quoted
from suffice.kernels.rows import Floats, Mask
from suffice.menu.menu import Menu
from suffice.menu.options import from_json, to_json


class CustomModel:
    """Asks a model of anybody's for an arm, and hands outcomes on to it."""

    def __init__(self, model: Model, menu: Menu) -> None:
        self.model, self._menu = model, menu
        self.name = str(getattr(model, "name", type(model).__name__))
        known = [menu.known_cost(arm) for arm in range(menu.n_arms)]
        self._known = np.array([math.nan if cost is None else cost for cost in known])
        self._lower: Floats = np.nan_to_num(self._known)
        self._seen: tuple[Any, Floats, Floats] | None = None  # the last context, and what was predicted for it
        opened = getattr(model, "open", None)
        if opened is not None:
            opened(menu)

    def read(self, context: Any) -> Any:
        """A context as it is: what it must look like is the model's affair. Copied, for it may change until it is told."""
        self._seen = None
        if isinstance(context, dict | list):
            return copy.copy(context)
        return context.copy() if isinstance(context, np.ndarray) or hasattr(context, "iloc") else context

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
        if column.shape != (self._menu.n_arms,):
            raise InvalidArgument(
                f"a model must predict a {name} for each of {self._menu.n_arms} arms, got {quoted(values)}"
            )
        return column

    def cheapest(self, context: Any, price: float, width: float, allowed: Mask | None) -> int:
        """The arm with the least cost − price·(success, so many deviations up). A NaN makes an arm one that never succeeds."""
        self._seen = None
        mean, deviation = self._predict(context)
        above = getattr(self.model, "upper", None)
        if above is None:
            with np.errstate(all="ignore"):  # of infinities
                upper = mean + width * np.abs(deviation)
        else:
            upper = self._column("upper success", above(context, width))
        upper = np.clip(np.nan_to_num(upper, nan=0.0), 0.0, 1.0)
        upper[-1] = float(self._menu.safe_success)
        if self._menu.has_skip:
            upper[0] = 0.0
        scores = self._costs(context) - price * upper
        if allowed is not None:
            scores[~allowed] = math.inf
        return int(scores.argmin())

    def _costs(self, context: Any) -> Floats:
        costs = getattr(self.model, "costs", None)
        if costs is None or not np.isnan(self._known).any():
            return self._lower.copy()
        told = np.clip(np.nan_to_num(self._column("cost", costs(context))), 0.0, self._menu.safe_cost)
        return np.asarray(np.where(np.isnan(self._known), told, self._known))

    def said(self, context: Any, arm: int) -> float:
        """The mean success that was predicted for an arm."""
        mean = float(self._predict(context)[0][arm])
        if not 0.0 <= mean <= 1.0:
            raise InvalidArgument(f"a model must predict successes from 0 to 1, got {mean}")
        return mean

    def learn(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        """Hand an outcome on."""
        self.model.update(context, arm, success, cost)

    def amend(self, context: Any, arm: int, success: float) -> None:
        """Hand on that a failure was none; to a model that cannot take it back, as a success beside the failure."""
        amend = getattr(self.model, "amend", None)
        if amend is not None:
            amend(context, arm, success)
        else:
            self.model.update(context, arm, success, None)

    def begin(self) -> None:
        """Let the model forget, if it can."""
        forget = getattr(self.model, "forget", None)
        if forget is not None:
            forget()

    def report(self) -> dict[str, Any]:
        """What the model has to say of the contexts it saw."""
        try:
            report: Mapping[Any, Any] = getattr(self.model, "report", dict)()
            return {str(name): dict(field) for name, field in report.items()}
        except Exception:
            return {}

    # --- saving

    def state(self) -> Any:
        """What the model has learned, where it can say so. Raises if it is not in JSON's terms."""
        state = getattr(self.model, "state", None)
        return None if state is None else json.loads(json.dumps(state(), allow_nan=False))

    def restore(self, state: Any) -> None:
        """Take over what was learned, where it was said."""
        if state is None:
            return
        try:
            self.model.restore(state)  # type: ignore[attr-defined]
        except Exception as error:
            raise StateError(f"the model must take over what it wrote down: {type(error).__name__}: {error}") from error

    def written(self, context: Any) -> Any:
        """A context in JSON's terms; None if it has no such form: then its outcome will not reach the model."""
        try:
            return to_json(context)
        except (InvalidArgument, RecursionError):
            return None

    def again(self, written: Any) -> Any:
        """A context that was written down."""
        return from_json(written)
