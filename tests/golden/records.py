"""Configurations and traces, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Number = int | float | str | None  # as JSON has it: what is not finite is "inf", "-inf" or "nan"
Numbers = list[Number]
Spec = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class World:
    """How outcomes come about; every configuration has its own luck.

    `needs`: one number a step, and an option succeeds if it reaches that far. `coins`: each option has luck of its own.
    `points`: an option is an interval, which succeeds where it holds the point. `parts`: an option is a set of items, and one
    that is right is enough.
    """

    kind: str = "needs"
    phases: tuple[float, ...] = (4.0,)  # in stretches of equal length: how easy it is; of points, where their middle is
    best: float = 1.0  # how often everything succeeds
    leak: float = 0.0  # how often nothing does
    fractions: bool = False  # successes of a quarter or a third, too
    dear: float = 1.0  # what options that do not say their cost come to, where 1 is within what everything costs


@dataclass(frozen=True, slots=True)
class Flow:
    """Who asks, and when and how outcomes come back. Shares are of all decisions."""

    batch: int = 1  # decisions that are asked for at once
    delay: int = 0  # steps that an outcome takes at most; they arrive in random order
    hoard: int = 0  # steps before the first outcome comes
    lost: float = 0.0  # never told
    given_up: float = 0.0  # expired by the caller
    amended: float = 0.0  # and of those, told later all the same
    twice: float = 0.0  # told a second time
    together: bool = False  # outcomes of a step are told in one call
    by_number: bool = False  # outcomes are told with the decision's number only
    priced: bool = False  # costs are told although they are known
    groups: tuple[str | None, ...] = ()  # who asks; None is nobody in particular
    restricted: float = 0.0  # asked with only some options available
    unaudited: float = 0.0  # asked for without telling how it went
    seconds: float = 0.0  # by which the clock moves each step
    contexts: bool = False
    saved: bool = False  # written as JSON and read again in the middle
    copied: bool = False  # replaced by a copy in the middle
    reseeded: int | None = None  # in the middle


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
    """A fleet, of which some are asked and some are told in each step."""

    name: str
    menu: Spec
    target: float
    size: int
    steps: int
    settings: Spec = field(default_factory=dict)
    world: World = World()
    given_up: float = 0.0
    asked: float = 0.5  # the share that is asked in a step, of those with nothing out
    told: float = 0.7  # the share that is told in a step, of those with something out
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
    restarted: bool = False  # the service is stopped and started again in the middle


Configuration = Selecting | Simulating | Fleeting | Serving


@dataclass(frozen=True, slots=True)
class Moment:
    """What was certified at one moment: the numbers of all, then of each group."""

    parts: tuple[Numbers, ...]


@dataclass(slots=True)
class Run:
    """What happened, as a driver notes it."""

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
