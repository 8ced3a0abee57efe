"""Always everything: what a team pays that takes no chances."""

from typing import ClassVar

from suffice.rivals.base import NONE, PRIMARY, Rival


class AlwaysEverything(Rival):
    """Plays everything in every step.

    >>> from suffice import Menu
    >>> AlwaysEverything(Menu({"small": 0.1}, everything="a person"), 0.9).ask().option
    'a person'
    """

    name: ClassVar[str] = "always everything"
    source: ClassVar[str] = "common practice"
    read: ClassVar[str] = PRIMARY
    feedback: ClassVar[str] = NONE
    guarantee: ClassVar[str] = "succeeds as often as everything does"

    def _choose(self) -> int:
        return self.menu.arms - 1
