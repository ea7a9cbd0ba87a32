"""A session service."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping
from typing import Any

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.adk.sessions._session_util import extract_json_safe_state_delta
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.sessions.state import State

from ..aio.client import AsyncClient
from ..aio.settled import settled
from ..aio.transaction import AsyncTransaction
from ..client import Client
from ..errors import ConflictError, UnknownOutcomeError
from ..requests import Seconds
from ..result import Appended, SessionInfo
from .place import Place, app_state, beginning, place_of, user_state
from .reading import CHANGED, FIELD, READS, UPDATED, busy, decoded, encoded, stored, updated
from .writing import Locks, Unfinished, Write, expected, not_found, own, stale

AT_ONCE = 32  # sessions whose state a list reads at the same time


class TurnlogSessionService(BaseSessionService):
    """Keeps the sessions of a runner.

    An event, and what it changes in the state of the session, of the user and of the application, are
    one transaction. It takes place only if the session has not changed since it was loaded, and raises
    StaleSessionError otherwise. What this process itself wrote never makes a session stale, even when the
    answer was lost.

    Args:
        client: Of a ``Client``, its ``aio`` is used.
        prefix: What all keys begin with.
        ttl: Seconds after the last event after which a session is deleted, but not what its user or
            application has; default: never.
    """

    def __init__(self, client: Client | AsyncClient, *, prefix: str = "adk:", ttl: Seconds | None = None) -> None:
        self.client: AsyncClient = client.aio if isinstance(client, Client) else client
        self._prefix = prefix
        self._ttl = ttl
        self._locks = Locks()
        self._unfinished = Unfinished()

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session; raises AlreadyExistsError if there is one of that id."""
        place = Place(self._prefix, app_name, user_id, (session_id or "").strip() or str(uuid.uuid4()))
        deltas, now = extract_json_safe_state_delta(state or {}), time.time()
        tx = self.client.transaction().if_absent(place.log)
        tx.set_metadata(place.log, {CHANGED: tx.id}).delete(place.state)
        self._change_state(tx, place, deltas)
        tx.set_metadata(place.log, {UPDATED: repr(now)})  # the last change, whose revision is the session's
        try:
            done = await settled(tx.commit())
        except ConflictError as e:
            raise AlreadyExistsError(f"Session with id {place.id} already exists.") from e
        session = Session(id=place.id, app_name=app_name, user_id=user_id, last_update_time=now)
        session.state = deltas["session"] | await self._shared(app_name, user_id)
        session._storage_update_marker = str(done.steps[-1])
        return session

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session, None if there is none."""
        place = self.place(app_name, user_id, session_id)
        for _ in range(READS):
            found = await stored(self.client, place, config)
            if found is None:
                return None
            shared = await self._shared(app_name, user_id)
            if shared and (await self.client.session(place.log).last(1)).revision != found.revision:
                continue  # what is shared may be of an event that was not read
            session = Session(id=place.id, app_name=app_name, user_id=user_id, last_update_time=found.updated)
            session.events, session.state = found.events, found.state | shared
            session._storage_update_marker = str(found.revision)
            return session
        raise busy(place)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """List the sessions of a user, or of all users, with their state, those changed last at the end."""
        infos = [info async for info in self.client.sessions(beginning(self._prefix, app_name, user_id))]
        shared: dict[str, dict[str, Any]] = {}
        sessions = []
        for start in range(0, len(infos), AT_ONCE):
            some = infos[start : start + AT_ONCE]
            places = [place_of(self._prefix, app_name, info.key) for info in some]
            for place in places:
                if place.user not in shared:
                    shared[place.user] = await self._shared(app_name, place.user)
            states = await asyncio.gather(*(self.client.hash(place.state).all() for place in places))
            for info, place, fields in zip(some, places, states, strict=True):
                sessions.append(_listed(info, place, fields, shared[place.user]))
        sessions.sort(key=lambda session: (session.last_update_time, session.user_id, session.id))
        return ListSessionsResponse(sessions=sessions)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session with its state, if there is one."""
        place = self.place(app_name, user_id, session_id)
        await settled(self.client.transaction().delete(place.log).delete(place.state).commit())

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return what all sessions of a user share, without the prefix of its names."""
        return decoded(await self.client.hash(user_state(self._prefix, app_name, user_id)).all())

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event and what it changes, at once, and add it to the session.

        Raises:
            StaleSessionError: Another writer has changed the session since it was loaded.
            SessionNotFoundError: There is no such session.
            UnknownOutcomeError: No answer came. The event may be appended again, or another one: that the
                first one was stored is recognised then.
        """
        if event.partial:
            return event
        place = self.place(session.app_name, session.user_id, session.id)
        async with self._locks.of(place):
            if any(known.id == event.id and known == event for known in session.events):
                return event
            self._apply_temp_state(session, event)
            event = self._trim_temp_delta_state(event)
            if await settled(self._store(place, session, event)):
                self._added(session, event)
        return event

    async def _store(self, place: Place, session: Session, event: Event) -> bool:
        """Store an event; False if it turns out to be stored, and added to the session, already."""
        while True:
            revision = await expected(self.client, place, session)
            before = self._unfinished.of(place, revision)
            write = next((w for w in before if w.event.id == event.id), None) or self._write(place, revision, event)
            try:
                done = await write.transaction.commit()
            except UnknownOutcomeError:
                if write not in before:
                    self._unfinished.add(place, revision, write)
                raise
            except ConflictError as e:
                mine = await own(self.client, place, before) if before else None
                if mine is None:
                    raise (not_found(place) if e.revision == 0 else stale(place)) from e
                self._unfinished.forget(place, revision)
                session._storage_update_marker = str(mine[1])
                self._added(session, mine[0].event)
                if mine[0].event.id == event.id:
                    return False
            else:
                self._unfinished.forget(place, revision)
                session._storage_update_marker = str(_revision(done.steps[-1]))
                return True

    def _write(self, place: Place, revision: int, event: Event) -> Write:
        deltas = extract_json_safe_state_delta(event.actions.state_delta or {})
        tx = self.client.transaction().if_revision(place.log, revision)
        self._change_state(tx, place, deltas)
        data = event.model_dump_json(exclude_none=True)
        tx.append(place.log, data, metadata={CHANGED: tx.id, UPDATED: repr(event.timestamp)})
        return Write(event, tx)

    def _change_state(self, tx: AsyncTransaction, place: Place, deltas: Mapping[str, Mapping[str, Any]]) -> None:
        tx.set_fields(place.state, {CHANGED: tx.id.encode(), **encoded(deltas["session"], FIELD)})
        for key, delta in ((place.user_state, deltas["user"]), (place.app_state, deltas["app"])):
            if delta:
                tx.set_fields(key, encoded(delta))
        if self._ttl is not None:
            tx.expire(place.log, self._ttl).expire(place.state, self._ttl)

    def _added(self, session: Session, event: Event) -> None:
        session.last_update_time = event.timestamp
        self._commit_event_to_session(session, event)

    async def _shared(self, app: str, user: str) -> dict[str, Any]:
        """Read what a session shares with others of its user and of its application."""
        keys = app_state(self._prefix, app), user_state(self._prefix, app, user)
        of_app, of_user = await asyncio.gather(*(self.client.hash(key).all() for key in keys))
        return {State.APP_PREFIX + k: v for k, v in decoded(of_app).items()} | {
            State.USER_PREFIX + k: v for k, v in decoded(of_user).items()
        }

    def place(self, app: str, user: str, id_: str) -> Place:
        """Return where a session is kept."""
        return Place(self._prefix, app, user, id_.strip() if id_ else id_)


def _listed(info: SessionInfo, place: Place, fields: Mapping[str, bytes], shared: dict[str, Any]) -> Session:
    session = Session(id=place.id, app_name=place.app, user_id=place.user, last_update_time=updated(info.metadata))
    session.state = {name[len(FIELD) :]: value for name, value in decoded(fields).items()} | shared
    return session


def _revision(step: Any) -> int:
    if not isinstance(step, Appended):
        raise TypeError("the last step of a write is an append")
    return step.revision
