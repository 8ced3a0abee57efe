"""The model that comes with suffice: online Bayesian logistic regression on features that need no tuning.

See `context.logistic` for what is learned and how. Weights of an option that was never played are as they were beforehand,
which the menu's order has a say in: where options are made of cells, as many log-odds as its share of the cells has. What is
learned of the context by playing one option, all options share.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from suffice.context import logistic as kernel
from suffice.context.features import Features
from suffice.context.spline_knots import Change
from suffice.errors import InvalidArgument, InvalidContext, StateError
from suffice.kernels.compiler import at_hand, available, compiled
from suffice.kernels.rows import Floats, Mask
from suffice.learning.containment import cells_of
from suffice.learning.records import SPANS
from suffice.menu.menu import Menu

MOST_FIELDS: Final = 128  # time and memory grow with the square of them
MOST_ROOM: Final = 1 << 25  # numbers in all covariances: beyond, options share what is learned of the context


def offsets_of(menu: Menu) -> Floats:
    """Log-odds of each arm beforehand: those of its share of the cells that options are made of, or 0.

    >>> offsets_of(Menu.subsets({"a": 0.1, "b": 0.2}, safe="all", safe_cost=1.0)).round(2).tolist()
    [0.0, 0.0, 0.0, 1.1, 0.0]
    """
    found = cells_of(menu)
    offsets = np.zeros(menu.n_arms)
    if found is None or found.members is None:
        return offsets
    members = found.members.reshape(menu.n_arms, -1)
    held = members[:, 1] - members[:, 0] if found.form == SPANS else members.sum(axis=1)
    share = np.clip(held[menu.interior] / found.count, kernel.LEAST, 1.0 - kernel.LEAST)
    offsets[menu.interior] = np.log(share / (1.0 - share))
    return offsets


class LogisticModel:
    """Learns how the context tilts the success of each option. The default of `Selector(..., model="auto")`.

    Args:
        fields: the kind of each field of a context, "number" or "category"; those of the first context if left out.

    >>> model = LogisticModel()
    >>> model.open(Menu({"small": 0.1, "large": 0.4}, safe="a person", skip="skip"))
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
        self.made = 0  # how often the arrays were made anew: who holds them must take them again

    def open(self, menu: Menu) -> None:
        """Begin with this menu."""
        self.menu = menu
        self._offsets = offsets_of(menu)
        self._known = np.array([menu.known_cost(arm) or 0.0 for arm in range(menu.n_arms)])  # 0 where costs are told
        self._priced = menu.costs is None and len(menu.options) > 0
        self._best = float(menu.safe_success)
        self.begin()

    def begin(self) -> None:
        """Forget what was learned; the features stay."""
        self._slots = np.zeros(self._opened().n_arms, dtype=np.int64)
        self._used = np.ones(1)  # rows that are in use, the one of all arms included
        self._learned = self._fresh(2)
        self._learned["covariances"][0] *= kernel.COMMON / kernel.OWN
        self._work()

    def _opened(self) -> Menu:
        if self.menu is None:
            raise InvalidArgument("menu must be given first: call open(menu), as a selector does")
        return self.menu

    def _fresh(self, rows: int) -> dict[str, Floats]:
        """What is known beforehand of so many arms, by the names it is saved under. Of costs only where they are told."""
        width, told, prior = self.features.width, rows if self._priced else 0, np.diag(self._prior())
        return {
            "means": np.zeros((rows, width)),
            "covariances": np.tile(kernel.OWN * prior, (rows, 1, 1)),
            "cost_means": np.zeros((told, width)),
            "cost_covariances": np.tile(prior, (told, 1, 1)),
            "noise": np.full(told, 0.25 * self._opened().safe_cost ** 2),
            "told": np.zeros(told),
        }

    @property
    def part(self) -> float:
        """Of the variance of the intercept, what each other weight has beforehand."""
        return 1.0 / max(1, len(self.features.schema.names))

    @property
    def _rows(self) -> int:
        return int(self._used[0])

    def _prior(self) -> Floats:
        prior = np.full(self.features.width, self.part)
        prior[0] = 1.0
        return prior

    def _work(self) -> None:
        """Room to work in, for vectors of this width."""
        self._gain = np.zeros(self.features.width)
        self._compiled = at_hand()
        self.made += 1

    def compile(self) -> None:
        """Use compiled code from now on, where there is a compiler."""
        self._compiled = available()

    # --- what a selector uses

    def read(self, context: Any) -> Floats:
        """A context as a row of numbers. Raises if it is not of the shape of those before."""
        width = self.features.width
        row = self.features.row(context)
        if len(row) > MOST_FIELDS:
            self.features = Features()
            raise InvalidContext(
                f"context must have at most {MOST_FIELDS} fields, got {len(row)}: make a few numbers of them, or bring "
                "a model that copes with many"
            )
        if self.features.width != width:  # the first one: now the fields are known
            self.begin()
        return row

    def note(self, row: Floats) -> None:
        """Take a context into account, once for each decision: quantiles move, and new categories come."""
        change = self.features.note(row)
        if change is not None:
            self._follow(change)

    def _follow(self, change: Change) -> None:
        """Carry weights over to features of a new meaning. What an interpolated weight lacks of its variance it gets back."""
        if not self._fits(change.matrix.shape[1]):
            self.begin()
            return
        shares, diagonal = np.abs(change.matrix), np.arange(self.features.width)
        total = shares.sum(axis=1)
        learned = dict(self._learned)
        for name, common, own in (("", kernel.COMMON, kernel.OWN), ("cost_", 1.0, 1.0)):
            means, covariances = learned[f"{name}means"], learned[f"{name}covariances"]
            moved = change.matrix @ covariances @ change.matrix.T
            # A weight that is wholly new is as unsure as one is beforehand, an interpolated one as those that it lies between.
            beforehand = np.full(len(covariances), own)
            beforehand[:1] = common
            between = _each(shares, np.diagonal(covariances, axis1=1, axis2=2)) / np.maximum(total, 1e-300)
            unsure = np.where(total > 0.0, between, beforehand[:, None] * self._prior())
            moved[:, diagonal, diagonal] += change.fresh * unsure
            learned[f"{name}means"] = _each(change.matrix, means)
            learned[f"{name}covariances"] = np.ascontiguousarray(moved)
        self._learned = learned
        self._work()

    def _fits(self, width: int) -> bool:
        """Whether all is as wide as the features were: not so if an interrupt struck while they changed."""
        return len(self._gain) == width and int(self._learned["means"].shape[-1]) == width

    def _active(self, row: Floats) -> int:
        if not self._fits(self.features.width):
            self.begin()
        return self.features.active(row)

    def cheapest(self, row: Floats, price: float, width: float, allowed: Mask | None) -> int:
        """The arm with the least cost − price·(success, so many deviations up)."""
        count, menu, features = self._active(row), self._opened(), self.features
        costs = self._costs(count, width)
        mask = kernel.EVERY_ARM if allowed is None else allowed
        if self._compiled:
            return int(
                compiled(kernel.cheapest)(
                    features.indices, features.values, count, self._slots, self._offsets, self._learned["means"],
                    self._learned["covariances"], self.part, costs, price, width, int(menu.has_skip), self._best, mask,
                )
            )  # fmt: skip
        odds, variance = self._odds(count)
        upper = _sigmoid(odds + width * np.sqrt(variance))
        upper[-1], upper[: int(menu.has_skip)] = self._best, 0.0
        scores = costs - price * upper
        if allowed is not None:
            scores[~allowed] = math.inf
        # Ties as in the compiled twin: the skip before the safe option before the others, in their order.
        boundary = 0 if menu.has_skip and scores[0] <= scores[-1] else menu.n_arms - 1
        found = int(scores.argmin())
        return found if scores[found] < scores[boundary] else boundary

    def learn(self, row: Floats, arm: int, success: float, cost: float | None) -> float:
        """Take in an outcome of an interior arm; what was expected of it."""
        count, features = self._active(row), self.features
        slot = self._slot(arm)
        if self._priced and cost is not None and slot:
            self._learn_cost(count, slot, cost)
        if self._compiled:
            return float(
                compiled(kernel.learn)(
                    features.indices, features.values, count, arm, success, self._slots, self._offsets,
                    self._learned["means"], self._learned["covariances"], self.part, self._gain, features.width,
                )
            )  # fmt: skip
        odds, variance = self._odds(count)
        chance = float(_sigmoid(odds[arm]))
        curve = chance * (1.0 - chance)
        scale = 1.0 / (1.0 + curve * float(variance[arm]))
        self._move(count, slot, scale * (success - chance), curve * scale)
        return kernel.expected(float(odds[arm]), float(variance[arm]))

    def amend(self, row: Floats, arm: int, success: float) -> None:
        """Take back a failure that was none: the step that a success would have made further, and nothing more certain."""
        count, slot = self._active(row), self._slot(arm)
        odds, variance = self._odds(count)
        chance = float(_sigmoid(odds[arm]))
        scale = 1.0 / (1.0 + chance * (1.0 - chance) * float(variance[arm]))
        self._move(count, slot, scale * success, 0.0)

    # --- what compiled code works on

    def arrays(self) -> dict[str, Any]:
        """The arrays that `context_calls.ContextPlace` names, by these names."""
        if not self._fits(self.features.width):
            self.begin()
        features = self.features
        arrays = {
            **features.layout._asdict(), **self._learned, "index": features.indices, "value": features.values,
            "arm_rows": self._slots, "offsets": self._offsets, "costs": self._known,
            "lower": np.zeros(len(self._slots)), "gain": self._gain, "used": self._used,
        }  # fmt: skip
        arrays["cost_told"] = arrays.pop("told")
        return arrays

    # --- without a compiler: whole arrays at a time

    def _odds(self, count: int) -> tuple[Floats, Floats]:
        index, value, slots = self.features.indices[:count], self.features.values[:count], self._slots
        part = self._learned["covariances"][: self._rows][:, index[:, None], index]
        along = self._learned["means"][: self._rows][:, index] @ value
        around = np.maximum(np.einsum("kab,a,b->k", part, value, value), 0.0)
        own = np.where(slots > 0, along[slots], 0.0)
        unknown = kernel.OWN * (1.0 + self.part * float(value[1:] @ value[1:]))
        wide = np.where(slots > 0, around[slots], unknown)
        return self._offsets + along[0] + own, around[0] + wide

    def _move(self, count: int, slot: int, step: float, shrink: float) -> None:
        """As `context.logistic.move`, for what all arms share and for the arm's own."""
        means, covariances = self._learned["means"], self._learned["covariances"]
        for row in {0, slot}:
            gain = covariances[row][:, self.features.indices[:count]] @ self.features.values[:count]
            means[row] += step * gain
            if shrink:
                covariances[row] -= shrink * np.outer(gain, gain)

    # --- costs that the menu does not know

    def _costs(self, count: int, width: float) -> Floats:
        if not self._priced:
            return self._known
        costs, learned = self._known.copy(), self._learned
        run = compiled(kernel.costs_of) if self._compiled else kernel.costs_of
        run(
            self.features.indices, self.features.values, count, self._slots, learned["cost_means"],
            learned["cost_covariances"], learned["noise"], self._opened().safe_cost, width, costs,
        )  # fmt: skip
        return costs

    def _learn_cost(self, count: int, slot: int, cost: float) -> None:
        features, learned = self.features, self._learned
        run = compiled(kernel.learn_cost) if self._compiled else kernel.learn_cost
        run(
            features.indices, features.values, count, slot, cost, float(learned["told"][slot]), learned["cost_means"],
            learned["cost_covariances"], learned["noise"], kernel.NOISE * self._opened().safe_cost ** 2, self._gain,
            features.width,
        )  # fmt: skip
        learned["told"][slot] += 1.0

    def _slot(self, arm: int) -> int:
        """The row of an arm, which gets one when it is first played; 0 if there is no room for another."""
        if self._slots[arm] == 0 and (self._rows + 1) * self.features.width**2 <= MOST_ROOM:
            if self._rows == len(self._learned["means"]):
                more = self._fresh(self._rows)
                self._learned = {name: np.concatenate([rows, more[name]]) for name, rows in self._learned.items()}
                self.made += 1
            self._slots[arm] = self._rows
            self._used[0] += 1.0
        return int(self._slots[arm])

    def written(self, row: Floats) -> list[float | None]:
        """A row in JSON's terms."""
        return [None if value != value else value for value in row.tolist()]

    def again(self, written: Any) -> Floats:
        """A row that was written down."""
        row = np.array([math.nan if value is None else value for value in written], dtype=np.float64)
        if row.shape != (len(self.features.schema.names),):
            raise StateError(f"a context must have {len(self.features.schema.names)} fields, got {len(written)}")
        return row

    # --- as a model of anybody's

    def predict(self, context: Any) -> tuple[Floats, Floats]:
        """The mean success of each arm, and its standard deviation."""
        odds, variance = self._odds(self._active(self.read(context)))
        mean = np.array([kernel.expected(float(o), float(v)) for o, v in zip(odds, variance, strict=True)])
        return mean, mean * (1.0 - mean) * np.sqrt(variance)

    def upper(self, context: Any, width: float) -> Floats:
        """So many deviations up, on the scale of log-odds."""
        odds, variance = self._odds(self._active(self.read(context)))
        return np.asarray(_sigmoid(odds + width * np.sqrt(variance)))

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        """Take in an outcome."""
        row = self.read(context)
        self.note(row)
        if self._opened().interior.start <= arm < self._opened().n_arms - 1:
            self.learn(row, arm, success, cost)

    # --- saving

    def state(self) -> dict[str, Any]:
        """All that was learned, in JSON's terms."""
        if not self._fits(self.features.width) or len(self.features.names()) != self.features.width:
            fresh = LogisticModel()  # an interrupt struck: what can be read again without a doubt is the features
            fresh.features = Features.from_state(self.features.state())
            fresh.open(self._opened())
            return fresh.state()
        return {
            "features": self.features.state(),
            "slots": [[int(arm), int(self._slots[arm])] for arm in np.flatnonzero(self._slots)],
            **{name: rows[: self._rows].tolist() for name, rows in self._learned.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` wrote down."""
        if not isinstance(state, Mapping):
            raise StateError("the model that was saved is not the one that comes with suffice: pass it as model=...")
        self.features = Features.from_state(state["features"])
        self.begin()
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
        for name, fresh in self._learned.items():
            if len(fresh):  # nothing is kept of costs where none are told
                self._learned[name] = _numbers(state, name, (rows, *fresh.shape[1:]))


def _numbers(state: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Floats:
    found = np.array(state[name], dtype=np.float64)
    if found.shape != shape or not np.isfinite(found).all():
        raise StateError(f"{name} must hold finite numbers of shape {shape}, got shape {found.shape}")
    return found


def _each(matrix: Floats, rows: Floats) -> Floats:
    """A matrix times each row by itself: of many at once the last bits hang on how many there are, on some machines."""
    return np.asarray((matrix @ rows[:, :, None])[:, :, 0])


def _sigmoid(odds: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -kernel.STEEP, kernel.STEEP)))
