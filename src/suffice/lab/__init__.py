"""The lab: streams, rival methods, comparisons, and the experiments that reproduce the paper.

Streams and rivals need NumPy alone and are imported on first use; sweeps and figures need the extra `lab`.
"""

import importlib
from typing import TYPE_CHECKING

from suffice.lab.experiment import Canvas, Experiment, Numbers, Settings, Task
from suffice.lab.verdict import Estimate, Verdict, judge

if TYPE_CHECKING:
    from suffice.lab import rivals as rivals
    from suffice.lab import streams as streams
else:  # type checkers would accept any name otherwise

    def __getattr__(name: str) -> object:
        if name in ("rivals", "streams"):
            return importlib.import_module(f"suffice.lab.{name}")
        raise AttributeError(f"module 'suffice.lab' has no attribute {name!r}")


__all__ = ["Canvas", "Estimate", "Experiment", "Numbers", "Settings", "Task", "Verdict", "judge", "rivals", "streams"]
