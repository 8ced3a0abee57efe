"""Every other method in the same frame, one per file, each saying what feedback it needs."""

from suffice.rivals.base import Rival
from suffice.rivals.everything import AlwaysEverything
from suffice.rivals.projected import Projected

__all__ = ["AlwaysEverything", "Projected", "Rival"]
