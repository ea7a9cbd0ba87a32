"""Finds the store that a command line or a test names."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from . import named
from .histories import Agents, LangChain
from .plain import Plain

PROBE = "turnlog-contract-probe"


class Opened:
    """A store, and what it says of itself."""

    def __init__(self, store: Any, *, shared: bool, has_ttl: bool, max_bytes: int = 0) -> None:
        self.store = store
        self.shared = shared
        self.max_bytes = max_bytes
        self.can: list[str] = [*store.can]
        if has_ttl and "expiry" not in self.can:
            self.can.append("expiry")
        if getattr(store, "corrupt", None) and "corrupt" not in self.can:
            self.can.append("corrupt")


def open_store(name: str) -> Opened:
    """Return the store MODULE:FUNCTION, or one that has a name here."""
    head, _, rest = name.partition(":")
    if head in named.STORES:
        store, corrupt, shared, has_ttl = named.STORES[head](rest)
        store.corrupt = corrupt
        return Opened(store, shared=shared, has_ttl=has_ttl)
    sys.path.insert(0, os.getcwd())
    module = importlib.import_module(head)
    found: Any = module
    for part in rest.split("."):
        found = getattr(found, part)
    names = list(inspect.signature(found).parameters.values()) if callable(found) else []
    if not names or names[0].default is not names[0].empty:  # a store of all sessions
        made = found() if callable(found) else found
        shared, limit = getattr(made, "shared", False), getattr(made, "max_bytes", 0)
        return Opened(Plain(made), shared=shared, has_ttl=False, max_bytes=limit)
    return _histories(found, has_ttl=len(names) > 1, corrupt=getattr(module, "corrupt", None))


def _histories(function: Callable[..., Any], *, has_ttl: bool, corrupt: Any) -> Opened:
    """A function from a session's key to what an application would use for it."""

    def factory(session: str, ttl: int | None) -> Any:
        return function(session, ttl) if has_ttl else function(session)

    store: Any = Agents(factory) if hasattr(factory(PROBE, None), "get_items") else LangChain(factory)
    store.corrupt = corrupt
    return Opened(store, shared=False, has_ttl=has_ttl)
