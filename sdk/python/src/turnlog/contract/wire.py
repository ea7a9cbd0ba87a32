"""Messages as the suite sends and reads them; docs/contract.md describes its lines of JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

from .outcome import Refused

Wire = dict[str, Any]


def text_of(wire: Wire, field: str = "content") -> str:
    """Return a text from the suite. Those that are not UTF-8 may be lone surrogates, but no other bytes."""
    encoded = wire.get(f"{field}_base64")
    if encoded is None:
        return str(wire.get(field) or "")
    try:
        return base64.b64decode(encoded).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as e:
        raise Refused(f"a Python string cannot hold these bytes: {e}") from e


def plain(wire: Wire) -> Wire:
    """Return a message from the suite with its content as text."""
    return {name: value for name, value in wire.items() if name != "content_base64"} | {"content": text_of(wire)}


def wire_of(role: str, content: str, tool_calls: Iterable[Wire] = (), tool_call_id: str = "") -> Wire:
    """Return a message as the suite reads it."""
    wire: Wire = {"role": role, "content": content}
    try:
        content.encode()
    except UnicodeEncodeError:
        wire["content"] = ""
        wire["content_base64"] = base64.b64encode(content.encode("utf-8", "surrogatepass")).decode()
    if tool_calls:
        wire["tool_calls"] = list(tool_calls)
    if tool_call_id:
        wire["tool_call_id"] = tool_call_id
    return wire


def compact(value: Any) -> str:
    """Encode as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
