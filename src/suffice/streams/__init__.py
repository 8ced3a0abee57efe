"""Where outcomes come from."""

from suffice.streams.apis import TASKS, Apis
from suffice.streams.attack import Attack
from suffice.streams.base import Cases, Stream, Table, Windows
from suffice.streams.confidence import ConfidentApis
from suffice.streams.discover import found, from_file
from suffice.streams.joined import Drift, Mix, Phase, Phases
from suffice.streams.log import Log
from suffice.streams.needs import Needs
from suffice.streams.points import Points
from suffice.streams.ranks import CIFAR100, LabelRanks
from suffice.streams.rides import Rides, RidesGrid
from suffice.streams.routing import Routing
from suffice.streams.shapes import Beta, Shape
from suffice.streams.tilted import Tilted
from suffice.streams.told import Told
from suffice.streams.trap import Trap

__all__ = [
    "CIFAR100",
    "TASKS",
    "Apis",
    "Attack",
    "Beta",
    "Cases",
    "ConfidentApis",
    "Drift",
    "LabelRanks",
    "Log",
    "Mix",
    "Needs",
    "Phase",
    "Phases",
    "Points",
    "Rides",
    "RidesGrid",
    "Routing",
    "Shape",
    "Stream",
    "Table",
    "Tilted",
    "Told",
    "Trap",
    "Windows",
    "found",
    "from_file",
]
