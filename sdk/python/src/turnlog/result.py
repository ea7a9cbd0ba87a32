"""What operations return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

from .errors import ConflictError
from .message import Message


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did. When it is returned, a majority of the nodes has it on disk.

    Attributes:
        first_seq: The seq of its first message.
        last_seq: The seq of its last message.
        revision: The session's revision then, to expect next.
        count: How many messages the session holds.
        duplicate: These ids were appended before, by an earlier call or by an attempt of this
            one whose reply was lost; seqs and revision are those of that append.
        removed: How many messages ``replace`` removed.
        ids: The ids of the messages.
    """

    first_seq: int
    last_seq: int
    revision: int
    count: int
    duplicate: bool
    removed: int
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Removed:
    """What a trim, a clear or the removal of one message did.

    Attributes:
        removed: How many messages it removed.
        revision: The session's revision then.
        count: How many messages the session still holds.
    """

    removed: int
    revision: int
    count: int


@dataclass(frozen=True, slots=True)
class Edited:
    """What an edit did.

    Attributes:
        seq: The seq of the message.
        revision: The session's revision then; it stays if the message had that payload already.
        count: How many messages the session holds.
    """

    seq: int
    revision: int
    count: int


@dataclass(frozen=True, slots=True)
class Popped:
    """What a pop removed: the messages in the order of removal."""

    messages: list[Message]
    revision: int
    count: int


@dataclass(frozen=True, slots=True)
class History:
    """What a read found; all zero for a session that does not exist.

    Attributes:
        messages: In commit order.
        revision: To pass as ``expect`` to a write that depends on what was read.
        incarnation: Distinguishes sessions that had this key one after another.
        first_seq: The seq of the oldest message held.
        last_seq: The highest seq ever given.
        count: How many messages the session holds.
        more: There are more messages in the direction that was read.
        metadata: The session's metadata at that revision, if it was asked for.
    """

    messages: list[Message]
    revision: int
    incarnation: int
    first_seq: int
    last_seq: int
    count: int
    more: bool
    metadata: dict[str, str] = field(default_factory=dict)


# What a step of a transaction did: that of an append or a replacement; that of a trim, clear, delete, removal
# or retention; that of an edit or a pop; the revision after a change of metadata or a renaming; or how many
# fields or deadlines changed.
StepResult = Union[Appended, Removed, Edited, Popped, int]


@dataclass(frozen=True, slots=True)
class Committed:
    """What a transaction did. When it is returned, a majority of the nodes has it on disk.

    Attributes:
        revision: The namespace's then, which that of each changed key does not exceed.
        duplicate: An earlier commit with the same id, or an attempt of this one whose reply was
            lost, had carried it out; the rest is the answer of then.
        steps: What each step did, in their order.
    """

    revision: int
    duplicate: bool
    steps: tuple[StepResult, ...]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session. Times are in Unix milliseconds of cluster time.

    Attributes:
        key: The session's key. Bytes that are not UTF-8 are lone surrogates, as in file names
            of ``os.listdir``; a ``str`` key is encoded in the same way.
        incarnation: Distinguishes sessions that had this key one after another.
        count: How many messages it holds.
        bytes: Their payload.
        first_seq: The seq of the oldest message held.
        last_seq: The highest seq ever given.
        revision: The number of its last change.
        created: When it was created.
        updated: When it was last changed.
        expires_at: When it expires; 0: never.
        slide_ms: If not 0, each append sets the expiry to that many milliseconds later.
        retain_messages: How many of its last messages it keeps by itself; 0: as many as come.
        retain_turns: How many of its last turns it keeps by itself; 0: as many as come.
        metadata: Its metadata.
    """

    key: str
    incarnation: int
    count: int
    bytes: int
    first_seq: int
    last_seq: int
    revision: int
    created: int
    updated: int
    expires_at: int
    slide_ms: int
    retain_messages: int
    retain_turns: int
    metadata: dict[str, str]


@dataclass(frozen=True, slots=True)
class SessionPage:
    """A page of sessions, and the cursor of the next page; empty after the last."""

    sessions: list[SessionInfo]
    cursor: str


def same_session(first: History | None, page: History, after: int) -> History:
    """Return the first page of a session; raises ConflictError if another session has taken its place."""
    if first is None or first.incarnation == page.incarnation:
        return first or page
    error = ConflictError(f"the session was deleted or renamed while it was read, after seq {after}")
    error.revision = page.revision
    raise error
