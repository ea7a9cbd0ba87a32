"""A hash, for asyncio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .. import requests
from ..handle import Handle
from ..hash import fields_changed
from ..requests import Value
from .transaction import AsyncTransaction

if TYPE_CHECKING:
    from .client import AsyncClient  # noqa: F401


class AsyncHash(Handle["AsyncClient"]):
    """The hash of one key: named fields of up to 8 MiB each, for state beside messages that is
    more than metadata may be. A transaction changes hashes and sessions at once.
    """

    __slots__ = ()

    async def set(self, fields: Mapping[str, Value]) -> int:
        """Set fields, creating the hash if needed; return how many are new.

        Like any transaction, it is sent again safely when its reply is lost.
        """
        transaction = AsyncTransaction(self._client, "", self._timeout).set_fields(self._key, fields)
        return fields_changed(await transaction.commit())

    async def remove(self, *names: str) -> int:
        """Remove fields; return how many there were. A hash without fields does not exist."""
        transaction = AsyncTransaction(self._client, "", self._timeout).remove_fields(self._key, *names)
        return fields_changed(await transaction.commit())

    async def get(self, *names: str) -> dict[str, bytes]:
        """Return those of the fields that exist."""
        return await self._client.run(requests.get_fields(self._key, names), self._timeout)

    async def all(self) -> dict[str, bytes]:
        """Return all fields, none if there is no such hash; more than 64 MiB is TooLargeError."""
        return await self._client.run(requests.all_fields(self._key), self._timeout)
