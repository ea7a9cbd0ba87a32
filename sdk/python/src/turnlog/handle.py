"""What the handles for threads and for asyncio share."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from . import decode
from .requests import Key, key_bytes

C = TypeVar("C")
S = TypeVar("S", bound="Handle[Any]")


class Handle(Generic[C]):
    """A handle on one key; a value that costs nothing to make."""

    __slots__ = ("_client", "_key", "_timeout")

    def __init__(self, client: C, key: Key, timeout: float | None) -> None:
        self._client = client
        self._key = key_bytes(key)
        self._timeout = timeout

    @property
    def key(self) -> str:
        """The key; bytes that are not UTF-8 are lone surrogates."""
        return decode.text(self._key)

    def with_timeout(self: S, seconds: float | None) -> S:
        """Return a handle whose calls may take so long, all attempts included; None: no deadline."""
        return type(self)(self._client, self._key, seconds)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.key!r})"
