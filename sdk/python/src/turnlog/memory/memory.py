"""The memory of all conversations of an application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import reading, requests
from ..client import Client
from ..decode import text
from ..message import Payload
from ..requests import Key, Seconds, key_bytes
from ..result import Appended, Committed
from ..steps import Steps, T, arun, one, run
from . import schema
from .conversation import ConversationMemory
from .schema import Said


class Remembered(list[dict[str, Any]]):
    """The messages of a conversation, oldest first, each with a role and a content.

    Attributes:
        revision: To pass as ``expect`` to a save that depends on what was read.
        ids: The ids of the messages.
    """

    revision: int = 0
    ids: Sequence[str] = ()

    def turn(self, turn_id: str) -> list[dict[str, Any]]:
        """Return the messages that were saved under a turn's id; none if it was not, or is not loaded.

        A request that is sent again under its id so gets the answer of the first time.
        """
        return [m for m, id_ in zip(self, self.ids, strict=True) if id_.rpartition("/")[0] == turn_id]


class Memory:
    """Saves the turns of conversations, and loads them.

    One object serves all threads, tasks and forked processes of an application. It keeps nothing
    between calls: each names its session, so no conversation can show up in another.

    A turn is one atomic append, with ids from before its first send: it is sent again, to other
    nodes if need be, until it is answered, and is there once. A call that returns has saved.

    Args:
        client: Also makes the ``AsyncClient`` of the asynchronous calls.
        prefix: What the keys of the sessions begin with. ``"message_store:"`` goes on with the
            conversations of LangChain's ``RedisChatMessageHistory``.
        last: How many of the newest messages are loaded; None: all. A tool's result is never
            loaded without its call.
        ttl: A conversation is deleted so many seconds after its last turn; None: never.
    """

    def __init__(
        self, client: Client, *, prefix: str = "", last: int | None = None, ttl: Seconds | None = None
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._last = last
        self._ttl = ttl

    def of(self, session: Key, *, turn_id: str | None = None, **options: Any) -> ConversationMemory:
        """Return the memory of one conversation, with the methods of ConversationBufferMemory.

        It costs nothing: make one for each request. ``turn_id`` and the options are explained there.
        """
        return ConversationMemory(self, session, turn_id=turn_id, **options)

    def save_context(
        self,
        session: Key,
        human: Said,
        ai: Said | Sequence[Said],
        *,
        turn_id: str | None = None,
        expect: int | None = None,
    ) -> Appended:
        """Save a turn: what the user said, and the answer, or several messages up to the answer.

        Args:
            session: The conversation.
            human: Text, or a mapping with a role and a content.
            ai: The same, or a sequence of them, such as a tool call, its result and the answer.
            turn_id: Identifies the turn, such as the id of the request, in up to 56 bytes. Saved
                again under it, after a crash for instance, the turn is there once.
            expect: Only if the conversation still has the revision that was loaded.

        Raises:
            ConflictError: The conversation has changed since; nothing was saved.
            IDReusedError: ``turn_id`` was used for another turn; nothing was saved.
            UnknownOutcomeError: No node answered in time. Save it again under its ``turn_id``.
        """
        return self._do(self._saving(session, schema.turn(human, ai, turn_id), expect))

    async def asave_context(
        self,
        session: Key,
        human: Said,
        ai: Said | Sequence[Said],
        *,
        turn_id: str | None = None,
        expect: int | None = None,
    ) -> Appended:
        """Save a turn, as ``save_context`` does."""
        return await self._ado(self._saving(session, schema.turn(human, ai, turn_id), expect))

    def save(self, session: Key, *messages: Said, turn_id: str | None = None, expect: int | None = None) -> Appended:
        """Save messages of any roles, all or none. Text is what a user said."""
        return self._do(self._saving(session, schema.saved(messages, turn_id), expect))

    async def asave(
        self, session: Key, *messages: Said, turn_id: str | None = None, expect: int | None = None
    ) -> Appended:
        """Save messages of any roles, all or none. Text is what a user said."""
        return await self._ado(self._saving(session, schema.saved(messages, turn_id), expect))

    def load_memory(self, session: Key, *, last: int | None = None) -> Remembered:
        """Return the conversation; every turn that was saved before is in it.

        Raises:
            CorruptError: A message is not one of a memory. A conversation that cannot be read is
                never an empty or a shorter one.
        """
        return self._do(self._loading(session, last))

    async def aload_memory(self, session: Key, *, last: int | None = None) -> Remembered:
        """Return the conversation, as ``load_memory`` does."""
        return await self._ado(self._loading(session, last))

    aload = aload_memory

    def clear(self, session: Key) -> None:
        """Remove all messages of a conversation. Turns that were saved before stay known by their ids."""
        self._do(self._clearing(session))

    async def aclear(self, session: Key) -> None:
        """Remove all messages of a conversation, as ``clear`` does."""
        await self._ado(self._clearing(session))

    def _do(self, steps: Steps[T]) -> T:
        return run(self._client, steps)

    async def _ado(self, steps: Steps[T]) -> T:
        return await arun(self._client.aio, steps)

    def _key(self, session: Key) -> bytes:
        return key_bytes(self._prefix.encode() + session if isinstance(session, bytes) else self._prefix + session)

    def _saving(self, session: Key, messages: Sequence[Payload], expect: int | None) -> Steps[Appended]:
        new_id = self._client.config.new_id
        append = requests.append(self._key(session), messages, new_id, expect=expect, ttl=self._ttl)
        return (yield from one(append))

    def _loading(self, session: Key, last: int | None) -> Steps[Remembered]:
        key = self._key(session)
        found = yield from reading.conversation(key, self._last if last is None else last)
        loaded = Remembered(schema.remembered(text(key), m) for m in found.messages)
        loaded.revision, loaded.ids = found.revision, [m.id for m in found.messages]
        return loaded

    def _clearing(self, session: Key) -> Steps[Committed]:
        # A transaction has an id, so it can be sent again, which a clear by itself cannot.
        return (yield from one(self._client.transaction().clear(self._key(session)).operation()))
