"""A node, with the connections to it."""

from __future__ import annotations

import collections
import contextlib
import time

from redis.exceptions import RedisError

from . import failure
from .config import Address, Config
from .connection import Connection
from .errors import InvalidError, OverloadedError, TurnlogError
from .router import Health
from .slots import Slot, Slots

FRESH = 0.05  # seconds for which a connection that was used is taken to be open


class Node:
    """One address. Threads take a connection each, the most recently used first."""

    def __init__(self, address: Address, config: Config) -> None:
        self.address: str = f"{address[0]}:{address[1]}"
        self.health: Health = Health()
        self.closed: bool = False
        self._where = address
        self._config = config
        self.reset_after_fork()

    def reset_after_fork(self) -> None:
        """Begin without connections. Those of the parent are its own: the garbage collector
        closes this process's copies, which the peer does not notice.
        """
        self._idle: collections.deque[Connection] = collections.deque()
        self.slots: Slots = Slots(self._config.max_connections)

    def take(self, slot: Slot, deadline: float | None, *, repeatable: bool = False) -> Connection:
        """Return a connection that no other thread uses, for a slot that is to be given back in any case.

        A connection is first asked whether it is still open, which is a system call. What is repeatable
        does without if the connection was used just now. Raises a TurnlogError after which nothing was sent.
        """
        if self.closed:
            raise closed_error()
        if not self.slots.take(slot, self._patience(deadline)):
            raise OverloadedError(
                f"all {self._config.max_connections} connections to {self.address} are busy; not sent",
                timed_out=deadline is not None and time.monotonic() >= deadline,
            )
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if (repeatable and time.monotonic() - connection.idle_since < FRESH) or connection.usable():
                return connection
            connection.disconnect()
        return self.dial(deadline)

    def _patience(self, deadline: float | None) -> float:
        if deadline is None:
            return self._config.retry_for
        return max(0.0, min(self._config.retry_for, deadline - time.monotonic()))

    def dial(self, deadline: float | None) -> Connection:
        """Open a connection that no slot counts."""
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

    def keep(self, connection: Connection) -> None:
        """Keep a connection that owes no reply for the next call, until which nothing else may touch it."""
        connection.idle_since = time.monotonic()
        self._idle.append(connection)
        if self.closed:
            self.close()

    def close(self) -> None:
        """Close the idle connections; those in use are closed when they are kept."""
        self.closed = True
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().disconnect()


def closed_error() -> TurnlogError:
    """Return the error of calls after ``close``."""
    return InvalidError("the client is closed; nothing was sent")
