"""Always everything: what a team pays that takes no chances."""

from typing import ClassVar

from suffice.rivals.base import Rival


class AlwaysEverything(Rival):
    """Plays everything in every step."""

    name: ClassVar[str] = "always everything"
    source: ClassVar[str] = "common practice"
    feedback: ClassVar[str] = "none"
    guarantee: ClassVar[str] = "succeeds as often as everything does"

    def _choose(self) -> int:
        return self.menu.arms - 1
