"""A node, with the connections to it."""

from __future__ import annotations

import collections
import threading
import time

from redis.exceptions import RedisError

from . import failure
from .config import Address, Config
from .connection import Connection
from .errors import InvalidError, OverloadedError, TurnlogError
from .router import Health

FRESH = 0.05  # seconds for which a connection that was used is taken to be open


class Node:
    """One address. Threads take a connection each, the most recently used first."""

    def __init__(self, address: Address, config: Config) -> None:
        self.address = f"{address[0]}:{address[1]}"
        self.health = Health()
        self.closed = False
        self._where = address
        self._config = config
        self.reset_after_fork()

    def reset_after_fork(self) -> None:
        """Begin without connections. Those of the parent are its own: the garbage collector
        closes this process's copies, which the peer does not notice.
        """
        self._idle: collections.deque[Connection] = collections.deque()
        self._free = threading.BoundedSemaphore(self._config.max_connections)

    def take(self, deadline: float | None, *, repeatable: bool = False) -> Connection:
        """Return a connection that no other thread uses, to be given back or dropped.

        A connection is first asked whether it is still open, which is a system call. What is repeatable
        does without if the connection was used just now. Raises a TurnlogError after which nothing was sent.
        """
        if self.closed:
            raise closed_error()
        if not self._free.acquire(blocking=False):
            self._wait_for_connection(deadline)
        try:
            while self._idle:
                try:
                    connection = self._idle.pop()
                except IndexError:  # another thread was faster
                    break
                if (repeatable and time.monotonic() - connection.idle_since < FRESH) or connection.usable():
                    return connection
                connection.disconnect()
            return self.dial(deadline)
        except BaseException:
            self._free.release()
            raise

    def _wait_for_connection(self, deadline: float | None) -> None:
        left = self._config.retry_for
        if deadline is not None:
            left = max(0.0, min(left, deadline - time.monotonic()))
        if not self._free.acquire(timeout=left):
            raise OverloadedError(
                f"all {self._config.max_connections} connections to {self.address} are busy; not sent",
                timed_out=deadline is not None and time.monotonic() >= deadline,
            )

    def dial(self, deadline: float | None) -> Connection:
        """Open a connection that ``take`` does not count."""
        connection = Connection(self._where, self._config)
        until = time.monotonic() + self._config.dial_timeout
        connection.waits.deadline = until if deadline is None else min(until, deadline)
        try:
            connection.connect()
        except (RedisError, OSError) as e:
            connection.disconnect()
            passed = deadline is not None and time.monotonic() >= deadline
            raise failure.unreachable(self.address, e, timed_out=passed) from e
        except BaseException:
            connection.disconnect()
            raise
        connection.waits.deadline = None
        return connection

    def give_back(self, connection: Connection) -> None:
        """Return a connection that owes no reply."""
        connection.idle_since = time.monotonic()
        self._idle.append(connection)
        self._free.release()
        if self.closed:
            self.close()

    def drop(self, connection: Connection) -> None:
        """Close a connection that was taken."""
        try:
            connection.disconnect()
        finally:
            self._free.release()

    def close(self) -> None:
        """Close the idle connections; those in use are closed when they are given back."""
        self.closed = True
        while self._idle:
            self._idle.pop().disconnect()


def closed_error() -> TurnlogError:
    """Return the error of calls after ``close``."""
    return InvalidError("the client is closed; nothing was sent")
