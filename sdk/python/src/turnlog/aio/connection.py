"""A connection of redis-py for asyncio, with deadlines in place of its retries and timeouts."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import redis.asyncio.connection
from redis.exceptions import ResponseError

from ..config import Address, Config
from ..connection import credentials, quiet

QUIET = quiet(inspect.signature(redis.asyncio.connection.AbstractConnection.__init__).parameters) | {
    "socket_timeout": None,
    "socket_connect_timeout": None,
}


class Watch:
    """Aborts a connection at the deadline, or when the peer stalls. Times are of the loop."""

    __slots__ = ("_abort", "_deadline", "_left", "_loop", "_progress", "_stall", "_timer", "_unsent", "expired")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._abort: Any = None
        self._unsent: Callable[[], int] = int
        self._left = -1  # bytes of the request that were unsent at the last look; -1: there was none
        self._deadline: float | None = None
        self._stall: float | None = None
        self._progress = 0.0
        self.expired: bool = False

    def start(self, abort: Any, unsent: Callable[[], int], deadline: float | None, stall: float | None) -> None:
        """Call abort at the deadline, or after so many seconds without a byte.

        While the peer takes what is unsent, it does not stall.
        """
        self._abort, self._unsent, self._deadline, self._stall = abort, unsent, deadline, stall
        self._left = -1
        self._progress = self._loop.time()
        self._arm()

    def _arm(self) -> None:
        at = self._deadline
        if self._stall is not None:
            stalled = self._progress + self._stall
            at = stalled if at is None else min(at, stalled)
        self._timer = None if at is None else self._loop.call_at(at, self._check)

    def _check(self) -> None:
        now = self._loop.time()
        if self._taken():
            self._progress = now
        if (self._deadline is not None and now >= self._deadline) or (
            self._stall is not None and now >= self._progress + self._stall
        ):
            self.expired = True
            self._abort()
        else:
            self._arm()

    def _taken(self) -> bool:
        """Whether bytes of the request have left since the last look, or may have, as this is the first one."""
        before, self._left = self._left, self._unsent()
        return self._left < before or (before < 0 and self._left > 0)

    def progress(self) -> None:
        """Note that bytes have come."""
        self._progress = self._loop.time()

    def stop(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class WatchedReader:
    """A stream reader that reports when bytes come."""

    def __init__(self, reader: asyncio.StreamReader, watch: Watch) -> None:
        self._reader = reader
        self._watch = watch

    async def read(self, n: int) -> bytes:
        """Read up to n bytes."""
        data = await self._reader.read(n)
        self._watch.progress()
        return data

    async def readexactly(self, n: int) -> bytes:
        """Read n bytes."""
        data = await self._reader.readexactly(n)
        self._watch.progress()
        return data

    async def readline(self) -> bytes:
        """Read a line."""
        data = await self._reader.readline()
        self._watch.progress()
        return data

    def at_eof(self) -> bool:
        """Whether the peer has closed."""
        return self._reader.at_eof()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


class AsyncConnection(redis.asyncio.connection.Connection):
    """A connection to a node, authenticated and in the client's namespace."""

    def __init__(self, address: Address, config: Config, loop: asyncio.AbstractEventLoop) -> None:
        host, port = address
        super().__init__(host=host, port=port, redis_connect_func=self._greet, **credentials(config), **QUIET)
        self.watch: Watch = Watch(loop)
        self._config = config

    def _connection_arguments(self) -> Mapping[str, Any]:
        arguments: dict[str, Any] = {"host": self.host, "port": self.port}
        if self._config.tls is not None:
            arguments |= {"ssl": self._config.tls, "server_hostname": self.host}
        return arguments

    async def _connect(self) -> None:
        await super()._connect()
        assert self._reader is not None  # noqa: S101
        self._reader = WatchedReader(self._reader, self.watch)  # type: ignore[assignment]

    async def _greet(self, _: Any) -> None:
        """Agree on RESP3, authenticate, and select the namespace, which is confirmed before
        any other request is sent: a request must never run in another one.
        """
        await self.on_connect()
        await self.send_command("TURN.NS", self._config.namespace)
        await self.read_response()

    def usable(self) -> bool:
        """Whether the idle connection is still open, as far as the event loop has seen."""
        reader, writer = self._reader, self._writer
        return reader is not None and writer is not None and not reader.at_eof() and not writer.is_closing()

    def is_open(self) -> bool:
        """Whether redis-py has kept the connection, as it does after most error replies."""
        return self._writer is not None

    def abort(self) -> None:
        """Close at once, without a word; what is being read fails."""
        writer, self._writer, self._reader = self._writer, None, None
        if writer is not None:
            writer.transport.abort()

    def cut(self) -> None:
        """Break the connection below redis-py, so that what waits for it fails."""
        if self._writer is not None:
            self._writer.transport.abort()

    def unsent(self) -> int:
        """Return how many bytes wait in this process to be sent."""
        return 0 if self._writer is None else self._writer.transport.get_write_buffer_size()

    async def exchange(
        self, request: tuple[Any, ...], traceparent: str | None, deadline: float | None, stall: float | None
    ) -> Any:
        """Send a request, as part of a trace if one is named, and return its reply.

        The deadline is in the loop's time.
        """
        self.watch.start(self.cut, self.unsent, deadline, stall)
        try:
            if traceparent is None:
                await self.send_command(*request)
            else:
                await self.send_packed_command(self.pack_commands([("TURN.TRACE", traceparent), request]))
                # A node that does not know the command carries out the request all the same.
                with contextlib.suppress(ResponseError):
                    await self.read_response(disable_decoding=True)
            return await self.read_response(disable_decoding=True)
        finally:
            self.watch.stop()
