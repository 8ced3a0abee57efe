"""Contexts on fleets: one model for all, and each selector's promise as if there were none."""

import contextlib
import copy
import functools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interrupt import InterruptAt
from numpy.typing import NDArray

from suffice import Fleet, InvalidArgument, Menu, Selector, StateError
from suffice.book import OUT, OUT_MIRROR
from suffice.errors import InvalidContext
from suffice.kernels import compile as door
from suffice.kernels.step import OUT_CHOSEN
from suffice.kernels.trust import GAP
from suffice.streams.confidence import ConfidentApis

KNOWN = Menu({"a": 0.1, "b": 0.3, "c": 0.6}, everything="all", nothing="none")
TOLD = Menu(["a", "b", "c"], everything="all", max_cost=2.0)
PRICES = {"a": 0.1, "b": 0.3, "c": 0.6, "all": 1.0, "none": 0.0}
EASY, HARD = (0.95, 0.97, 0.99), (0.05, 0.2, 0.99)  # the success of each option in contexts of either kind

Arrays = NDArray[np.float64]


class World:
    """Contexts that say whether this step is easy, for every selector of a fleet, and what comes of its arm."""

    def __init__(self, menu: Menu, size: int, seed: int = 0) -> None:
        self.menu, self.size, self.rng = menu, size, np.random.default_rng(seed)
        self.costs = np.array([PRICES[menu.option(arm)] for arm in range(menu.arms)])
        self.easy, self.luck = np.zeros(size, dtype=bool), np.zeros(size)

    def draw(self, which: Any = slice(None)) -> None:
        """A next step of some selectors, or all."""
        easy, luck = self.rng.random(self.size) < 0.5, self.rng.random(self.size)
        self.easy[which], self.luck[which] = easy[which], luck[which]

    def contexts(self) -> list[dict[str, Any]]:
        return [{"easy": float(easy), "noise": luck * 7 % 1} for easy, luck in zip(self.easy, self.luck, strict=True)]

    def judge(self, arms: NDArray[np.int64]) -> tuple[Arrays, Arrays]:
        """The success and the cost of each selector's arm."""
        options = np.array([EASY, HARD])[(~self.easy).astype(int)]
        nothing = np.zeros((self.size, int(self.menu.has_nothing)))
        truth = np.hstack([nothing, options, np.ones((self.size, 1))])
        return (self.luck < truth[np.arange(self.size), arms]).astype(float), self.costs[arms]


class Own:
    """A model of one's own: knows the world, and may lie, or fail, from some outcome on."""

    def __init__(self, menu: Menu, honest: float = math.inf, lie: Any = None) -> None:
        self.menu, self.honest, self.lie, self.heard = menu, honest, lie, 0

    def predict(self, context: Any) -> tuple[Any, Any]:
        inside = np.array(EASY if context["easy"] else HARD)
        if self.heard >= self.honest:
            inside = self.lie(context)
        return [0.0] * self.menu.has_nothing + [*inside, 1.0], np.zeros(self.menu.arms)

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        self.heard += 1

    def state(self) -> int:
        return self.heard

    def restore(self, state: int) -> None:
        self.heard = state


def swapped(context: Any) -> Arrays:
    """Everything that fails is said to succeed."""
    return np.array(HARD if context["easy"] else EASY)


def fail(context: Any) -> Arrays:
    raise RuntimeError("no idea")


def nans(context: Any) -> Arrays:
    return np.full(3, np.nan)


def infinite(context: Any) -> Arrays:
    return np.array([math.inf, -math.inf, 1e300])


def short(context: Any) -> Arrays:
    return np.ones(1)


def play(fleet: Fleet, world: World, steps: int, *, look: bool = True) -> NDArray[np.int64]:
    """All selectors, step by step: a row of arms each."""
    arms = []
    for _ in range(steps):
        world.draw()
        played = fleet.ask(contexts=world.contexts()) if look else fleet.ask()
        fleet.tell(None, *world.judge(played))
        arms.append(played)
    return np.array(arms)


# --- the promise


@pytest.mark.parametrize("lie", [swapped, fail, nans, infinite, short])
@pytest.mark.parametrize("honest", [0, 300], ids=["from the first", "once trusted"])
@pytest.mark.parametrize("menu", [KNOWN, TOLD], ids=["known", "told, no nothing"])
def test_the_promise_of_each_at_every_prefix(menu: Menu, honest: int, lie: Any) -> None:
    """By a book of the test's own: who is behind plays everything, who is too far ahead nothing; the debt stays below 1."""
    size, target = 16, Fraction(4, 5)
    fleet = Fleet(menu, target, size, slack=6.0, guard=None, model=Own(menu, honest, lie))
    world, told, good = World(menu, size), np.zeros(size, int), np.zeros(size, int)
    rng = np.random.default_rng(3)
    out: dict[int, int] = {}
    for step in range(120):
        free = np.array([one for one in range(size) if one not in out], dtype=np.int64)
        world.draw(free)
        contexts = world.contexts()
        arms = fleet.ask(free, contexts=[contexts[one] for one in free.tolist()])
        for one, arm in zip(free.tolist(), arms.tolist(), strict=True):
            debt = target * int(told[one]) - int(good[one])
            if debt >= 0:
                assert arm == menu.arms - 1
            elif debt <= -6 and menu.has_nothing:
                assert arm == 0
            out[one] = arm
        done = np.array([one for one in out if rng.random() < 0.7], dtype=np.int64)  # the others later, in any order
        played = np.array([out.get(one, 0) for one in range(size)])
        successes, costs = world.judge(played)
        lost, done = done[: step % 7 == 0], done[step % 7 == 0 :]
        fleet.tell(done, successes[done], costs[done])
        fleet.expire([one for one in lost.tolist() if out[one] < menu.arms - 1])
        lost = np.array([one for one in lost.tolist() if out[one] < menu.arms - 1], dtype=np.int64)
        told[done] += 1
        told[lost] += 1
        good[done] += successes[done].astype(int)
        for one in [*done.tolist(), *lost.tolist()]:
            del out[one]
        assert all(target * int(n) - int(s) <= target for n, s in zip(told, good, strict=True))
    assert fleet.told.tolist() == told.tolist()
    assert fleet.debts == pytest.approx(float(target) * told - good)
    for one in range(size):
        certificate = fleet.certificate(one)
        assert certificate.holds
        assert (certificate.told, certificate.successes) == (told[one], good[one])
    insight = fleet.insight()
    assert (insight.followed > 50) == (honest > 0)
    assert (insight.failures > 0) == (lie in (fail, short, nans, infinite))  # nonsense counts, too


def test_as_one_without_a_model_until_it_is_trusted() -> None:
    size = 24
    looking, plain = Fleet(KNOWN, 0.8, size, model="auto"), Fleet(KNOWN, 0.8, size)
    ours, theirs = World(KNOWN, size), World(KNOWN, size)
    for _ in range(40):
        trusted = looking.insight().trusted
        arms, others = play(looking, ours, 1), play(plain, theirs, 1, look=False)
        if trusted:
            break
        assert np.array_equal(arms, others)
        assert looking.debts.tolist() == plain.debts.tolist()
    assert trusted
    assert looking.insight().followed > 0


@pytest.mark.parametrize("lie", [fail, nans, short])
def test_a_model_that_is_never_trusted_changes_nothing(lie: Any) -> None:
    """Not one number of any selector."""
    fleets = [Fleet(KNOWN, 0.8, 12, model=Own(KNOWN, 0, lie)), Fleet(KNOWN, 0.8, 12)]
    first, second = (play(fleet, World(KNOWN, 12), 150, look=fleet.contextual) for fleet in fleets)
    assert np.array_equal(first, second)
    assert np.array_equal(fleets[0]._cells, fleets[1]._cells, equal_nan=True)
    assert len({*first.ravel().tolist()}) > 2


@functools.cache
def spent(size: int, steps: int, model: Any, shuffled: bool) -> tuple[float, int, NDArray[np.int64]]:
    """What a fleet pays per decision on the stream `confidence`, looking included, how many a model made, and the arms."""
    stream = ConfidentApis("COMMAND", shuffled=shuffled)
    successes, costs = stream.table()
    fleet, rng, total, played = Fleet(stream.menu, 0.95, size, model=model), np.random.default_rng(0), 0.0, []
    for _ in range(steps):
        latents = stream.draw(rng, size)
        if model is None:
            arms = fleet.ask()
        else:
            arms = fleet.ask(contexts=[stream.context(latent) for latent in latents])
            total += sum(stream.look(latent, int(arm)) for latent, arm in zip(latents, arms, strict=True))
        total += float(costs[latents, arms].sum())
        fleet.tell(None, successes[latents, arms], costs[latents, arms])
        assert fleet.debts.max() <= 0.95 + 1e-9
        played.append(arms)
    return total / size / steps, 0 if model is None else fleet.insight().followed, np.array(played)


def test_it_gets_cheaper_where_the_context_says_something() -> None:
    """64 selectors, 800 steps: some 0.19 instead of 0.35 a decision."""
    looking, followed, _ = spent(64, 800, "auto", False)
    plain, _, _ = spent(64, 800, None, False)
    assert followed > 20_000
    assert looking < 0.65 * plain


def test_being_alike_is_not_what_a_context_says() -> None:
    """All selectors together know more than each, and a model that knows no more than that is not followed."""
    _, followed, arms = spent(64, 150, "auto", True)
    _, _, others = spent(64, 150, None, True)
    assert followed == 0
    assert np.array_equal(arms, others)


@pytest.mark.parametrize("menu", [KNOWN, TOLD], ids=["known", "told, no nothing"])
def test_a_fleet_of_one_is_a_selector(menu: Menu) -> None:
    fleet = Fleet(menu, 0.8, 1, model="auto", seed=5)
    single = Selector(menu, 0.8, bounds="half-log", model="auto", seed=5)
    world = World(menu, 1, seed=2)
    for _ in range(400):
        world.draw()
        arms = fleet.ask(contexts=world.contexts())
        decision = single.ask(context=world.contexts()[0])
        assert decision.arm == arms[0]
        successes, costs = world.judge(arms)
        fleet.tell(None, successes, costs)
        single.tell(decision, bool(successes[0]), None if menu is KNOWN else float(costs[0]))
    assert fleet.insight() == single.insight()
    assert fleet.insight().followed > 100
    trust, other = fleet._looking.trust, single._looking.trust  # type: ignore[union-attr]
    assert list(trust) == pytest.approx(list(other))


# --- what is learned, and from whom


def test_what_the_model_played_is_no_fair_sample() -> None:
    """Each selector's own tally holds what it played by itself, and nothing else."""
    size = 16
    fleet, world = Fleet(KNOWN, 0.8, size, model="auto"), World(KNOWN, size)
    plays, successes = np.zeros((size, KNOWN.arms)), np.zeros((size, KNOWN.arms))
    hung, rows = 0, np.arange(size)
    for _ in range(200):
        world.draw()
        arms = fleet.ask(contexts=world.contexts())
        good, costs = world.judge(arms)
        fair = fleet._cells[:, OUT_CHOSEN] == 0.0
        hung += int((~fair).sum())
        plays[rows[fair], arms[fair]] += 1
        successes[rows[fair], arms[fair]] += good[fair]
        fleet.tell(None, good, costs)
    assert np.array_equal(fleet._tally()[:, :, 0], plays)
    assert np.array_equal(fleet._tally()[:, :, 1], successes)
    assert fleet._looking is not None
    pooled = fleet._looking.plain.columns()
    assert np.array_equal(np.array(pooled[:2])[:, 1:-1], np.array([plays, successes]).sum(axis=1)[:, 1:-1])
    assert hung == fleet.insight().followed > 1000
    controls = 1.0 - hung / (size * 200)
    assert 0.0 < controls < 0.5


def test_each_outcome_reaches_the_model_with_its_own_context() -> None:
    """However late and in whatever order; a decision asked without a context is none of the model's business."""
    size = 6
    heard: list[Any] = []

    class Listens(Own):
        def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
            heard.append((context["one"], context["turn"], arm, success, cost))

    fleet = Fleet(TOLD, 0.5, size, model=Listens(TOLD))
    rng = np.random.default_rng(0)
    out: dict[int, tuple[int, int, bool]] = {}
    expected: list[Any] = []
    for turn in range(150):
        free = np.array([one for one in range(size) if one not in out], dtype=np.int64)
        look = turn % 5 != 0
        contexts = [{"one": one, "turn": turn, "easy": 1.0} for one in free.tolist()]
        arms = fleet.ask(free, contexts=contexts) if look else fleet.ask(free)
        contexts.clear()
        for one, arm in zip(free.tolist(), arms.tolist(), strict=True):
            out[one] = turn, arm, look
        done = rng.permutation([one for one in out if rng.random() < 0.4]).astype(np.int64)
        lost = done[:1] if turn % 9 == 0 else done[:0]
        done = np.sort(done[lost.size :])
        for one in done.tolist():
            asked, arm, looked = out.pop(one)
            if looked and arm < 3:
                expected.append((one, asked, arm, 1.0, 0.25))
        fleet.tell(done, np.ones(done.size), np.full(done.size, 0.25))
        for one in lost.tolist():
            asked, arm, looked = out.pop(one)
            if looked and arm < 3:
                expected.append((one, asked, arm, 0.0, None))
        fleet.expire(lost)
        assert fleet._looking is not None
        assert set(fleet._looking.notes) <= set(out)
    assert heard == expected
    assert len(heard) > 50
    assert any(cost is None for *_, cost in heard)


def test_an_ask_that_was_struck_leaves_no_context_behind() -> None:
    class Struck(Own):
        def predict(self, context: Any) -> tuple[Any, Any]:
            if context.get("strike"):
                raise KeyboardInterrupt
            return super().predict(context)

    model = Struck(TOLD)
    fleet = Fleet(TOLD, 0.5, 2, model=model)
    fleet.tell(None, np.ones(2), fleet.ask() * 0.1)  # from here on between the rails
    with pytest.raises(KeyboardInterrupt):
        fleet.ask(contexts=[{"easy": 1.0}, {"strike": True}])
    assert fleet.pending == 0
    assert fleet.ask().max() < 3
    fleet.tell(None, np.ones(2), np.ones(2))
    assert model.heard == 0
    fleet.ask(contexts=[{"easy": 1.0}, None])
    fleet.tell(None, np.ones(2), np.ones(2))
    assert model.heard == 1


def test_the_guard_bounds_what_all_cost_together() -> None:
    """A model that predicts well and plays badly: the gap stays below the sum of what each selector may come to."""
    size, guard, cap = 16, 0.05, 1.0 / 0.2

    class Crafty(Own):
        def upper(self, context: Any, width: float) -> Any:
            return [0.0, *swapped(context), 1.0]

    gaps = []
    for kappa in (guard, None):
        fleet, world, held = Fleet(KNOWN, 0.8, size, guard=kappa, model=Crafty(KNOWN)), World(KNOWN, size), 0
        assert fleet._looking is not None
        for _ in range(120):
            steps = np.maximum(fleet.told[fleet.told > 0] + 1.0, 2.0)
            room = guard * cap * np.sqrt(KNOWN.arms * steps * np.log(steps)).sum()
            gap, followed, trusted = fleet._looking.trust[GAP], fleet.insight().followed, fleet.insight().trusted
            play(fleet, world, 1)
            if kappa is not None and gap > room:
                held += trusted
                assert fleet.insight().followed == followed
        gaps.append(gap / (room + size * (cap + 1.0)))
        assert (held > 20) == fleet.insight().held_back == (kappa is not None)
    assert gaps[0] <= 1.0 < gaps[1]


def test_one_is_told_by_others() -> None:
    """What some selectors have learned of contexts another uses from its first free decision on."""
    fleet, world = Fleet(KNOWN, 0.8, 9, model="auto"), World(KNOWN, 8)
    for _ in range(300):
        world.draw()
        fleet.tell(np.arange(8), *world.judge(fleet.ask(np.arange(8), contexts=world.contexts())))
    assert fleet.insight().trusted
    played: dict[bool, list[int]] = {True: [], False: []}
    for step in range(20):
        easy = step % 2 == 0
        (arm,) = fleet.ask([8], contexts=[{"easy": float(easy), "noise": 0.5}]).tolist()
        played[easy].append(arm)
        fleet.tell([8], [arm == 4 or (arm != 0 and easy)])
    assert played[True].count(1) >= 8
    assert played[False].count(1) == 0


# --- contexts in all forms


def test_contexts_in_all_forms() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    forms: dict[str, Any] = {
        "list": lambda rows: [dict(zip("xy", row, strict=True)) for row in rows.tolist()],
        "array": lambda rows: rows,
        "pandas": lambda rows: pandas.DataFrame(rows, columns=["x", "y"]),
        "polars": lambda rows: polars.DataFrame(rows, schema=["x", "y"]),
        "tuples": lambda rows: (tuple(row) for row in rows.tolist()),
    }
    played = {}
    for name, form in forms.items():
        fleet, rng, arms = Fleet(KNOWN, 0.8, 10, model="auto"), np.random.default_rng(0), []
        for _ in range(100):
            rows = rng.random((10, 2))
            easy = rows[:, 0] > 0.5
            played_now = fleet.ask(contexts=form(rows))
            rows[:] = -1.0  # an array may be used again before the outcomes are told
            fleet.tell(None, (played_now == 4) | ((played_now > 0) & easy))
            arms.append(played_now.tolist())
        assert fleet.insight().followed > 100
        assert list(fleet.insight().fields) == (["0", "1"] if name in ("array", "tuples") else ["x", "y"])
        played[name] = arms
    assert all(arms == played["list"] for arms in played.values())


def test_none_in_a_list_is_not_looked_at() -> None:
    fleet = Fleet(KNOWN, 0.8, 3, model="auto")
    fleet.ask(contexts=[{"x": 1.0}, None, {"x": 2.0}])
    fleet.tell(None, np.ones(3))
    assert fleet.insight().fields["x"]["noted"] == 2


def test_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def arms() -> tuple[Any, Any]:
        fleet = Fleet(KNOWN, 0.8, 8, model="auto", seed=1)
        return play(fleet, World(KNOWN, 8), 120).tolist(), fleet.insight()

    compiled = arms()
    monkeypatch.setenv("SUFFICE_NO_COMPILE", "1")
    assert not door.available()
    assert arms() == compiled
    assert compiled[1].followed > 100


# --- bad input


def test_bad_contexts_leave_the_fleet_as_it_was() -> None:
    """Also the model's words: fields, kinds and categories."""
    fleet = Fleet(KNOWN, 0.8, 4, model="auto")
    calls: list[tuple[Any, type[Exception], str]] = [
        ([{"x": 1}, {"x": "long"}], InvalidContext, "for selector 3, context['x'] must be a number, got 'long'"),
        ([{"x": 1}, {"y": 1}], InvalidContext, "for selector 3, context must have no other fields than 'x', got 'y'"),
        ([{"x": 1}, 5], InvalidContext, "for selector 3, context must be a mapping of field to value"),
        ([{"x": 1}, {"x": [1]}], InvalidContext, "for selector 3, context['x'] must be a number"),
        ([{}, {"x": 1}], InvalidContext, "for selector 1, context must have at least one field"),
        ([{"x": 1}], InvalidArgument, "contexts must hold 2, one per selector listed, got 1"),
        ({"x": 1}, InvalidArgument, "contexts must list one per selector listed, got {'x': 1}"),
        (np.zeros(2), InvalidArgument, "contexts must be an array with a row per selector listed, got shape (2,)"),
        (np.zeros((3, 2)), InvalidArgument, "contexts must hold 2, one per selector listed, got 3"),
        ("ab", InvalidArgument, "contexts must list one per selector listed, got 'ab'"),
        (7, InvalidArgument, "contexts must list one per selector listed, got 7"),
    ]
    assert fleet._looking is not None
    for begun in (False, True):
        if begun:
            fleet.ask([0, 2], contexts=[{"x": 3, "task": "chat"}, {"x": None, "task": "code"}])
        before = fleet._cells.copy(), fleet._out.copy(), fleet._looking.eye.state(), list(fleet._looking.trust)
        more = [
            ([{"x": 1, "task": "new"}, {"x": 1, "task": 3}], InvalidContext, "for selector 3, context['task'] must be text")
        ]  # fmt: skip
        for contexts, kind, said in calls if not begun else more:
            with pytest.raises(kind) as error:
                fleet.ask([1, 3], contexts=contexts)
            assert str(error.value).startswith(said)
            now = fleet._cells, fleet._out, fleet._looking.eye.state(), list(fleet._looking.trust)
            assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before[:2], now[:2], strict=True))
            assert now[2:] == before[2:]
    assert fleet.insight().fields["task"]["categories"] == ["chat", "code"]
    assert fleet.ask([1, 3], contexts=[{"x": 1, "task": "chat"}, {"x": 1, "task": "code"}]).tolist() == [4, 4]


def test_a_model_must_be_one() -> None:
    for bad in (5, "best", object()):
        with pytest.raises(InvalidArgument, match="model must be"):
            Fleet(KNOWN, 0.8, 2, model=bad)
    with pytest.raises(InvalidArgument, match="guard must be"):
        Fleet(KNOWN, 0.8, 2, model="auto", guard=-1.0)


@pytest.mark.parametrize("call", ["ask", "tell"])
def test_an_interrupt_without_the_compiler(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every line in turn, and each outcome is still counted once or not at all."""
    monkeypatch.setenv("SUFFICE_NO_COMPILE", "1")
    for line in range(1, 4000):
        fleet = Fleet(KNOWN, 0.8, 2, model=Own(KNOWN))
        contexts = [{"easy": 1.0}, {"easy": 0.0}]
        fleet.ask(contexts=contexts)
        fleet.tell(None, [1.0, 1.0])
        if call == "tell":
            fleet.ask(contexts=contexts)
        try:
            with InterruptAt(line):
                if call == "ask":
                    fleet.ask(contexts=contexts)
                else:
                    fleet.tell([1, 0], [1.0, 1.0])
        except KeyboardInterrupt:
            pass
        else:
            break
        for one in range(2):
            with contextlib.suppress(InvalidArgument):  # it has one out
                fleet.ask([one], contexts=[contexts[one]])
            before = int(fleet.told[one])
            fleet.tell([one], [1.0])
            assert fleet.told[one] == before + 1
        assert fleet.told.max() <= 3
        assert fleet._cells[:, OUT].tolist() == fleet._cells[:, OUT_MIRROR].tolist() == [0.0] * 2
        assert fleet._cells[:, OUT_CHOSEN].tolist() == [0.0] * 2
        assert all(fleet.certificate(one).holds for one in range(2))
    assert line > 100


# --- saving


def half_told(fleet: Fleet, world: World, steps: int) -> list[list[int]]:
    """Steps in which every other decision stays out for one step."""
    played = []
    for _ in range(steps):
        free = np.flatnonzero(fleet._out < 0)
        world.draw(free)
        contexts = world.contexts()
        played.append(fleet.ask(free, contexts=[contexts[one] for one in free.tolist()]).tolist())
        successes, costs = world.judge(np.maximum(fleet._out, 0))
        done = np.flatnonzero(fleet._out >= 0)[len(played) % 2 :: 2]
        fleet.tell(done, successes[done], costs[done])
    return played


@pytest.mark.parametrize("own", [False, True], ids=["auto", "a model of one's own"])
@pytest.mark.parametrize("steps", [3, 80], ids=["early", "once trusted"])
def test_save_and_load(tmp_path: Path, own: bool, steps: int) -> None:
    def model() -> Any:
        return Own(KNOWN) if own else None

    path = tmp_path / "fleet.npz"
    fleet, world = Fleet(KNOWN, 0.8, 10, slack=5, guard=0.7, model=model() or "auto"), World(KNOWN, 10)
    half_told(fleet, world, steps)
    fleet.save(path)
    again = Fleet.load(path, model=model())
    assert again.insight() == fleet.insight()
    assert again.model == fleet.model == ("Own" if own else "logistic")
    assert again.pending == fleet.pending > 0
    assert (fleet.insight().followed > 0) == (steps == 80)
    assert fleet._looking is not None
    assert again._looking is not None
    assert again._looking.kept() == fleet._looking.kept()
    assert again._looking._room == pytest.approx(fleet._looking._room)
    assert np.array_equal(again._cells[:, OUT_CHOSEN], fleet._cells[:, OUT_CHOSEN])
    assert (fleet._cells[:, OUT_CHOSEN].sum() > 0) == (steps == 80)
    other = copy.deepcopy(world)
    assert half_told(again, other, 60) == half_told(fleet, world, 60)
    assert again.insight() == fleet.insight()
    assert again.debts.tolist() == fleet.debts.tolist()


def test_a_model_of_ones_own_must_be_passed_again(tmp_path: Path) -> None:
    path = tmp_path / "fleet.npz"
    Fleet(KNOWN, 0.8, 3, model=Own(KNOWN)).save(path)
    with pytest.raises(StateError, match=r"saved with model of your own \(Own\): pass model=\.\.\."):
        Fleet.load(path)


def test_files_without_a_model(tmp_path: Path) -> None:
    """One that was written before there were contexts is read, and a fleet may be given a model when it is loaded."""
    path = tmp_path / "fleet.npz"
    fleet = Fleet(KNOWN, 0.8, 6)
    play(fleet, World(KNOWN, 6), 30, look=False)
    fleet.save(path)
    today = Fleet.load(path)
    assert not today.contextual
    with np.load(path) as file:
        parts = {name: file[name] for name in file.files if name != "chosen"}
    about = str(parts["about"])
    older = about[: about.index(', "model"')] + "}"
    np.savez(path, **{**parts, "about": np.array(older)})
    assert np.array_equal(Fleet.load(path)._cells, today._cells, equal_nan=True)
    looking = Fleet.load(path, model="auto")
    play(looking, World(KNOWN, 6, seed=1), 100)
    assert looking.insight().followed > 0


def test_numbers_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "fleet.npz"
    fleet = Fleet(KNOWN, 0.8, 4, model="auto")
    play(fleet, World(KNOWN, 4), 20)
    assert fleet._looking is not None
    while not fleet._looking.notes:  # at a rail there is none
        fleet.ask([1], contexts=[{"easy": 1.0, "noise": 0.5}])
        if not fleet._looking.notes:
            fleet.tell([1], [1.0])
    fleet.save(path)
    assert Fleet.load(path).pending == 1
    with np.load(path) as file:
        parts = {name: file[name] for name in file.files}
    about = str(parts["about"])
    note = f'"notes": [[{next(iter(fleet._looking.notes))}, '
    edits: list[dict[str, Any]] = [
        {"chosen": np.array([1.0, 0.0, 0.0, 0.0])},  # it has nothing out
        {"chosen": np.array([0.0, 0.5, 0.0, 0.0])},
        {"chosen": np.zeros(3)},
        {
            "counts": parts["counts"] - np.array([21.0] + [0.0] * (parts["counts"].shape[1] - 1))
        },  # fewer told than played
        {"about": np.array(about.replace('"trust": [', '"trust": [1.0, '))},
        {"about": np.array(about.replace('"lead": ', '"lead": 1e999, "was": '))},
        {"about": np.array(about.replace(note, '"notes": [[4, '))},  # there is no such selector
        {"about": np.array(about.replace(note, '"notes": [[-1, '))},
        {"about": np.array(about.replace('"failures": 0', '"failures": -1'))},
    ]
    for edit in edits:
        np.savez(path, **{**parts, **edit})
        with pytest.raises(StateError):
            Fleet.load(path)
    assert note in about
    assert '"failures": 0' in about
