"""What a message looks like: a role and a content, as most model APIs have them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Union

from ..errors import CorruptError, InvalidError
from ..message import Message, NewMessage, dump, new_message

# A message as it is saved: text, a mapping with a role and a content, or a payload with an id.
Said = Union[str, Mapping[str, Any], NewMessage]

UNREADABLE = (ValueError, TypeError, LookupError, AttributeError)
ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "HumanMessageChunk": "user"}


def turn(human: Said, ai: Said | Sequence[Said], turn_id: str | None) -> list[NewMessage]:
    """Return the messages of a turn: what the user said, and the answer with what led to it."""
    answers = [ai] if isinstance(ai, (str, Mapping, NewMessage)) else ai
    return _identified([_saying("user", human), *(_saying("assistant", each) for each in answers)], turn_id)


def saved(messages: Sequence[Said], turn_id: str | None) -> list[NewMessage]:
    """Return messages of any roles."""
    return _identified([_saying("user", each) for each in messages], turn_id)


def _saying(role: str, said: Said) -> NewMessage:
    if isinstance(said, str):
        return NewMessage(dump({"role": role, "content": said}))
    message = new_message(said)
    try:
        _decode(message.data)
    except UNREADABLE as e:
        raise InvalidError(f"a message has a role and a content: {type(e).__name__}: {e}; nothing was saved") from e
    return message


def _identified(messages: list[NewMessage], turn_id: str | None) -> list[NewMessage]:
    if turn_id is None:
        return messages
    return [m._replace(id=f"{turn_id}/{i}") for i, m in enumerate(messages)]


def remembered(session: str, message: Message) -> dict[str, Any]:
    """Decode a stored message; raises CorruptError if it is not one of a memory."""
    try:
        return _decode(message.data)
    except UNREADABLE as e:
        raise CorruptError(
            f"message {message.seq} of session {session!r} is not one of a memory: {type(e).__name__}: {e}. "
            "The conversation was not loaded, and nothing was changed"
        ) from e


def _decode(data: bytes) -> dict[str, Any]:
    found = json.loads(data)
    if "role" not in found:
        return _of_langchain(found["type"], found["data"])
    if not isinstance(found["role"], str) or not {"content", "tool_calls"} & found.keys():
        raise ValueError("there is no content")
    return dict(found)


def _of_langchain(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """Read the JSON form of LangChain's histories."""
    made: dict[str, Any] = {"role": data["role"] if kind == "chat" else ROLES.get(kind, kind)}
    made["content"] = data["content"]
    if data.get("tool_calls"):
        made["tool_calls"] = [_call(call) for call in data["tool_calls"]]
    if data.get("tool_call_id"):
        made["tool_call_id"] = data["tool_call_id"]
    return made


def _call(call: dict[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(call["args"], ensure_ascii=False, separators=(",", ":"))
    return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}}
