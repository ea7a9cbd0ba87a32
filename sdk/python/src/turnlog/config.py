"""Where the cluster is, and how patient a client is with it."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from .errors import InvalidError
from .requests import random_id

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

DEFAULT_PORT = 7379
DEFAULT_ADDRESS = f"127.0.0.1:{DEFAULT_PORT}"
PLAIN, ENCRYPTED = ("turnlog", "redis"), ("turnlogs", "rediss")

Address = tuple[str, int]


# Half of the time for which the cluster knows the id of a transaction: a later retry could carry it out again.
MAX_RETRY_FOR = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What a client is made of. ``turnlog.Client`` explains the fields."""

    addresses: tuple[Address, ...]
    namespace: str = "0"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None
    timeout: float | None = None
    retry_for: float = 15
    stall_timeout: float = 8
    dial_timeout: float = 2
    max_connections: int = 64
    tracer: Tracer | None = None
    traceparent: Callable[[], str | None] | None = None
    new_id: Callable[[], str] = random_id

    def __post_init__(self) -> None:
        """Check what no server could."""
        object.__setattr__(self, "retry_for", min(self.retry_for, MAX_RETRY_FOR))
        if self.username and not self.password:
            raise InvalidError(f"user {self.username!r} has no password: requests would be sent without authentication")
        for name in ("stall_timeout", "dial_timeout", "max_connections"):
            if getattr(self, name) <= 0:
                raise InvalidError(f"{name} must be positive")


def parse_address(address: str) -> Address:
    """Split HOST, HOST:PORT or [IPV6]:PORT."""
    try:
        parts = urlsplit("//" + address)
        host, port = parts.hostname, parts.port
    except ValueError as e:
        raise InvalidError(f"address {address!r} is not HOST:PORT: {e}") from e
    if not host or parts.path or parts.query or parts.username is not None:
        raise InvalidError(f"address {address!r} is not HOST:PORT")
    return host, DEFAULT_PORT if port is None else port


def parse(addresses: str | Sequence[str]) -> Config:
    """Read addresses, or a URL: ``turnlog://user:password@host:port,host:port/namespace``.

    ``turnlogs://`` encrypts and trusts the system's authorities, or those of the PEM file
    ``?ca=FILE``. ``redis://`` and ``rediss://`` mean the same.
    """
    if not isinstance(addresses, str):
        found = tuple(parse_address(a) for a in addresses)
        if not found:
            raise InvalidError("no address given")
        return Config(addresses=found)
    scheme, separator, rest = addresses.partition("://")
    if not separator:
        return Config(addresses=_split(addresses))
    if scheme not in PLAIN + ENCRYPTED:
        raise InvalidError(f"the URL must begin with turnlog:// or turnlogs://, not {scheme}://")
    rest, _, query = rest.partition("?")
    authority, _, namespace = rest.partition("/")
    login, at, hosts = authority.rpartition("@")
    options = dict(parse_qsl(query))
    config = Config(addresses=_split(hosts), namespace=unquote(namespace) or "0")
    if at:
        name, colon, password = login.partition(":")
        if not colon or not password:
            raise InvalidError("the URL has a user without a password")
        config = replace(config, username=unquote(name) or None, password=unquote(password))
    ca = options.pop("ca", None)
    if options:
        raise InvalidError(f"the URL has unknown options: {', '.join(sorted(options))}")
    if scheme in ENCRYPTED:
        config = replace(config, tls=ssl.create_default_context(cafile=ca))
    elif ca:
        raise InvalidError(f"ca is given, but {scheme}:// does not encrypt: use {scheme}s://")
    return config


def _split(hosts: str) -> tuple[Address, ...]:
    found = tuple(parse_address(a.strip()) for a in hosts.split(",") if a.strip())
    if not found:
        raise InvalidError("no address given")
    return found
