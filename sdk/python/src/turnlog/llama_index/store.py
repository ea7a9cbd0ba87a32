"""A store of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.storage.chat_store.base import BaseChatStore

from .. import requests
from ..client import Client
from ..decode import text
from ..errors import ConflictError, CorruptError, InvalidError, NotFoundError, UnknownOutcomeError
from ..message import Message, NewMessage
from ..reading import conversation
from ..requests import Seconds, key_bytes
from ..steps import Steps, arun, one, run

ATTEMPTS = 100  # to change a conversation that others change


class TurnlogChatStore(BaseChatStore):
    """Keeps each conversation as a session of turnlog, for threads and for asyncio.

    Each call takes place whole and once: it is sent again when its reply is lost.

    Args:
        client: Also makes the ``AsyncClient`` of the asynchronous calls.
        prefix: What the sessions' keys begin with.
        ttl: A conversation is deleted so many seconds after its last message; None: never.
    """

    _client: Client = PrivateAttr()
    _prefix: str = PrivateAttr()
    _ttl: Seconds | None = PrivateAttr()

    def __init__(self, client: Client, *, prefix: str = "llama-index:", ttl: Seconds | None = None) -> None:
        super().__init__()
        self._client, self._prefix, self._ttl = client, prefix, ttl

    @classmethod
    def class_name(cls) -> str:
        """Return the class's name."""
        return "TurnlogChatStore"

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Make these the messages of a conversation, at once. What it begins with already is not sent."""
        run(self._client, self._set(key, messages))

    async def aset_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Do what ``set_messages`` does."""
        await arun(self._client.aio, self._set(key, messages))

    def get_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages, oldest first; raises CorruptError if one of them cannot be decoded."""
        return run(self._client, self._get(key))

    async def aget_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages, as ``get_messages`` does."""
        return await arun(self._client.aio, self._get(key))

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Add a message at the end."""
        self.add_messages(key, [message])

    async def async_add_message(self, key: str, message: ChatMessage) -> None:
        """Add a message at the end."""
        await self.aadd_messages(key, [message])

    def add_messages(self, key: str, messages: Sequence[ChatMessage], *, turn_id: str | None = None) -> None:
        """Add the messages of a turn, next to each other: all of them, or none.

        Under a ``turn_id``, such as the id of a request, a turn that is added again is there once.
        """
        run(self._client, self._add(key, messages, turn_id))

    async def aadd_messages(self, key: str, messages: Sequence[ChatMessage], *, turn_id: str | None = None) -> None:
        """Add the messages of a turn, as ``add_messages`` does."""
        await arun(self._client.aio, self._add(key, messages, turn_id))

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Delete a conversation and return what it was; None if there was none."""
        return run(self._client, self._delete(key))

    async def adelete_messages(self, key: str) -> list[ChatMessage] | None:
        """Delete a conversation, as ``delete_messages`` does."""
        return await arun(self._client.aio, self._delete(key))

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message at an index and return it; None if there is none."""
        return run(self._client, self._remove(key, idx))

    async def adelete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message at an index, as ``delete_message`` does."""
        return await arun(self._client.aio, self._remove(key, idx))

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Delete the newest message and return it; None if there is none."""
        return self.delete_message(key, -1)

    async def adelete_last_message(self, key: str) -> ChatMessage | None:
        """Delete the newest message and return it; None if there is none."""
        return await self.adelete_message(key, -1)

    def get_keys(self) -> list[str]:
        """Return the keys of all conversations that have messages."""
        return [self._name(found.key) for found in self._client.sessions(self._prefix) if found.count]

    async def aget_keys(self) -> list[str]:
        """Return the keys of all conversations that have messages."""
        return [self._name(found.key) async for found in self._client.aio.sessions(self._prefix) if found.count]

    def _name(self, key: str) -> str:
        return key.removeprefix(self._prefix)

    def _key(self, key: str) -> bytes:
        return key_bytes(self._prefix + key)

    def _get(self, key: str) -> Steps[list[ChatMessage]]:
        found = yield from conversation(self._key(key))
        return _decoded(self._key(key), found.messages)

    def _add(self, key: str, messages: Sequence[ChatMessage], turn_id: str | None) -> Steps[None]:
        if messages:
            ids = ["" if turn_id is None else f"{turn_id}/{i}" for i in range(len(messages))]
            new = [NewMessage(_encoded(message), id_) for message, id_ in zip(messages, ids, strict=True)]
            yield from one(requests.append(self._key(key), new, self._client.config.new_id, ttl=self._ttl))

    def _set(self, key: str, messages: Sequence[ChatMessage]) -> Steps[None]:
        wanted, name, new_id = [_encoded(message) for message in messages], self._key(key), self._client.config.new_id
        for _ in range(ATTEMPTS):
            found = yield from conversation(name)
            held = [message.data for message in found.messages]
            same = next((i for i, pair in enumerate(zip(held, wanted, strict=False)) if pair[0] != pair[1]), None)
            same = min(len(held), len(wanted)) if same is None else same
            new = wanted[same:]
            try:
                if same == len(held):
                    if new:
                        yield from one(requests.append(name, new, new_id, expect=found.revision, ttl=self._ttl))
                elif new:
                    yield from one(requests.replace(name, found.messages[same].seq, new, new_id, found.revision))
                elif same == 0:
                    tx = self._client.transaction().clear(name).if_revision(name, found.revision)
                    yield from one(tx.operation())
                else:  # the last of those that stay is stored again, since its id makes the call known
                    again, seq = [wanted[-1]], found.messages[same - 1].seq
                    yield from one(requests.replace(name, seq, again, new_id, found.revision))
            except (ConflictError, NotFoundError):
                continue
            return
        raise _too_busy(name)

    def _delete(self, key: str) -> Steps[list[ChatMessage] | None]:
        name = self._key(key)
        for _ in range(ATTEMPTS):
            found = yield from conversation(name)
            if not found.revision:
                return None
            tx = self._client.transaction().delete(name).if_revision(name, found.revision)
            try:
                yield from one(tx.operation())
            except ConflictError:
                continue
            return _decoded(name, found.messages)
        raise _too_busy(name)

    def _remove(self, key: str, idx: int) -> Steps[ChatMessage | None]:
        """Remove the message at an index. If the reply is lost, what is read next says whether it is gone."""
        name, sent = self._key(key), None
        for _ in range(ATTEMPTS):
            found = yield from conversation(name)
            if sent is not None and sent not in found.messages:
                return _decoded(name, [sent])[0]
            if sent is None and not -len(found.messages) <= idx < len(found.messages):
                return None
            message = sent or found.messages[idx]
            try:
                yield from one(requests.remove(name, message.seq, None, found.revision))
            except UnknownOutcomeError:
                sent = message
                continue
            except (ConflictError, NotFoundError):
                continue
            return _decoded(name, [message])[0]
        raise _too_busy(name)


def _too_busy(key: bytes) -> ConflictError:
    return ConflictError(f"session {text(key)!r} is changed faster than it can be read; nothing was changed")


def _encoded(message: ChatMessage) -> bytes:
    try:
        return message.model_dump_json().encode()
    except (TypeError, ValueError) as e:
        raise InvalidError(f"the message is not JSON: {e}; nothing was sent") from e


def _decoded(key: bytes, messages: Sequence[Message]) -> list[ChatMessage]:
    """Return messages of LlamaIndex. What is none must never look like an empty history."""
    decoded: list[Any] = []
    for message in messages:
        try:
            decoded.append(ChatMessage.model_validate_json(message.data))
        except ValueError as e:
            what = f"message {message.seq} of session {text(key)!r} is not one of LlamaIndex: {e}"
            raise CorruptError(f"{what}. The conversation was not loaded, and nothing was changed") from e
    return decoded
