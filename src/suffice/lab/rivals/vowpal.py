"""Vowpal Wabbit: the contextual bandit that many teams run, on the loss cost − price·success."""

import re
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np

from suffice.context.schema import Schema
from suffice.errors import InvalidArgument, SufficeError, quoted
from suffice.lab.rivals.base import CONTEXT, PRIMARY, Rival, Target, own_rng
from suffice.lab.rivals.prices import SHADOW, fixed, told
from suffice.lab.rivals.weights import Floats, draw
from suffice.menu.menu import Menu

# Per arm the fields of the context and their products: a parabola in each number, which is all that text can say of it.
ALWAYS: Final = "--cb_explore_adf --quiet -q ca --interactions cca"
RESERVED: Final = re.compile(r"[\s:|]")  # what means something else in its text


class VowpalWabbit(Rival):
    """Vowpal Wabbit with action-dependent features (`--cb_explore_adf`), by default with SquareCB's exploration.

    It learns one loss, in units of safe_cost + price, and is told nothing else: of the boundary arms too it has to learn
    how they do, and the price must not move. A context goes in as text, numbers as `name:value` and categories as
    `name=value`, what is missing left out.

    Args:
        menu: any menu.
        target: the success rate, which is merely counted.
        price: of a success: a number, or "shadow", which the stream tells.
        options: of its command line.
        stream: one with `truth()`, for the shadow price.
        seed: of the draws from its probabilities.

    >>> VowpalWabbit.text({"confidence": 0.7, "task": "chat", "size": None})
    'confidence:0.7 task=chat'
    """

    name = "Vowpal Wabbit"
    source = "Vowpal Wabbit 9, its `--cb_explore_adf`"
    read = PRIMARY
    feedback = CONTEXT
    guarantee = "none on the rate: it is told the shadow price, and the rate is what is worth it"
    contextual = True

    def __init__(
        self, menu: Menu, target: Target, *, price: float | str = SHADOW, options: str = "--squarecb",
        stream: Any = None, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(menu, target)
        if not isinstance(options, str):
            raise InvalidArgument(f"options must be text, got {quoted(options)}")
        self._price = fixed(told(price, menu, self._promise, stream), f'"{SHADOW}" or a number')
        self._options = options
        self._schema = Schema()
        self._actions = [f"|a arm{arm}" for arm in range(menu.n_arms)]
        self._rng = own_rng(seed)
        self._wabbit = _workspace(f"{ALWAYS} {options}")

    @staticmethod
    def text(values: dict[str, Any]) -> str:
        """The fields of a context as it reads them."""
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

    def probabilities(self, context: Any) -> Floats:
        """What the arm is drawn from."""
        return np.array(self._wabbit.predict(self._lines(context)), dtype=np.float64)

    def _lines(self, context: Any) -> list[str]:
        return [f"shared |c {self.text(self._schema.values(context))}", *self._actions]

    def _choose(self) -> int:
        shares = self.probabilities(self._context)
        arm = draw(self._rng, shares)
        self._note = float(shares[arm])
        return arm

    def _learn(self, arm: int, success: float, cost: float, *, counted: bool) -> None:
        loss = (cost - self._price * success) / (self.menu.safe_cost + self._price)
        lines = self._lines(self._context)
        lines[arm + 1] = f"0:{loss:.9g}:{self._note:.9g} {lines[arm + 1]}"
        self._wabbit.learn(lines)

    # A workspace cannot be copied; what it has learned can be written down and read again.

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


def _workspace(options: str) -> Any:
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        raise SufficeError("Vowpal Wabbit needs vowpalwabbit: pip install 'suffice[peers]'") from None
    try:
        return Workspace(options)
    except RuntimeError as error:
        raise InvalidArgument(f"options must be some that Vowpal Wabbit takes, got {options!r}: {error}") from None
