"""The keys of a thread's namespace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from .. import requests
from ..clientbase import ClientBase
from ..message import NewMessage
from ..naming import escaped
from ..requests import key_bytes
from ..result import Appended
from ..steps import Steps, one
from ..transaction import TransactionBase
from .fields import get_fields

PAGE = 1000
FAMILIES = ("log", "data", "writes")


class Thread:
    """A namespace of a thread. A session, the log, holds the ids of its checkpoints in the order in
    which they were put; a hash holds the checkpoints; and the pending writes of each checkpoint are a
    session.
    """

    def __init__(self, client: ClientBase, prefix: str, id: str, ns: str) -> None:  # noqa: A002
        self.client = client
        self.id = id
        self.ns = ns
        self.log: bytes
        self.data: bytes
        self.log, self.data, self._writes = (key_bytes(f + escaped(ns)) for f in families(prefix, id))

    def place(self, checkpoint: str | None) -> str:
        """Name a checkpoint among those of all threads; None: the one that a first put follows."""
        return json.dumps([self.id, self.ns, checkpoint])

    def has(self, place: str) -> bool:
        """Whether that is the name of one of its checkpoints."""
        return place.startswith(self.place(None).removesuffix("null]"))

    def writes(self, checkpoint: str) -> bytes:
        """Return the key of a checkpoint's writes."""
        return key_bytes(self._writes + b":" + escaped(checkpoint).encode())

    @property
    def all_writes(self) -> bytes:
        """What the keys of all its checkpoints' writes begin with."""
        return self._writes + b":"

    def get(self, fields: Iterable[str]) -> Steps[dict[str, bytes]]:
        """Read fields of the hash, those that it has."""
        return (yield from get_fields(self.data, fields))

    def put(self, id: str, fields: Mapping[str, bytes], expect: int | None) -> Steps[int]:  # noqa: A002
        """Store a checkpoint's fields and make it the newest one, at once, if the log is still at
        that revision. Return the revision after it.
        """
        tx = self.transaction()
        if expect is not None:
            tx.if_revision(self.log, expect)
        tx.set_fields(self.data, fields).append(self.log, NewMessage(id.encode(), id))
        done = yield from one(tx.operation())
        appended = done.steps[1]
        if not isinstance(appended, Appended):
            raise TypeError("the second step of a put is an append")
        return appended.revision

    def transaction(self) -> TransactionBase[ClientBase]:
        """Begin a transaction; its operation is for the steps that want it."""
        return TransactionBase(self.client, "", None)


def families(prefix: str, id: str) -> tuple[str, ...]:  # noqa: A002
    """Return what the keys of a thread begin with: of its logs, of its checkpoints, of their writes."""
    return tuple(f"{prefix}{family}:{escaped(id)}:" for family in FAMILIES)


def threads(client: ClientBase, prefix: str, id: str | None, cursor: str) -> Steps[tuple[list[Thread], str]]:  # noqa: A002
    """Return namespaces of a thread, or with None of all threads, and the cursor of the next ones."""
    logs = f"{prefix}{FAMILIES[0]}:"
    which = logs if id is None else families(prefix, id)[0]
    page = yield from one(requests.list_sessions(which, cursor, PAGE))
    names = [session.key[len(logs) :].partition(":") for session in page.sessions]
    return [Thread(client, prefix, unquote(thread), unquote(ns)) for thread, _, ns in names], page.cursor
