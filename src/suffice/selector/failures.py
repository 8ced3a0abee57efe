"""Failures that cost money and no outcome: logged, and reported to the user as one warning."""

import logging
import warnings

from suffice.errors import SufficeWarning

log = logging.getLogger("suffice")
log.addHandler(logging.NullHandler())


class Failures:
    """Keeps the first warning of a selector. `warn` emits it after the lock is released."""

    def __init__(self) -> None:
        self.warning: str | None = None  # "" once it was emitted
        self._chooser_failed = False

    def keep(self, message: str) -> None:
        """Keep a message, unless there was one before."""
        if self.warning is None:
            self.warning = message

    def chooser_failed(self, error: Exception) -> None:
        """Report that the chooser raised an error."""
        if not self._chooser_failed:
            log.error(
                "the chooser failed; the optimist plays in its place, now and whenever it fails again", exc_info=error
            )
            self.keep(f"the chooser failed, so the optimist plays: {type(error).__name__}: {error}")
        self._chooser_failed = True

    def learning_failed(self, arm: int, error: Exception) -> None:
        """Report that an outcome was counted and not learned."""
        log.error("learning from an outcome of arm %d failed; it is counted all the same", arm, exc_info=error)
        self.keep(f"learning from an outcome failed, though it is counted: {type(error).__name__}: {error}")

    def warn(self) -> None:
        """Emit the warning. Only after a tell: a warning that is turned into an error must not cost the caller a decision."""
        if self.warning:
            message, self.warning = self.warning, ""
            warnings.warn(message, SufficeWarning, stacklevel=3)
