"""A header and byte strings as one value: the header's JSON, a line feed, and the strings one after
another. The header holds their lengths, so bytes are stored as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import CorruptError, TooLargeError


def frame(header: dict[str, Any], parts: Sequence[bytes]) -> bytes:
    """Make one value of a header and parts."""
    described = header | {"lengths": [len(part) for part in parts]}
    return b"".join((json.dumps(described, separators=(",", ":")).encode(), b"\n", *parts))


def unframe(data: bytes, what: str) -> tuple[dict[str, Any], list[bytes]]:
    """Take apart what ``frame`` made; raises CorruptError, which names ``what``, if it did not."""
    line, separator, rest = data.partition(b"\n")
    try:
        header = json.loads(line)
        lengths = [int(n) for n in header["lengths"]]
    except (ValueError, KeyError, TypeError) as e:
        raise CorruptError(f"{what} has no header: something else wrote it") from e
    if not separator or sum(lengths) != len(rest):
        raise CorruptError(f"{what} has {len(rest)} bytes instead of {sum(lengths)}")
    parts, at = [], 0
    for n in lengths:
        parts.append(rest[at : at + n])
        at += n
    return header, parts


def too_large(error: TooLargeError, thread: str, values: Mapping[str, bytes]) -> TooLargeError:
    """Return the error of a put that says which channel has the largest value."""
    channel = max(values, key=lambda name: len(values[name]), default=None)
    if channel is None:
        return error
    size = len(values[channel])
    return TooLargeError(f"{error.message}; thread {thread!r}: the largest value, of {channel!r}, has {size} bytes")
