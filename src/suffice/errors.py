"""The exceptions of suffice. The message of each is one sentence that names the argument, the rule and the value.

::

    SufficeError
    ├── InvalidArgument (also a ValueError)   an argument breaks its rule; nothing was changed
    │   └── InvalidContext                    a context whose fields differ from those of earlier contexts
    ├── Infeasible (also a ValueError)        no mix of the arms reaches the target
    ├── UnknownDecision (also a LookupError)  this selector never issued the decision
    │   └── ForeignDecision                   another selector issued it
    ├── AlreadyTold                           the decision is settled; a second outcome changes nothing
    ├── ReentrantCall                         a signal handler that interrupts a selector calls it; nothing was changed
    ├── SafeUnavailable                       the promise needs the safe option, and `available` leaves it out
    ├── StateError                            a saved state cannot be read
    │   └── StateTooNew                       a later version of suffice wrote it
    └── ServiceProblem                        the decision service answered with an error
        ├── AccessDenied                      the key is unknown, or does not allow this
        └── ServiceUnreachable                no attempt reached the service
    SufficeWarning (a UserWarning)            something that did no harm but needs attention
"""

from collections.abc import Mapping
from typing import Any


class SufficeError(Exception):
    """The root of all errors of suffice."""


class InvalidArgument(SufficeError, ValueError):
    """An argument breaks its rule; nothing was changed."""


class InvalidContext(InvalidArgument):
    """A context whose fields differ from those of earlier contexts, or a value of another kind."""


class Infeasible(SufficeError, ValueError):
    """No mix of the arms reaches the target."""


class UnknownDecision(SufficeError, LookupError):
    """This selector never issued the decision."""


class ForeignDecision(UnknownDecision):
    """Another selector issued the decision."""


class AlreadyTold(SufficeError):
    """The decision is settled; a second outcome changes nothing."""


class ReentrantCall(SufficeError):
    """A signal handler or a finalizer that interrupts a selector tries to change it; nothing was changed."""


class SafeUnavailable(SufficeError):
    """The promise needs the safe option now, and `available` leaves it out.

    `decisions` holds the decisions that a call for several had made before; they are outstanding.
    """

    def __init__(self, *given: object, **named: Any) -> None:
        super().__init__(*given, **named)
        self.decisions: list[Any] = []


class StateError(SufficeError):
    """A saved state that cannot be read."""


class StateTooNew(StateError):
    """A state that a later version of suffice saved."""


class ServiceProblem(SufficeError):
    """The decision service answered with an error.

    `status` is the HTTP status, or None where there was no answer; `detail` is the sentence that the service sent;
    `request_id` is the request's name in the service's logs; `failed` maps each decision whose outcome was refused, or is
    not known to be counted, to the reason; `decisions` holds the decisions that a call for several got before it failed.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        detail: str = "",
        request_id: str | None = None,
        failed: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.detail, self.request_id = status, detail or message, request_id
        self.failed: dict[str, str] = dict(failed or {})
        self.decisions: list[Any] = []


class AccessDenied(ServiceProblem):
    """The service does not know the key, or the key does not allow this."""


class ServiceUnreachable(ServiceProblem):
    """No attempt reached the service."""


class SufficeWarning(UserWarning):
    """Something that did no harm but needs attention."""


def quoted(value: object) -> str:
    """A value as an error message quotes it: at most 80 characters, and never another error."""
    try:
        text = repr(value)
    except Exception:  # an int of ten thousand digits, or an object whose repr fails
        return f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."
