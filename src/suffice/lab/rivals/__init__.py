"""Other methods that can be simulated beside a selector, one per file; each says what feedback it needs."""

from suffice.lab.rivals.always_safe import AlwaysSafe
from suffice.lab.rivals.base import Rival
from suffice.lab.rivals.conservative_path import ConservativePath
from suffice.lab.rivals.decaying_aci import DecayingACI
from suffice.lab.rivals.linucb import LinUCB
from suffice.lab.rivals.projected import Projected
from suffice.lab.rivals.scalar_aci import ScalarACI
from suffice.lab.streams.discover import by_name, classes_of

__all__ = [
    "AlwaysSafe",
    "ConservativePath",
    "DecayingACI",
    "LinUCB",
    "Projected",
    "Rival",
    "ScalarACI",
    "available",
]


def available() -> dict[str, type[Rival]]:
    """Every rival in the files of this package by its name; there is no list to maintain.

    >>> available()["scalar ACI"].feedback
    'success'
    """
    kinds = [kind for kind in classes_of("suffice.lab.rivals") if issubclass(kind, Rival)]
    return dict(sorted(by_name("rival", kinds).items(), key=lambda item: item[0].lower()))
