"""A provider of histories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_framework import HistoryProvider, Message
from agent_framework._sessions import filter_new_messages  # as the framework's provider for Redis has it

from .. import message as wire
from ..aio.client import AsyncClient
from ..aio.settled import settled
from ..client import Client
from ..errors import ConflictError, CorruptError, InvalidError
from ..message import NewMessage
from ..reading import Conversation, conversation
from ..requests import Seconds, key_bytes
from ..steps import arun

REVISION = "turnlog_revision"  # in the provider's state of the agent's session
ATTEMPTS = 100  # to add to a conversation that others add to


class TurnlogHistoryProvider(HistoryProvider):
    """Keeps each conversation as a session of turnlog.

    What a run has said and answered is one append: all of it, once, or nothing. A write that has begun is
    awaited even when its caller is cancelled.

    Args:
        client: Of a ``Client``, its ``aio`` is used.
        source_id: Tells this provider from others of the same agent.
        prefix: What the session's key begins with.
        last: How many of the newest messages a run reads; None: all. A tool's result is never read without
            its call.
        ttl: Seconds after the last run after which a conversation is deleted; None: never.
        conditional: Whether saving is a ConflictError if others have changed the conversation since the run
            read it. Otherwise both runs are kept, in the order in which they end.
        options: Those of ``HistoryProvider``, such as ``store_inputs``.
    """

    def __init__(
        self,
        client: Client | AsyncClient,
        *,
        source_id: str = "turnlog",
        prefix: str = "agent-framework:",
        last: int | None = None,
        ttl: Seconds | None = None,
        conditional: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(source_id, **options)
        self._client = client.aio if isinstance(client, Client) else client
        self._prefix = prefix
        self._last = last
        self._ttl = ttl
        self._conditional = conditional

    def _key(self, session_id: str | None) -> bytes:
        if not session_id:
            raise InvalidError("a conversation needs a session id; nothing was read or changed")
        return key_bytes(self._prefix + session_id)

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **_: Any
    ) -> list[Message]:
        """Return the messages, oldest first; raises CorruptError if one of them cannot be decoded."""
        found = await arun(self._client, conversation(self._key(session_id), self._last))
        messages = _decoded(session_id, found)
        if state is not None:
            state[REVISION] = found.revision
        return messages

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Add the messages that are new, all or none: workflows give the whole conversation again.

        Raises:
            ConflictError: ``conditional``, and the conversation has changed since it was read.
            UnknownOutcomeError: No node answered in time.
        """
        if not messages:
            return
        key = self._key(session_id)
        for attempt in range(ATTEMPTS):
            found = await arun(self._client, conversation(key))
            new = filter_new_messages(_decoded(session_id, found), messages)
            if not new:
                return
            expected = found.revision
            if self._conditional and state is not None:
                expected = state.get(REVISION, expected)
            append = self._client.session(key).append(*map(_encoded, new), expect=expected, ttl=self._ttl)
            try:
                done = await settled(append)
            except ConflictError:
                if self._conditional or attempt == ATTEMPTS - 1:
                    raise
                continue
            if state is not None:
                state[REVISION] = done.revision
            return

    async def clear(self, session_id: str | None) -> None:
        """Remove all messages. It is sent again safely when its reply is lost."""
        await settled(self._client.transaction().clear(self._key(session_id)).commit())


def _encoded(message: Message) -> NewMessage:
    return NewMessage(wire.dump(message.to_dict()))


def _decoded(session_id: str | None, found: Conversation) -> list[Message]:
    """Return the messages of a conversation. What is none must never look like an empty history."""
    messages = []
    for stored in found.messages:
        try:
            messages.append(Message.from_dict(stored.json()))
        except (AttributeError, KeyError, TypeError, ValueError) as e:
            what = f"message {stored.seq} of conversation {session_id!r} is not one of Agent Framework: {e}"
            raise CorruptError(f"{what}. The conversation was not loaded, and nothing was changed") from e
    return messages
