"""Messages: what a session holds, and what is appended to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple, Union

from .errors import CorruptError, InvalidError


class Message(NamedTuple):
    """A message of a session.

    Attributes:
        seq: Its number in the session, from 1.
        time_ms: When it was committed, in Unix milliseconds of cluster time.
        id: Its id, unique among the session's recent messages; empty if it has none.
        data: The payload, as it was appended.
    """

    seq: int
    time_ms: int
    id: str
    data: bytes

    @property
    def time(self) -> datetime:
        """When the message was committed, in UTC."""
        return datetime.fromtimestamp(self.time_ms / 1000, timezone.utc)

    def text(self) -> str:
        """Return the payload as text; raises CorruptError if it is not UTF-8."""
        try:
            return self.data.decode()
        except UnicodeDecodeError as e:
            raise CorruptError(f"message {self.seq} is not UTF-8: {e}") from e

    def json(self) -> Any:
        """Return the payload decoded; raises CorruptError if it is not JSON."""
        try:
            return json.loads(self.data)
        except ValueError as e:
            raise CorruptError(f"message {self.seq} is not JSON: {e}") from e


class NewMessage(NamedTuple):
    """A message to append. Without an id it gets one, before it is first sent."""

    data: bytes
    id: str = ""


# What can be appended: bytes as they are, text as UTF-8, and a mapping as JSON.
Payload = Union[bytes, str, Mapping[str, Any], NewMessage]


def new_message(payload: Payload) -> NewMessage:
    """Return the payload as a message to append."""
    if isinstance(payload, NewMessage):
        return payload
    if isinstance(payload, bytes):
        return NewMessage(payload)
    if isinstance(payload, str):
        try:
            return NewMessage(payload.encode())
        except UnicodeEncodeError as e:
            raise InvalidError(f"the text is not valid Unicode: {e}; nothing was sent") from e
    if isinstance(payload, Mapping):
        return NewMessage(dump(payload, nan=False))
    raise TypeError(f"a message is bytes, str, a mapping or a NewMessage, not {type(payload).__name__}")


def dump(value: Any, *, nan: bool = True) -> bytes:
    """Encode as compact JSON. Lone surrogates are escaped, since UTF-8 cannot hold them.

    With nan, NaN and Infinity are written as such, which only Python reads: for what a framework says.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=nan, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=nan, separators=(",", ":")).encode()
    except (TypeError, ValueError) as e:
        raise InvalidError(f"the message is not JSON: {e}; nothing was sent") from e


def user(content: str, *, id: str = "") -> NewMessage:  # noqa: A002
    """Return what a user says, as ``{"role": "user", "content": ...}``."""
    return NewMessage(dump({"role": "user", "content": content}), id)


def assistant(content: str, *, id: str = "") -> NewMessage:  # noqa: A002
    """Return what the assistant says, as ``{"role": "assistant", "content": ...}``."""
    return NewMessage(dump({"role": "assistant", "content": content}), id)
