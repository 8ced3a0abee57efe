"""Break the promise's source in every small way and see that the attack notices: a check of the checks.

Each mutant of promise.py is run through a short attack and a comparison with rational arithmetic. A mutant that
survives must be listed here with the reason why it is harmless.
"""

import ast
import copy
import math
import sys
import types
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from book import EVERYTHING as ALL
from book import NOTHING as NONE
from book import OTHER, Book

from suffice import book as book_module
from suffice import promise as original
from suffice.checks import WHOLE

SOURCES = {module.__name__: Path(str(module.__file__)).read_text() for module in (book_module, original)}
FLIP: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.GtE: ast.Gt, ast.Gt: ast.GtE, ast.LtE: ast.Lt, ast.Lt: ast.LtE, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
SWAP: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
# What the guarantee rests on. The certificate's words and `make`'s checks of arguments have tests of their own.
TARGETS = {
    "suffice.book": {name for name in vars(book_module) if callable(getattr(book_module, name)) and name != "Any"},
    "suffice.promise": {
        "record",
        "amend",
        "debt",
        "window",
        "debt_ceiling",
        "_banked",
        "holds",
        "sound",
        "open",
        "read",
    },
}


def sites() -> list[tuple[str, str, int, str]]:
    """Every place that can be mutated: the module, the function, the index among its nodes, and its text."""
    found = []
    for module, source in SOURCES.items():
        for function in ast.walk(ast.parse(source)):
            if isinstance(function, ast.FunctionDef) and function.name in TARGETS[module]:
                for index, node in enumerate(ast.walk(function)):
                    compares = isinstance(node, ast.Compare) and type(node.ops[0]) in FLIP
                    counts = isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in SWAP
                    if compares or counts or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)):
                        found.append((module, function.name, index, ast.unparse(node)))
    return found


def mutant(where: str, name: str, index: int) -> types.ModuleType:
    """The promise with one place changed, in its own file or in the book's."""
    trees = {module: ast.parse(source) for module, source in SOURCES.items()}
    for function in ast.walk(trees[where]):
        if isinstance(function, ast.FunctionDef) and function.name == name:
            node = list(ast.walk(function))[index]
            if isinstance(node, ast.Compare):
                node.ops[0] = FLIP[type(node.ops[0])]()
            elif isinstance(node, ast.BinOp | ast.AugAssign):
                node.op = SWAP[type(node.op)]()
            elif isinstance(node, ast.UnaryOp):
                node.op = ast.UAdd()
    for module in trees.values():
        for imported in ast.walk(module):
            if isinstance(imported, ast.ImportFrom) and imported.module == "suffice.book":
                imported.module = "mutant_book"
    made = None
    for given, tree in zip(("mutant_book", "mutant_promise"), trees.values(), strict=True):
        made = types.ModuleType(given)
        sys.modules[given] = made  # dataclasses, and the import above, look it up
        exec(compile(ast.fix_missing_locations(tree), given, "exec"), made.__dict__)
    assert made is not None
    return made


def attack(module: types.ModuleType) -> None:
    """Late, lost and spiteful outcomes for several rules; every bound checked by the independent book."""
    for case, (target, slack, safe, forgiving) in enumerate(
        [
            ("7/10", None, 1, False),
            ("1/2", 6.0, 1, False),
            ("1/3", 2.0, 1, True),
            ("3/5", 5.0, 0, False),
            ("1/3", 4.0, 0.5, False),
        ]
    ):
        phi = Fraction(target)
        cap = float(1 / (1 - phi))
        promise = module.Promise.make(phi, slack=slack, start=safe * cap, forgiving=forgiving)
        counts, book = module.Counts(), Book(phi, slack, Fraction(safe), not forgiving)
        rng = np.random.default_rng(case)
        out: list[tuple[int, int]] = []
        gone: list[tuple[int, int]] = []
        plays = failures = lost = expired = graded = 0
        forgiven = Fraction(0)
        for step in range(700):
            rail = promise.rail(counts)
            bank = Fraction(slack) if slack is not None else Fraction(math.sqrt(max(1, book.told)))
            if forgiving:
                forgiven = max(forgiven, -bank - book.debt)
            tracked = book.debt + forgiven
            dual = Fraction(safe) * Fraction(cap) + Fraction(cap) / bank * tracked
            assert promise.dual(counts) == pytest.approx(float(dual), abs=1e-6)
            expected = 1 if tracked >= (1 - Fraction(safe)) * bank else -1 if tracked <= -Fraction(safe) * bank else 0
            if abs(tracked + Fraction(safe) * bank) > 1e-6 and abs(tracked - (1 - Fraction(safe)) * bank) > 1e-6:
                assert rail == expected
            if tracked == (1 - Fraction(safe)) * bank:
                assert rail == 1
            if tracked == 0 and safe == 0:
                assert rail == -1
            kind = {1: ALL, -1: OTHER if forgiving else NONE, 0: OTHER}[rail]
            arm = {ALL: 1, OTHER: 0, NONE: -1}[kind]
            cells = promise.open(counts)
            module.ask_of(cells, arm, False)
            counts.read(cells)
            book.ask(step, kind)
            out.append((step, arm))
            wait = [1, 1, 1, 4][case % 4] if step < 350 else 6
            while len(out) >= wait:
                identity, arm = out.pop(int(rng.integers(len(out))))
                cells = promise.open(counts)
                module.back_of(cells, arm)
                counts.read(cells)
                if rng.random() < 0.03:
                    promise.record(counts, 0, arm=arm, expired=True)
                    book.expire(identity)
                    lost += arm == 1
                    expired += 1
                    gone.append((identity, arm))
                else:
                    half = {1: 2, -1: 0}.get(arm, int(rng.integers(0, 3)) if step % 200 > 60 else 2 * (step % 100 > 50))
                    promise.record(counts, half * WHOLE // 2, arm=arm)
                    book.tell(identity, Fraction(half, 2))
                    plays += arm == 1
                    graded += half if arm == 1 else 0
            if gone and rng.random() < 0.05:
                identity, arm = gone.pop()
                promise.amend(counts, WHOLE if arm == 1 else 0, arm=arm)
                book.tell(identity, Fraction(arm == 1))
                plays += arm == 1
                graded += 2 * (arm == 1)
                lost -= arm == 1
            assert (counts.told, Fraction(counts.successes, WHOLE)) == (book.told, book.successes)
            assert (counts.everything_plays, counts.everything_failures) == (plays, failures)
            assert (counts.everything_successes, counts.expired) == (graded / 2, expired)
            assert (counts.everything_lost, counts.revived) == (lost, book.revived)
            assert promise.debt(counts) == book.debt
            assert promise.debt_at_most(counts) == pytest.approx(float(book.debt_at_most()))
            assert promise.window(counts, 10**9) == pytest.approx(float(book.window_at_most()))
            assert promise.window(counts, 1) <= float(phi)
            assert promise.holds(counts)
            assert promise.sound(counts)
            assert counts.breaches == 0
        assert not forgiving or forgiven > 1
        broken_everything(module, phi)


def broken_everything(module: types.ModuleType, phi: Fraction) -> None:
    """Everything fails for a while: the ceiling still holds, and the breach is counted while it lasts."""
    promise = module.Promise.make(phi)
    counts = module.Counts()
    debt, worst, ever, breaches = Fraction(0), Fraction(0), Fraction(0), 0
    rng = np.random.default_rng(5)
    for step in range(300):
        rail = promise.rail(counts)
        success = {1: int(step % 9 != 0), -1: 0}.get(rail, int(rng.random() < 0.5))
        promise.record(counts, success * WHOLE, arm=rail)
        debt += phi - success
        if rail == 1:
            worst = max(Fraction(0), worst + phi - success)
        ever = max(ever, worst)
        breaches += debt > phi
        banked = math.sqrt(step + 1) + float(1 - phi)
        assert promise.window(counts, 10**9) == pytest.approx(float(phi + ever) + banked)
        assert promise.debt(counts) == debt
        assert debt <= phi + worst
        assert promise.debt_ceiling(counts) == pytest.approx(float(phi + worst))
        assert promise.holds(counts) == (debt <= phi)
        assert promise.sound(counts)
    assert counts.breaches == breaches
    assert counts.everything_failures > 0
    cells = promise.open()
    assert len(cells) == 32
    module.ask_of(cells, 1, True)
    asked = module.Counts()
    asked.read(cells)
    assert (asked.forced, asked.out, asked.out_mirror) == (1, 0, 1)
    wonders = module.Counts()
    promise.record(wonders, WHOLE // 2, arm=-1)
    promise.record(wonders, 0, arm=-1, expired=True)
    promise.amend(wonders, WHOLE, arm=-1)
    promise.amend(wonders, WHOLE // 4, arm=0)
    promise.record(wonders, int(phi * WHOLE) + (phi.denominator == 3), arm=1)  # just enough is no failure
    assert wonders.everything_failures == 0
    promise.record(wonders, int(phi * WHOLE) - 1, arm=1)  # a billionth too little is one
    assert wonders.everything_failures == 1
    assert wonders.nothing_successes == 1.5
    mortal = module.Promise.make(phi, everything_success=(1 + phi) / 2)
    rate = module.lundberg(phi, (1 - phi) / 2)
    seen = module.Counts(everything_plays=9)
    assert mortal.debt_at_most(seen) == pytest.approx(float(phi) + math.log(9 * 10 / 0.01) / rate)
    counts.nothing_successes = 2.0
    quiet = copy.replace(counts, nothing_successes=0) if hasattr(copy, "replace") else _without(counts)
    assert promise.ahead_at_most(counts) == pytest.approx(promise.ahead_at_most(quiet) + 2)
    counts.forced = 3
    assert promise.ahead_at_most(counts) == pytest.approx(promise.ahead_at_most(quiet) + 2 + 3 * float(1 - phi))
    hopeless = module.Counts(told=100, successes=0)
    assert not promise.holds(hopeless)
    assert not promise.sound(hopeless)


def _without(counts: original.Counts) -> original.Counts:
    plain = copy.copy(counts)
    plain.nothing_successes = 0
    return plain


def test_the_original_survives() -> None:
    attack(original)


# Mutants that nobody could tell from the original, with the reason.
HARMLESS = {
    ("behind", "ahead <= 0"): "at 0 with parts of a success told, the last line says False as well",
    ("behind", "ahead >= denominator"): "at the denominator the last line says True as well: parts are below a whole",
    ("rail_of", "safe < 1.0"): "at the safe start this repeats the exact test in floating point",
    ("rail_of", "debt >= (1.0 - safe) * width"): "the rail is moved off every debt that can be met",
    ("rail_of", "book[FORGIVEN] > 0.0"): "with nothing forgiven this repeats the exact test",
    ("rail_of", "debt >= 0.0"): "what was forgiven is a double; successes are then ahead by at least that much",
    ("_succeed", "units > 0"): "adding nothing",
    ("_settle", "debt > bound_of"): "the bound has room for rounding, and no debt lies within that room",
    ("holds", "<="): "the same",
    ("sound", "ROUNDING"): "the debt is below the ceiling by a part of an outcome",
}


@pytest.mark.parametrize(("where", "name", "index", "text"), sites())
def test_every_mutant_is_noticed(where: str, name: str, index: int, text: str) -> None:
    harmless = any(name == known and part in text for known, part in HARMLESS)
    try:
        attack(mutant(where, name, index))
    except (AssertionError, ArithmeticError, TypeError, ValueError):
        return
    assert harmless, f"nothing noticed a change of {text!r} in {name}"
