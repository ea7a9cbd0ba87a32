"""Stores of LangChain's histories and of sessions of the OpenAI Agents SDK.

An object is made for each operation, as an application makes one for each request.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .outcome import Refused
from .serving import Request, in_thread
from .wire import Wire, compact, text_of, wire_of

Factory = Callable[[str, "int | None"], Any]  # session and ttl in seconds → history
Corrupt = Callable[[str], None]


def ttl_of(request: Request) -> int | None:
    """The time to live of an add, in seconds."""
    ttl = request.get("ttl_ms")
    return max(1, ttl // 1000) if ttl else None


class LangChain:
    """BaseChatMessageHistory objects."""

    can: tuple[str, ...] = ("async", "async load", "async clear")

    def __init__(self, history: Factory) -> None:
        self.history = history

    async def add(self, session: str, request: Request) -> None:
        """Add a turn by ``add_messages``."""
        messages = [self.message(m) for m in request["turn"]]
        history = self.history(session, ttl_of(request))
        if request.get("async"):
            await history.aadd_messages(messages)
        else:
            await in_thread(history.add_messages, messages)

    async def load(self, session: str, request: Request) -> Wire:
        """Load all messages."""
        history = self.history(session, None)
        if request.get("async"):
            messages = await history.aget_messages()
        else:
            messages = await in_thread(lambda: list(history.messages))
        return {"messages": [self.wire(m) for m in messages]}

    async def clear(self, session: str, request: Request) -> None:
        """Remove all messages."""
        history = self.history(session, None)
        if request.get("async"):
            await history.aclear()
        else:
            await in_thread(history.clear)

    @staticmethod
    def message(wire: Wire) -> Any:
        """Return a message of LangChain."""
        from langchain_core import messages as lc  # noqa: PLC0415  # the library under test

        text, more, role = text_of(wire), {"id": wire.get("id") or None}, wire.get("role")
        if role == "user":
            return lc.HumanMessage(text, **more)
        if role == "system":
            return lc.SystemMessage(text, **more)
        if role == "tool":
            return lc.ToolMessage(text, tool_call_id=wire["tool_call_id"], **more)
        if role != "assistant":
            raise Refused(f"no message of role {role!r}")
        calls = [
            {"id": c["id"], "name": c["name"], "args": json.loads(c["arguments"])} for c in wire.get("tool_calls", ())
        ]
        return lc.AIMessage(text, tool_calls=calls, **more)

    @staticmethod
    def wire(m: Any) -> Wire:
        """Return a message as the suite reads it."""
        role = {"human": "user", "ai": "assistant"}.get(m.type, m.type)
        calls = [
            {"id": c["id"] or "", "name": c["name"], "arguments": compact(c["args"])}
            for c in getattr(m, "tool_calls", None) or ()
        ]
        text = m.content if isinstance(m.content, str) else compact(m.content)
        return wire_of(role, text, calls, getattr(m, "tool_call_id", ""))


class Agents:
    """Session objects of the OpenAI Agents SDK. All that they do is asynchronous."""

    can: tuple[str, ...] = ("async", "async load", "async clear", "pop", "load last")

    def __init__(self, session: Factory) -> None:
        self.session = session

    async def add(self, session: str, request: Request) -> None:
        """Add the items of a turn."""
        items = [item for m in request["turn"] for item in self.items(m)]
        await self.session(session, ttl_of(request)).add_items(items)

    async def load(self, session: str, request: Request) -> Wire:
        """Load all items, or the newest."""
        return {"messages": self.wires(await self.session(session, None).get_items(limit=request.get("last")))}

    async def pop(self, session: str) -> Wire:
        """Remove the newest item."""
        item = await self.session(session, None).pop_item()
        return {"messages": self.wires([item] if item else [])}

    async def clear(self, session: str, _: Request) -> None:
        """Remove all items."""
        await self.session(session, None).clear_session()

    @staticmethod
    def items(wire: Wire) -> list[Wire]:
        """A message is one item, but each call that it makes is a further one."""
        text = text_of(wire)
        if wire.get("role") == "tool":
            return [{"type": "function_call_output", "call_id": wire["tool_call_id"], "output": text}]
        calls = wire.get("tool_calls", [])
        items = [{"role": wire["role"], "content": text}] if text or not calls else []
        return items + [
            {"type": "function_call", "call_id": c["id"], "name": c["name"], "arguments": c["arguments"]} for c in calls
        ]

    @staticmethod
    def wires(items: list[Wire]) -> list[Wire]:
        """Return the messages that items make up."""
        out: list[Wire] = []
        for i in items:
            kind = i.get("type", "message")
            if kind == "function_call_output":
                out.append(wire_of("tool", i["output"], tool_call_id=i["call_id"]))
            elif kind == "function_call":
                call = {"id": i["call_id"], "name": i["name"], "arguments": i["arguments"]}
                if not out or out[-1]["role"] != "assistant":
                    out.append(wire_of("assistant", ""))
                out[-1].setdefault("tool_calls", []).append(call)
            else:
                out.append(wire_of(i["role"], i["content"]))
        return out
