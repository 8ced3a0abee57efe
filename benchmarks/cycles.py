"""Time per kind of step inside the compiled loop, by the processor's own counter: no clock is fine enough from outside."""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from suffice.book import NEXT_ID, ask_of
from suffice.checks import WHOLE
from suffice.kernels.compile import fast
from suffice.kernels.step import choose, count, kind_of
from suffice.streams.base import Windows

Cycles = NDArray[np.int64]


@intrinsic
def _counter(_: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=kind), [])

    return types.int64(), generate


_now: Any = _counter
_choose, _kind_of, _count, _ask_of = fast(choose), fast(kind_of), fast(count), fast(ask_of)


@numba.njit(error_model="numpy", nogil=True)
def _play(book: Any, arms: Any, latents: Any, low: Any, high: Any, costs: Any, played: Any, took: Any) -> None:
    """The loop of `suffice.kernels.step.play`, with a look at the counter before and after each step."""
    for step in range(len(latents)):
        start: Any = _now()
        arm = _choose(book, arms)
        _ask_of(book, _kind_of(arms, arm), False)
        book[NEXT_ID] += 1.0
        success = low[arm] <= latents[step] <= high[arm]
        _count(book, arms, arm, WHOLE if success else 0, costs[arm], False)
        took[step] = _now() - start
        played[step] = arm


def play(selector: Any, windows: Windows, latents: NDArray[np.float64]) -> tuple[NDArray[np.int64], Cycles]:
    """Run these steps: the arms played, and the cycles that each step took."""
    played, took = np.zeros(len(latents), np.int64), np.zeros(len(latents), np.int64)
    _play(selector._ledger.book, selector._learner.arms, latents, *windows, played, took)
    return played, took
