"""Vowpal Wabbit, a widely used contextual bandit, on the loss cost − price·success."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from suffice.best_mix import optimum
from suffice.context.schema import Schema
from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.kernels.rows import Floats
from suffice.lab.rivals.base import CONTEXT, PRIMARY, Rival, Target, draw_arm, own_rng
from suffice.menu.menu import Menu
from suffice.numbers import as_fraction

# Per arm the fields of the context and their products: a parabola in each number.
ALWAYS: Final = "--cb_explore_adf --quiet -q ca --interactions cca"
RESERVED: Final = re.compile(r"[\s:|]")  # separators of its text format


class VowpalWabbit(Rival):
    """Vowpal Wabbit with action-dependent features (`--cb_explore_adf`), by default with SquareCB's exploration.

    It learns one loss, in units of safe_cost + price, for the boundary arms too, so the price must be fixed. A context is
    passed as text, numbers as `name:value` and categories as `name=value`, without missing values.

    Args:
        menu: any menu.
        target: the success rate, for the shadow price and the debt.
        price: of a success; if left out, the shadow price: what one more success costs the best mix that ignores contexts.
        options: of its command line.
        stream: one with `truth()`, from which the shadow price follows.
        seed: of the draws from its probabilities.

    >>> VowpalWabbit.text({"confidence": 0.7, "task": "chat", "size": None})
    'confidence:0.7 task=chat'
    """

    name = "Vowpal Wabbit"
    source = "Vowpal Wabbit 9, its `--cb_explore_adf`"
    read = PRIMARY
    feedback = CONTEXT
    guarantee = "none on the rate, which follows from the price that it is given"
    contextual = True

    def __init__(
        self, menu: Menu, target: Target, *, price: float | None = None, options: str = "--squarecb",
        stream: object = None, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(menu, target)
        if not isinstance(options, str):
            raise InvalidArgument(f"options must be text, got {quoted(options)}")
        self._price = shadow_price(menu, self.target, stream) if price is None else float(as_fraction("price", price))
        if self._price < 0.0:
            raise InvalidArgument(f"price must be at least 0, got {quoted(price)}")
        self._options = options
        self._schema = Schema()
        self._actions = [f"|a arm{arm}" for arm in range(menu.n_arms)]
        self._rng = own_rng(seed)
        self._wabbit = _workspace(f"{ALWAYS} {options}")

    @staticmethod
    def text(values: Mapping[str, float | str | None]) -> str:
        """The fields of a context in its text format."""
        pieces = []
        for name, value in values.items():
            if isinstance(value, str):
                pieces.append(f"{RESERVED.sub('_', name)}={RESERVED.sub('_', value)}")
            elif value is not None:
                pieces.append(f"{RESERVED.sub('_', name)}:{value:.9g}")
        return " ".join(pieces)

    @property
    def price(self) -> float:
        return self._price

    def probabilities(self, context: object) -> Floats:
        """The distribution of the arm."""
        return np.array(self._wabbit.predict(self._lines(context)), dtype=np.float64)

    def _lines(self, context: object) -> list[str]:
        return [f"shared |c {self.text(self._schema.values(context))}", *self._actions]

    def _choose(self) -> int:
        shares = self.probabilities(self._context)
        arm = draw_arm(self._rng, shares)
        self._note = float(shares[arm])
        return arm

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        loss = (cost - self._price * success) / (self.menu.safe_cost + self._price)
        lines = self._lines(self._context)
        lines[arm + 1] = f"0:{loss:.9g}:{self._note:.9g} {lines[arm + 1]}"
        self._wabbit.learn(lines)

    # A workspace cannot be copied; its model can be written to a file and read again.

    def __getstate__(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            self._wabbit.save(str(path))
            return {**self.__dict__, "_wabbit": path.read_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            path.write_bytes(state["_wabbit"])
            self.__dict__.update(state, _wabbit=_workspace(f"--quiet -i {path}"))


def shadow_price(menu: Menu, target: float, stream: object) -> float:
    """What one more success costs the best mix of options that ignores contexts, by the truth of a stream."""
    truth = getattr(stream, "truth", None)
    if not callable(truth):
        raise InvalidArgument(
            f"stream must have truth(), for the shadow price, unless a price is given, got {quoted(stream)}"
        )
    success, cost = truth()
    if len(success) != menu.n_arms:
        raise InvalidArgument(f"stream must have the menu's {menu.n_arms} arms, got {len(success)}")
    return optimum(success, cost, target).price


def _workspace(options: str) -> Any:
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        raise SufficeError("Vowpal Wabbit needs vowpalwabbit: pip install 'suffice[peers]'") from None
    try:
        return Workspace(options)
    except RuntimeError as error:
        raise InvalidArgument(f"options must be some that Vowpal Wabbit takes, got {options!r}: {error}") from None
