"""All configurations, and who drives them."""

import warnings
from typing import Final

from . import drive_fleets, drive_selectors, drive_service, drive_streams
from .of_fleets import FLEETS
from .of_selectors import SELECTORS
from .of_service import SERVICE
from .of_streams import STREAMS
from .records import Configuration, Fleeting, Run, Selecting, Simulating

ALL: Final[list[Configuration]] = [*SELECTORS, *STREAMS, *FLEETS, *SERVICE]


def run(one: Configuration) -> Run:
    """What happens, without warnings: choosers that fail and costs above the most are meant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _driven(one)


def _driven(one: Configuration) -> Run:
    if isinstance(one, Selecting):
        return drive_selectors.run(one)
    if isinstance(one, Simulating):
        return drive_streams.run(one)
    return drive_fleets.run(one) if isinstance(one, Fleeting) else drive_service.run(one)


def chosen(part: str) -> list[Configuration]:
    """Those with this part in their names."""
    return [one for one in ALL if part in one.name]
