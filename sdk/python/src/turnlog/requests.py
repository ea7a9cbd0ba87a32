"""Makes the operations on sessions."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from . import decode
from .errors import InvalidError
from .message import NewMessage, Payload, new_message
from .operation import AGAIN, Again, Argument, Operation
from .result import Appended, Edited, History, Popped, Removed, SessionInfo, SessionPage

Key = str | bytes
Seconds = float | timedelta
Moment = int | datetime  # int: Unix milliseconds
Value = str | bytes  # of a field; str is stored as UTF-8
Side = Literal["newest", "head", "tail"]
NewID = Callable[[], str]

KEY_BYTES = 512


def random_id() -> str:
    """Return 128 random bits. Processes that were forked do not repeat each other's."""
    return os.urandom(16).hex()


def key_bytes(key: Key) -> bytes:
    """Return the key as bytes, 1 to 512 of them."""
    if not isinstance(key, (bytes, str)):
        raise InvalidError(f"a key is text or bytes, not {type(key).__name__}; nothing was sent")
    try:
        raw = key if isinstance(key, bytes) else key.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as e:
        raise InvalidError(f"the key is not valid Unicode: {e}; nothing was sent") from e
    if not 1 <= len(raw) <= KEY_BYTES:
        raise InvalidError(f"a key has 1 to {KEY_BYTES} bytes, not {len(raw)}; nothing was sent")
    return raw


def millis(duration: Seconds) -> int:
    """Return milliseconds, rounded away from zero, so that a ttl never ends early."""
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    if not math.isfinite(seconds):
        raise InvalidError(f"a duration must be finite, not {seconds}; nothing was sent")
    exact = seconds * 1000
    nearest = round(exact)
    if abs(exact - nearest) < 1e-6 * max(1.0, abs(exact)):  # 0.1 s are 100 ms, not 101
        return nearest
    return math.ceil(exact) if exact > 0 else math.floor(exact)


def append(
    key: bytes,
    messages: Iterable[Payload],
    new_id: NewID,
    *,
    expect: int | None = None,
    ttl: Seconds | None = None,
    must_exist: bool = False,
    metadata: Mapping[str, str] | None = None,
    unset: Iterable[str] = (),
) -> Operation[Appended]:
    """Append messages at the end, all or none, and change metadata with them."""
    arguments: list[Argument] = [key, *_expect(expect)]
    if ttl is not None:
        arguments += ["PX", str(millis(ttl))]
    if must_exist:
        arguments.append("EXISTING")
    arguments += _metadata(metadata or {}, unset)
    given = _identified(messages, new_id)
    if not given:
        raise InvalidError("no message to append; nothing was sent")
    return _written("TURN.APPEND", arguments, given)


def replace(
    key: bytes, from_seq: int, messages: Iterable[Payload], new_id: NewID, expect: int | None
) -> Operation[Appended]:
    """Remove the messages from a seq on and append others, at once."""
    arguments: list[Argument] = [key, "FROM", _count(from_seq, "seq"), *_expect(expect)]
    return _written("TURN.REPLACE", arguments, _identified(messages, new_id))


def _identified(messages: Iterable[Payload], new_id: NewID) -> list[NewMessage]:
    given = [new_message(m) for m in messages]
    return [m if m.id else NewMessage(m.data, new_id()) for m in given]


def _written(command: str, arguments: list[Argument], messages: list[NewMessage]) -> Operation[Appended]:
    for m in messages:
        arguments += ["MSG", m.id, m.data]
    ids = tuple([m.id for m in messages])
    again = AGAIN[command] if messages else Again.NEVER
    return Operation(command, again, tuple(arguments), functools.partial(decode.appended, ids=ids))


def read(
    key: bytes,
    *,
    last: int | None = None,
    after: int | None = None,
    before: int | None = None,
    limit: int | None = None,
    max_bytes: int | None = None,
    max_tokens: int | None = None,
    whole: bool = False,
    since: Moment | None = None,
    until: Moment | None = None,
    max_staleness: Seconds | None = None,
    metadata: bool = False,
) -> Operation[History]:
    """Read messages: the newest, those after a seq or those before one."""
    if sum(x is not None for x in (last, after, before)) > 1:
        raise InvalidError("only one of last, after and before can be given; nothing was sent")
    arguments: list[Argument] = [key]
    given = (
        ("LAST", last),
        ("AFTER", after),
        ("BEFORE", before),
        ("LIMIT", limit),
        ("MAXBYTES", max_bytes),
        ("MAXTOKENS", max_tokens),
    )
    for word, value in given:
        if value is not None:
            arguments += [word, _count(value, word.lower())]
    if whole:
        arguments.append("WHOLE")
    for word, moment in (("SINCE", since), ("UNTIL", until)):
        if moment is not None:
            arguments += [word, str(max(1, _unix_millis(moment)))]
    if metadata:
        arguments.append("METADATA")
    if max_staleness is not None:
        arguments += _consistency(max_staleness)
    return _operation("TURN.READ", arguments, decode.history)


def _consistency(max_staleness: Seconds) -> list[Argument]:
    if max_staleness == math.inf:
        return ["CONSISTENCY", "STALE"]
    return ["CONSISTENCY", "BOUNDED", str(millis(max_staleness))]


def wait(key: bytes, after: int, seconds: float) -> Operation[Any]:
    """Wait for a message after a seq, and for a session that was made again."""
    arguments = (key, "AFTER", str(after), "COUNT", "1", "BLOCK", str(millis(seconds)))
    return Operation("TURN.TAIL", AGAIN["TURN.TAIL"], arguments, lambda reply: reply, reply_wait=seconds)


def pop(key: bytes, n: int, side: Side, expect: int | None) -> Operation[Popped]:
    """Remove and return messages of one side."""
    if side not in ("newest", "head", "tail"):
        raise InvalidError(f"the side is newest, head or tail, not {side!r}; nothing was sent")
    arguments: list[Argument] = [key, "COUNT", _count(n, "number"), *_expect(expect), "FROM", side.upper()]
    return _operation("TURN.POP", arguments, decode.popped)


def trim(key: bytes, keep: int | None, before: int | None, expect: int | None) -> Operation[Removed]:
    """Remove the oldest messages."""
    if keep is not None and before is None:
        how: list[Argument] = ["KEEP", _count(keep, "keep")]
    elif before is not None and keep is None:
        how = ["BEFORE", _count(before, "before")]
    else:
        raise InvalidError("trim takes keep or before, one of them; nothing was sent")
    return _operation("TURN.TRIM", [key, *how, *_expect(expect)], decode.removed)


def edit(key: bytes, data: Payload, seq: int | None, id_: str | None, expect: int | None) -> Operation[Edited]:
    """Give one message another payload."""
    message = new_message(data)
    if message.id:
        raise InvalidError("an edit keeps the message's id and takes no NewMessage; nothing was sent")
    return _operation("TURN.EDIT", [key, *_message(seq, id_), message.data, *_expect(expect)], decode.edited)


def remove(key: bytes, seq: int | None, id_: str | None, expect: int | None) -> Operation[Removed]:
    """Remove one message."""
    return _operation("TURN.REMOVE", [key, *_message(seq, id_), *_expect(expect)], decode.removed)


def _message(seq: int | None, id_: str | None) -> list[Argument]:
    if seq is not None and id_ is None:
        return ["SEQ", _count(seq, "seq")]
    if id_ is not None and seq is None:
        return ["ID", _bytes(id_)]
    raise InvalidError("a message is named by its seq or by its id; nothing was sent")


def clear(key: bytes, expect: int | None) -> Operation[Removed]:
    """Remove all messages and keep the session."""
    return _operation("TURN.CLEAR", [key, *_expect(expect)], decode.removed)


def delete(key: bytes, expect: int | None) -> Operation[bool]:
    """Delete a session."""
    return _operation("TURN.DELETE", [key, *_expect(expect)], decode.deleted)


def fork(key: bytes, to: Key, at: int | None, expect: int | None) -> Operation[Appended]:
    """Copy a session's beginning into a new one."""
    arguments: list[Argument] = [key, key_bytes(to)]
    if at is not None:
        arguments += ["AT", _count(at, "at")]
    return _operation("TURN.FORK", [*arguments, *_expect(expect)], functools.partial(decode.appended, ids=()))


def rename(key: bytes, to: Key, replace: bool, expect: int | None) -> Operation[int]:
    """Move a session to another key."""
    arguments: list[Argument] = [key, key_bytes(to)]
    if replace:
        arguments.append("REPLACE")
    return _operation("TURN.RENAME", [*arguments, *_expect(expect)], decode.revision)


def info(key: bytes) -> Operation[SessionInfo | None]:
    """Describe a session."""
    return _operation("TURN.INFO", [key], decode.session_info)


def metadata(key: bytes) -> Operation[dict[str, str]]:
    """Read metadata."""
    return Operation("TURN.META", Again.HARMLESS, (key,), decode.metadata)


def set_metadata(key: bytes, values: Mapping[str, str], unset: Iterable[str], expect: int | None) -> Operation[int]:
    """Change metadata."""
    changes = _metadata(values, unset)
    if not changes:
        raise InvalidError("no metadata to set or unset; nothing was sent")
    return _operation("TURN.META", [key, *changes, *_expect(expect)], decode.revision)


def _metadata(values: Mapping[str, str], unset: Iterable[str]) -> list[Argument]:
    arguments: list[Argument] = []
    for name, value in values.items():
        arguments += ["SET", _bytes(name), _bytes(value)]
    if isinstance(unset, str):
        raise InvalidError(f"unset takes several names, such as [{unset!r}]; nothing was sent")
    for name in unset:
        arguments += ["UNSET", _bytes(name)]
    return arguments


def retain(
    key: bytes, messages: int | None, turns: int | None, *, everything: bool, expect: int | None
) -> Operation[Removed]:
    """Set how much a session keeps by itself."""
    if [messages is not None, turns is not None, everything].count(True) != 1:
        raise InvalidError("retain takes one of messages, turns and everything; nothing was sent")
    how: list[Argument] = ["ALL"]
    if messages is not None:
        how = ["MESSAGES", _count(messages, "messages")]
    elif turns is not None:
        how = ["TURNS", _count(turns, "turns")]
    return _operation("TURN.RETAIN", [key, *how, *_expect(expect)], decode.removed)


def expire(key: bytes, ttl: Seconds, *, slide: bool, expect: int | None) -> Operation[bool]:
    """Delete a session when a time has passed."""
    arguments: list[Argument] = [key, "PX", str(millis(ttl))]
    if slide:
        arguments.append("SLIDE")
    return _operation("TURN.EXPIRE", [*arguments, *_expect(expect)], decode.changed)


def expire_at(key: bytes, time: datetime, expect: int | None) -> Operation[bool]:
    """Delete a session at a time."""
    return _operation("TURN.EXPIRE", [key, "PXAT", str(_unix_millis(time)), *_expect(expect)], decode.changed)


def persist(key: bytes, expect: int | None) -> Operation[bool]:
    """Remove a session's deadline."""
    return _operation("TURN.EXPIRE", [key, "NEVER", *_expect(expect)], decode.changed)


def set_fields(key: bytes, fields: Mapping[str, Value]) -> Operation[int]:
    """Set fields of a hash."""
    arguments: list[Argument] = [key]
    for name, value in fields.items():
        arguments += [_bytes(name), _bytes(value)]
    return _operation("HSET", _some(arguments, "set"), int)


def remove_fields(key: bytes, names: Iterable[str]) -> Operation[int]:
    """Remove fields of a hash."""
    return _operation("HDEL", _some([key, *map(_bytes, names)], "remove"), int)


def get_fields(key: bytes, names: tuple[str, ...]) -> Operation[dict[str, bytes]]:
    """Read those of the fields that exist."""
    arguments = _some([key, *map(_bytes, names)], "get")
    return _operation("HMGET", arguments, functools.partial(decode.named_fields, names=names))


def all_fields(key: bytes) -> Operation[dict[str, bytes]]:
    """Read all fields of a hash."""
    return _operation("HGETALL", [key], decode.fields)


def scan_fields(key: bytes, cursor: int) -> Operation[tuple[int, dict[str, bytes]]]:
    """Read some fields of a hash, and the cursor of the next ones; 0: there are no more."""
    return _operation("HSCAN", [key, str(cursor)], decode.scanned_fields)


def count_fields(key: bytes) -> Operation[int]:
    """Count the fields of a hash."""
    return _operation("HLEN", [key], int)


def _some(arguments: list[Argument], verb: str) -> list[Argument]:
    if len(arguments) == 1:
        raise InvalidError(f"no fields to {verb}; nothing was sent")
    return arguments


def list_sessions(
    prefix: Key, cursor: str, limit: int, labels: Mapping[str, str] | None = None
) -> Operation[SessionPage]:
    """List sessions in the order of their keys; by labels, the one that changed last first."""
    arguments: list[Argument] = []
    for name, value in (labels or {}).items():
        arguments += ["LABEL", name, value]
    if prefix:
        arguments += ["PREFIX", _bytes(prefix)]
    if cursor:
        arguments += ["CURSOR", _bytes(cursor)]
    return _operation("TURN.LIST", [*arguments, "LIMIT", _count(limit, "limit")], decode.session_page)


def erase(prefix: Key) -> Operation[int]:
    """Delete all sessions whose keys begin so."""
    if not prefix:
        raise InvalidError(
            "erase: the prefix is empty, which would delete every session of the namespace: "
            "erase_all does that; nothing was deleted"
        )
    return Operation("TURN.ERASE", Again.NEVER, ("PREFIX", _bytes(prefix)), decode.erased, reply_wait=None)


def erase_all() -> Operation[int]:
    """Delete all sessions of the namespace."""
    return Operation("TURN.ERASE", Again.NEVER, ("PREFIX", "", "ALL"), decode.erased, reply_wait=None)


def cluster() -> Operation[dict[str, Any]]:
    """Describe the cluster."""
    return _operation("TURN.CLUSTER", [], decode.cluster)


def _operation(command: str, arguments: list[Argument], decoder: Callable[[Any], Any]) -> Operation[Any]:
    return Operation(command, AGAIN[command], tuple(arguments), decoder)


def _unix_millis(moment: Moment) -> int:
    if isinstance(moment, int):
        return moment
    if moment.tzinfo is None:
        raise InvalidError("the time has no time zone; nothing was sent")
    return millis(moment.timestamp())


def _expect(revision: int | None) -> list[Argument]:
    return [] if revision is None else ["EXPECT", _count(revision, "revision")]


def _count(value: int, what: str) -> str:
    if value < 0:
        raise InvalidError(f"{what} must not be negative, but is {value}; nothing was sent")
    return str(value)


def _bytes(value: Key) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise InvalidError(f"a name is text or bytes, not {type(value).__name__}; nothing was sent")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as e:
        raise InvalidError(f"the text is not valid Unicode: {e}; nothing was sent") from e
