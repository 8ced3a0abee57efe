"""A compiled attack on the account: hostile asks, outcomes, losses, cancels and limits, some ten million a second.

Beside the package's functions runs a checker of its own. It shares no arithmetic with them: it keeps the list of all decisions
that are outstanding or lost, and its own sums, from which it works the limits and the bounds out.
"""

from typing import Any

import numpy as np

from suffice.kernels.rows import Ints, Rows
from suffice.promise.account import (
    amend,
    base_bound,
    cancel,
    debt,
    debt_ceiling,
    exposure,
    limit,
    reserve,
    settle,
    skip,
)
from suffice.promise.record import Reservation

ROOM = 1 << 14  # decisions that may be outstanding or lost at once
ONE = 1_000_000_000
OK, WRONG_LIMIT, WRONG_BOUND, BREACH, WRONG_CEILING, ABOVE_CEILING, WRONG_SUMS = range(7)
RESULTS = ("steps", "most outstanding", "asks", "forced", "insisted", "skipped", "lost", "limits changed", "forgiven")


def storm(
    accounts: Rows, max_debt: int, in_flight: int, max_surplus: int, seed: int, steps: int, most: int, honest: bool,
    changes: bool, seen: Ints,
) -> int:  # fmt: skip
    """Attack an account with these limits for so many steps; OK, or what was wrong.

    `seen` gets what happened, in the order of RESULTS.
    """
    account = accounts[0]
    phi, forgives = account.target, account.forgives > 0
    kinds, exempts, values = np.zeros(ROOM, np.int64), np.zeros(ROOM, np.int64), np.zeros(ROOM, np.int64)
    gone_kinds, gone_count = np.zeros(ROOM, np.int64), 0
    out = owed = reserved = forgiven = beyond = shortfall = reserving = at_once = 0
    state, wish, asks = np.uint64(seed * 2 + 1), 5, 8
    for step in range(steps):
        state ^= state >> np.uint64(12)
        state ^= state << np.uint64(25)
        state ^= state >> np.uint64(27)
        draw: Any = np.int64((state * np.uint64(2685821657736338717)) >> np.uint64(2))
        action, pick, luck = draw & 15, (draw >> 4) & 0xFFFFF, (draw >> 24) & 1023
        if (draw >> 34) & 0x3FFF == 0:  # another mood of the world
            wish, asks = (draw >> 48) % 11, 1 + ((draw >> 52) % 13)
        if action < asks and out < most:
            tracked = owed + forgiven
            forced = tracked + phi > max_debt or tracked + reserved + phi > max_debt + phi * in_flight
            due = limit(account)
            if forced != (due == 1):
                return WRONG_LIMIT
            seen[2] += 1
            role = (1 if luck < 1000 else 0) if forced else (0 if luck < 900 else 1)
            if not forced and not forgives and (tracked <= -max_surplus or luck > 1015):
                if due != -1 and tracked <= -max_surplus:
                    return WRONG_LIMIT
                skip(account)
                at_once = max(at_once, reserving + 1)
                owed += phi
                seen[5] += 1
            else:
                if forced and role == 0:
                    beyond += phi
                    seen[4] += 1
                exempt = 1 if forced and role == 1 else 0
                seen[3] += exempt
                if reserve(account, role, (luck - 512) * 1_000_000) != exempt:
                    return WRONG_LIMIT
                kinds[out], exempts[out], values[out] = role, exempt, (luck - 512) * 1_000_000
                out += 1
                if exempt == 0:
                    reserved += phi
                    reserving += 1
                    at_once = max(at_once, reserving)
                seen[1] = max(seen[1], out)
        elif action < 12 and out > 0:  # told, in any order
            place = pick % out
            units = 0 if luck % 11 < wish else ONE
            if luck % 7 == 0:
                units = luck * (ONE // 1023)
            if kinds[place] == 1 and (honest or luck % 3 > 0):
                units = ONE
            settle(account, Reservation(kinds[place], phi, values[place], exempts[place]), units, False)
            owed += phi - units
            if exempts[place] > 0:
                shortfall = max(0, shortfall + phi - units)
            else:
                reserved -= phi
                reserving -= 1
            out -= 1
            kinds[place], exempts[place], values[place] = kinds[out], exempts[out], values[out]
        elif action < 14 and out > 0:  # lost, or never carried out
            place = pick % out
            played = Reservation(kinds[place], phi, values[place], exempts[place])
            if luck < 200:
                cancel(account, played)
            else:
                settle(account, played, 0, True)
                seen[6] += 1
                if kinds[place] == 0:
                    owed += phi
                if gone_count < ROOM:
                    gone_kinds[gone_count] = kinds[place]
                    gone_count += 1
            if exempts[place] == 0:
                reserved -= phi
                reserving -= 1
            out -= 1
            kinds[place], exempts[place], values[place] = kinds[out], exempts[out], values[out]
        elif action == 14 and gone_count > 0:  # reported after all
            place = pick % gone_count
            units = ONE if luck % 11 >= wish else 0
            amend(account, Reservation(gone_kinds[place], phi, 0, 0), units)
            if gone_kinds[place] == 1:
                owed += phi - units
                beyond += max(0, phi - units)
            else:
                owed -= units
            gone_count -= 1
            gone_kinds[place] = gone_kinds[gone_count]
        elif changes and luck < 8:  # limits may be raised, and lowered as far as the exposure
            lowest = max(0, owed + reserved)
            max_debt = lowest + (pick % 20_000) * (ONE // 1000) if luck < 4 else max_debt + pick
            in_flight = pick % 300
            account.max_debt, account.max_exposure = max_debt, max_debt + phi * in_flight
            seen[7] += 1
        if forgives:
            forgiven = max(forgiven, -owed - max_surplus)
        bound = max_debt + phi * min(max(at_once - 1, 0), in_flight) + beyond
        if debt(account) != owed or exposure(account) != owed + reserved:
            return WRONG_SUMS
        if base_bound(account) != bound:
            return WRONG_BOUND
        if honest and (owed + reserved > bound or owed > bound):
            return BREACH
        if debt_ceiling(account) != bound + shortfall:
            return WRONG_CEILING
        if owed + reserved > bound + shortfall:
            return ABOVE_CEILING
        if step & 0xFFFFF == 0:  # anew, from the list
            total = 0
            for place in range(out):
                total += phi if exempts[place] == 0 else 0
            if total != reserved or out != account.pending or account.expected != values[:out].sum():
                return WRONG_SUMS
    seen[0] += steps
    seen[8] = forgiven
    return OK
