"""Time per kind of step inside the compiled loop, by the processor's own counter: no clock is fine enough from outside."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from suffice.kernels.compiler import compiled
from suffice.lab.streams.base import Windows
from suffice.learning.arm_table import catch_up, fit_is_due, learn, propose
from suffice.learning.tables import table_at
from suffice.learning.thompson import fit
from suffice.numbers import ONE_SUCCESS
from suffice.promise.account import limit, reserve, settle
from suffice.selector.compiled_calls import parts_at
from suffice.selector.verbs import decide, is_open, lesson_of, price_of, role_of

Cycles = NDArray[np.int64]


@intrinsic
def _counter(_: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=kind), [])

    return types.int64(), generate


_now: Any = _counter


def _play(address: int, latents: Any, low: Any, high: Any, costs: Any, played: Any, took: Any) -> None:
    """The loop of `suffice.selector.runs.play`, with a look at the counter before and after each step."""
    header, account, pricing, main = parts_at(address, 0)
    table = table_at(header.table)
    for step in range(len(latents)):
        start: Any = _now()
        now, price, arm = limit(account), price_of(account, pricing, main, False), -1
        if is_open(now, table.head):
            if fit_is_due(table):
                fit(table)
            arm = propose(table, max(0.0, price))
        arm = decide(now, table.head, arm)
        role = role_of(table.head, arm)
        reserve(account, role)
        header.next_id += 1
        units = ONE_SUCCESS if low[arm] <= latents[step] <= high[arm] else 0
        settle(account, role, account.target, units, False)
        due = learn(table, main, pricing, lesson_of(account, arm, units, costs[arm], True, True, True), False)
        if due > 0:
            catch_up(table, due, arm, pricing.now)
        took[step] = _now() - start
        played[step] = arm


def play(selector: Any, windows: Windows, latents: NDArray[np.float64]) -> tuple[NDArray[np.int64], Cycles]:
    """Run these steps: the arms played, and the cycles that each step took."""
    selector.compile()
    played, took = np.zeros(len(latents), np.int64), np.zeros(len(latents), np.int64)
    compiled(_play)(selector._address, latents, *windows, played, took)
    return played, took
