"""The items of a store: how they are kept, read and changed.

A namespace is a hash, with a field for each item. A session beside it, which has no messages, makes
namespaces found by what they begin with; every change of the hash changes it, too.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any
from urllib.parse import unquote

from langgraph.store.base import Item

from .. import requests
from ..clientbase import ClientBase
from ..errors import ConflictError, InvalidError, TooLargeError
from ..naming import escaped
from ..requests import key_bytes
from ..steps import Steps, one
from ..transaction import TransactionBase
from .fields import get_fields
from .frame import frame, unframe

NAMESPACES_PER_PAGE = 1000

Labels = tuple[str, ...]
Changes = Mapping[str, Mapping[str, Any] | None]  # by key, the new value; None: delete it


class Items:
    """The items of all namespaces under a prefix."""

    def __init__(self, client: ClientBase, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def namespaces(self, labels: Labels) -> Steps[list[Labels]]:
        """Return the namespaces that begin with labels, in order."""
        index, cursor = f"{self._prefix}index:", ""
        begin = index + "".join(f"{escaped(label)}:" for label in labels)
        found: list[Labels] = []
        while True:
            page = yield from one(requests.list_sessions(begin, cursor, NAMESPACES_PER_PAGE))
            keys = (session.key[len(index) : -1] for session in page.sessions)
            found += (tuple(unquote(label) for label in key.split(":")) for key in keys)
            cursor = page.cursor
            if not cursor:
                return sorted(found)

    def get(self, namespace: Labels, keys: Iterable[str]) -> Steps[dict[str, Item]]:
        """Read items, those that are there."""
        return decoded(namespace, (yield from get_fields(self._data(namespace), keys)))

    def all(self, namespace: Labels) -> Steps[dict[str, Item]]:
        """Read all items of a namespace."""
        data = self._data(namespace)
        try:
            fields = yield from one(requests.all_fields(data))
        except TooLargeError:  # for one reply
            cursor, fields = yield from one(requests.scan_fields(data, 0))
            while cursor:
                cursor, some = yield from one(requests.scan_fields(data, cursor))
                fields |= some
        return decoded(namespace, fields)

    def change(self, changes: Mapping[Labels, Changes]) -> Steps[None]:
        """Change items, all or none. A namespace goes with its last item."""
        try:
            yield from self._change(changes, emptying=True)
        except ConflictError:  # a namespace that this would have emptied has changed
            yield from self._change(changes, emptying=False)

    def _change(self, changes: Mapping[Labels, Changes], *, emptying: bool) -> Steps[None]:
        tx, now = TransactionBase(self._client, "", None), datetime.now(timezone.utc)
        touched, smaller = 0, []
        for namespace, values in changes.items():
            index, data = self._index(namespace), self._data(namespace)
            revision = (yield from one(requests.read(index, last=1))).revision
            there = yield from self.get(namespace, values)
            gone = [key for key, value in values.items() if value is None and key in there]
            fields = {key: encode(value, there.get(key), now) for key, value in values.items() if value is not None}
            touched += bool(gone or fields)
            if gone and not fields:
                if emptying and (yield from one(requests.count_fields(data))) == len(gone):
                    tx.if_revision(index, revision).delete(index).delete(data)
                    continue
                smaller.append(namespace)
            if gone:
                tx.remove_fields(data, *gone)
            if fields:
                tx.set_fields(data, fields)
            if gone or fields:
                tx.set_metadata(index, {"changed": tx.id})
        if touched:
            yield from one(tx.operation())
        for namespace in smaller:
            yield from self._forget_empty(namespace)

    def _forget_empty(self, namespace: Labels) -> Steps[None]:
        """Remove a namespace without items, which several have made smaller at once."""
        index = self._index(namespace)
        revision = (yield from one(requests.read(index, last=1))).revision
        if revision == 0 or (yield from one(requests.count_fields(self._data(namespace)))) > 0:
            return
        tx = TransactionBase(self._client, "", None).if_revision(index, revision).delete(index)
        with contextlib.suppress(ConflictError):  # it is in use again, or gone
            yield from one(tx.operation())

    def _index(self, namespace: Labels) -> bytes:
        return self._key("index", namespace)

    def _data(self, namespace: Labels) -> bytes:
        return self._key("data", namespace)

    def _key(self, family: str, namespace: Labels) -> bytes:
        return key_bytes(f"{self._prefix}{family}:" + "".join(f"{escaped(label)}:" for label in namespace))


def encode(value: Mapping[str, Any], before: Item | None, now: datetime) -> bytes:
    """Encode an item, which may replace another one."""
    created = before.created_at if before else now
    try:
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError) as e:
        raise InvalidError(f"the item is not JSON: {e}; nothing was changed") from e
    return frame({"created": created.isoformat(), "updated": now.isoformat()}, [data])


def decoded(namespace: Labels, fields: Mapping[str, bytes]) -> dict[str, Item]:
    """Read fields as items."""
    items = {}
    for key, data in fields.items():
        header, (value,) = unframe(data, f"the item {key!r}")
        items[key] = Item(
            value=json.loads(value.decode("utf-8", "surrogatepass")),
            key=key,
            namespace=namespace,
            created_at=datetime.fromisoformat(header["created"]),
            updated_at=datetime.fromisoformat(header["updated"]),
        )
    return items
