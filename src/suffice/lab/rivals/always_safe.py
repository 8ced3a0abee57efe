"""Always the safe option: the cost of a team that takes no risk."""

from suffice.lab.rivals.base import NONE, PRIMARY, Rival


class AlwaysSafe(Rival):
    """Plays the safe option in every step.

    >>> from suffice import Menu
    >>> AlwaysSafe(Menu({"small": 0.1, "a person": 1.0}, safe="a person"), 0.9).ask().option
    'a person'
    """

    name = "always safe"
    source = "common practice"
    read = PRIMARY
    feedback = NONE
    guarantee = "succeeds as often as the safe option does"

    def _choose(self) -> int:
        return self.menu.n_arms - 1
