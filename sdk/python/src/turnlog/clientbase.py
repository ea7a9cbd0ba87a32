"""What the clients for threads and for asyncio share: how they are made."""

from __future__ import annotations

import dataclasses
import ssl
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from . import failure, requests
from .config import DEFAULT_ADDRESS, Config, parse
from .operation import Operation, T

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

C = TypeVar("C", bound="ClientBase")


class ClientBase:
    """Holds the configuration."""

    def __init__(
        self,
        addresses: str | Sequence[str] = DEFAULT_ADDRESS,
        *,
        namespace: str | None = None,
        username: str | None = None,
        password: str | None = None,
        tls: ssl.SSLContext | None = None,
        timeout: float | None = None,
        retry_for: float = 15,
        stall_timeout: float = 8,
        dial_timeout: float = 2,
        max_connections: int = 64,
        tracer: Tracer | None = None,
        traceparent: Callable[[], str | None] | None = None,
        new_id: Callable[[], str] = requests.random_id,
    ) -> None:
        """Make a client; it connects when it is first used.

        Args:
            addresses: Nodes as ``"host:port"``, several separated by commas or in a sequence; or a
                URL, ``turnlog://user:password@host:port,host:port/namespace``. ``turnlogs://``
                encrypts, and trusts the authorities in ``?ca=FILE`` or those of the system.
            namespace: The keyspace of all sessions; default ``"0"``, which is Redis's database 0.
            username: The user; a password alone is that of the user ``default``.
            password: What the user proves.
            tls: Encrypts each connection; ``ssl.create_default_context(cafile=...)``, with a
                client certificate if nodes require one.
            timeout: Seconds that a call may take, all its attempts included; default: no deadline.
                ``Session.with_timeout`` sets another one. Looking up a host's address is not
                bounded, which is up to the system's resolver.
            retry_for: Seconds for which a failing call is tried again, counted from its start;
                0: no second attempt; 300 at most, since transactions are known by their ids for
                twice that. It must exceed an election, about 2.5 s, to hide one.
            stall_timeout: Seconds without a byte, of a reply or taken of a request, after which a node that
                owes a reply is given up.
            dial_timeout: Seconds that connecting and the handshake may take.
            max_connections: Connections to one node; calls beyond it wait. Tails have their own.
            tracer: Makes an OpenTelemetry span for each call. It tells no key and no payload. The node is told
                the span's trace, so that its own spans become part of it.
            traceparent: Returns which trace a call is part of, as a ``traceparent`` of the W3C's Trace
                Context, or None; ``turnlog.opentelemetry.traceparent`` is that of the current span.
                It is asked in the caller's task or thread, once a call. A ``tracer``'s span goes first.
            new_id: Makes message ids; two calls must never return the same. Default: random.
        """
        config = parse(addresses)
        self.config: Config = dataclasses.replace(
            config,
            namespace=namespace or config.namespace,
            username=username or config.username,
            password=password or config.password,
            tls=tls or config.tls,
            timeout=timeout,
            retry_for=retry_for,
            stall_timeout=stall_timeout,
            dial_timeout=dial_timeout,
            max_connections=max_connections,
            tracer=tracer,
            traceparent=traceparent,
            new_id=new_id,
        )
        self._start()

    @classmethod
    def from_config(cls: type[C], config: Config) -> C:
        """Return a client with the configuration of another one."""
        client = cls.__new__(cls)
        client.config = config
        client._start()
        return client

    def _start(self) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        nodes = ",".join(f"{host}:{port}" for host, port in self.config.addresses)
        return f"{type(self).__name__}({nodes!r}, namespace={self.config.namespace!r})"


def deadline_of(start: float, timeout: float | None) -> float | None:
    """Return when a call that began at ``start`` must end."""
    return None if timeout is None else start + timeout


def passed(deadline: float | None) -> bool:
    """Whether the deadline is over."""
    return deadline is not None and time.monotonic() >= deadline


def decoded(operation: Operation[T], reply: Any) -> T:
    """Read the reply to an operation."""
    try:
        return operation.decode(reply)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as e:
        raise failure.unreadable(operation, e) from e
