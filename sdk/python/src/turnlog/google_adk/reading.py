"""Reads the events and the state of a session, as they were at one moment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.adk.events.event import Event
from google.adk.sessions.base_session_service import GetSessionConfig

from ..aio.client import AsyncClient
from ..aio.session import AsyncSession
from ..errors import ConflictError, CorruptError
from ..message import Message
from ..reading import PAGE_BYTES, PAGE_MESSAGES, only_grew
from ..result import History
from .place import Place

READS = 100  # of a session that is changed while it is read
CHANGED = "changed"  # in the metadata of the events and in the state: the transaction that changed both
UPDATED = "updated"  # in the metadata: when, as the events say it
FIELD = "state:"  # what the fields of a session's own state begin with

State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stored:
    """A session as it is stored."""

    events: list[Event]
    state: State
    updated: float
    revision: int


async def stored(client: AsyncClient, place: Place, config: GetSessionConfig | None) -> Stored | None:
    """Read a session, None if there is none."""
    for _ in range(READS):
        history, fields = await asyncio.gather(
            _history(client.session(place.log), config), client.hash(place.state).all()
        )
        if history is None:
            continue
        newest, messages = history
        if newest.revision == 0:
            return None
        changed = newest.metadata.get(CHANGED)
        if changed is None:
            raise CorruptError(f"the key {place.log!r} holds no session of the ADK: something else wrote it")
        if fields.get(CHANGED) == changed.encode():
            events = [_event(place, message) for message in messages]
            state = {name[len(FIELD) :]: value for name, value in decoded(fields).items()}
            return Stored(_wanted(events, config), state, updated(newest.metadata), newest.revision)
    raise busy(place)


def busy(place: Place) -> ConflictError:
    """Return the error of a session that could not be read as it was at one moment."""
    return ConflictError(f"session {place.id!r} is changed faster than it can be read; nothing was changed")


async def _history(log: AsyncSession, config: GetSessionConfig | None) -> tuple[History, list[Message]] | None:
    """Read the newest events, and the revision that they belong to; None if they were removed meanwhile."""
    limit = None if config is None else config.num_recent_events
    count = PAGE_MESSAGES if limit is None else max(1, min(limit, PAGE_MESSAGES))
    page = newest = await log.read(last=count, max_bytes=PAGE_BYTES, metadata=True)
    messages = page.messages if limit != 0 else []
    while page.more and page.messages and (limit is None or len(messages) < limit):
        page = await log.read(before=page.messages[0].seq, limit=count, max_bytes=PAGE_BYTES)
        if not only_grew(newest, page):
            return None
        messages = page.messages + messages
    return newest, messages if limit is None else messages[len(messages) - min(limit, len(messages)) :]


def _wanted(events: list[Event], config: GetSessionConfig | None) -> list[Event]:
    """Drop the events up to the last one that is too old."""
    if config is None or config.after_timestamp is None:
        return events
    begin = len(events)
    while begin > 0 and events[begin - 1].timestamp >= config.after_timestamp:
        begin -= 1
    return events[begin:]


def _event(place: Place, message: Message) -> Event:
    try:
        return Event.model_validate_json(message.data)
    except ValueError as e:
        raise CorruptError(f"message {message.seq} of session {place.id!r} is no event: {e}") from e


def encoded(state: Mapping[str, Any], begin: str = "") -> dict[str, bytes]:
    """Encode a state as fields."""
    return {begin + name: json.dumps(value, separators=(",", ":")).encode() for name, value in state.items()}


def decoded(fields: Mapping[str, bytes]) -> State:
    """Decode the fields of a state."""
    return {name: json.loads(value) for name, value in fields.items() if name != CHANGED}


def updated(metadata: Mapping[str, str]) -> float:
    """Return when a session was last changed, as its events say it."""
    return float(metadata.get(UPDATED, "0"))
