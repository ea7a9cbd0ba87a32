"""Reads replies, which are RESP3 maps with bytes as keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .errors import InternalError
from .message import Message
from .result import Appended, Committed, Edited, History, Popped, Removed, SessionInfo, SessionPage, StepResult

Reply = dict[bytes, Any]
make: Callable[..., Any] = tuple.__new__


def messages(found: list[list[Any]]) -> list[Message]:
    """Read an array of [seq, time, id, payload].

    The tuples are made without ``Message.__new__``, a function in Python that costs as much as the rest.
    """
    return [make(Message, (seq, time, id_.decode("utf-8", "surrogateescape"), data)) for seq, time, id_, data in found]


def appended(reply: Reply, ids: tuple[str, ...]) -> Appended:
    """Read the reply to an append, replace or fork."""
    return Appended(
        reply[b"first_seq"],
        reply[b"last_seq"],
        reply[b"revision"],
        reply[b"count"],
        bool(reply.get(b"duplicate")),
        reply.get(b"removed", 0),
        ids,
    )


def removed(reply: Reply) -> Removed:
    """Read the reply to a trim or clear."""
    return Removed(reply[b"removed"], reply[b"revision"], reply.get(b"count", 0))


def edited(reply: Reply) -> Edited:
    """Read the reply to an edit."""
    return Edited(reply[b"seq"], reply[b"revision"], reply[b"count"])


def deleted(reply: Reply) -> bool:
    """Read the reply to a delete."""
    return bool(reply[b"removed"] > 0)


def erased(reply: Reply) -> int:
    """Read the reply to an erase."""
    return int(reply[b"removed"])


def changed(reply: int) -> bool:
    """Read the reply to an expire."""
    return reply > 0


def revision(reply: Reply) -> int:
    """Read the reply to a change of metadata."""
    return int(reply[b"revision"])


def popped(reply: Reply) -> Popped:
    """Read the reply to a pop."""
    return Popped(messages(reply[b"messages"]), reply[b"revision"], reply[b"count"])


def history(reply: Reply) -> History:
    """Read the reply to a read."""
    return History(
        messages(reply[b"messages"]),
        reply[b"revision"],
        reply[b"incarnation"],
        reply[b"first_seq"],
        reply[b"last_seq"],
        reply[b"count"],
        bool(reply[b"more"]),
        metadata(reply.get(b"metadata")),
    )


def metadata(reply: Reply | None) -> dict[str, str]:
    """Read metadata."""
    return {text(k): text(v) for k, v in (reply or {}).items()}


def fields(reply: Reply) -> dict[str, bytes]:
    """Read all fields of a hash."""
    return {text(k): v for k, v in reply.items()}


def named_fields(reply: list[bytes | None], names: tuple[str, ...]) -> dict[str, bytes]:
    """Read the values of the fields with these names; None is one that does not exist."""
    return {name: value for name, value in zip(names, reply, strict=True) if value is not None}


def scanned_fields(reply: tuple[bytes, list[bytes]]) -> tuple[int, dict[str, bytes]]:
    """Read some fields of a hash, and the cursor of the next ones."""
    cursor, pairs = reply
    return int(cursor), {text(k): v for k, v in zip(pairs[::2], pairs[1::2], strict=True)}


def committed(reply: Reply, decoders: tuple[Callable[[Any], StepResult], ...]) -> Committed:
    """Read the reply to a transaction, with what reads the reply to each of its steps."""
    steps = tuple(decoder(step) for decoder, step in zip(decoders, reply[b"steps"], strict=True))
    return Committed(reply[b"revision"], bool(reply[b"duplicate"]), steps)


def session_info(reply: Reply | None) -> SessionInfo | None:
    """Read the description of a session; None if there is none."""
    if reply is None:
        return None
    return SessionInfo(
        text(reply[b"key"]),
        reply[b"incarnation"],
        reply[b"count"],
        reply[b"bytes"],
        reply[b"first_seq"],
        reply[b"last_seq"],
        reply[b"revision"],
        reply[b"created"],
        reply[b"updated"],
        reply[b"expires_at"],
        reply[b"slide_ms"],
        reply.get(b"retain_messages", 0),
        reply.get(b"retain_turns", 0),
        metadata(reply[b"metadata"]),
    )


def session_page(reply: Reply) -> SessionPage:
    """Read a page of sessions."""
    found = (session_info(s) for s in reply[b"sessions"])
    return SessionPage([s for s in found if s], text(reply[b"cursor"]))


def cluster(reply: bytes) -> dict[str, Any]:
    """Read the description of the cluster."""
    described = json.loads(reply)
    if not isinstance(described, dict):
        raise InternalError("the server's reply cannot be decoded: no JSON object")
    return described


def text(found: bytes) -> str:
    """Return a key or value as text; bytes that are not UTF-8 become lone surrogates."""
    return found.decode("utf-8", "surrogateescape")
