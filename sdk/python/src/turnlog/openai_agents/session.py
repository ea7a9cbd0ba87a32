"""A session of a run."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from agents.items import TResponseInputItem
from agents.memory import SessionSettings
from agents.memory.session_settings import coerce_session_settings, resolve_session_limit

from ..aio.client import AsyncClient
from ..aio.session import AsyncSession
from ..aio.settled import settled
from ..client import Client
from ..errors import ConflictError, CorruptError, InvalidError, NotFoundError
from ..message import Message, NewMessage, dump
from ..reading import PAGE_BYTES, PAGE_MESSAGES, only_grew
from ..requests import Seconds
from .form import item_of
from .known import Known

READS = 100  # of a history that is rewritten while it is read
POPPED = {"$turnlog": {"popped": True}}  # a mark, which is no item to readers in Python and TypeScript


@dataclass(frozen=True, slots=True)
class Entry:
    """An item with the seq and the id of its message, and when it was committed."""

    seq: int
    id: str
    time: datetime
    item: TResponseInputItem


@dataclass(frozen=True, slots=True)
class Compaction:
    """What the SDK compacts: the newest items, and how to replace their end by what was made of it."""

    items: list[TResponseInputItem]
    complete: bool
    replace_suffix: Callable[[int, list[TResponseInputItem]], Awaitable[bool]]


class TurnlogSession:
    """A conversation as a session of turnlog, one message an item.

    ``add_items`` stores its items all or none, and once: it is sent again when its reply is lost. A
    write that has begun is awaited even when its caller is cancelled. The TypeScript package reads and
    writes the same conversations.

    Args:
        session_id: The conversation; it is the key of the turnlog session, after ``prefix``.
        client: Of a ``Client``, its ``aio`` is used.
        prefix: What the key begins with.
        ttl: Seconds after the last items after which the conversation is deleted; default: never.
        session_settings: Such as how many items a run reads.
    """

    def __init__(
        self,
        session_id: str,
        client: Client | AsyncClient,
        *,
        prefix: str = "",
        ttl: Seconds | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or SessionSettings())
        self._client = client.aio if isinstance(client, Client) else client
        self._main = prefix + session_id
        self._ttl = ttl
        self._known = Known()
        self._log.key  # noqa: B018 - a key that cannot be one is an error here

    @property
    def _log(self) -> AsyncSession:
        return self._client.session(self._main)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the newest items, all of them without a limit, in their order."""
        entries, _ = await self._read(self._log, resolve_session_limit(limit, self.session_settings))
        return [entry.item for entry in entries]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items at the end, all or none: at most 1,000, of 16 MiB, each of 8 MiB."""
        messages = [_message(item) for item in items]
        if messages:
            self._known.appended(await settled(self._log.append(*messages, ttl=self._ttl)))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the newest item, None if there is none.

        It takes place once, and no other worker gets the same item: the item is replaced by a mark, under
        an id by which the replacement is recognised when it is sent again, and only if the session is as it
        was read. Readers pass over marks, and the next pop removes them.
        """
        log = self._log
        for _ in range(READS):
            entries, _ = await self._read(log, 1)
            if not entries:
                return None
            revision = self._known.revision
            self._known.forget()
            try:
                await settled(log.replace(entries[0].seq, POPPED, expect=revision))
            except (ConflictError, NotFoundError):
                continue
            return entries[0].item
        raise ConflictError(f"session {log.key!r} changes faster than an item can be removed; nothing was removed")

    async def clear_session(self) -> None:
        """Remove all items. It is sent again safely when its reply is lost."""
        await settled(self._client.transaction().clear(self._log.key).commit())
        self._known.forget()

    async def _read(self, log: AsyncSession, limit: int | None) -> tuple[list[Entry], bool]:
        """Read the newest items, and tell whether they are all. Appends meanwhile do not matter."""
        if limit is not None and limit <= 0:
            return [], False
        for _ in range(READS):
            found = await self._read_once(log, limit)
            if found is not None:
                return found
        raise ConflictError(f"session {log.key!r} is rewritten faster than it can be read; nothing was changed")

    async def _read_once(self, log: AsyncSession, limit: int | None) -> tuple[list[Entry], bool] | None:
        count = PAGE_MESSAGES if limit is None else min(limit, PAGE_MESSAGES)
        page = first = await log.read(last=count, max_bytes=PAGE_BYTES)
        entries = _decoded(log, page.messages)
        while page.more and (limit is None or len(entries) < limit):
            page = await log.read(before=page.messages[0].seq, limit=count, max_bytes=PAGE_BYTES)
            if not only_grew(first, page):
                return None
            entries = _decoded(log, page.messages) + entries
        self._known.read(first)
        kept = entries if limit is None else entries[-limit:]
        return kept, not page.more and len(kept) == len(entries)

    async def _atomic_replace_items(self, items: list[TResponseInputItem]) -> bool:
        """Replace the history by what the SDK has made of it, unless another writer has changed it since.

        The SDK looks for this method when it compacts a history.
        """
        if not self._is_plain():
            return False
        messages = [_message(item) for item in items]
        revision = self._known.revision
        try:
            if messages:
                await settled(self._log.replace(1, *messages, expect=revision))
            else:
                tx = self._client.transaction().clear(self._log.key)
                await settled((tx if revision is None else tx.if_revision(self._log.key, revision)).commit())
        except NotFoundError:
            await settled(self._log.append(*messages, expect=0, ttl=self._ttl))
        finally:
            self._known.forget()
        return True

    async def _get_compaction_snapshot(self, limit: int, *, prune_prefix: Any = None) -> Compaction | None:
        """Read the newest items for a compaction. The SDK looks for this method, too."""
        if not self._is_plain():
            return None
        log = self._log
        entries, complete = await self._read(log, limit)
        revision = self._known.revision

        async def replace_suffix(start: int, output: list[TResponseInputItem]) -> bool:
            if not entries[start:]:
                return False
            self._known.forget()
            messages = [_message(item) for item in output]
            try:
                await settled(log.replace(entries[start].seq, *messages, expect=revision))
            except (ConflictError, NotFoundError):
                return False
            return True

        return Compaction([entry.item for entry in entries], complete, replace_suffix)

    def _is_plain(self) -> bool:
        """Whether items are stored as they are given: a subclass may encrypt them."""
        kind = type(self)
        return kind.get_items is TurnlogSession.get_items and kind.add_items is TurnlogSession.add_items

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._log.key!r})"


def _message(item: TResponseInputItem) -> NewMessage:
    try:
        return NewMessage(dump(item))
    except InvalidError as e:
        if isinstance(e.__cause__, TypeError):  # as the SDK's own sessions say it
            raise TypeError(e.message) from e
        raise


def _decoded(log: AsyncSession, messages: list[Message]) -> list[Entry]:
    """Return the items of messages. A message that is none must never look like an empty history."""
    entries = []
    for message in messages:
        try:
            stored = json.loads(message.data)
        except ValueError:
            stored = None
        if not isinstance(stored, dict):
            what = f"message {message.seq} of session {log.key!r} is no item: something else wrote it"
            raise CorruptError(what)
        item = item_of(stored)
        if item is not None:
            entries.append(Entry(message.seq, message.id, message.time, cast("TResponseInputItem", item)))
    return entries
