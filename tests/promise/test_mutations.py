"""Break the account's source in every small way and see that the comparison notices: a check of the checks.

Each mutant of promise/account.py is run beside a list of all decisions, in rational arithmetic, through a short attack. A
mutant that survives must be listed here with the reason why it is harmless.
"""

import ast
import sys
import types
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice.promise import account as original
from suffice.promise.account import Account
from tests.support.ledger import ONE, SAFE, SKIP, Decision
from tests.support.pairing import Pair

SOURCE = Path(str(original.__file__)).read_text()
FLIP: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.GtE: ast.Gt, ast.Gt: ast.GtE, ast.LtE: ast.Lt, ast.Lt: ast.LtE, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
SWAP: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
OTHER: dict[str, str] = {"max": "min", "min": "max", "floor": "ceil", "ceil": "floor"}
JOIN: dict[type[ast.boolop], type[ast.boolop]] = {ast.And: ast.Or, ast.Or: ast.And}


def functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """All functions of the account but the one that only declares fields."""
    return [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name != "_counts"]


def changes(node: ast.AST) -> list[str]:
    """What can be changed about a node."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in FLIP:
        return ["flip", "true", "false"]
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in SWAP:
        return ["swap"]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return ["sign"]
    if isinstance(node, ast.BoolOp):
        return ["join"]
    if isinstance(node, ast.Call) and _called(node) in OTHER:
        return ["other"]
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return ["more"]
    return []


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def sites() -> list[tuple[str, int, str, str]]:
    """Every place that can be changed: the function, the index among its nodes, how, and its text."""
    found = []
    for function in functions(ast.parse(SOURCE)):
        around = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
        for index, node in enumerate(ast.walk(function)):
            said = ast.unparse(node)
            if isinstance(node, ast.Constant):
                said = f"{said} in {ast.unparse(around[node])}"
            found += [(function.name, index, how, said) for how in changes(node)]
    return found


def change(node: Any, how: str) -> None:
    """Change a node in place."""
    if how == "flip":
        node.ops[0] = FLIP[type(node.ops[0])]()
    elif how in ("true", "false"):
        node.left, node.ops, node.comparators = ast.Constant(0), [ast.Eq()], [ast.Constant(int(how == "false"))]
    elif how == "swap":
        node.op = SWAP[type(node.op)]()
    elif how == "sign":
        node.op = ast.UAdd()
    elif how == "join":
        node.op = JOIN[type(node.op)]()
    elif how == "other":
        name = OTHER[_called(node)]
        if isinstance(node.func, ast.Attribute):
            node.func.attr = name
        else:
            node.func.id = name
    else:
        node.value += 1


def mutant(name: str, index: int, how: str) -> types.ModuleType:
    """The account's module with one place changed."""
    tree = ast.parse(SOURCE)
    (function,) = (one for one in functions(tree) if one.name == name)
    change(list(ast.walk(function))[index], how)
    made = types.ModuleType("mutant_account")
    sys.modules[made.__name__] = made  # dataclasses look it up
    exec(compile(ast.fix_missing_locations(tree), made.__name__, "exec"), made.__dict__)
    return made


# Target, max_surplus, safe share, forgiving, most outstanding, an imperfect safe option, honest ends, where both sums begin.
NEARLY = original.CARRIED - 20 * ONE
CASES: list[tuple[str, float | None, float, bool, int | None, bool, bool, int]] = [
    ("7/10", None, 1.0, False, None, False, True, 0),
    ("1/2", 2.0, 1.0, False, 2, False, True, NEARLY),
    ("1/3", 2.0, 1.0, True, None, False, True, 0),
    ("3/5", None, 0.0, False, None, False, True, 0),
    ("2/5", None, 0.5, True, 3, False, True, NEARLY),
    ("1/4", 4.0, 0.5, False, 1, False, True, 0),
    ("7/10", 1.0, 1.0, False, None, True, False, NEARLY),
    ("1/2", None, 0.25, False, 3, True, False, 0),
    ("9/10", None, 1.0, True, None, False, False, 0),
]


def attack(module: types.ModuleType) -> dict[str, int]:
    """Late, lost and spiteful outcomes for several rules, compared with the list; how often what matters came to pass."""
    seen: dict[str, int] = {}
    edges(module)
    for case, (target, max_surplus, safe, forgives, most, fails, honest, begin) in enumerate(CASES):
        rng = np.random.default_rng(case)
        pair = Pair(
            Fraction(target), max_surplus, safe, forgives, most=most, fails=fails, begin=begin, module=module
        )  # fmt: skip
        for step in range(100):
            roles = pair.roles()
            pair.ask(roles[0] if rng.random() < 0.7 else roles[int(rng.integers(len(roles)))])
            wait = 1 if step % 40 < 15 else 5
            while len(pair.out) >= wait:
                decision = pair.out[int(rng.integers(len(pair.out)))]
                if rng.random() < 0.1:
                    pair.expire(decision)
                else:
                    pair.tell(decision, units_of(decision, honest, step, rng))
                if step % 3 == 0:
                    pair.check(honest=honest)
            if pair.gone and rng.random() < 0.15:
                decision = pair.gone[int(rng.integers(len(pair.gone)))]
                pair.tell(decision, units_of(decision, honest, step, rng))
        pair.check(honest=honest)
        for name in (
            "forced",
            "amended",
            "violations",
            "carried",
            "forgiven",
            "safe_lost",
            "skip_successes",
            "shortfall",
        ):
            seen[name] = seen.get(name, 0) + getattr(pair.account, name)
    return seen


def units_of(decision: Decision, honest: bool, step: int, rng: np.random.Generator) -> int:
    """Failures and successes in turns, and parts of them; the ends as they should be, or not."""
    if honest and decision.role in (SAFE, SKIP):
        return ONE * (decision.role == SAFE)
    if rng.random() < 0.2:
        return int(rng.choice([0, 1, ONE // 2, 7 * ONE // 10, 7 * ONE // 10 - 1, ONE - 1, ONE]))
    return ONE * (rng.random() < (0.1 if step % 60 < 25 else 0.95))


def edges(module: types.ModuleType) -> None:
    """What seldom happens by itself: debts and sums on the spot."""
    pair = Pair(Fraction(7, 10), 3.0, 1.0, False, module=module)
    for debt, limit in (
        (0, SAFE),
        (1, SAFE),
        (-1, 0),
        (-pair.account.max_surplus, SKIP),
        (1 - pair.account.max_surplus, 0),
    ):
        pair.account.owed = debt
        assert module.limit(pair.account) == limit
    for owed, successes, carried in ((-1, 0, 0), (0, -1, 0), (0, 0, 1), (5, 0, 1), (0, 5, 1)):
        account = Pair(Fraction(1, 2), 3.0, 1.0, False).account
        account.owed, account.successes = module.CARRIED + owed, module.CARRIED + successes
        module.reserve(account, 0)
        module.settle(account, 0, 0, 0, False)
        assert (account.carried, account.owed - account.successes) == (carried, owed - successes)
        assert module.totals(account)[0] == module.CARRIED + owed
    quiet = Pair(Fraction(1, 2), 3.0, 1.0, False).account
    for debt, violations in (
        (quiet.max_debt + 1, 0),
        (quiet.max_debt + 2, 1),
    ):  # at the bound, and a billionth beyond it
        quiet.owed, quiet.violations = debt, 0
        module.reserve(quiet, SAFE)
        module.settle(quiet, SAFE, 0, 0, False)
        assert quiet.violations == violations

    late = Pair(Fraction(1, 2), 3.0, 1.0, False).account
    late.expired = 1
    module.amend(late, 0, late.target, 1)
    assert late.amended == 1  # a billionth of a success is one
    forced(module)
    growing(module)
    folding(module)


def folding(module: types.ModuleType) -> None:
    """What was forgiven is carried over as soon as it can be, and nothing that is said of the account changes."""

    def said(account: Account) -> list[int]:
        now = module.debt(account), module.tracked_debt(account), *module.totals(account), module.limit(account)
        return list(now)

    begin = module.CARRIED
    for forgiven, carried in ((begin - 1, 0), (begin, 1), (begin + 5, 1)):
        account = Pair(Fraction(1, 4), 3.0, 1.0, True).account
        account.owed, account.carried, account.forgiven, account.successes = 7, 2, forgiven, 7 + forgiven + ONE
        before = said(account)
        assert before[:5] == [-forgiven - ONE, -ONE, 7 + 2 * begin, 7 + forgiven + ONE + 2 * begin, forgiven]
        module.fold(account)
        assert (account.forgiven_carried, account.forgiven) == (carried, forgiven - carried * begin)
        assert said(account) == before
    ahead = Pair(Fraction(1, 2), 3.0, 1.0, True).account
    ahead.owed, ahead.forgiven_carried = ahead.max_debt + 2, 1  # beyond the bound, but for what was carried over
    module.reserve(ahead, SAFE)
    module.settle(ahead, SAFE, 0, 0, False)
    assert ahead.violations == 0


def forced(module: types.ModuleType) -> None:
    """A safe play takes a skip's place if a skip is due and too many are outstanding, and not otherwise."""
    for role, outstanding, beyond, forgives, counted in (
        (SAFE, 2, 0, 0, 1), (SAFE, 3, 5, 0, 1), (SAFE, 1, 0, 0, 0), (SAFE, 2, -1, 0, 0), (SAFE, 2, 0, 1, 0), (0, 2, 0, 0, 0),
    ):  # fmt: skip
        account = Pair(Fraction(1, 2), 3.0, 1.0, False, most=2).account
        account.outstanding, account.forgives = outstanding, forgives
        account.successes = account.max_surplus + beyond
        module.reserve(account, role)
        assert account.forced == counted


def growing(module: types.ModuleType) -> None:
    """Limits grow as soon as the surplus is at the one of before, and are never lowered."""
    account = Pair(Fraction(1, 2), None, 1.0, False).account
    before, account.outcomes = account.max_surplus, 3
    account.successes = before
    module.reserve(account, 0)
    module.settle(account, 0, 0, 0, False)
    assert account.max_surplus > before
    assert module.limit(account) == 0
    account.max_surplus = 100 * ONE
    module.grow(account)
    assert account.max_surplus == 100 * ONE
    both = Pair(Fraction(1, 2), None, 0.5, False).account
    both.max_debt = 100 * ONE
    module.grow(both)
    assert both.max_debt == 100 * ONE


def test_the_original_survives() -> None:
    """And all that the attack is to try does come to pass."""
    seen = attack(original)
    assert len(seen) == 8
    assert min(seen.values()) > 0, seen


# Mutants that nobody could tell from the original, with the reason.
SAME, WORK, BILLIONTH = "the same is written again", "it only saves work", "a growth of a single billionth"
HARMLESS = {
    ("reserve", "flip", "account.outstanding > account.most_outstanding"): SAME,
    ("reserve", "flip", "account.not_skips > account.most_not_skips"): SAME,
    ("grow", "flip", "surplus > account.max_surplus"): SAME,
    ("_close", "flip", "account.debt_growth > 0"): WORK,
    ("_close", "true", "account.debt_growth > 0"): WORK,
    ("_close", "true", "owed + account.forgiven <= -account.max_surplus"): WORK,
    ("_close", "swap", "owed + account.forgiven"): "lower where anything was forgiven: then it is looked at more often",
    ("_close", "sign", "-account.max_surplus"): "then it is looked at more often",
    ("_close", "flip", "owed > account.max_debt"): "the bound is above it",
    ("_close", "true", "owed > account.max_debt"): "the bound is above it",
    ("grow", "flip", "account.debt_growth > 0"): "without growth that is the limit from the first outcome on",
    ("grow", "true", "account.debt_growth > 0"): "without growth that is the limit from the first outcome on",
    ("grow", "false", "account.debt_growth == 0"): WORK,
    ("grow", "false", "account.surplus_growth == 0"): WORK,
    ("debt_bound", "false", "account.allowance == 0"): "no allowance is nothing, times any logarithm",
    ("_close", "more", "0 in account.debt_growth > 0"): BILLIONTH,
    ("grow", "more", "0 in account.debt_growth > 0"): BILLIONTH,
    ("grow", "more", "0 in account.debt_growth == 0"): BILLIONTH,
    ("grow", "more", "0 in account.surplus_growth == 0"): BILLIONTH,
    ("at_outcomes", "more", "0 in account.debt_growth > 0"): BILLIONTH,
    ("at_outcomes", "more", "0 in account.surplus_growth > 0"): BILLIONTH,
    ("debt_bound", "more", "0 in account.allowance == 0"): "an allowance of a single billionth",
    ("at_outcomes", "more", "0 in earlier.max_surplus = 0"): "what grows is beyond that from the first outcome on",
    ("at_outcomes", "swap", "account.target - 1"): "what grows is beyond that from the first outcome on",
    ("at_outcomes", "more", "1 in account.target - 1"): "what grows is beyond that from the first outcome on",
}


def test_what_is_harmless_is_there() -> None:
    assert set(HARMLESS) <= {(name, how, text) for name, _, how, text in sites()}


@pytest.mark.parametrize(("name", "index", "how", "text"), sites())
def test_every_mutant_is_noticed(name: str, index: int, how: str, text: str) -> None:
    try:
        attack(mutant(name, index, how))
    except (AssertionError, ArithmeticError, TypeError, ValueError):
        assert (name, how, text) not in HARMLESS, "it is listed as harmless, and is noticed"
        return
    assert (name, how, text) in HARMLESS, f"nothing noticed a change of {text!r} in {name}"
