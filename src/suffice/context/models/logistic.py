"""The model that comes with suffice: online Bayesian logistic regression on features that need no tuning.

`context.logistic` holds the equations. The weights of an option that was never played have their prior; its mean depends on
the menu's order: where options are made of cells, it is the log-odds of the option's share of the cells. All options share
what one option's outcomes teach about the context.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from suffice.context import logistic as kernel
from suffice.context.features import Features
from suffice.context.features_state import read_features, read_row, write_features, write_row
from suffice.context.models.weights import Weights, prior_weights
from suffice.errors import InvalidArgument, InvalidContext, StateError
from suffice.kernels.compiler import at_hand, available, compiled
from suffice.kernels.rows import Floats, Ints, Mask, Rows
from suffice.learning.containment import cells_of
from suffice.learning.records import SPANS
from suffice.menu.menu import Menu

MOST_FIELDS: Final = 128  # time and memory grow with the square of the number of fields
MOST_ROOM: Final = 1 << 25  # numbers in all covariances: beyond, further options only have the shared weights


def prior_odds(menu: Menu) -> Floats:
    """The prior mean of each arm's log-odds: those of its share of the cells that options are made of, or 0.

    >>> prior_odds(Menu.subsets({"a": 0.1, "b": 0.2}, safe="all", safe_cost=1.0, skip=True)).round(2).tolist()
    [0.0, 0.0, 0.0, 1.1, 0.0]
    """
    cells = cells_of(menu)
    odds = np.zeros(menu.n_arms)
    if cells is None or cells.members is None:
        return odds
    members = cells.members.reshape(menu.n_arms, -1)
    sizes = members[:, 1] - members[:, 0] if cells.form == SPANS else members.sum(axis=1)
    share = np.clip(sizes[menu.interior] / cells.count, kernel.LEAST, 1.0 - kernel.LEAST)
    odds[menu.interior] = np.log(share / (1.0 - share))
    return odds


class LogisticModel:
    """Learns how the context changes the success of each option. The default of `Selector(..., model="auto")`.

    Args:
        fields: the kind of each field of a context, "number" or "category"; those of the first context if left out.

    >>> model = LogisticModel()
    >>> model.open(Menu({"small": 0.1, "large": 0.4, "a person": 1.0}, safe="a person", skip="skip"))
    >>> for step in range(500):
    ...     sure = (step % 10) / 10
    ...     model.update({"sure": sure}, 1, float(sure > 0.5), None)
    >>> mean, deviation = model.predict({"sure": 0.9})
    >>> bool(mean[1] > 0.9), bool(deviation[1] < deviation[2])
    (True, True)
    """

    name: ClassVar[str] = "logistic"

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        if fields is not None and len(fields) > MOST_FIELDS:
            raise InvalidArgument(f"fields must be at most {MOST_FIELDS}, got {len(fields)}")
        self.features = Features(fields)
        self.menu: Menu | None = None
        self.version = 0  # changes whenever an array is replaced: compiled code must take new addresses then

    def open(self, menu: Menu) -> None:
        """Start with this menu."""
        self.menu = menu
        self._offsets = prior_odds(menu)
        self._known = np.array([menu.known_cost(arm) or 0.0 for arm in range(menu.n_arms)])  # 0 where it is not known
        self._learns_costs = menu.costs is None and len(menu.options) > 0
        self._safe_success = float(menu.safe_success)
        self.reset()

    def reset(self) -> None:
        """Forget what was learned; the features stay."""
        self._slots: Ints = np.zeros(self._opened().n_arms, dtype=np.int64)
        self._used = np.ones(1)  # rows in use, that of the shared weights included
        weights = self._prior(2)
        weights.covariances[0] *= kernel.SHARED / kernel.OWN
        self.weights = weights
        self._allocate()

    def _opened(self) -> Menu:
        if self.menu is None:
            raise InvalidArgument("menu must be given first: call open(menu), as a selector does")
        return self.menu

    def _prior(self, rows: int) -> Weights:
        noise = 0.25 * self._opened().safe_cost ** 2 if self._learns_costs else None
        return prior_weights(rows, self._prior_variances(), noise)

    @property
    def part(self) -> float:
        """The prior variance of a weight, as a share of that of the intercept."""
        return 1.0 / max(1, len(self.features.schema.names))

    @property
    def _rows(self) -> int:
        return int(self._used[0])

    def _prior_variances(self) -> Floats:
        variances = np.full(self.features.width, self.part)
        variances[0] = 1.0
        return variances

    def _allocate(self) -> None:
        """Allocate scratch space for vectors of this width."""
        self._gain = np.zeros(self.features.width)
        self._compiled = at_hand()
        self.version += 1

    def compile(self) -> None:
        """Use compiled code from now on, if there is a compiler."""
        self._compiled = available()

    # --- what a selector uses

    def read(self, context: object) -> Floats:
        """A context as a row of numbers. Raises if its fields are not those of earlier contexts."""
        width = self.features.width
        row = self.features.row(context)
        if len(row) > MOST_FIELDS:
            self.features = Features()
            raise InvalidContext(
                f"context must have at most {MOST_FIELDS} fields, got {len(row)}: make a few numbers of them, or bring "
                "a model that copes with many"
            )
        if self.features.width != width:  # the first context has set the fields
            self.reset()
        return row

    def observe(self, row: Floats) -> None:
        """Learn from the context of a decision, once: quantiles move, and new categories appear."""
        change = self.features.observe(row)
        if change is None:
            return
        if not self._fits(change.matrix.shape[1]):
            self.reset()
            return
        self.weights = self.weights.converted(change, self._prior_variances())
        self._allocate()

    def _fits(self, width: int) -> bool:
        """Whether all arrays are as wide as the features were; not after an interrupt during a change."""
        return len(self._gain) == width and self.weights.width == width

    def _active(self, row: Floats) -> int:
        if not self._fits(self.features.width):
            self.reset()
        return self.features.active(row)

    def cheapest(self, row: Floats, price: float, width: float, allowed: Mask | None) -> int:
        """The arm with the least cost − price·(success, so many deviations up)."""
        count, menu, features = self._active(row), self._opened(), self.features
        costs = self._costs(count, width)
        mask = kernel.EVERY_ARM if allowed is None else allowed
        if self._compiled:
            return int(
                compiled(kernel.cheapest)(
                    features.indices, features.values, count, self._slots, self._offsets, self.weights.means,
                    self.weights.covariances, self.part, costs, price, width, int(menu.has_skip), self._safe_success, mask,
                )
            )  # fmt: skip
        odds, variance = self._odds(count)
        upper = _sigmoid(odds + width * np.sqrt(variance))
        upper[-1], upper[: int(menu.has_skip)] = self._safe_success, 0.0
        scores = costs - price * upper
        if allowed is not None:
            scores[~allowed] = math.inf
        # Ties as in compiled code: the skip before the safe option before the others, in their order.
        boundary = 0 if menu.has_skip and scores[0] <= scores[-1] else menu.n_arms - 1
        best = int(scores.argmin())
        return best if scores[best] < scores[boundary] else boundary

    def learn(self, row: Floats, arm: int, success: float, cost: float | None) -> float:
        """Learn from an outcome of an interior arm; return the success predicted before."""
        count, features = self._active(row), self.features
        slot = self._slot(arm)
        if self._learns_costs and cost is not None and slot:
            self._learn_cost(count, slot, cost)
        if self._compiled:
            return float(
                compiled(kernel.learn)(
                    features.indices, features.values, count, arm, success, self._slots, self._offsets,
                    self.weights.means, self.weights.covariances, self.part, self._gain, features.width,
                )
            )  # fmt: skip
        odds, variance = self._odds(count)
        chance = float(_sigmoid(odds[arm]))
        curve = chance * (1.0 - chance)
        scale = 1.0 / (1.0 + curve * float(variance[arm]))
        self._move(count, slot, scale * (success - chance), curve * scale)
        return kernel.expected(float(odds[arm]), float(variance[arm]))

    def amend(self, row: Floats, arm: int, success: float) -> None:
        """Take back a failure that was a success: the difference of the two steps, without more certainty."""
        count, slot = self._active(row), self._slot(arm)
        odds, variance = self._odds(count)
        chance = float(_sigmoid(odds[arm]))
        scale = 1.0 / (1.0 + chance * (1.0 - chance) * float(variance[arm]))
        self._move(count, slot, scale * success, 0.0)

    # --- what compiled code works on

    def arrays(self) -> dict[str, Rows]:
        """The arrays that `context_calls.ContextPlace` names, by these names."""
        if not self._fits(self.features.width):
            self.reset()
        features, weights = self.features, self.weights
        return {
            **features.layout._asdict(), "index": features.indices, "value": features.values, "means": weights.means,
            "covariances": weights.covariances, "cost_means": weights.cost_means,
            "cost_covariances": weights.cost_covariances, "noise": weights.noise, "cost_told": weights.costs_seen,
            "arm_rows": self._slots, "offsets": self._offsets, "costs": self._known,
            "lower": np.zeros(len(self._slots)), "gain": self._gain, "used": self._used,
        }  # fmt: skip

    # --- without a compiler: whole arrays at a time

    def _odds(self, count: int) -> tuple[Floats, Floats]:
        index, value, slots = self.features.indices[:count], self.features.values[:count], self._slots
        submatrices = self.weights.covariances[: self._rows][:, index[:, None], index]
        means = self.weights.means[: self._rows][:, index] @ value
        variances = np.maximum(np.einsum("kab,a,b->k", submatrices, value, value), 0.0)
        own_means = np.where(slots > 0, means[slots], 0.0)
        prior = kernel.OWN * (1.0 + self.part * float(value[1:] @ value[1:]))
        own_variances = np.where(slots > 0, variances[slots], prior)
        return self._offsets + means[0] + own_means, variances[0] + own_variances

    def _move(self, count: int, slot: int, step: float, shrink: float) -> None:
        """Like `context.logistic.rank_one_update`, for the shared weights and the arm's own."""
        means, covariances = self.weights.means, self.weights.covariances
        for row in {0, slot}:
            gain = covariances[row][:, self.features.indices[:count]] @ self.features.values[:count]
            means[row] += step * gain
            if shrink:
                covariances[row] -= shrink * np.outer(gain, gain)

    # --- costs that the menu does not know

    def _costs(self, count: int, width: float) -> Floats:
        if not self._learns_costs:
            return self._known
        costs, weights = self._known.copy(), self.weights
        run = compiled(kernel.lower_costs) if self._compiled else kernel.lower_costs
        run(
            self.features.indices, self.features.values, count, self._slots, weights.cost_means,
            weights.cost_covariances, weights.noise, self._opened().safe_cost, width, costs,
        )  # fmt: skip
        return costs

    def _learn_cost(self, count: int, slot: int, cost: float) -> None:
        features, weights = self.features, self.weights
        run = compiled(kernel.learn_cost) if self._compiled else kernel.learn_cost
        run(
            features.indices, features.values, count, slot, cost, float(weights.costs_seen[slot]), weights.cost_means,
            weights.cost_covariances, weights.noise, kernel.NOISE * self._opened().safe_cost ** 2, self._gain,
            features.width,
        )  # fmt: skip
        weights.costs_seen[slot] += 1.0

    def _slot(self, arm: int) -> int:
        """The row of an arm, which gets one when it is first played; 0 if there is no room for another."""
        if self._slots[arm] == 0 and (self._rows + 1) * self.features.width**2 <= MOST_ROOM:
            if self._rows == len(self.weights.means):
                pairs = zip(self.weights, self._prior(self._rows), strict=True)
                self.weights = Weights(*map(np.concatenate, pairs))
                self.version += 1
            self._slots[arm] = self._rows
            self._used[0] += 1.0
        return int(self._slots[arm])

    def write_context(self, row: Floats) -> list[float | None]:
        """A row as JSON."""
        return write_row(row)

    def read_context(self, written: Any) -> Floats:
        """The row that `write_context` wrote."""
        return read_row(written, len(self.features.schema.names))

    # --- as a model that another model may use

    def predict(self, context: object) -> tuple[Floats, Floats]:
        """The mean success of each arm, and its standard deviation."""
        odds, variance = self._odds(self._active(self.read(context)))
        mean = np.array([kernel.expected(float(o), float(v)) for o, v in zip(odds, variance, strict=True)])
        return mean, mean * (1.0 - mean) * np.sqrt(variance)

    def update(self, context: object, arm: int, success: float, cost: float | None) -> None:
        """Learn from an outcome and its context."""
        row = self.read(context)
        self.observe(row)
        if self._opened().interior.start <= arm < self._opened().n_arms - 1:
            self.learn(row, arm, success, cost)

    # --- saving

    def state(self) -> dict[str, object]:
        """All that was learned, as JSON values."""
        if not self._fits(self.features.width) or not self.features.is_consistent():
            fresh = LogisticModel()  # an interrupt struck during a change: only the features are certain
            fresh.features = read_features(write_features(self.features))
            fresh.open(self._opened())
            return fresh.state()
        return {
            "features": write_features(self.features),
            "slots": [[int(arm), int(self._slots[arm])] for arm in np.flatnonzero(self._slots)],
            **{name: rows[: self._rows].tolist() for name, rows in self.weights._asdict().items()},
        }

    def restore(self, state: Any) -> None:
        """Take over a saved state."""
        if not isinstance(state, Mapping):
            raise StateError("the model that was saved is not the one that comes with suffice: pass it as model=...")
        self.features = read_features(state["features"])
        self.reset()
        menu, rows = self._opened(), len(state["slots"]) + 1
        slots = {int(arm): int(slot) for arm, slot in state["slots"]}
        inside = range(menu.n_arms)[menu.interior]
        if sorted(slots.values()) != list(range(1, rows)):
            raise StateError("slots must give each option that was played a row of its own")
        if not all(arm in inside for arm in slots):
            raise StateError(f"slots must belong to options from {inside.start} to {inside.stop - 1}")
        for arm, slot in slots.items():
            self._slots[arm] = slot
        self._used[0] = rows
        self.weights = self.weights.restored(state, rows)


def _sigmoid(odds: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -kernel.STEEP, kernel.STEEP))))
