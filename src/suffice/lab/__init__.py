"""The lab: experiments that reproduce the paper, sweeps, verdicts and the report. Needs the extra `lab`."""

from suffice.lab.experiment import Canvas, Experiment, Numbers, Settings, Task
from suffice.lab.verdict import Estimate, Verdict, judge

__all__ = ["Canvas", "Estimate", "Experiment", "Numbers", "Settings", "Task", "Verdict", "judge"]
