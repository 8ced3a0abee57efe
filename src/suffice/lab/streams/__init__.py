"""Streams: where outcomes come from."""

from suffice.lab.streams.apis import TASKS, PredictionApis
from suffice.lab.streams.base import Cases, Stream, Table, Windows
from suffice.lab.streams.confidence import ConfidentApis
from suffice.lab.streams.discover import available, from_file
from suffice.lab.streams.hidden_costs import HiddenCosts
from suffice.lab.streams.log import Log
from suffice.lab.streams.needs import RequiredThreshold
from suffice.lab.streams.points import UnitPoints
from suffice.lab.streams.ranks import CIFAR100, LabelRanks
from suffice.lab.streams.rides import Rides
from suffice.lab.streams.shapes import Beta, Shape
from suffice.lab.streams.shifts import Phase, Phases
from suffice.lab.streams.tilted import SyntheticContext
from suffice.lab.streams.trap import Trap

__all__ = [
    "CIFAR100",
    "TASKS",
    "Beta",
    "Cases",
    "ConfidentApis",
    "HiddenCosts",
    "LabelRanks",
    "Log",
    "Phase",
    "Phases",
    "PredictionApis",
    "RequiredThreshold",
    "Rides",
    "Shape",
    "Stream",
    "SyntheticContext",
    "Table",
    "Trap",
    "UnitPoints",
    "Windows",
    "available",
    "from_file",
]
