"""A compiled world for the verdict "infeasible": hard and easy cases in spells, and somebody who sends hard ones to safe."""

from suffice.kernels.rows import Ints, Rows
from suffice.promise.account import limit, reserve, settle
from suffice.promise.record import Reservation

ONE = 1_000_000_000


def play_spells(
    accounts: Rows, state: Ints, steps: int, hard_share: float, length: float, safe_hard: float, safe_easy: float,
    other_hard: float, other_easy: float, selects: bool,
) -> None:  # fmt: skip
    """Some steps; `state` holds the random state, whether the present spell is hard, and how many cases were hard so far.

    `selects`: hard cases go to the safe option whenever the limits leave a choice, as a good model would have it.
    """
    account, draw, hard = accounts[0], state[0], state[1]
    for _ in range(steps):
        draw = (draw * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
        if ((draw >> 20) & 0xFFFFFF) / 16777216.0 < 1.0 / length:
            draw = (draw * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
            hard = 1 if ((draw >> 20) & 0xFFFFFF) / 16777216.0 < hard_share else 0
        state[2] += hard
        role = 1 if limit(account) == 1 or (selects and hard > 0) else 0
        exempt = reserve(account, role, 0)
        if role == 1:
            rate = safe_hard if hard > 0 else safe_easy
        else:
            rate = other_hard if hard > 0 else other_easy
        draw = (draw * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
        units = ONE if ((draw >> 20) & 0xFFFFFF) / 16777216.0 < rate else 0
        settle(account, Reservation(role, account.target, 0, exempt), units, False)
    state[0], state[1] = draw, hard
