"""Prediction APIs: call some of four, each right or wrong, or ask a person (the FrugalML recordings)."""

from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from suffice.errors import InvalidArgument, quoted
from suffice.lab.streams.base import ByTable, Floats, Table, table_of
from suffice.menu.menu import Menu

PERSON: Final = 3  # what a person costs, in prices of all four APIs together


class Task(NamedTuple):
    """Four APIs, cheapest first, their prices in US dollars per 10,000 calls, and how often each pattern occurred.

    Pattern k has API j right where bit j of k is set.
    """

    apis: tuple[str, ...]
    prices: tuple[str, ...]
    counts: tuple[int, ...]


_SPEECH = ("GitHub (DeepSpeech)", "IBM", "Microsoft", "Google"), ("0.02", "25", "41", "60")
_FACES = ("GitHub (CNN)", "FacePP", "Microsoft", "Google"), ("0.001", "5", "10", "15")
_ENGLISH = ("GitHub (Vader)", "Amazon", "Google", "Baidu"), ("0.001", "0.75", "2.5", "3.5")
_CHINESE = ("GitHub (Bixin)", "Amazon", "Google", "Baidu"), ("0.001", "0.75", "2.5", "3.5")

# Joint counts of the recordings of L. Chen, M. Zaharia and J. Zou, FrugalML: how to use ML prediction APIs more
# accurately and cheaply, NeurIPS 2020: lchen001/FrugalML at 96712f6 (Apache-2.0). Prices are those of 2020.
TASKS: Final[dict[str, Task]] = {
    "AFFECTNET": Task(*_FACES, (
        40829, 10372, 6192, 3156, 5879, 6113, 6142, 12548, 9384, 3504, 3615, 2559, 10259, 16934, 21563, 128352)),
    "AUDIOMNIST": Task(*_SPEECH, (52, 28, 132, 55, 77, 71, 603, 2437, 11, 30, 38, 66, 45, 203, 1374, 24778)),
    "COMMAND": Task(*_SPEECH, (
        2152, 291, 299, 113, 1385, 927, 1072, 1945, 227, 154, 147, 130, 2823, 4622, 4752, 43688)),
    "DIGIT": Task(*_SPEECH, (240, 47, 24, 30, 129, 70, 253, 605, 1, 0, 1, 4, 12, 8, 146, 430)),
    "EXPW": Task(*_FACES, (4754, 946, 803, 350, 930, 650, 798, 1375, 694, 343, 361, 322, 1846, 1751, 3558, 12029)),
    "FERPLUS": Task(*_FACES, (214, 224, 109, 157, 280, 252, 283, 537, 87, 101, 77, 214, 441, 408, 730, 2244)),
    "FLUENT": Task(*_SPEECH, (374, 55, 21, 15, 215, 84, 52, 118, 116, 62, 41, 58, 997, 1456, 1978, 24401)),
    "IMDB": Task(*_ENGLISH, (1149, 182, 569, 180, 1246, 1113, 2869, 4803, 302, 244, 363, 399, 204, 783, 971, 9623)),
    "RAFDB": Task(*_FACES, (1725, 616, 426, 254, 418, 544, 477, 810, 388, 408, 231, 295, 683, 1174, 1788, 5102)),
    "SHOP": Task(*_CHINESE, (
        1884, 653, 401, 258, 359, 382, 348, 636, 722, 471, 1385, 1878, 886, 1540, 7819, 43152)),
    "WAIMAI": Task(*_CHINESE, (553, 222, 110, 70, 93, 63, 105, 108, 331, 132, 348, 401, 474, 246, 2262, 6469)),
    "YELP": Task(*_ENGLISH, (431, 43, 172, 68, 1185, 541, 2913, 4371, 25, 33, 21, 66, 64, 291, 285, 9491)),
}  # fmt: skip


class PredictionApis(ByTable):
    """Which of four APIs to call. A call succeeds if at least one of them is right; a person always is.

    A person costs three times as much as all four APIs together.

    Args:
        task: one of `TASKS`.
        unit: "person": a person costs 1, so that all tasks have menus of the same scale; or "usd": costs are US dollars
            per 10,000 decisions.

    >>> import suffice
    >>> stream = PredictionApis("YELP", unit="usd")
    >>> stream.menu.n_arms, stream.menu.option(5), stream.menu.safe_cost
    (17, ('GitHub (Vader)', 'Amazon'), 20.253)
    >>> round(suffice.optimum(*stream.truth(), target=0.95).cost, 3)
    1.919
    """

    name = "apis"
    description = "call some of four prediction APIs, or ask a person (FrugalML's twelve tasks)"

    def __init__(self, task: str = "YELP", *, unit: str = "person") -> None:
        if not isinstance(task, str) or task.upper() not in TASKS:
            raise InvalidArgument(f"task must be one of {', '.join(TASKS)}, got {quoted(task)}")
        if unit not in ("person", "usd"):
            raise InvalidArgument(f'unit must be "person" or "usd", got {quoted(unit)}')
        self.task = TASKS[task.upper()]
        prices = {api: Fraction(price) for api, price in zip(self.task.apis, self.task.prices, strict=True)}
        top = PERSON * sum(prices.values())
        scale = top if unit == "person" else Fraction(1)
        self.menu = Menu.subsets(
            {api: price / scale for api, price in prices.items()},
            safe="a person",
            safe_cost=top / scale,  # type: ignore[arg-type]  # a Fraction is read exactly
            skip=True,
        )
        self._table = self._patterns()
        self.frequency: Floats = np.array(self.task.counts) / sum(self.task.counts)

    def _patterns(self) -> Table:
        """A row per pattern: an arm succeeds where its APIs share a bit with the pattern."""
        bit = {api: 1 << place for place, api in enumerate(self.task.apis)}
        called = np.array([sum(bit[api] for api in subset) for subset in self.menu.options])
        patterns = np.arange(len(self.task.counts))
        return table_of(self.menu, (patterns[:, None] & called) != 0)
