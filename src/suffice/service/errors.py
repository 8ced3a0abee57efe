"""What the service raises, each with the HTTP status that says the same; and the status of what the library raises."""

from suffice.errors import AlreadyTold, Infeasible, InvalidArgument, SufficeError, UnknownDecision


class ServiceError(SufficeError):
    """The root of the errors of the service."""

    status = 500


class NoSuchSelector(ServiceError):
    """There is no selector of this name."""

    status = 404


class NotAllowed(ServiceError):
    """The key is good, and not for this."""

    status = 403


class Conflict(ServiceError):
    """It is there, and is another one."""

    status = 409


class Gone(ServiceError):
    """It was archived."""

    status = 410


class TooMany(ServiceError):
    """A limit of this server is reached."""

    status = 429


class Overloaded(ServiceError):
    """More is waiting than this server can do soon."""

    status = 503


class StoreDown(ServiceError):
    """The store cannot be reached, or cannot write. Nothing was changed, as far as is known."""

    status = 503


class StoredPlan(ServiceError):
    """A plan in the store cannot be read, as after a downgrade."""


class StoreInUse(ServiceError):
    """Another process has the store open."""


class StoreTooNew(ServiceError):
    """The store was written by a later version of suffice."""


class StoreTooOld(ServiceError):
    """The store was written by a version of suffice whose counts had another shape."""


def status_of(error: SufficeError) -> int:
    """The HTTP status that says the same as an error."""
    if isinstance(error, ServiceError):
        return error.status
    if isinstance(error, InvalidArgument | Infeasible):
        return 422
    if isinstance(error, UnknownDecision):
        return 404
    return 409 if isinstance(error, AlreadyTold) else 500
