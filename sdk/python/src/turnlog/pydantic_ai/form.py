"""Records and entries as they are stored."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
from pydantic_ai.messages import ModelMessagesTypeAdapter

from ..errors import CorruptError
from ..message import Message, NewMessage

RECORD: TypeAdapter[ConversationRecord] = TypeAdapter(ConversationRecord)


def encoded_record(record: ConversationRecord) -> bytes:
    """Encode a record."""
    return RECORD.dump_json(record)


def decoded_record(message: Message) -> ConversationRecord:
    """Decode a record."""
    try:
        return RECORD.validate_json(message.data)
    except ValueError as e:
        raise CorruptError(f"message {message.seq} is no record of a conversation: {e}") from e


def encoded_entry(entry: ConversationEntry) -> NewMessage:
    """Encode an entry, whose id is that of its message."""
    header: dict[str, Any] = {"id": entry.id, "parent": entry.parent_id, "kind": entry.kind}
    message = ModelMessagesTypeAdapter.dump_json([entry.message])
    return NewMessage(json.dumps(header).encode() + b"\n" + message)


def decoded_entry(message: Message) -> ConversationEntry:
    """Decode an entry."""
    header, _, rest = message.data.partition(b"\n")
    try:
        told = json.loads(header)
        (held,) = ModelMessagesTypeAdapter.validate_json(rest)
        return ConversationEntry(id=told["id"], parent_id=told["parent"], message=held)
    except (ValueError, KeyError, TypeError) as e:
        raise CorruptError(f"message {message.seq} is no entry of a conversation: {e}") from e
