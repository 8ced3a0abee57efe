"""The errors of the service, each with its HTTP status, and the HTTP status of the library's errors."""

from suffice.errors import AlreadyTold, Infeasible, InvalidArgument, SafeUnavailable, SufficeError, UnknownDecision


class ServiceError(SufficeError):
    """The root of the errors of the service."""

    status = 500


class NoSuchSelector(ServiceError):
    """There is no selector of this name."""

    status = 404


class NotAllowed(ServiceError):
    """The key is valid but its scopes do not cover the call."""

    status = 403


class Conflict(ServiceError):
    """The same name, decision or idempotency key is already used with other content."""

    status = 409


class Gone(ServiceError):
    """The selector was archived, or the store no longer holds the decision."""

    status = 410


class TooMany(ServiceError):
    """A limit of this server is reached."""

    status = 429


class Overloaded(ServiceError):
    """The queue of this server is full."""

    status = 503


class StoreDown(ServiceError):
    """The store cannot be reached or cannot write. The call may be repeated."""

    status = 503


class StoredPlan(ServiceError):
    """A plan in the store cannot be read, for example after a downgrade."""


class StoreInUse(ServiceError):
    """Another process has the store open."""


class WrongStoreVersion(ServiceError):
    """The store was written by a version of suffice that has other tables."""


def status_of(error: SufficeError) -> int:
    """The HTTP status of an error."""
    if isinstance(error, ServiceError):
        return error.status
    if isinstance(error, InvalidArgument | Infeasible):
        return 422
    if isinstance(error, UnknownDecision):
        return 404
    if isinstance(error, SafeUnavailable):
        return 424  # of all statuses that suffice answers, this means nothing else
    return 409 if isinstance(error, AlreadyTold) else 500
