"""Messages of LangChain as turnlog keeps them: in the JSON form of LangChain's histories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages, message_to_dict, messages_from_dict

from ..errors import CorruptError
from ..message import Message, NewMessage, dump


def encode(messages: Sequence[BaseMessage], ids: Sequence[str]) -> list[NewMessage]:
    """Return messages to append."""
    return [NewMessage(dump(message_to_dict(m)), id_) for m, id_ in zip(messages, ids, strict=True)]


def decode(session: str, messages: Sequence[Message]) -> list[BaseMessage]:
    """Decode stored messages; raises CorruptError if one of them is not a message of LangChain."""
    return [_decode(session, message) for message in messages]


def _decode(session: str, message: Message) -> BaseMessage:
    found: Any = message.json()
    try:
        if "data" in found:
            (decoded,) = messages_from_dict([found])
        else:  # what other programs appended: a role and a content
            (decoded,) = convert_to_messages([found])
    except Exception as e:  # pydantic's, LangChain's own, and those of Python
        raise CorruptError(
            f"message {message.seq} of session {session!r} is not one of LangChain: {type(e).__name__}: {e}. "
            "The conversation was not loaded, and nothing was changed"
        ) from e
    return decoded
