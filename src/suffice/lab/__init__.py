"""The lab: streams, rival methods, and the experiments that reproduce the paper.

Streams and rivals need NumPy alone; sweeps, reports and figures need the extra `lab`.
"""

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from suffice.lab import rivals as rivals
    from suffice.lab import streams as streams
    from suffice.lab.experiment import Canvas as Canvas
    from suffice.lab.experiment import Experiment as Experiment
    from suffice.lab.experiment import Numbers as Numbers
    from suffice.lab.experiment import Settings as Settings
    from suffice.lab.experiment import Task as Task
    from suffice.lab.verdict import Estimate as Estimate
    from suffice.lab.verdict import Verdict as Verdict
    from suffice.lab.verdict import judge as judge

_HOME_OF: Final = {
    **dict.fromkeys(("Canvas", "Experiment", "Numbers", "Settings", "Task"), "suffice.lab.experiment"),
    **dict.fromkeys(("Estimate", "Verdict", "judge"), "suffice.lab.verdict"),
}

__all__ = ["Canvas", "Estimate", "Experiment", "Numbers", "Settings", "Task", "Verdict", "judge", "rivals", "streams"]

if not TYPE_CHECKING:  # else every name would pass for one of ours

    def __getattr__(name: str) -> object:
        if name in ("rivals", "streams"):
            return importlib.import_module(f"suffice.lab.{name}")
        if name not in _HOME_OF:
            raise AttributeError(f"module 'suffice.lab' has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(_HOME_OF[name]), name)
        return found
