"""The first round of the printed algorithm: each interior option once, before the promise begins."""

from suffice.errors import InvalidArgument
from suffice.kernels.rows import Mask


class FirstRound:
    """The arms of the first round that are not played yet, from `next` to the last interior one."""

    def __init__(self, n_arms: int) -> None:
        self._end = n_arms - 1
        self.next = n_arms  # beyond the last: there is no first round

    def begin(self, asked: int) -> None:
        """Have each interior option played once: before anything was asked, because these plays are not counted."""
        if asked:
            raise InvalidArgument("the first round must begin before the first decision")
        self.next = 1

    @property
    def over(self) -> bool:
        """Whether none is left to play."""
        return self.next >= self._end

    def take(self, allowed: Mask | None) -> int | None:
        """The next arm that is allowed; None once the round is over."""
        while self.next < self._end:
            arm = self.next
            self.next += 1
            if allowed is None or allowed[arm]:
                return arm
        return None
