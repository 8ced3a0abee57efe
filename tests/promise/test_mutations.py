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
from suffice.promise.record import CARRIED, Account, Reservation
from suffice.promise.rules import Promise, Rule
from tests.support.ledger import FREE, ONE, SAFE, SKIP, Decision
from tests.support.pairing import Case, Pair

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
    """All functions of the account."""
    return [one for one in tree.body if isinstance(one, ast.FunctionDef)]


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


NEARLY = CARRIED - 20 * ONE
CASES: list[tuple[Case, bool]] = [  # with honest ends, or not
    (Case(Fraction(7, 10), safe=1.0), True),
    (Case(Fraction(1, 2), 2.0, max_debt=Fraction(1), in_flight=2, begin=NEARLY), True),
    (Case(Fraction(1, 3), 2.0, forgives=True), True),
    (Case(Fraction(3, 5), 4.0, safe=0.0), True),
    (Case(Fraction(2, 5), forgives=True, max_debt=Fraction(1, 2), in_flight=3, begin=NEARLY), True),
    (Case(Fraction(3, 5), 1.0, max_debt=Fraction(0), in_flight=0), True),
    (Case(Fraction(7, 10), 1.0, max_debt=Fraction(0), fails=True, begin=NEARLY), False),
    (Case(Fraction(1, 2), in_flight=1, fails=True), False),
    (Case(Fraction(9, 10), forgives=True, max_debt=Fraction(2), in_flight=4), False),
]
TRIED = (
    "forced", "forced_ahead", "amended", "violations", "carried", "forgiven", "safe_lost", "skip_successes", "shortfall",
    "insisted", "uncovered", "skipped", "cancelled", "forced_by_waiting",
)  # fmt: skip


def attack(module: types.ModuleType) -> dict[str, int]:
    """Late, lost and spiteful outcomes for several rules, compared with the list; how often what matters came to pass."""
    seen = dict.fromkeys(TRIED, 0)
    edges(module)
    for number, (case, honest) in enumerate(CASES):
        rng = np.random.default_rng(number)
        pair = Pair(case, module=module)
        for step in range(100):
            roles = pair.roles()
            insists = rng.random() < 0.05
            pair.ask(FREE if insists else roles[0] if rng.random() < 0.7 else roles[int(rng.integers(len(roles)))])
            wait = 1 if step % 40 < 15 else 5
            while len(pair.out) >= wait:
                decision = pair.out[int(rng.integers(len(pair.out)))]
                if rng.random() < 0.1:
                    pair.expire(decision)
                elif rng.random() < 0.05:
                    pair.cancel(decision)
                else:
                    pair.tell(decision, units_of(decision, honest, step, rng))
            if step % 4 == 0:
                pair.check(honest=honest)
            if pair.gone and rng.random() < 0.15:
                decision = pair.gone[int(rng.integers(len(pair.gone)))]
                pair.tell(decision, units_of(decision, honest, step, rng))
        pair.check(honest=honest)
        for name in TRIED:
            seen[name] += getattr(pair.account, name)
    return seen


def units_of(decision: Decision, honest: bool, step: int, rng: np.random.Generator) -> int:
    """Failures and successes in turns, and parts of them; the ends as they should be, or not."""
    if honest and decision.role in (SAFE, SKIP):
        return ONE * (decision.role == SAFE)
    if rng.random() < 0.2:
        return int(rng.choice([0, 1, ONE // 2, 7 * ONE // 10, 7 * ONE // 10 - 1, ONE - 1, ONE]))
    return ONE * (rng.random() < (0.1 if step % 60 < 25 else 0.95))


def fresh(target: Fraction = Fraction(1, 2), *, forgives: bool = False, in_flight: int = 200) -> Account:
    """An account of these limits: at most 1 owed, at most 3 banked."""
    return Case(target, 3.0, forgives, Fraction(1), in_flight).promise().open()


def settled(module: types.ModuleType, account: Account, role: int) -> None:
    """Ask in a role, and tell a decision that owes nothing and was worth nothing: only what follows an outcome is done."""
    exempt = module.reserve(account, role, 0)
    account.reserved -= 0 if exempt else account.target
    module.settle(account, Reservation(role, 0, 0, exempt), 0, False)


def edges(module: types.ModuleType) -> None:
    """What seldom happens by itself: debts and sums on the spot."""
    account = fresh()
    top, half = account.max_debt, ONE // 2
    for debt, reserved, limit in (
        (top - half, 0, FREE), (top - half + 1, 0, SAFE), (-account.max_surplus, 0, SKIP), (1 - account.max_surplus, 0, FREE),
        (0, account.max_exposure - half, FREE), (0, account.max_exposure - half + 1, SAFE),
        (-account.max_surplus, account.max_exposure + account.max_surplus - half, SKIP),
        (-account.max_surplus, account.max_exposure + account.max_surplus - half + 1, SAFE),
    ):  # fmt: skip
        account.owed, account.reserved = debt, reserved
        assert module.limit(account) == limit
    for owed, successes, carried in ((-1, 0, 0), (0, -1, 0), (0, 0, 1), (5, 0, 1), (0, 5, 1)):
        account = fresh()
        account.owed, account.successes = CARRIED + owed, CARRIED + successes
        settled(module, account, FREE)
        assert (account.carried, account.owed - account.successes) == (carried, owed - successes)
        assert module.totals(account)[0] == CARRIED + owed
    for debt, violations in ((top, 0), (top + 1, 1)):  # at the bound, and a billionth beyond it
        account = fresh()
        account.owed = debt
        settled(module, account, SAFE)
        assert account.violations == violations
    for debt, violations in ((top + half, 0), (top + half + 1, 1)):  # two at once may owe one target more
        account = fresh()
        account.owed, account.most_outstanding = debt, 2
        settled(module, account, SAFE)
        assert account.violations == violations
    for units, failures in ((half, 0), (half - 1, 1)):  # the safe option need only succeed as much as the target
        account = fresh()
        module.settle(account, Reservation(SAFE, half, 0, module.reserve(account, SAFE, 0)), units, False)
        assert account.safe_failures == failures
    assert module.debt_bound(Promise.make(0.5, safe_success=0.75, max_debt=1).open()) == ONE  # no play, no allowance
    late = fresh()
    late.expired = 1
    module.amend(late, Reservation(FREE, late.target, 0, 0), 1)
    assert late.amended == 1  # a billionth of a success is one
    forced(module)
    growing(module)
    folding(module)
    walking(module)


def walking(module: types.ModuleType) -> None:
    """The window bound where little may be owed and banked, and a bound on the ceiling: by hand."""
    account = Promise.make(0.5, max_debt=0, max_surplus=0.25, forgiving=True).open()
    bottom = account.max_surplus
    assert module.window_bound(account, 1000) == (ONE // 2 - bottom) + bottom
    assert module.window_bound(account, 0) == 0
    account.forgives = 0
    assert module.window_bound(account, 1000) == bottom + ONE // 2


def folding(module: types.ModuleType) -> None:
    """What was forgiven is carried over as soon as it can be, and nothing that is said of the account changes."""

    def said(account: Account) -> list[int]:
        now = module.debt(account), module.tracked_debt(account), *module.totals(account), module.limit(account)
        return list(now)

    begin = CARRIED
    for forgiven, carried in ((begin - 1, 0), (begin, 1), (begin + 5, 1)):
        account = fresh(Fraction(1, 4), forgives=True)
        account.owed, account.carried, account.forgiven, account.successes = 7, 2, forgiven, 7 + forgiven + ONE
        before = said(account)
        assert before[:5] == [-forgiven - ONE, -ONE, 7 + 2 * begin, 7 + forgiven + ONE + 2 * begin, forgiven]
        module.fold(account)
        assert (account.forgiven_carried, account.forgiven) == (carried, forgiven - carried * begin)
        assert said(account) == before
    ahead = fresh(forgives=True)
    ahead.owed, ahead.forgiven_carried = ahead.max_debt + 2, 1  # beyond the bound, but for what was carried over
    settled(module, ahead, SAFE)
    assert ahead.violations == 0


def forced(module: types.ModuleType) -> None:
    """A play takes a skip's place if a skip is due, whoever chose it, and not otherwise."""
    for role, reserved, beyond, forgives, exempt, counted in (
        (SAFE, 1, 0, 0, 1, 1), (SAFE, 1, 5, 0, 1, 1), (FREE, 1, 0, 0, 0, 1), (SAFE, 0, 0, 0, 0, 1), (SAFE, 1, -1, 0, 1, 0),
        (SAFE, 0, -1, 0, 0, 0),
        (SAFE, 1, 0, 1, 1, 0),
    ):  # fmt: skip
        account = fresh(in_flight=2)
        account.forgives = forgives
        account.successes = account.max_surplus + beyond
        account.reserved = account.max_exposure + account.successes - account.target + reserved
        assert module.reserve(account, role, 0) == exempt
        assert (account.forced, account.forced_ahead) == (exempt, counted)
        assert (account.insisted, account.uncovered) == ((0, 0) if role == SAFE else (1, account.target))

    for beyond, waiting in (
        (1, 0),
        (0, 1),
    ):  # what was forgiven is owed again: the debt alone forces it, or the exposure does
        account = fresh(forgives=True)
        account.forgiven, account.owed = 3 * ONE, account.max_debt - account.target + beyond - 3 * ONE
        account.reserved = account.max_exposure
        assert module.reserve(account, SAFE, 0) == 1
        assert account.forced_by_waiting == waiting


def growing(module: types.ModuleType) -> None:
    """The surplus grows with the outcomes up to 40, with what is outstanding beyond in_flight, and is never lowered."""
    account = Promise.make(0.5, rule=Rule()).open()
    before, account.outcomes = account.max_surplus, 3
    settled(module, account, FREE)
    assert account.max_surplus > before
    account.max_surplus = 100 * ONE
    module.grow(account)
    assert account.max_surplus == 100 * ONE
    plain = Promise.make(0.5, in_flight=2).open()
    plain.outcomes = 10**6
    settled(module, plain, FREE)
    assert plain.max_surplus == 40 * ONE
    busy = Promise.make(0.5, max_debt=2, in_flight=2).open()
    for pending in (1, 2):
        module.reserve(busy, FREE, 0)
        assert (busy.max_surplus, busy.most_outstanding) == (999999999, pending)
    module.reserve(busy, FREE, 0)
    assert busy.max_surplus == int((0.5 + 3.0 * (3 * 0.25) ** 0.5 + 10.0) * ONE) - 2 * ONE
    rich = Promise.make(0.5, max_debt=50, in_flight=2).open()  # what may be owed covers it
    rich.most_outstanding = 3
    assert module.surplus_needed(rich) == 0


def test_the_original_survives() -> None:
    """And all that the attack is to try does come to pass."""
    seen = attack(original)
    assert min(seen.values()) > 0, seen


# Mutants that nobody could tell from the original, with the reason.
SAME, WORK, NONE = "the same is written again", "it only saves work", "no allowance is nothing, times any logarithm"
BILLIONTH, MANY = "a growth or an allowance of a single billionth", "no account has so many decisions outstanding"
HARMLESS = {
    ("reserve", "flip", "account.pending > account.most_pending"): SAME,
    ("reserve", "flip", "account.outstanding > account.most_outstanding"): SAME,
    ("_count_most", "flip", "number > account.in_flight"): WORK,
    ("_count_most", "true", "number > account.in_flight"): WORK,
    ("grow", "flip", "surplus > account.max_surplus"): SAME,
    ("_close", "flip", "owed + account.forgiven < -account.max_surplus"): SAME,
    ("_close", "flip", "account.max_surplus < account.surplus_most"): WORK,
    ("_close", "true", "account.max_surplus < account.surplus_most"): WORK,
    ("_close", "flip", "owed > account.max_debt"): "the bound is no less",
    ("_close", "true", "owed > account.max_debt"): "the bound is no less",
    ("allowance", "false", "account.allowance == 0"): NONE,
    ("allowance", "more", "0 in account.allowance == 0"): BILLIONTH,
    ("at_outcomes", "more", "0 in account.surplus_growth > 0"): BILLIONTH,
    ("at_outcomes", "more", "0 in earlier.max_surplus = 0"): "what grows is beyond that from the first outcome on",
    ("surplus_needed", "swap", "UNLIMITED / ONE_SUCCESS / 4.0"): MANY,
    ("surplus_needed", "swap", "UNLIMITED / ONE_SUCCESS"): MANY,
    ("surplus_needed", "more", "4.0 in UNLIMITED / ONE_SUCCESS / 4.0"): MANY,
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
