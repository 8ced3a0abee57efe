"""Finding rivals: every class with a name in the files of this package. There is no list to maintain."""

from suffice.lab.rivals.base import Rival
from suffice.lab.streams.discover import by_name, classes_of


def available() -> dict[str, type[Rival]]:
    """Every rival of this package by its name.

    >>> available()["scalar ACI"].feedback
    'success'
    """
    kinds = [kind for kind in classes_of("suffice.lab.rivals") if issubclass(kind, Rival)]
    return dict(sorted(by_name("rival", kinds).items(), key=lambda item: item[0].lower()))
