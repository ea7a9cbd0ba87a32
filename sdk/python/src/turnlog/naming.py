"""The keys under which adapters keep things."""

from __future__ import annotations

from urllib.parse import quote

from .errors import InvalidError
from .requests import key_bytes


def escaped(name: str, safe: str = "!*'()") -> str:
    """Return a name without colons, so that no keys of one begin with another's."""
    try:
        return quote(name, safe=safe)
    except UnicodeEncodeError as e:
        raise InvalidError(f"the name {name!r} is not valid Unicode; nothing was sent") from e


def family_key(prefix: str, family: str, *names: str) -> bytes:
    """Return the key of what a family, such as the states of flows, keeps under names."""
    return key_bytes(prefix + ":".join([family, *(escaped(name, safe="") for name in names)]))
