"""Interrupts at every line of the slow path of both engines.

Nothing is counted twice, nothing is lost, and all counts agree.
"""

import contextlib
import copy
import json
from collections.abc import Callable

import pytest

import suffice
from suffice import Selector
from suffice.selector.compiled import SLOTS, CompiledEngine
from tests.support.both_engines import MENUS, WAYS, made, state_of, without_compiler
from tests.support.interrupt import InterruptAt
from tests.support.looking import Clock

pytestmark = pytest.mark.compiled


class Scene:
    """A selector in the middle of its work, and what to do with it."""

    def __init__(self, way: str) -> None:
        Clock.now = 0.0
        self.selector = selector = made(
            way, lambda: Selector(MENUS["known"], 0.7, expire_after=1000.0, clock=Clock(), seed=1)
        )
        self.straggler = selector.ask(group="a")
        self.expired = selector.ask()
        self.late = selector.ask()
        for _ in range(SLOTS - 3):
            decision = selector.ask()
            selector.tell(decision, decision.is_safe)
        selector.expire(self.expired)
        # Its slot was needed by this one, whose own is not.
        self.last = selector.ask(group="a")
        assert way == "plain" or (isinstance(selector.engine, CompiledEngine) and selector.engine._overflow)

    def fill(self) -> None:
        """Have more than half of all slots taken, and the next one too."""
        for _ in range(SLOTS - 2):
            self.selector.ask()

    def come_round(self) -> None:
        """The next decision needs the slot of one that is still out."""
        while self.selector.engine.next_id % SLOTS != self.late.id:
            self.selector.tell(self.selector.ask(), True)

    def pass_time(self) -> None:
        """All that is out is overdue."""
        Clock.now = 2000.0


def _ask_often(scene: Scene) -> None:
    scene.selector.ask_many(3, available=["a"])


CALLS: dict[str, tuple[Callable[[Scene], object] | None, Callable[[Scene], object]]] = {
    "tell": (None, lambda scene: scene.selector.tell(scene.last.id, True)),
    "tell fast": (None, lambda scene: scene.selector.tell(scene.last, True)),
    "tell a straggler": (None, lambda scene: scene.selector.tell(scene.straggler, True)),
    "expire": (None, lambda scene: scene.selector.expire(scene.last)),
    "expire a straggler": (None, lambda scene: scene.selector.expire(scene.straggler)),
    "amend": (None, lambda scene: scene.selector.tell(scene.expired, True)),
    "tell many": (
        None,
        lambda scene: scene.selector.tell_many(
            [(scene.straggler, True), (scene.last, True), (scene.expired, True), (scene.late.id, True)]
        ),
    ),
    "ask": (None, lambda scene: scene.selector.ask()),
    "ask many": (None, _ask_often),
    "ask in a new group": (None, lambda scene: scene.selector.ask(group="b")),
    "make room": (Scene.come_round, lambda scene: scene.selector.ask()),
    "more slots": (Scene.fill, lambda scene: scene.selector.ask()),
    "give up": (Scene.pass_time, lambda scene: scene.selector.certificate()),
    "give up and ask": (Scene.pass_time, lambda scene: scene.selector.ask(group="a")),
    "read": (None, lambda scene: (scene.selector.state(), scene.selector.options(), scene.selector.cost)),
    "copy": (None, lambda scene: copy.deepcopy(scene.selector)),
    "compile": (None, lambda scene: scene.selector.compile()),
}


def check(scene: Scene) -> None:
    """Whatever was issued is out or was counted, once, and the counts of all accounts say the same."""
    selector = scene.selector
    state = selector.state()
    assert selector.outcomes + selector.pending == state["next_id"]
    assert selector.pending == len(state["outstanding"])
    counts = [one["counts"] for one in state["accounts"]]
    assert sum(one["outcomes"] for one in counts) == selector.outcomes
    rows = range(len(counts))
    for row, one in zip(rows, counts, strict=True):
        mine = [decision for decision in state["outstanding"] if decision[1] == row]
        assert one["outstanding"] == sum(not decision[4] for decision in mine)  # those that are exempt reserve nothing
        assert one["pending"] == len(mine)
    assert all(group.outcomes + group.pending > 0 for group in selector.groups.values() if group.name == "a")
    assert all((row.success or 0.0) <= 1.0 for row in selector.options())
    again = Selector.from_state(json.loads(json.dumps(state)), clock=Clock())  # which checks for contradictions, too
    assert state_of(again) == state_of(selector)
    certificate = again.certificate()  # which expires what is overdue
    assert certificate.holds
    assert certificate.consistent


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", CALLS)
def test_an_interrupt_at_any_line_loses_nothing_and_counts_nothing_twice(what: str, way: str) -> None:
    before, call = CALLS[what]
    for line in range(1, 3000):
        scene = Scene(way)
        if before is not None:
            before(scene)
        selector = scene.selector
        with without_compiler() if way == "plain" and what != "compile" else contextlib.nullcontext():
            try:
                with InterruptAt(line):
                    call(scene)
            except KeyboardInterrupt:
                finished = False
            else:
                finished = True
            check(scene)
            for decision in (scene.straggler, scene.last, scene.late, scene.expired):
                told = selector.outcomes
                was_out = decision.id in dict(selector.engine.entries())
                try:
                    selector.tell(decision, True)
                except suffice.AlreadyTold:
                    assert not was_out
                assert selector.outcomes == told + was_out
                with pytest.raises(suffice.AlreadyTold):
                    selector.tell(decision, True)
            decision = selector.ask(available=[], group="b")  # the slow path, which opens the fast path again
            selector.tell(decision, True)
            for identity, _ in selector.engine.entries():
                selector.tell(identity, True)
            check(scene)
            assert selector.pending == 0
            if what == "compile":
                assert selector.compile()
            identity, _, _ = selector._ask_fast(selector._address, 0, Clock.now)
            assert identity == selector.engine.next_id - 1 >= 0
        if finished:
            break
    assert finished
    assert line > 1
