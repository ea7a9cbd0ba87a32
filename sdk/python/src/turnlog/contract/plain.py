"""A store of a few functions."""

from __future__ import annotations

import inspect
from typing import Any

from .serving import Request, in_thread
from .wire import Wire, plain, text_of, wire_of

# What a store can do, by the method that does it.
METHODS = {
    "async": "aadd",
    "async load": "aload",
    "async clear": "aclear",
    "delete": "delete",
    "trim": "trim",
    "retention": "retain",
    "pop": "pop",
    "list": "sessions",
    "metadata": "load_with",
    "labels": "labelled",
    "corrupt": "corrupt",
    "conditions": "load_version",
}
# ... or by the parameter of a method.
PARAMETERS = {"expiry": ("add", "ttl"), "load last": ("load", "last")}


def parameters(method: Any) -> set[str]:
    """The names of a method's parameters."""
    return set(inspect.signature(method).parameters)


class Plain:
    """An object with ``add``, ``load`` and ``clear``, and what else it can do.

    ``turnlog.contract.Contract`` explains its methods. They may be coroutines.
    """

    def __init__(self, store: Any) -> None:
        self.store = store
        self.can: list[str] = [can for can, name in METHODS.items() if hasattr(store, name)]
        self.can += [can for can, (name, p) in PARAMETERS.items() if p in parameters(getattr(store, name))]
        self.can += list(getattr(store, "claims", ()))
        self.corrupt: Any = getattr(store, "corrupt", None)

    async def _call(self, request: Request, name: str, *args: Any, **options: Any) -> Any:
        method = getattr(self.store, "a" + name if request.get("async") else name)
        if "timeout_ms" in request and "timeout" in parameters(method):
            options["timeout"] = request["timeout_ms"] / 1000
        if inspect.iscoroutinefunction(method):
            return await method(*args, **options)
        return await in_thread(method, *args, **options)

    async def add(self, session: str, request: Request) -> None:
        """Add a turn."""
        options: dict[str, Any] = {}
        if "ttl_ms" in request:
            options["ttl"] = request["ttl_ms"] / 1000
        if "version" in request:
            options["version"] = request["version"]
        if "with_metadata" in request:
            options["metadata"] = request.get("metadata") or {}
            options["must_exist"] = request.get("must_exist", False)
        await self._call(request, "add", session, [plain(m) for m in request["turn"]], **options)

    async def load(self, session: str, request: Request) -> Wire:
        """Load all messages, or the newest; with a version if there are conditions."""
        if "last" in request:
            messages = await self._call(request, "load", session, last=request["last"])
        elif "with_metadata" in request:
            messages, metadata = await self._call(request, "load_with", session)
            return {"messages": wires(messages), "metadata": metadata}
        elif "conditions" in self.can and not request.get("async"):
            messages, version = await self._call(request, "load_version", session)
            return {"messages": wires(messages), "version": version}
        else:
            messages = await self._call(request, "load", session)
        return {"messages": wires(messages)}

    async def clear(self, session: str, request: Request) -> None:
        """Remove all messages."""
        await self._call(request, "clear", session)

    async def delete(self, session: str) -> None:
        """Delete the session."""
        await self._call({}, "delete", session)

    async def trim(self, session: str, keep: int) -> None:
        """Keep the newest messages."""
        await self._call({}, "trim", session, keep)

    async def retain(self, session: str, keep: int) -> None:
        """Have the session keep the newest messages by itself."""
        await self._call({}, "retain", session, keep)

    async def pop(self, session: str) -> Wire:
        """Remove the newest message."""
        popped = await self._call({}, "pop", session)
        return {"messages": wires([popped] if popped else [])}

    async def labelled(self, label: str, value: str) -> list[str]:
        """List the sessions with a label."""
        found: list[str] = await self._call({}, "labelled", label, value)
        return found

    async def list(self, prefix: str) -> list[str]:
        """List the sessions."""
        found: list[str] = await self._call({}, "sessions", prefix)
        return found


def wires(messages: list[Wire]) -> list[Wire]:
    """Return messages as the suite reads them."""
    return [wire_of(m["role"], text_of(m), m.get("tool_calls") or (), m.get("tool_call_id") or "") for m in messages]
