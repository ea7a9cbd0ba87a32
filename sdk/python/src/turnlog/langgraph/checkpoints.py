"""What a thread's namespace holds, encoded and decoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.base import SerializerProtocol

from .. import requests
from ..errors import NotFoundError
from ..result import History
from ..steps import Steps, one
from .frame import frame, unframe
from .thread import Thread

PAGE = 32

Holders = dict[str, str]  # by channel, the checkpoint that stored its value


@dataclass(frozen=True, slots=True)
class Stored:
    """A checkpoint without the values of its channels."""

    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    parent: str | None
    holders: Holders

    @property
    def id(self) -> str:
        """Its id."""
        return self.checkpoint["id"]


def checkpoint_field(id: str) -> str:  # noqa: A002
    """Name the field of a checkpoint."""
    return f"checkpoint:{id}"


def value_field(holder: str, channel: str) -> str:
    """Name the field of a channel's value."""
    return f"value:{holder}:{channel}"


class Checkpoints:
    """Reads and encodes the checkpoints of a thread's namespace."""

    def __init__(self, thread: Thread, serde: SerializerProtocol) -> None:
        self.thread = thread
        self.serde = serde

    def encode(self, stored: Stored, changed: Mapping[str, Any]) -> dict[str, bytes]:
        """Encode a checkpoint and the values that changed with it, which it then holds."""
        fields = {}
        for channel, value in changed.items():
            kind, data = self.serde.dumps_typed(value)
            fields[value_field(stored.id, channel)] = frame({"type": kind}, [data])
            stored.holders[channel] = stored.id
        rest = {k: v for k, v in stored.checkpoint.items() if k != "channel_values"}
        parts = [self.serde.dumps_typed(rest), self.serde.dumps_typed(stored.metadata)]
        header = {"parent": stored.parent, "holders": stored.holders, "types": [kind for kind, _ in parts]}
        fields[checkpoint_field(stored.id)] = frame(header, [data for _, data in parts])
        return fields

    def get(self, ids: Iterable[str]) -> Steps[list[Stored]]:
        """Read checkpoints, those that are there, in the order of the ids."""
        fields = [checkpoint_field(id_) for id_ in ids]
        found = yield from self.thread.get(fields)
        return [self._decode(found[field]) for field in fields if field in found]

    def newest(self) -> Steps[tuple[Stored | None, int]]:
        """Read the newest checkpoint, and the revision of the log."""
        log = yield from one(requests.read(self.thread.log, last=1))
        found, before = yield from self._of(log)
        while not found and before is not None:
            found, before = yield from self.page(before)
        return (found[0] if found else None), log.revision

    def page(self, before: int | None) -> Steps[tuple[list[Stored], int | None]]:
        """Read some checkpoints, the newest first, and tell before what seq of the log to go on."""
        if before is None:
            log = yield from one(requests.read(self.thread.log, last=PAGE))
        else:
            log = yield from one(requests.read(self.thread.log, before=before, limit=PAGE))
        return (yield from self._of(log))

    def _of(self, log: History) -> Steps[tuple[list[Stored], int | None]]:
        found = yield from self.get(m.text() for m in reversed(log.messages))
        return found, log.messages[0].seq if log.more else None

    def values(self, stored: Stored, channels: Iterable[str]) -> Steps[dict[str, Any]]:
        """Read the values of those channels that have one."""
        held = {c: value_field(stored.holders[c], c) for c in channels if c in stored.holders}
        found = yield from self.thread.get(held.values())
        values = {}
        for channel, field in held.items():
            if field not in found:
                raise NotFoundError(f"thread {self.thread.id!r} was deleted or pruned while it was read")
            header, parts = unframe(found[field], self._what("a value"))
            values[channel] = self.serde.loads_typed((header["type"], parts[0]))
        return values

    def _decode(self, data: bytes) -> Stored:
        header, parts = unframe(data, self._what("a checkpoint"))
        rest, metadata = (self.serde.loads_typed(typed) for typed in zip(header["types"], parts, strict=True))
        checkpoint = cast("Checkpoint", {**rest, "channel_values": {}})
        return Stored(checkpoint, metadata, header["parent"], header["holders"])

    def _what(self, part: str) -> str:
        return f"{part} of thread {self.thread.id!r}"
