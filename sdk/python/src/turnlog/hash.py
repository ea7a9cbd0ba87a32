"""A hash, for threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from . import requests
from .handle import Handle
from .requests import Value
from .result import Committed
from .transaction import Transaction

if TYPE_CHECKING:
    from .client import Client  # noqa: F401


class Hash(Handle["Client"]):
    """The hash of one key: named fields of up to 8 MiB each, for state beside messages that is
    more than metadata may be. A transaction changes hashes and sessions at once.
    """

    __slots__ = ()

    def set(self, fields: Mapping[str, Value]) -> int:
        """Set fields, creating the hash if needed; return how many are new.

        Like any transaction, it is sent again safely when its reply is lost.
        """
        transaction = Transaction(self._client, "", self._timeout).set_fields(self._key, fields)
        return fields_changed(transaction.commit())

    def remove(self, *names: str) -> int:
        """Remove fields; return how many there were. A hash without fields does not exist."""
        transaction = Transaction(self._client, "", self._timeout).remove_fields(self._key, *names)
        return fields_changed(transaction.commit())

    def get(self, *names: str) -> dict[str, bytes]:
        """Return those of the fields that exist."""
        return self._client.run(requests.get_fields(self._key, names), self._timeout)

    def all(self) -> dict[str, bytes]:
        """Return all fields, none if there is no such hash; more than 64 MiB is TooLargeError."""
        return self._client.run(requests.all_fields(self._key), self._timeout)


def fields_changed(done: Committed) -> int:
    """Return what the only step of a transaction changed."""
    (changed,) = done.steps
    return cast("int", changed)
