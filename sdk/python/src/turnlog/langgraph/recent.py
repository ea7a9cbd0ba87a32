"""A map that forgets."""

from __future__ import annotations

import collections
import threading
from typing import Generic, TypeVar

V = TypeVar("V")


class Recent(Generic[V]):
    """The entries that were set last. Threads may share it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: collections.OrderedDict[str, V] = collections.OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> V | None:
        """Return an entry, None if it was not set or is forgotten."""
        return self._entries.get(key)

    def set(self, key: str, value: V) -> None:
        """Set an entry."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            if len(self._entries) > self._limit:
                self._entries.popitem(last=False)
