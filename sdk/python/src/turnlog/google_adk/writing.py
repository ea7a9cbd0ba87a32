"""Writes of a session: at which revision, and those whose outcome was not learned."""

from __future__ import annotations

import asyncio
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field

from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions.session import Session

from ..aio.client import AsyncClient
from ..aio.transaction import AsyncTransaction
from .place import Place
from .reading import CHANGED

UNFINISHED = 1000  # sessions of which unlearned outcomes are remembered
UNFINISHED_EACH = 8


@dataclass(frozen=True, slots=True)
class Write:
    """An event that was sent, with the transaction that stores it."""

    event: Event
    transaction: AsyncTransaction


@dataclass(slots=True)
class Unfinished:
    """The writes of which no answer came, by the session and the revision that they expected.

    All of them expected the same revision, so at most one took place. It is this process's own, and
    no reason to call a later write stale.
    """

    _writes: OrderedDict[tuple[bytes, int], list[Write]] = field(default_factory=OrderedDict)

    def add(self, place: Place, revision: int, write: Write) -> None:
        """Remember a write."""
        kept = [*self.of(place, revision), write][-UNFINISHED_EACH:]
        self._writes[place.log, revision] = kept
        self._writes.move_to_end((place.log, revision))
        if len(self._writes) > UNFINISHED:
            self._writes.popitem(last=False)

    def of(self, place: Place, revision: int) -> list[Write]:
        """Return the writes that expected this revision."""
        return self._writes.get((place.log, revision), [])

    def forget(self, place: Place, revision: int) -> None:
        """Forget the writes that expected this revision: what came of them is known."""
        self._writes.pop((place.log, revision), None)


class Locks:
    """A lock for each session and event loop: the writes of a process follow one another."""

    def __init__(self) -> None:
        self._locks: weakref.WeakValueDictionary[tuple[int, bytes], asyncio.Lock] = weakref.WeakValueDictionary()

    def of(self, place: Place) -> asyncio.Lock:
        """Return the lock of a session."""
        key = (id(asyncio.get_running_loop()), place.log)
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock


async def expected(client: AsyncClient, place: Place, session: Session) -> int:
    """Return the revision at which a session was read, or was last written by its holder."""
    marker = session._storage_update_marker
    if marker is not None:
        return int(marker)
    newest = await client.session(place.log).last(1)
    if newest.revision == 0:
        raise not_found(place)
    last = Event.model_validate_json(newest.messages[0].data).id if newest.messages else None
    if last != (session.events[-1].id if session.events else None):
        raise stale(place)
    return newest.revision


async def own(client: AsyncClient, place: Place, writes: list[Write]) -> tuple[Write, int] | None:
    """Return which of these writes changed a session last, and its revision; None: another writer did."""
    newest = await client.session(place.log).read(last=1, metadata=True)
    changed = newest.metadata.get(CHANGED)
    for write in writes:
        if write.transaction.id == changed:
            return write, newest.revision
    return None


def stale(place: Place) -> StaleSessionError:
    """Return the error of a write to a session that another one has changed."""
    return StaleSessionError(
        f"session {place.id!r} was modified in storage since it was loaded; nothing was changed: load it again"
    )


def not_found(place: Place) -> SessionNotFoundError:
    """Return the error of a write to a session that does not exist."""
    return SessionNotFoundError(f"Session {place.id} not found; nothing was changed")
