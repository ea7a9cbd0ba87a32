"""A connection of redis-py, with deadlines in place of its retries and timeouts."""

from __future__ import annotations

import contextlib
import inspect
import os
import select
import socket
import ssl
import time
from typing import Any

import redis.connection
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError
from redis.retry import Retry

from .config import Address, Config


def quiet(parameters: Any) -> dict[str, Any]:
    """Return the options that keep a connection of any supported redis-py from doing more
    than it is told: no retries, no pings, no report of its own name.
    """
    options = {"retry": Retry(NoBackoff(), 0), "health_check_interval": 0, "protocol": 3}
    if "driver_info" in parameters:
        return options | {"driver_info": None}
    return options | {"lib_name": None, "lib_version": None}


# How much of a request a node has to take before it is given up as one that stalls.
PART = 64 << 10

QUIET = quiet(inspect.signature(redis.connection.AbstractConnection.__init__).parameters)


def credentials(config: Config) -> dict[str, Any]:
    """Return the options that authenticate."""
    if not config.password:
        return {}
    return {"username": config.username or "default", "password": config.password}


class DeadlineSocket:
    """A socket on which every wait ends at the deadline, or when the peer stalls."""

    __slots__ = ("_plain", "_sock", "_timeout", "_waits")

    def __init__(self, sock: socket.socket, waits: Waits, *, plain: bool) -> None:
        self._sock = sock
        self._waits = waits
        self._timeout = sock.gettimeout()
        self._plain = plain and os.name == "posix"  # its bytes are those of the file descriptor

    def recv(self, size: int) -> bytes:
        """Receive up to size bytes."""
        self._bound()
        return self._sock.recv(size)

    def recv_into(self, buffer: Any) -> int:
        """Receive into a buffer."""
        self._bound()
        return self._sock.recv_into(buffer)

    def sendall(self, data: Any) -> None:
        """Send all of the data.

        What fits goes straight to the file descriptor, which does not block where there is a timeout. A
        socket would first ask whether there is room: another system call.
        """
        self._bound()
        sent = 0
        if self._plain and self._timeout is not None:
            with contextlib.suppress(BlockingIOError):
                sent = os.write(self._sock.fileno(), data)
        left = memoryview(data)[sent:]
        while left:  # a socket's own sendall would take the timeout for all of it
            self._bound()
            left = left[self._sock.send(left[:PART]) :]

    def _bound(self) -> None:
        """Set the timeout of the next wait, if it is another one: that is a system call, during which
        another thread may take the interpreter's lock.
        """
        timeout = self._waits.longest()
        if timeout != self._timeout:
            self._sock.settimeout(timeout)
            self._timeout = timeout

    def settimeout(self, _: float | None) -> None:
        """Ignore redis-py's own timeouts."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class Waits:
    """How long a connection may wait. Times are of ``time.monotonic``."""

    __slots__ = ("deadline", "stall")

    def __init__(self) -> None:
        self.deadline: float | None = None
        self.stall: float | None = None  # seconds without a byte; None: no limit

    def longest(self) -> float | None:
        """Return how long the next wait may take; raises TimeoutError at the deadline."""
        if self.deadline is None:
            return self.stall
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline has passed")
        return left if self.stall is None else min(left, self.stall)

    def passed(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline


class Connection(redis.connection.Connection):
    """A connection to a node, authenticated and in the client's namespace."""

    def __init__(self, address: Address, config: Config) -> None:
        host, port = address
        super().__init__(host=host, port=port, redis_connect_func=self._greet, **credentials(config), **QUIET)
        self.waits: Waits = Waits()
        self.idle_since: float = 0.0  # by time.monotonic
        self._config = config

    def _connect(self) -> Any:
        longest = self.waits.longest()
        self.socket_connect_timeout = longest
        sock = super()._connect()
        if self._config.tls is not None:
            sock.settimeout(self.waits.longest())
            sock = encrypted(sock, self._config.tls, self.host)
        return DeadlineSocket(sock, self.waits, plain=self._config.tls is None)

    def _greet(self, _: Any) -> None:
        """Agree on RESP3, authenticate, and select the namespace, which is confirmed before
        any other request is sent: a request must never run in another one.
        """
        self.on_connect()
        self.send_command("TURN.NS", self._config.namespace)
        self.read_response()

    def usable(self) -> bool:
        """Whether the idle connection is still open: an open one has nothing to read."""
        sock = self._sock
        return sock is not None and not readable(sock)

    def is_open(self) -> bool:
        """Whether redis-py has kept the connection, as it does after most error replies."""
        return self._sock is not None

    def exchange(self, request: tuple[Any, ...], traceparent: str | None = None) -> Any:
        """Send a request, as part of a trace if one is named, and return its reply.

        The connection is up to date: ``usable`` said so.
        """
        sock: Any = self._sock
        for chunk in self._packed(request, traceparent):
            sock.sendall(chunk)
        if traceparent is not None:
            # A node that does not know the command carries out the request all the same.
            with contextlib.suppress(ResponseError):
                self.read_response(disable_decoding=True)
        return self.read_response(disable_decoding=True)

    def _packed(self, request: tuple[Any, ...], traceparent: str | None) -> Any:
        if traceparent is None:
            return self.pack_command(*request)
        return self.pack_commands([("TURN.TRACE", traceparent), request])


def encrypted(sock: Any, tls: ssl.SSLContext, host: str) -> ssl.SSLSocket:
    """Encrypt a connected socket."""
    try:
        return tls.wrap_socket(sock, server_hostname=host)
    except BaseException:
        sock.close()
        raise


def readable(sock: Any) -> bool:
    """Whether there is something to read at once, the end included."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(sock.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([sock.fileno()], [], [], 0)[0])
