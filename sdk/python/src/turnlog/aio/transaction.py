"""A transaction, for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..result import Committed
from ..transaction import TransactionBase

if TYPE_CHECKING:
    from .client import AsyncClient  # noqa: F401


class AsyncTransaction(TransactionBase["AsyncClient"]):
    """A transaction, for asyncio."""

    __slots__ = ()

    async def commit(self) -> Committed:
        """Carry the transaction out.

        When it returns, all of it is on the disks of a majority. Called again, such as after
        UnknownOutcomeError, it sends the same id.

        Raises:
            ConflictError: A condition does not hold; ``condition`` says which, from 1.
            IDReusedError: Another transaction over the same keys took place under this id. One over
                other keys is not the same, and takes place.
            UnknownOutcomeError: No reply came within ``timeout`` or ``retry_for``.
            TurnlogError: A step cannot take place; ``step`` says which, from 1.
        """
        return await self._client.run(self.operation(), self._timeout)
