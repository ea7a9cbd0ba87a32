"""Moves the sessions of another service."""

from __future__ import annotations

from typing import Any

from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.session import Session

from ..aio.client import AsyncClient
from .place import Place
from .reading import CHANGED, UPDATED
from .service import TurnlogSessionService

EVENTS_AT_ONCE = 500
BYTES_AT_ONCE = 4 << 20


async def copy_sessions(source: BaseSessionService, target: TurnlogSessionService, app_name: str) -> int:
    """Copy the sessions of an application, with all states, from a service that is not in use.

    Return how many there were. After a copy that failed, delete its last session and call it again: a
    session that is there already is left as it is.
    """
    copied = 0
    for listed in (await source.list_sessions(app_name=app_name)).sessions:
        where: dict[str, Any] = {"app_name": app_name, "user_id": listed.user_id, "session_id": listed.id}
        session = await source.get_session(**where)
        if session is None or await target.get_session(**where) is not None:
            continue
        await target.create_session(**where, state=session.state)
        await _copy_events(target.client, target.place(app_name, listed.user_id, listed.id), session)
        copied += 1
    return copied


async def _copy_events(client: AsyncClient, place: Place, session: Session) -> None:
    """Copy events as they are. Their changes of state are in the states, which were copied."""
    some: list[str] = []
    for event in session.events:
        if len(some) == EVENTS_AT_ONCE or sum(map(len, some)) > BYTES_AT_ONCE:
            await _append(client, place, some, session.last_update_time)
            some = []
        some.append(event.model_dump_json(exclude_none=True))
    await _append(client, place, some, session.last_update_time)


async def _append(client: AsyncClient, place: Place, events: list[str], updated: float) -> None:
    tx = client.transaction()
    metadata = {CHANGED: tx.id, UPDATED: repr(updated)}
    tx.set_fields(place.state, {CHANGED: tx.id})
    if events:
        tx.append(place.log, *events, metadata=metadata)
    else:
        tx.set_metadata(place.log, metadata)
    await tx.commit()
