"""Where outcomes come from."""

from suffice.lab.streams.apis import TASKS, Apis
from suffice.lab.streams.attack import Attack
from suffice.lab.streams.base import Cases, Stream, Table, Windows
from suffice.lab.streams.confidence import ConfidentApis
from suffice.lab.streams.discover import found, from_file
from suffice.lab.streams.hidden_costs import Told
from suffice.lab.streams.joined import Drift, Mix, Phase, Phases
from suffice.lab.streams.log import Log
from suffice.lab.streams.needs import Needs
from suffice.lab.streams.points import Points
from suffice.lab.streams.ranks import CIFAR100, LabelRanks
from suffice.lab.streams.rides import Rides, RidesGrid
from suffice.lab.streams.routing import Routing
from suffice.lab.streams.shapes import Beta, Shape
from suffice.lab.streams.tilted import Tilted
from suffice.lab.streams.trap import Trap

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
