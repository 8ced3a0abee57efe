"""The simulator: a loop of ask and tell on a stream, and the trace of a run.

A selector with our own bounds on a stream with `windows` or a `table` runs in compiled code; everything else in a plain
loop over ask and tell. Both take the same steps. A method that is `contextual` gets the context of each step, where the
stream has one, and pays for it.
"""

import copy
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from suffice.errors import InvalidArgument
from suffice.kernels.compiler import available
from suffice.kernels.rows import Floats, Ints
from suffice.menu.menu import Menu
from suffice.numbers import positive_int, success_units
from suffice.selector.records import Decision
from suffice.selector.world import Block, World

BLOCK = 1 << 16  # steps whose latents are in memory at the same time


class Windows(NamedTuple):
    """A stream in which an arm succeeds if the latent lies in its window: one window and one cost per arm."""

    low: Floats
    high: Floats
    costs: Floats


class Table(NamedTuple):
    """A stream with finitely many kinds of steps, numbered by the latent: the success and cost of every arm in each.

    `successes` and `costs` have a row per kind and a column per arm.
    """

    successes: Floats
    costs: Floats


class Stream(Protocol):
    """The source of outcomes.

    `draw` fixes the world for several steps before anything is played, so that methods can be compared on the same one; a
    long run draws it block by block, `start` being the first step of the block. `outcome` returns the success and the cost of
    an arm in one step; a hostile stream may use the price. A stream may also have a method `windows()`, see `Windows`, or
    `table()`, see `Table`; then whole runs on it are compiled. And it may have `truth()`: the exact success probability and
    mean cost of every arm, two arrays, where steps are independent and alike.

    Where something is known before the choice, the stream has `context(latent)`: a mapping or a row for the step with this
    latent. Methods that are `contextual` get it. If it is not free, `context_cost(latent, arm)` is its price on top of the
    arm's cost: contextual methods pay it with every decision, others never. The stream may also have `cases()`, see
    `streams.Cases`; its `truth()` is that of a method without contexts.

    `suffice compare NAME` finds a class with a `name` in a file of this package, or in a file of your own. The constructor
    makes a stream from settings, or the class method `from_settings(**settings)` if there is one; all settings have defaults.

    >>> import suffice
    >>> class Coins:
    ...     '''The more is spent, the more often it works.'''
    ...
    ...     menu = suffice.Menu({"a": 0.2, "b": 0.6, "all": 1.0}, safe="all", skip="none")
    ...
    ...     def draw(self, rng, count, start=0):
    ...         return rng.random(count)
    ...
    ...     def outcome(self, latent, arm, price):
    ...         cost = self.menu.known_cost(arm)
    ...         return latent < cost, cost
    >>> trace = suffice.simulate(suffice.Selector(Coins.menu, target=0.5), Coins(), horizon=500)
    >>> bool(trace.largest_debt <= 5)
    True
    """

    menu: Menu

    def draw(self, rng: np.random.Generator, count: int, start: int = 0) -> Any:
        """One latent per step, in something that can be indexed."""
        ...

    def outcome(self, latent: Any, arm: int, price: float) -> tuple[float, float]:
        """The success and the cost of an arm, given the step's latent."""
        ...


def drawn(stream: Stream, rng: np.random.Generator, count: int, start: int) -> Any:
    """The latents of a stream; a `draw` that does not depend on the time may have no argument `start`."""
    timed = len(inspect.signature(stream.draw).parameters) > 2
    return stream.draw(rng, count, start) if timed else stream.draw(rng, count)


class Method(Protocol):
    """A method that can be simulated: a selector or a rival."""

    @property
    def target(self) -> float: ...

    def ask(self) -> Decision: ...

    def tell(self, decision: Decision, success: float, cost: float | None = None) -> None: ...


class CompiledMethod(Method, Protocol):
    """A method with a compiled loop."""

    def run(self, world: World, latents: Floats, block: Block) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """A run step by step, and the method in its final state."""

    target: float
    arms: Ints
    successes: Floats
    costs: Floats
    prices: Floats  # the price when each decision was asked
    method: Any = field(repr=False, compare=False)

    @property
    def rate(self) -> float:
        """The share of successes."""
        return float(self.successes.mean())

    @property
    def mean_cost(self) -> float:
        """The cost per step."""
        return float(self.costs.mean())

    @property
    def debts(self) -> Floats:
        """Successes owed after each step, including the first round of a method."""
        steps = np.arange(1, self.successes.size + 1, dtype=np.float64)
        return self.target * steps - np.cumsum(self.successes)

    @property
    def debt(self) -> float:
        """Successes owed at the end."""
        return float(self.debts[-1])

    @property
    def largest_debt(self) -> float:
        """The most successes ever owed."""
        return float(self.debts.max())

    def worst_window(self, length: int = 500) -> float:
        """The least share of successes in any window of so many steps."""
        length = min(positive_int("length", length), self.successes.size)
        sums = np.cumsum(np.concatenate([[0.0], self.successes]))
        return float((sums[length:] - sums[:-length]).min() / length)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The totals of a run after some of its steps."""

    step: int
    successes: float
    cost: float
    largest_debt: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The totals of a run, without its steps: its size does not grow with the horizon."""

    target: float
    steps: int
    successes: float
    cost: float
    largest_debt: float
    worst_window: float  # the least share of successes in any window of the requested length
    plays: tuple[int, ...]  # per arm
    marks: tuple[Checkpoint, ...]
    seed: int
    method: Any = field(repr=False, compare=False)

    @property
    def rate(self) -> float:
        """The share of successes."""
        return self.successes / self.steps

    @property
    def mean_cost(self) -> float:
        """The cost per step."""
        return self.cost / self.steps

    @property
    def debt(self) -> float:
        """Successes owed at the end."""
        return self.target * self.steps - self.successes


def simulate(
    method: Method, stream: Stream, horizon: int, seed: int = 0, *, progress: Callable[[int], None] | None = None
) -> Trace:
    """Run a method on a stream. The method is copied first; the same seed gives the same world to every method.

    On a stream with `context`, a method with a true attribute `contextual` is asked with the context.

    Args:
        method: a fresh selector or rival with the stream's menu.
        stream: the world.
        horizon: how many steps.
        seed: which world.
        progress: called from time to time with the number of steps done.

    >>> import suffice
    >>> from suffice.lab.streams import LabelRanks
    >>> stream = LabelRanks.cifar100()
    >>> trace = simulate(suffice.Selector(stream.menu, target=0.9), stream, horizon=1000)
    >>> bool(trace.largest_debt <= 5)
    True
    """
    horizon, copied = _checked(method, stream, horizon)
    whole_run = Block.empty(horizon)
    for start, block in _blocks(copied, stream, horizon, seed, progress):
        end = start + block.arms.size
        whole_run.arms[start:end] = block.arms
        whole_run.successes[start:end] = block.successes
        whole_run.costs[start:end] = block.costs
        whole_run.prices[start:end] = block.prices
    return Trace(method.target, whole_run.arms, whole_run.successes, whole_run.costs, whole_run.prices, copied)


def summarize(
    method: Method, stream: Stream, horizon: int, seed: int = 0, *, window: int = 500, marks: Iterable[int] = (),
    progress: Callable[[int], None] | None = None,
) -> Summary:  # fmt: skip
    """Like `simulate`, in constant memory: a billion steps do not need a billion numbers.

    `marks` lists the steps after which to record the totals; `window` is the length for `worst_window`.
    """
    horizon, copied = _checked(method, stream, horizon)
    target = method.target
    wanted = np.array(sorted({positive_int("marks", mark) for mark in marks}), dtype=np.int64)
    checkpoints: list[Checkpoint] = []
    successes = cost = 0.0
    largest = -np.inf
    window = min(positive_int("window", window), horizon)
    worst, tail = np.inf, np.zeros(1)  # the sums of successes after each of the last `window` steps
    plays = np.zeros(stream.menu.n_arms, dtype=np.int64)
    for start, block in _blocks(copied, stream, horizon, seed, progress):
        steps = np.arange(start + 1, start + block.arms.size + 1, dtype=np.float64)
        sums, spent = successes + np.cumsum(block.successes), cost + np.cumsum(block.costs)
        highest = np.maximum(largest, np.maximum.accumulate(target * steps - sums))
        for mark in wanted[(wanted > start) & (wanted <= start + block.arms.size)].tolist():
            place = mark - start - 1
            checkpoints.append(Checkpoint(mark, float(sums[place]), float(spent[place]), float(highest[place])))
        joined = np.concatenate([tail, sums])
        if joined.size > window:
            worst = min(worst, float((joined[window:] - joined[:-window]).min()) / window)
        tail = joined[-window:]
        successes, cost, largest = float(sums[-1]), float(spent[-1]), float(highest[-1])
        plays += np.bincount(block.arms, minlength=plays.size)[: plays.size]
    return Summary(
        target, horizon, successes, cost, largest, worst, tuple(plays.tolist()), tuple(checkpoints), seed, copied
    )


def replicate(
    method: Method, stream: Stream, horizon: int, seeds: Iterable[int], *, workers: int | None = None
) -> list[Summary]:
    """A summary per seed, in the order of the seeds. Compiled runs use several cores at the same time.

    >>> from suffice.lab.streams import LabelRanks
    >>> import suffice
    >>> stream = LabelRanks.cifar100()
    >>> runs = replicate(suffice.Selector(stream.menu, target=0.9), stream, 1000, seeds=range(3))
    >>> [run.seed for run in runs], max(run.largest_debt for run in runs) <= 5
    ([0, 1, 2], True)
    """

    def run(seed: int) -> Summary:
        fresh = copy.deepcopy(method)
        reseed = getattr(fresh, "reseed", None)
        if reseed is not None:
            reseed(seed)  # else the method's own randomness would be the same in all worlds
        return summarize(fresh, stream, horizon, seed)

    with ThreadPoolExecutor(max_workers=workers or os.cpu_count()) as pool:
        return list(pool.map(run, seeds))


def _checked(method: Method, stream: Stream, horizon: int) -> tuple[int, Method]:
    horizon = positive_int("horizon", horizon)
    if getattr(method, "outcomes", 0) or getattr(method, "pending", 0):
        raise InvalidArgument("method must be a fresh one, without decisions")
    menu = getattr(method, "menu", None)
    if menu is not None and menu is not stream.menu and menu.recipe() != stream.menu.recipe():
        raise InvalidArgument("method must have the stream's menu: build it with stream.menu")
    return horizon, copy.deepcopy(method)


def blocks(method: Method, stream: Stream, horizon: int, seed: int = 0) -> Iterator[Block]:
    """The steps of a run, some thousands at a time."""
    horizon, copied = _checked(method, stream, horizon)
    for _, block in _blocks(copied, stream, horizon, seed, None):
        yield block


def _blocks(
    method: Method, stream: Stream, horizon: int, seed: int, progress: Callable[[int], None] | None
) -> Iterator[tuple[int, Block]]:
    """The run in blocks: latents are drawn block by block from one generator."""
    rng = np.random.default_rng(seed)
    world = compiled_world(method, stream)
    for start in range(0, horizon, BLOCK):
        count = min(BLOCK, horizon - start)
        latents = drawn(stream, rng, count, start)
        if world is None:
            yield start, _by_asking(method, stream, latents, start, progress)
        else:
            block = Block.empty(len(latents))
            cast("CompiledMethod", method).run(world, np.asarray(latents, dtype=np.float64), block)
            yield start, block
        if progress is not None:
            progress(start + len(latents))


def compiled_world(method: Method, stream: Stream) -> World | None:
    """The stream for the compiled loop; None if this method on this stream needs the plain loop."""
    can_run = getattr(method, "can_run", None)
    # `can_run` also compiles the steps of a method that the plain loop asks: it is called in any case.
    if can_run is None or not available() or not can_run(stream) or _gives_contexts(method, stream):
        return None  # bounds, a chooser or a model of the user's own
    no_arms, no_kinds = np.zeros(0), np.zeros((0, 0))
    if hasattr(stream, "windows"):
        windows: Windows = stream.windows()
        low, high, costs = (np.asarray(part, dtype=np.float64) for part in windows)
        return World(low, high, costs, no_kinds, no_kinds)
    if hasattr(stream, "table"):
        table: Table = stream.table()
        values, place = np.unique(table.successes, return_inverse=True)
        units = np.array([success_units(value) for value in values.tolist()], dtype=np.float64)
        prices = np.ascontiguousarray(table.costs, dtype=np.float64)
        return World(no_arms, no_arms, no_arms, units[place].reshape(table.successes.shape), prices)
    # The compiled loop of a threshold judges the number itself. That of a menu needs windows or a table.
    return None if hasattr(method, "menu") else World(no_arms, no_arms, no_arms, no_kinds, no_kinds)


def _gives_contexts(method: Method, stream: Stream) -> bool:
    """Whether the method takes contexts, and the stream has them."""
    return bool(getattr(method, "contextual", False)) and hasattr(stream, "context")


def _by_asking(method: Any, stream: Any, latents: Any, start: int, progress: Callable[[int], None] | None) -> Block:
    block = Block.empty(len(latents))
    # A threshold is no arm of the stream's menu; some streams have outcomes for the number itself.
    by_value = not hasattr(method, "menu") and hasattr(stream, "threshold_outcome")
    contextual = _gives_contexts(method, stream)
    context_cost = getattr(stream, "context_cost", None) if contextual else None
    for step, latent in enumerate(latents):
        decision = method.ask(context=stream.context(latent)) if contextual else method.ask()
        if by_value:
            success, cost = stream.threshold_outcome(latent, decision.option)
        else:
            success, cost = stream.outcome(latent, decision.arm, decision.price)
        if context_cost is not None:
            cost += context_cost(latent, decision.arm)
        method.tell(decision, success, cost)
        block.arms[step], block.successes[step] = decision.arm, success
        block.costs[step], block.prices[step] = cost, decision.price
        if progress is not None and step % 256 == 255:
            progress(start + step + 1)
    return block
