"""Everything that suffice raises. Each error is one sentence that names the argument, the rule and the value.

::

    SufficeError
    ├── InvalidArgument (also a ValueError)   an argument breaks its rule; nothing was changed
    │   └── InvalidContext                    a context that does not have the fields of those before it
    ├── Infeasible (also a ValueError)        no mix of the arms reaches the target
    ├── UnknownDecision (also a LookupError)  never asked here
    │   └── ForeignDecision                   asked, but of another selector
    ├── AlreadyTold                           settled before; telling twice changes nothing
    ├── Reentered                             called from a handler that interrupts the same selector; nothing was changed
    ├── StateError                            a state that cannot be read
    │   └── NewerState                        written by a later version of suffice
    └── ServiceProblem                        the decision service answered with an error
        ├── Refused                           it does not know the key, or the key may not do this
        └── Unreachable                       it could not be reached, however often it was tried
    SufficeWarning (a UserWarning)            something to look at that did no harm
"""

from collections.abc import Mapping
from typing import Any


class SufficeError(Exception):
    """The root of all errors of suffice."""


class InvalidArgument(SufficeError, ValueError):
    """An argument breaks its rule; nothing was changed."""


class InvalidContext(InvalidArgument):
    """A context that does not have the fields of those before it, or a value of another kind."""


class Infeasible(SufficeError, ValueError):
    """No mix of the arms reaches the target."""


class UnknownDecision(SufficeError, LookupError):
    """The decision was never asked of this selector."""


class ForeignDecision(UnknownDecision):
    """The decision was asked of another selector."""


class AlreadyTold(SufficeError):
    """The decision was settled before; telling twice changes nothing."""


class ReentrantCall(SufficeError):
    """A signal handler or a finalizer interrupts a selector and wants to change it; nothing was changed."""


class StateError(SufficeError):
    """A saved state that cannot be read."""


class StateTooNew(StateError):
    """A state saved by a later version of suffice."""


class ServiceProblem(SufficeError):
    """The decision service answered with an error.

    `status` is the HTTP status, None where nothing came back; `detail` the sentence of the service; `request_id` what its
    logs call the request; `failed`, of outcomes that were refused or are not known to be counted, decision to reason;
    `decisions`, those that came before it failed, where many were asked for.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        detail: str = "",
        request_id: str | None = None,
        failed: Mapping[int, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.detail, self.request_id = status, detail or message, request_id
        self.failed: dict[int, str] = dict(failed or {})
        self.decisions: list[Any] = []


class AccessDenied(ServiceProblem):
    """The service does not know the key, or the key may not do this."""


class ServiceUnreachable(ServiceProblem):
    """The service could not be reached, however often it was tried."""


class SufficeWarning(UserWarning):
    """Something to look at that did no harm."""


def quoted(value: object) -> str:
    """A value as an error quotes it: never long, and never an error of its own."""
    try:
        text = repr(value)
    except Exception:  # an int of ten thousand digits, or an object whose repr fails
        return f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."
