"""A store: what agents remember beyond a thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchOp,
    validate_op_namespace,
)

from ..client import Client
from ..errors import InvalidError
from ..steps import Steps, arun, run
from .items import Items, Labels
from .query import common_labels, listed, selected


class TurnlogStore(BaseStore):
    """Keeps items, JSON objects under namespaces and keys, for threads and for asyncio.

    The puts and deletes of a ``batch`` take place all or none; its reads see what was there before
    them. A search reads all items under its namespace prefix, and ``query`` does not change what
    it finds: there is no search by meaning. Nor do items expire. Times are those of this machine.

    Args:
        client: Also makes the ``AsyncClient`` of the asynchronous calls.
        prefix: What all keys begin with.
    """

    def __init__(self, client: Client, *, prefix: str = "langgraph-store:") -> None:
        self._client = client
        self._items = Items(client, prefix)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: reads first, then all changes at once."""
        return run(self._client, self._batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: reads first, then all changes at once."""
        return await arun(self._client.aio, self._batch(list(ops)))

    def _batch(self, ops: list[Op]) -> Steps[list[Result]]:
        results: list[Result] = []
        changes: dict[Labels, dict[str, Mapping[str, Any] | None]] = {}
        for op in ops:
            validate(op)
        for op in ops:
            if isinstance(op, PutOp):
                changes.setdefault(tuple(op.namespace), {})[op.key] = op.value
                results.append(None)
            else:
                results.append((yield from self._read(op)))
        yield from self._items.change(changes)
        return results

    def _read(self, op: Op) -> Steps[Result]:
        if isinstance(op, GetOp):
            return (yield from self._items.get(tuple(op.namespace), [op.key])).get(op.key)
        if isinstance(op, SearchOp):
            found: list[Item] = []
            for namespace in (yield from self._items.namespaces(tuple(op.namespace_prefix))):
                found += (yield from self._items.all(namespace)).values()
            return selected(found, op)
        if isinstance(op, ListNamespacesOp):
            return listed((yield from self._items.namespaces(common_labels(op))), op)
        raise InvalidError(f"unknown operation {type(op).__name__}; nothing was changed")


def validate(op: Op) -> None:
    """Raise what ``put`` raises; a ``batch`` gets operations as they were made."""
    validate_op_namespace(op)
    if isinstance(op, PutOp):
        if not op.namespace:
            raise InvalidNamespaceError("the namespace of an item has no label")
        if op.ttl is not None:
            raise NotImplementedError("items do not expire: TurnlogStore has no ttl")
