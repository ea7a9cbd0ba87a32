"""Reads fields of a hash."""

from __future__ import annotations

from collections.abc import Iterable

from .. import requests
from ..errors import TooLargeError
from ..steps import Steps, one

FIELDS_PER_READ = 512
VALUES_PER_READ = 7  # so many of 8 MiB fit in one reply


def get_fields(key: bytes, fields: Iterable[str]) -> Steps[dict[str, bytes]]:
    """Read fields of a hash, those that it has."""
    names = tuple(dict.fromkeys(fields))
    found: dict[str, bytes] = {}
    for i in range(0, len(names), FIELDS_PER_READ):
        some = names[i : i + FIELDS_PER_READ]
        try:
            found |= yield from one(requests.get_fields(key, some))
        except TooLargeError:  # for one reply
            parts = [some[i : i + VALUES_PER_READ] for i in range(0, len(some), VALUES_PER_READ)]
            for part in (yield [requests.get_fields(key, part) for part in parts]):
                found |= part
    return found
