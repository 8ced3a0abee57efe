"""Where outcomes come from."""

from suffice.streams.base import Stream, Table, Windows
from suffice.streams.phases import Phases
from suffice.streams.ranks import CIFAR100, LabelRanks
from suffice.streams.trap import Trap

__all__ = ["CIFAR100", "LabelRanks", "Phases", "Stream", "Table", "Trap", "Windows"]
