"""The pending writes of a checkpoint: a session, with a message for what a task wrote at once, or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, PendingWrite, writes_sort_key
from langgraph.checkpoint.serde.base import SerializerProtocol

from .. import requests
from ..errors import TooLargeError
from ..message import Message
from ..steps import Steps, one
from .frame import frame, too_large, unframe
from .thread import Thread

PAGE_MESSAGES = 512
PAGE_BYTES = 4 << 20
MESSAGE_BYTES = 4 << 20

Dumped = tuple[int, str, str, bytes]  # index, channel, type, value


def add(
    thread: Thread,
    serde: SerializerProtocol,
    checkpoint: str,
    writes: Sequence[tuple[str, Any]],
    *,
    task: str,
    path: str,
) -> Steps[None]:
    """Add what a task wrote, whole and once."""
    dumped = [(WRITES_IDX_MAP.get(channel, i), channel, *serde.dumps_typed(v)) for i, (channel, v) in enumerate(writes)]
    messages = [
        frame({"task": task, "path": path, "writes": [write[:3] for write in part]}, [write[3] for write in part])
        for part in _parts(dumped)
    ]
    try:
        yield from one(requests.append(thread.writes(checkpoint), messages, thread.client.config.new_id))
    except TooLargeError as e:
        raise too_large(e, thread.id, {channel: data for _, channel, _, data in dumped}) from e


def _parts(dumped: Sequence[Dumped]) -> list[list[Dumped]]:
    """Divide writes that are together larger than a message."""
    parts: list[list[Dumped]] = [[]]
    size = 0
    for write in dumped:
        size += len(write[3])
        if parts[-1] and size > MESSAGE_BYTES:
            parts.append([])
            size = len(write[3])
        parts[-1].append(write)
    return parts


def read(thread: Thread, serde: SerializerProtocol, checkpoint: str) -> Steps[list[PendingWrite]]:
    """Read the writes of a checkpoint in the order in which a run applies them.

    Of two writes of one task under one index the first is kept; of errors, interrupts and the
    like, whose index is negative, the last.
    """
    found: dict[tuple[int, str], tuple[tuple[str, str, int], str, str, bytes]] = {}
    for message in (yield from _messages(thread.writes(checkpoint))):
        header, parts = unframe(message.data, f"a write of thread {thread.id!r}")
        task = header["task"]
        for (index, channel, kind), data in zip(header["writes"], parts, strict=True):
            if index < 0 or (index, task) not in found:
                found[index, task] = (writes_sort_key(header["path"], task, index), channel, kind, data)
    ordered = sorted(found.values(), key=lambda write: write[0])
    return [(key[1], channel, serde.loads_typed((kind, data))) for key, channel, kind, data in ordered]


def _messages(key: bytes) -> Steps[list[Message]]:
    messages: list[Message] = []
    more = True
    while more:
        after = messages[-1].seq if messages else 0
        page = yield from one(requests.read(key, after=after, limit=PAGE_MESSAGES, max_bytes=PAGE_BYTES))
        messages += page.messages
        more = page.more
    return messages
