"""How a store says what became of a call."""

from __future__ import annotations


class Conflict(Exception):  # noqa: N818
    """A condition does not hold, or an id came back with another content. Nothing was changed."""


class Refused(Exception):  # noqa: N818
    """The store cannot hold such a message or key. Nothing was changed."""


class NotApplied(Exception):  # noqa: N818
    """The call failed, and nothing was changed."""


# By code of a turnlog error, and by what our own errors mean.
CODES = {"CONFLICT": "conflict", "ID_REUSED": "conflict", "INVALID": "refused", "TOO_LARGE": "refused"}


def kind_of(error: Exception) -> str:
    """Return what the suite calls an error. After "failed" the change may have taken place."""
    if isinstance(error, Conflict):
        return "conflict"
    if isinstance(error, (Refused, UnicodeEncodeError)):
        return "refused"
    code = getattr(error, "code", None) or str(error).partition(" ")[0]  # so does turnlog to Redis clients
    if isinstance(code, str) and code in CODES:
        return CODES[code]
    if isinstance(error, NotApplied) or getattr(error, "outcome", None) == "not_applied":
        return "not_applied"
    return "failed"
