"""A conversation of LangChain."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from .. import reading, requests
from ..client import Client
from ..decode import text
from ..requests import Seconds, key_bytes
from ..steps import Steps, arun, one, run
from . import codec


class TurnlogChatMessageHistory(BaseChatMessageHistory):
    """A conversation as a session of turnlog.

    The messages of one ``add_messages`` are a turn: one atomic append, next to each other and once, or
    not at all. Make a history for each request; it costs nothing.

    Args:
        session_id: The conversation.
        client: Also makes the ``AsyncClient`` of the asynchronous calls.
        key_prefix: What the session's key begins with. The default is that of the published
            ``RedisChatMessageHistory``, whose conversations go on as they are.
        last: How many of the newest messages are read; None: all. A tool's result is never read
            without its call.
        ttl: The conversation is deleted so many seconds after its last turn; None: never.
        turn_id: Identifies what this history adds, such as the id of the request, in up to 56
            bytes. Added again under it, after a crash for instance, a turn is there once; other
            messages under it are an IDReusedError.
        message_ids: Whether messages are known by their own ``id`` if they have one. Models that
            cache or repeat an answer give it the same id, which is then a ConflictError.
        conditional: Whether adding is a ConflictError if others changed the conversation since this
            history last read or changed it. Otherwise all turns are kept, as they arrive.
        expect: The ``revision`` of an earlier history, such as that of the request which showed the
            conversation to its user; this one is conditional, and begins there.
    """

    def __init__(
        self,
        session_id: str,
        client: Client,
        *,
        key_prefix: str = "message_store:",
        last: int | None = None,
        ttl: Seconds | None = None,
        turn_id: str | None = None,
        message_ids: bool = False,
        conditional: bool = False,
        expect: int | None = None,
    ) -> None:
        self._client = client
        self._key = key_bytes(key_prefix + session_id)
        self._last = last
        self._ttl = ttl
        self._turn_id = turn_id
        self._message_ids = message_ids
        self._conditional = conditional or expect is not None
        self._lock = threading.Lock()
        self._added = 0  # messages, under the turn's id
        self._revision = expect  # as it was last read or changed

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # an attribute there
        """The messages, oldest first; raises CorruptError if one of them cannot be decoded."""
        return run(self._client, self._read())

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the messages, oldest first; raises CorruptError if one of them cannot be decoded."""
        return await arun(self._client.aio, self._read())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add the messages of a turn: all of them, or none.

        Raises:
            ConflictError: ``conditional``, and the conversation has changed.
            UnknownOutcomeError: No node answered in time. Under a ``turn_id`` it is safe to add
                them again.
        """
        run(self._client, self._add(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add the messages of a turn, as ``add_messages`` does."""
        await arun(self._client.aio, self._add(messages))

    def clear(self) -> None:
        """Remove all messages. Turns that were added before stay known by their ids."""
        run(self._client, self._clear())

    async def aclear(self) -> None:
        """Remove all messages, as ``clear`` does."""
        await arun(self._client.aio, self._clear())

    @property
    def revision(self) -> int | None:
        """The revision of the conversation when this history last read or changed it; None: it did not."""
        with self._lock:
            return self._revision

    def _read(self) -> Steps[list[BaseMessage]]:
        found = yield from reading.conversation(self._key, self._last)
        decoded = codec.decode(text(self._key), found.messages)
        self._saw(found.revision)
        return decoded

    def _add(self, messages: Sequence[BaseMessage]) -> Steps[None]:
        if not messages:
            return
        new = codec.encode(messages, self._ids(messages))
        append = requests.append(self._key, new, self._client.config.new_id, expect=self._expected(), ttl=self._ttl)
        done = yield from one(append)
        self._saw(done.revision, len(messages))

    def _clear(self) -> Steps[None]:
        # A transaction has an id, so it can be sent again, which a clear by itself cannot.
        transaction = self._client.transaction().clear(self._key)
        expected = self._expected()
        if expected is not None:
            transaction.if_revision(self._key, expected)
        done = yield from one(transaction.operation())
        self._saw(done.revision)

    def _ids(self, messages: Sequence[BaseMessage]) -> list[str]:
        """The ids of messages to add; those that have none get a random one."""
        if self._turn_id is None:
            return [(self._message_ids and m.id) or "" for m in messages]
        with self._lock:
            return [f"{self._turn_id}/{self._added + i}" for i in range(len(messages))]

    def _expected(self) -> int | None:
        with self._lock:
            return self._revision if self._conditional else None

    def _saw(self, revision: int, added: int = 0) -> None:
        with self._lock:
            self._revision = revision
            self._added += added
