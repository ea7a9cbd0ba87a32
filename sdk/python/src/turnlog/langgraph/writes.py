"""The pending writes of a checkpoint: a session, with a message for what a task wrote at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, PendingWrite, writes_sort_key
from langgraph.checkpoint.serde.base import SerializerProtocol

from .. import requests
from ..message import Message
from ..steps import Steps, one
from .frame import frame, unframe
from .thread import Thread

PAGE_MESSAGES = 512
PAGE_BYTES = 4 << 20


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
    dumped = [serde.dumps_typed(value) for _, value in writes]
    described = [
        (WRITES_IDX_MAP.get(channel, i), channel, kind)
        for i, ((channel, _), (kind, _)) in enumerate(zip(writes, dumped, strict=True))
    ]
    data = frame({"task": task, "path": path, "writes": described}, [data for _, data in dumped])
    yield from one(requests.append(thread.writes(checkpoint), [data], thread.client.config.new_id))


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
