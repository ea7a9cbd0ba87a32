"""Which checkpoints a list contains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.base import SerializerProtocol

from ..clientbase import ClientBase
from ..steps import Found, Search, Steps
from .checkpoints import Checkpoints, Stored
from .place import checkpoint_id, configurable
from .thread import threads


class Listing:
    """A selection of checkpoints: those of a thread or of all, of each namespace the newest first."""

    def __init__(
        self,
        config: RunnableConfig | None,
        filter: Mapping[str, Any] | None,  # noqa: A002
        before: RunnableConfig | None,
        limit: int | None,
    ) -> None:
        given = configurable(config)
        thread = given.get("thread_id")
        self._thread = None if thread is None else str(thread)
        self._ns = given.get("checkpoint_ns")
        self._only = checkpoint_id(config)
        self._before = checkpoint_id(before)
        self._filter = dict(filter or {})
        self._left = limit

    def search(self, client: ClientBase, prefix: str, serde: SerializerProtocol) -> Search[tuple[Checkpoints, Stored]]:
        """Find them."""
        cursor: str | None = ""
        while cursor is not None and not self._full():
            found, following = yield from threads(client, prefix, self._thread, cursor)
            cursor = following or None
            for thread in found:
                if self._ns is None or self._ns == thread.ns:
                    yield from self._of(Checkpoints(thread, serde))

    def _of(self, at: Checkpoints) -> Search[tuple[Checkpoints, Stored]]:
        position: int | None = None
        more = True
        while more and not self._full():
            page, position = yield from self._page(at, position)
            more = position is not None
            for stored in page:
                if self._matches(stored) and not self._full():
                    self._left = None if self._left is None else self._left - 1
                    yield Found((at, stored))

    def _page(self, at: Checkpoints, position: int | None) -> Steps[tuple[list[Stored], int | None]]:
        if self._only is None:
            return (yield from at.page(position))
        return (yield from at.get([self._only])), None

    def _matches(self, stored: Stored) -> bool:
        if self._before is not None and stored.id >= self._before:
            return False
        metadata: Mapping[str, Any] = stored.metadata
        return all(name in metadata and metadata[name] == value for name, value in self._filter.items())

    def _full(self) -> bool:
        return self._left is not None and self._left <= 0
