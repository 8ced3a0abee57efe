"""What an experiment is: settings as data, a run, verdicts, a drawing. Compute, then judge, then draw.

A new experiment is one file in `lab/experiments/` (or a file of your own, `suffice reproduce --only path/to/it.py`) with a
class that has a name. It is registered nowhere else.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from suffice.lab.verdict import Verdict

Settings = dict[str, Any]
Task = dict[str, Any]  # one run, as plain data that can be sent to another machine
Numbers = dict[str, Any]  # results in JSON's terms
LEVELS: Final = ("quick", "default", "deep")


class Experiment(ABC):
    """One figure, table or theorem of the paper."""

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]  # a sentence or two, printed above the verdicts
    levels: ClassVar[Mapping[str, Settings]]  # settings for "quick", "default" and "deep"
    place: ClassVar[int] = 100  # among the experiments: lower ones first

    @abstractmethod
    def tasks(self, settings: Settings) -> list[Task]:
        """The runs, each with a readable name under "run"."""

    @staticmethod
    @abstractmethod
    def work(task: Task) -> Numbers:
        """Do one run. May be called in another process, or on another machine."""

    @abstractmethod
    def collect(self, settings: Settings, results: Sequence[Numbers]) -> Numbers:
        """All numbers of the experiment, from the results in the order of the tasks. "rows" becomes the CSV."""

    @abstractmethod
    def verdicts(self, numbers: Numbers) -> list[Verdict]:
        """One per claim, from the numbers alone."""

    def draw(self, numbers: Numbers, canvas: "Canvas") -> None:
        """The figures, from the numbers alone; none if left out."""


class Canvas(ABC):
    """Where an experiment draws: `panels` gives matplotlib's axes for a figure of that name."""

    @abstractmethod
    def panels(self, name: str, count: int, *, width: float = 3.6, height: float = 3.0) -> Any:
        """So many axes side by side, each so many inches wide."""

    @abstractmethod
    def colour(self, label: str) -> str:
        """The colour of a method, the same in every figure."""


Do = Callable[[Callable[[Task], Numbers], list[Task]], list[Numbers]]


def run_experiment(experiment: Experiment, settings: Settings, do: Do) -> Numbers:
    """Run an experiment and collect its numbers."""
    return experiment.collect(settings, do(experiment.work, experiment.tasks(settings)))
