"""Errors. Each says whether the operation took place."""

from __future__ import annotations

from typing import ClassVar, Literal

Outcome = Literal["applied", "not_applied", "unknown"]


class TurnlogError(Exception):
    """The base class of every error that an operation raises.

    Attributes:
        code: The server's code, such as ``"CONFLICT"``.
        outcome: ``"not_applied"``: nothing was changed. ``"unknown"``: the write may have
            taken place. ``"applied"``: it has, and only its reply could not be read.
        retryable: The same call may succeed later.
        timed_out: A deadline ended the call.
        condition: Which condition of a transaction does not hold, from 1; 0: none.
        step: Which step of a transaction cannot take place, from 1; 0: none.
        wrong_node: The address of a node, if no further attempt at it will mend this: its configuration, or the
            client's, is wrong. Otherwise empty.
    """

    code: ClassVar[str] = "INTERNAL"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, outcome: Outcome = "not_applied", timed_out: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.outcome: Outcome = outcome
        self.timed_out = timed_out
        self.condition = 0
        self.step = 0
        self.wrong_node = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class InternalError(TurnlogError):
    """A defect in turnlog, or a reply that makes no sense."""


class InvalidError(TurnlogError):
    """The request is malformed."""

    code = "INVALID"


class TooLargeError(TurnlogError):
    """A limit on size or count was exceeded."""

    code = "TOO_LARGE"


class NotFoundError(TurnlogError):
    """The session, or what it should hold, does not exist."""

    code = "NOT_FOUND"


class ExistsError(TurnlogError):
    """Something exists that must not."""

    code = "EXISTS"


class ConflictError(TurnlogError):
    """A condition does not hold: the session has changed.

    Attributes:
        revision: The session's current revision, 0 if there is no session.
    """

    code = "CONFLICT"

    def __init__(self, message: str, *, revision: int = 0) -> None:
        super().__init__(message)
        self.revision = revision


class IDReusedError(TurnlogError):
    """A message id came back with another payload."""

    code = "ID_REUSED"


class WrongTypeError(TurnlogError):
    """The key holds another type of value."""

    code = "WRONG_TYPE"


class OverloadedError(TurnlogError):
    """Too much is in flight, in the node or in this client."""

    code = "OVERLOADED"
    retryable = True


class UnavailableError(TurnlogError):
    """No node answers, there is no leader, or the node is stopping."""

    code = "UNAVAILABLE"
    retryable = True


class UnknownOutcomeError(TurnlogError):
    """The write may or may not have taken place: its reply was lost.

    An append is safe to repeat under the same message ids; anything else only after a read.
    """

    code = "UNKNOWN_OUTCOME"

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message, outcome="unknown", timed_out=timed_out)


class ReadOnlyError(TurnlogError):
    """The disks are full: reads work, writes do not."""

    code = "READ_ONLY"
    retryable = True


class NewerVersionError(TurnlogError):
    """Data of a newer version of turnlog."""

    code = "NEWER_VERSION"


class CorruptError(TurnlogError):
    """Stored data fails its checksum, or a message cannot be decoded."""

    code = "CORRUPT"


class UnauthorizedError(TurnlogError):
    """Credentials are missing or wrong."""

    code = "UNAUTHORIZED"


class ForbiddenError(TurnlogError):
    """The credentials do not allow this."""

    code = "FORBIDDEN"
