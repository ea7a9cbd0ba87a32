"""A node, with the connections to it of one event loop."""

from __future__ import annotations

import asyncio

from redis.exceptions import RedisError

from .. import failure
from ..config import Address, Config
from ..errors import OverloadedError
from ..node import closed_error
from ..router import Health
from .connection import AsyncConnection


class AsyncNode:
    """One address. Tasks take a connection each, the most recently used first."""

    def __init__(self, address: Address, config: Config, loop: asyncio.AbstractEventLoop) -> None:
        self.address: str = f"{address[0]}:{address[1]}"
        self.health: Health = Health()
        self.closed: bool = False
        self._where = address
        self._config = config
        self._loop = loop
        self._idle: list[AsyncConnection] = []
        self._free = asyncio.Semaphore(config.max_connections)

    async def take(self, deadline: float | None) -> AsyncConnection:
        """Return a connection that no other task uses, to be given back or dropped.

        Raises a TurnlogError after which nothing was sent.
        """
        if self.closed:
            raise closed_error()
        if self._free.locked():
            await self._wait_for_connection(deadline)
        else:
            await self._free.acquire()
        try:
            while self._idle:
                connection = self._idle.pop()
                if connection.usable():
                    return connection
                connection.abort()
            return await self.dial(deadline)
        except BaseException:
            self._free.release()
            raise

    async def _wait_for_connection(self, deadline: float | None) -> None:
        left = self._config.retry_for
        if deadline is not None:
            left = max(0.0, min(left, deadline - self._loop.time()))
        try:
            await asyncio.wait_for(self._free.acquire(), left)
        except asyncio.TimeoutError as e:
            raise OverloadedError(
                f"all {self._config.max_connections} connections to {self.address} are busy; not sent",
                timed_out=deadline is not None and self._loop.time() >= deadline,
            ) from e

    async def dial(self, deadline: float | None) -> AsyncConnection:
        """Open a connection that ``take`` does not count."""
        connection = AsyncConnection(self._where, self._config, self._loop)
        left = self._config.dial_timeout
        if deadline is not None:
            left = max(0.0, min(left, deadline - self._loop.time()))
        try:
            await asyncio.wait_for(connection.connect(), left)
        except (RedisError, OSError, asyncio.TimeoutError) as e:
            connection.abort()
            passed = deadline is not None and self._loop.time() >= deadline
            raise failure.unreachable(self.address, e, timed_out=passed) from e
        except BaseException:
            connection.abort()
            raise
        return connection

    def give_back(self, connection: AsyncConnection) -> None:
        """Return a connection that owes no reply."""
        if self.closed:
            connection.abort()
        else:
            self._idle.append(connection)
        self._free.release()

    def drop(self, connection: AsyncConnection) -> None:
        """Close a connection that was taken."""
        connection.abort()
        self._free.release()

    async def close(self) -> None:
        """Close the idle connections; those in use are closed when they are given back."""
        self.closed = True
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.disconnect()
