"""A repository of sessions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from strands.session.repository_session_manager import RepositorySessionManager
from strands.session.session_repository import SessionRepository
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage

from ..client import Client
from ..errors import ConflictError, CorruptError, UnknownOutcomeError
from ..message import Message, dump
from ..naming import family_key
from ..session import PAGE_BYTES, PAGE_MESSAGES

if TYPE_CHECKING:
    from collections.abc import Callable

    from strands.multiagent import MultiAgentBase

T = TypeVar("T")
ATTEMPTS = 100  # to change a message that others change
STATE = "state"  # the field of a hash that holds a session, an agent or a multi-agent


class TurnlogSessionRepository(SessionRepository):
    """Keeps sessions, their agents and the messages of each agent.

    Each call takes place once: it is sent again when its reply is lost. A message takes its place only if
    no other worker has taken it, and an agent is updated only if it is as this repository knows it: a
    worker that is behind gets a ConflictError. Make a repository, or a TurnlogSessionManager, for each
    request.

    Args:
        client: The client of the application.
        prefix: What all keys begin with.
    """

    def __init__(self, client: Client, *, prefix: str = "strands:") -> None:
        self._client = client
        self._prefix = prefix
        self._known: dict[bytes, int] = {}  # the revision at which each agent was read or written

    def _key(self, family: str, *names: str) -> bytes:
        return family_key(self._prefix, family, *names)

    def create_session(self, session: Session, **_: Any) -> Session:
        """Create a session; raises SessionException if there is one."""
        key = self._key("session", session.session_id)
        try:
            self._client.transaction().if_absent(key).set_fields(key, {STATE: dump(session.to_dict())}).commit()
        except ConflictError as e:
            raise SessionException(f"Session {session.session_id} already exists") from e
        return session

    def read_session(self, session_id: str, **_: Any) -> Session | None:
        """Return a session, None if there is none."""
        return self._state(self._key("session", session_id), Session.from_dict)

    def delete_session(self, session_id: str, **_: Any) -> None:
        """Delete a session with its agents and messages; raises SessionException if there is none."""
        key = self._key("session", session_id)
        tx = self._client.transaction().if_exists(key).delete(key)
        for name in self._client.hash(self._key("agents", session_id)).all():
            family, id_ = name.split(":", 1)
            tx.delete(self._key(family, session_id, id_)).delete(self._key("messages", session_id, id_))
        try:
            tx.delete(self._key("agents", session_id)).commit()
        except ConflictError as e:
            raise SessionException(f"Session {session_id} does not exist") from e

    def create_agent(self, session_id: str, session_agent: SessionAgent, **_: Any) -> None:
        """Create an agent; raises ConflictError if another worker has created it."""
        self._put(session_id, "agent", session_agent.agent_id, session_agent.to_dict(), created=True)

    def read_agent(self, session_id: str, agent_id: str, **_: Any) -> SessionAgent | None:
        """Return an agent, None if there is none."""
        return self._read(session_id, "agent", agent_id, SessionAgent.from_dict)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **_: Any) -> None:
        """Update an agent; raises ConflictError if another worker has updated it."""
        previous = self._previous(session_id, "agent", session_agent.agent_id, SessionAgent.from_dict)
        session_agent.created_at = previous.created_at
        self._put(session_id, "agent", session_agent.agent_id, session_agent.to_dict())

    def create_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **_: Any) -> None:
        """Create the state of several agents; raises ConflictError if another worker has created it."""
        self._put(session_id, "multi-agent", multi_agent.id, multi_agent.serialize_state(), created=True)

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **_: Any) -> dict[str, Any] | None:
        """Return the state of several agents, None if there is none."""
        return self._read(session_id, "multi-agent", multi_agent_id, dict)

    def update_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **_: Any) -> None:
        """Update the state of several agents; raises ConflictError if another worker has updated it."""
        self._previous(session_id, "multi-agent", multi_agent.id, dict)
        self._put(session_id, "multi-agent", multi_agent.id, multi_agent.serialize_state())

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **_: Any) -> None:
        """Add a message in its place; raises ConflictError if another worker has added one there."""
        log = self._key("messages", session_id, agent_id)
        tx = self._client.transaction().if_seq(log, session_message.message_id)
        tx.append(log, dump(session_message.to_dict())).commit()

    def read_message(self, session_id: str, agent_id: str, message_id: int, **_: Any) -> SessionMessage | None:
        """Return the message in a place, None if there is none."""
        found = self._at(session_id, agent_id, message_id)
        return None if found is None else _decoded(found.data, SessionMessage.from_dict)

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **_: Any) -> None:
        """Replace the message in a place; raises SessionException if there is none."""
        for _attempt in range(ATTEMPTS):
            found = self._at(session_id, agent_id, session_message.message_id)
            if found is None:
                raise SessionException(f"Message {session_message.message_id} does not exist")
            session_message.created_at = _decoded(found.data, SessionMessage.from_dict).created_at
            data = dump(session_message.to_dict())
            if found.data == data:
                return
            try:
                self._client.session(self._key("messages", session_id, agent_id)).edit(data, seq=found.seq)
            except UnknownOutcomeError:
                continue  # what is read next says whether it took place
            return
        raise ConflictError(f"message {session_message.message_id} is changed faster than it can be read")

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **_: Any
    ) -> list[SessionMessage]:
        """Return messages in their order, those before offset left out."""
        log = self._client.session(self._key("messages", session_id, agent_id))
        found: list[SessionMessage] = []
        while limit is None or len(found) < limit:
            most = PAGE_MESSAGES if limit is None else min(PAGE_MESSAGES, limit - len(found))
            page = log.read(after=offset + len(found), limit=most, max_bytes=PAGE_BYTES)
            found += [_decoded(message.data, SessionMessage.from_dict) for message in page.messages]
            if not page.more:
                break
        return found

    def _at(self, session_id: str, agent_id: str, message_id: int) -> Message | None:
        log = self._client.session(self._key("messages", session_id, agent_id))
        found = log.read(after=message_id, limit=1).messages
        return found[0] if found and found[0].seq == message_id + 1 else None

    def _state(self, key: bytes, form: Callable[[dict[str, Any]], T]) -> T | None:
        found = self._client.hash(key).get(STATE)
        return _decoded(found[STATE], form) if found else None

    def _read(self, session_id: str, family: str, id_: str, form: Callable[[dict[str, Any]], T]) -> T | None:
        """Read an agent; what is written from here on must follow this state of it."""
        log = self._client.session(self._key(family, session_id, id_)).last(1)
        self._known[self._key(family, session_id, id_)] = log.revision
        return _decoded(log.messages[0].data, form) if log.messages else None

    def _previous(self, session_id: str, family: str, id_: str, form: Callable[[dict[str, Any]], T]) -> T:
        known = self._known.get(self._key(family, session_id, id_))
        previous = self._read(session_id, family, id_, form)
        if previous is None:
            raise SessionException(f"{family} {id_} in session {session_id} does not exist")
        if known is not None:
            self._known[self._key(family, session_id, id_)] = known
        return previous

    def _put(self, session_id: str, family: str, id_: str, state: dict[str, Any], *, created: bool = False) -> None:
        key, agents = self._key(family, session_id, id_), self._key("agents", session_id)
        tx = self._client.transaction().if_exists(self._key("session", session_id))
        tx.if_revision(key, 0 if created else self._known[key])
        tx.set_fields(agents, {f"{family}:{id_}": ""}).append(key, dump(state)).trim(key, keep=1)
        done = tx.commit()
        self._known[key] = done.steps[-1].revision  # type: ignore[union-attr] # of the trim


class TurnlogSessionManager(RepositorySessionManager):
    """The session manager of an agent, whose session is in turnlog.

    Args:
        session_id: The session; it is created if there is none.
        client: The client of the application.
        prefix: What all keys begin with.
    """

    def __init__(self, session_id: str, client: Client, *, prefix: str = "strands:", **options: Any) -> None:
        repository = TurnlogSessionRepository(client, prefix=prefix)
        super().__init__(session_id=session_id, session_repository=repository, **options)


def _decoded(data: bytes, form: Callable[[dict[str, Any]], T]) -> T:
    """Read what was stored. What cannot be read must never look as if there was nothing."""
    try:
        return form(json.loads(data))
    except (AttributeError, KeyError, TypeError, ValueError) as e:
        what = f"what is stored is not of Strands: {type(e).__name__}: {e}"
        raise CorruptError(f"{what}. Nothing was loaded, and nothing was changed") from e
