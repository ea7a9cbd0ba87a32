"""Translates what redis-py raises."""

from __future__ import annotations

import re
from typing import Any

from redis import exceptions as redis_errors

from . import errors, refusal
from .errors import ConflictError, TurnlogError, UnavailableError, UnknownOutcomeError
from .operation import Again, Operation

# turnlog's codes, and those of Redis that come before a request reaches a command.
KINDS: dict[str, type[TurnlogError]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, TurnlogError) and kind is not TurnlogError
} | {
    "UNKNOWNRESULT": errors.UnknownOutcomeError,
    "NOAUTH": errors.UnauthorizedError,
    "WRONGPASS": errors.UnauthorizedError,
    "NOPERM": errors.ForbiddenError,
    "LOADING": errors.UnavailableError,
    "OOM": errors.OverloadedError,
    "READONLY": errors.ReadOnlyError,
    "MISCONF": errors.ReadOnlyError,
    "WRONGTYPE": errors.WrongTypeError,
}

# redis-py cuts these codes off the text.
BY_CLASS: tuple[tuple[type[Exception], type[TurnlogError]], ...] = (
    (redis_errors.BusyLoadingError, errors.UnavailableError),
    (redis_errors.AuthenticationError, errors.UnauthorizedError),
    (redis_errors.AuthorizationError, errors.UnauthorizedError),
    (redis_errors.NoPermissionError, errors.ForbiddenError),
    (redis_errors.OutOfMemoryError, errors.OverloadedError),
    (redis_errors.ReadOnlyError, errors.ReadOnlyError),
)
# What an error of the server says besides its text: numbers, each under its name.
NUMBERS = re.compile(r"(?:(?:revision|condition|step)=\d+(?: |$))*")
# The rest of the server's text would repeat what was sent.
UNKNOWN_COMMAND = re.compile(r"unknown command '([^']*)'")
TOO_MANY_CLIENTS = "max number of clients reached"


def unsendable(operation: Operation[Any], error: Exception) -> TurnlogError | None:
    """Return the error of a request that redis-py could not encode, which it does before it sends a byte."""
    if isinstance(error, UnicodeEncodeError):
        return errors.InvalidError(f"a text of {operation.command} is not valid Unicode: {error}; nothing was sent")
    if isinstance(error, redis_errors.DataError):
        return errors.InvalidError(
            f"{operation.command} got something that is not str, bytes or a number, such as a UUID or a dict; "
            "nothing was sent"
        )
    return None


def reply_error(error: Exception) -> TurnlogError | None:
    """Return the server's error reply that redis-py raised as ``error``, None if it is none."""
    message = str(error)
    if TOO_MANY_CLIENTS in message:
        return UnavailableError(message)
    for redis_class, kind in BY_CLASS:
        if isinstance(error, redis_class):
            return kind(message)
    if not isinstance(error, redis_errors.ResponseError):
        return None
    code, _, rest = message.partition(" ")
    if code in KINDS:
        return _numbered(KINDS[code], rest)
    unknown = UNKNOWN_COMMAND.search(message)
    return errors.InvalidError(_older(unknown[1]) if unknown else message)


def _older(command: str) -> str:
    return (
        f"the server does not know {command}, so nothing was changed: it is older than this client "
        "(then upgrade its nodes, or use an older client), or it is no turnlog"
    )


def _numbered(kind: type[TurnlogError], rest: str) -> TurnlogError:
    found = NUMBERS.match(rest)
    end = found.end() if found else 0
    numbers = {name: int(n) for name, _, n in (word.partition("=") for word in rest[:end].split())}
    error = kind(rest[end:])
    error.condition, error.step = numbers.get("condition", 0), numbers.get("step", 0)
    if isinstance(error, ConflictError):
        error.revision = numbers.get("revision", 0)
    return error


def lost(operation: Operation[Any], address: str, error: BaseException, *, timed_out: bool) -> TurnlogError:
    """Return the error of an attempt whose reply did not come."""
    what = f"no answer to {operation.command} from {address} ({error or type(error).__name__})"
    if operation.again is Again.HARMLESS:
        return UnavailableError(f"{what}; nothing was changed", timed_out=timed_out)
    return UnknownOutcomeError(f"{what}; it may have been carried out", timed_out=timed_out)


def unreachable(address: str, error: BaseException, *, timed_out: bool) -> TurnlogError:
    """Return the error of a connection that could not be made."""
    reply = reply_error(error) if isinstance(error, Exception) else None
    if reply is None:
        explained, lasts = refusal.explain(error)
        why = f" ({explained})" if explained else ""
        failed = UnavailableError(f"{address} cannot be reached{why}: {error}; nothing was sent", timed_out=timed_out)
        failed.wrong_node = address if lasts else ""
        return failed
    if isinstance(reply, errors.UnauthorizedError) and "HELLO must be called" in reply.message:
        reply.message = "it has users, and neither a user nor a password is given"
    elif isinstance(reply, errors.InvalidError) and not str(error).startswith("INVALID "):
        # A node that takes TLS only, or is older, or no node at all; what turnlog calls invalid is so everywhere.
        reply.wrong_node = address
    reply.message = f"{address} rejects the connection: {reply.message}"
    return reply


def unreadable(operation: Operation[Any], error: Exception) -> TurnlogError:
    """Return the error of a reply that cannot be decoded: a write has taken place."""
    harmless = operation.again is Again.HARMLESS
    return errors.InternalError(
        f"the reply to {operation.command} cannot be decoded: {error!r}",
        outcome="not_applied" if harmless else "applied",
    )


def of_node(error: TurnlogError) -> bool:
    """Whether another node may do better."""
    return isinstance(error, (UnavailableError, UnknownOutcomeError)) or error.wrong_node != ""


def too_late() -> TurnlogError:
    """Return the error of a call whose deadline passed before it was sent."""
    return UnavailableError("the deadline passed before the request was sent", timed_out=True)
