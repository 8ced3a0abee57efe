"""Configurations and traces, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Number = int | float | str | None  # as JSON has it: what is not finite is "inf", "-inf" or "nan"
Numbers = list[Number]
Spec = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class World:
    """How outcomes are drawn; every configuration has its own seed.

    `needs`: one number per step, and an option succeeds if it reaches that far. `coins`: options succeed independently.
    `points`: an option is an interval, which succeeds if it holds the point. `parts`: an option is a set of items, and one
    correct item is enough.
    """

    kind: str = "needs"
    phases: tuple[float, ...] = (4.0,)  # per stretch of equal length: how easy the steps are; for points, their mean
    best: float = 1.0  # success rate of the safe option
    leak: float = 0.0  # success rate of the skip option
    fractions: bool = False  # also successes between 0 and 1
    cost_scale: float = 1.0  # scales told costs; at 1 they stay below the cost of the safe option


@dataclass(frozen=True, slots=True)
class Flow:
    """How decisions are asked for, and when outcomes are told. Shares are of all decisions."""

    batch: int = 1  # decisions per ask
    delay: int = 0  # the most steps until an outcome is told; the order is random
    hoard: int = 0  # steps before the first outcome is told
    lost: float = 0.0  # never told
    given_up: float = 0.0  # expired by the caller
    amended: float = 0.0  # share of these that are told later
    twice: float = 0.0  # told a second time
    together: bool = False  # outcomes of a step are told in one call
    by_number: bool = False  # outcomes are told with the decision's number only
    priced: bool = False  # costs are told although they are known
    groups: tuple[str | None, ...] = ()  # one is drawn per ask; None is no group
    restricted: float = 0.0  # asked with only some options available
    insisted: float = 0.0  # share of these that leave out the safe option, and insist on an answer
    unaudited: float = 0.0  # asked with audit=False
    seconds: float = 0.0  # per step
    contexts: bool = False
    saved: bool = False  # written as JSON and read again halfway
    copied: bool = False  # replaced by a copy halfway
    reseeded: int | None = None  # halfway


@dataclass(frozen=True, slots=True)
class Selecting:
    """A selector that is asked and told; `kind` is "selector", "threshold" or "paper"."""

    name: str
    menu: Spec
    target: float
    steps: int
    settings: Spec = field(default_factory=dict)
    world: World = World()
    flow: Flow = Flow()
    kind: str = "selector"


@dataclass(frozen=True, slots=True)
class Simulating:
    """A run on a stream of the package; `kind` says whether the selector is one of a menu, a threshold or the paper's."""

    name: str
    stream: Spec
    target: float
    steps: int
    settings: Spec = field(default_factory=dict)
    kind: str = "selector"
    seed: int = 0
    summarized: bool = False


@dataclass(frozen=True, slots=True)
class Fleeting:
    """A fleet: in each step some selectors are asked, and some outcomes are told."""

    name: str
    menu: Spec
    target: float
    size: int
    steps: int
    settings: Spec = field(default_factory=dict)
    world: World = World()
    given_up: float = 0.0
    asked: float = 0.5  # share of the idle selectors that are asked in a step
    told: float = 0.7  # share of the outstanding outcomes that are told in a step
    saved: bool = False


@dataclass(frozen=True, slots=True)
class Serving:
    """A selector of the service, over HTTP in this process."""

    name: str
    menu: Spec
    target: float
    steps: int
    settings: Spec = field(default_factory=dict)
    world: World = World()
    flow: Flow = Flow()
    on_disk: bool = False
    restarted: bool = False  # the service is stopped and started again halfway


Configuration = Selecting | Simulating | Fleeting | Serving


@dataclass(frozen=True, slots=True)
class Moment:
    """The certificates at one moment: of the selector, then of each group."""

    parts: tuple[Numbers, ...]


@dataclass(slots=True)
class Run:
    """What happened, as a driver records it."""

    arms: list[int] = field(default_factory=list)  # in order of asking
    prices: list[float | None] = field(default_factory=list)  # one for each arm
    moments: list[Moment] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Trace:
    """What is kept of a run."""

    arms: str  # a hash of all of them
    asks: int
    prices: Numbers  # at SAMPLES places spread evenly over the asks
    moments: tuple[Moment, ...]
