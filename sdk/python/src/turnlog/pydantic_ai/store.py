"""A store of conversations."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)

from ..aio.client import AsyncClient
from ..aio.settled import settled
from ..client import Client
from ..errors import ConflictError
from ..naming import family_key
from ..reading import conversation
from ..steps import arun
from .form import decoded_entry, decoded_record, encoded_entry, encoded_record

SHARED = "shared"  # in the metadata of entries: another conversation was forked from this one


class TurnlogConversationStore(ConversationStore):
    """Keeps conversations: each message once, also where conversations were forked.

    A save is one transaction, of the record and of the new entries. It takes place only if the
    conversation has not been saved since it was loaded, and raises ConversationConflict otherwise; it is
    sent again when its reply is lost. ``delete`` removes the entries too, unless another conversation was
    forked from this one.

    Args:
        client: Of a ``Client``, its ``aio`` is used.
        prefix: What all keys begin with.
    """

    def __init__(self, client: Client | AsyncClient, *, prefix: str = "pydantic-ai:") -> None:
        self._client = client.aio if isinstance(client, Client) else client
        self._prefix = prefix

    def _key(self, family: str, name: str) -> bytes:
        return family_key(self._prefix, family, name)

    def _holders(self, entry: str) -> bytes:
        """Return the hash that says in which conversations' entries some are, this one among them."""
        return self._key("holders", entry[-3:])

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation, None if there is none."""
        found = (await self._client.session(self._key("record", conversation_id)).last(1)).messages
        return decoded_record(found[0]) if found else None

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """Return the records of a scope, those saved last first. It reads all records."""
        records = []
        async for session in self._client.sessions(f"{self._prefix}record:"):
            found = (await self._client.session(session.key).last(1)).messages
            records += [decoded_record(message) for message in found]
        records = [record for record in records if scope is None or record.scope == scope]
        records.sort(key=lambda record: record.updated_at, reverse=True)
        return records[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record with its new entries, if the record there is the expected one."""
        id_ = record.conversation_id
        key, log = self._key("record", id_), self._key("entries", id_)
        at = await self._revision(id_, expected_revision)
        tx = self._client.transaction().if_revision(key, at)
        if record.head_id is not None and all(entry.id != record.head_id for entry in new_entries):
            holder = await self._holder(record.head_id)
            if holder is None:
                raise ConversationConflict(id_)
            shared = self._key("entries", holder)
            tx.if_exists(shared)
            if holder != id_:
                tx.set_metadata(shared, {SHARED: "yes"})
        if new_entries:
            tx.append(log, *map(encoded_entry, new_entries))
            for entry in new_entries:
                tx.set_fields(self._holders(entry.id), {entry.id: id_})
        tx.append(key, encoded_record(record)).trim(key, keep=1)
        try:
            await settled(tx.commit())
        except ConflictError as e:
            raise ConversationConflict(id_) from e

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete a record, and its entries unless another conversation was forked from them."""
        key, log = self._key("record", conversation_id), self._key("entries", conversation_id)
        at = await self._revision(conversation_id, expected_revision)
        entries = await self._client.session(log).read(last=1, metadata=True)
        tx = self._client.transaction().if_revision(key, at).if_revision(log, entries.revision).delete(key)
        if entries.revision and SHARED not in entries.metadata:
            names: dict[bytes, list[str]] = {}
            for entry in await self._entries(conversation_id):
                names.setdefault(self._holders(entry), []).append(entry)
            for holders, some in names.items():
                tx.remove_fields(holders, *some)
            tx.delete(log)
        try:
            await settled(tx.commit())
        except ConflictError as e:
            raise ConversationConflict(conversation_id) from e

    async def _revision(self, id_: str, expected: str | None) -> int:
        """Return the revision of turnlog that a record has; ConversationConflict if it is not the expected one."""
        found = await self._client.session(self._key("record", id_)).last(1)
        if (decoded_record(found.messages[0]).revision if found.messages else None) != expected:
            raise ConversationConflict(id_)
        return found.revision

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return an entry; raises KeyError if there is none."""
        (entry,) = await self.read_history(entry_id, limit=1)
        return entry

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Return the entries up to one, reading each conversation that they are shared with once."""
        history: list[ConversationEntry] = []
        known: dict[str, ConversationEntry] = {}
        at = head_id
        while at is not None and (limit is None or len(history) < limit):
            if at not in known:
                holder = await self._holder(at)
                known = await self._entries(holder) if holder is not None else {}
            entry = known[at]  # LookupError: deleted meanwhile
            history.append(entry)
            at = entry.parent_id
        return history[::-1]

    async def _holder(self, entry: str) -> str | None:
        found = await self._client.hash(self._holders(entry)).get(entry)
        return found[entry].decode() if found else None

    async def _entries(self, conversation_id: str) -> dict[str, ConversationEntry]:
        found = await arun(self._client, conversation(self._key("entries", conversation_id)))
        return {entry.id: entry for entry in map(decoded_entry, found.messages)}
