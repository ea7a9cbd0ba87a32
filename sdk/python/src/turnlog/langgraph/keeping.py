"""How checkpoints are read and put."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    get_checkpoint_metadata,
)

from ..errors import ConflictError, TooLargeError
from ..steps import Steps
from . import writes
from .checkpoints import Checkpoints, Holders, Stored, value_field
from .frame import too_large
from .place import checkpoint_id, config_of, read_at
from .recent import Recent

REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Known:
    """What this process knows of a checkpoint: what it holds, and if it was put here, the revision
    of the log after that.
    """

    holders: Holders
    versions: ChannelVersions
    revision: int | None = None


class Keeping:
    """Reads and puts checkpoints, and remembers what later puts need. Threads may share it."""

    def __init__(self) -> None:
        self._known: Recent[Known] = Recent(REMEMBERED)

    def get_tuple(self, at: Checkpoints, config: RunnableConfig) -> Steps[CheckpointTuple | None]:
        """Read the checkpoint of a config, or the newest."""
        id_ = checkpoint_id(config)
        newest, revision = yield from at.newest()
        stored = newest
        if id_ is not None and (newest is None or newest.id != id_):
            stored = next(iter((yield from at.get([id_]))), None)
        if stored is None:
            if id_ is None:
                self._known.set(at.thread.place(None), Known({}, {}, revision))
            return None
        self._remember(at, stored, None)
        return (yield from tuple_of(at, stored, revision))

    def put(
        self,
        at: Checkpoints,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Steps[RunnableConfig]:
        """Put a checkpoint after the one of the config."""
        parent = checkpoint_id(config)
        known, expect = yield from self._parent(at, config, parent)
        if parent is None and metadata.get("source") == "fork":  # of a checkpoint without a parent
            expect = read_at(config, at.thread, of_any=True)
        copy = cast("Checkpoint", {**checkpoint, "channel_versions": dict(checkpoint["channel_versions"])})
        versions, values = copy["channel_versions"], copy["channel_values"]
        holders = {
            channel: holder
            for channel, holder in known.holders.items()
            if channel not in new_versions and known.versions.get(channel) == versions.get(channel)
        }
        changed = {channel: value for channel, value in values.items() if channel not in holders}
        stored = Stored(copy, get_checkpoint_metadata(config, metadata), parent, holders)
        fields = at.encode(stored, changed)
        try:
            revision = yield from self._put(at, stored.id, fields, expect)
        except TooLargeError as e:
            values_ = {channel: fields[value_field(stored.id, channel)] for channel in changed}
            raise too_large(e, at.thread.id, values_) from e
        self._remember(at, stored, revision)
        return config_of(at.thread, stored.id)

    def _put(self, at: Checkpoints, id_: str, fields: Mapping[str, bytes], expect: int | None) -> Steps[int]:
        """Put a checkpoint. It may be there already: put by a call whose outcome was not learned."""
        try:
            return (yield from at.thread.put(id_, fields, expect))
        except ConflictError as e:
            newest, revision = yield from at.newest()
            if newest is not None and newest.id == id_:
                return revision
            raise conflict(at, f"another writer has changed it, its newest checkpoint is {name_of(newest)}") from e

    def _parent(self, at: Checkpoints, config: RunnableConfig, parent: str | None) -> Steps[tuple[Known, int | None]]:
        """Return what is known of the checkpoint that a put follows, and the revision to expect.

        The run has read that checkpoint, or this process has put it; else it must be the newest.
        """
        known = self._known.get(at.thread.place(parent))
        if parent is None:
            return known or Known({}, {}), known.revision if known else None
        expect = read_at(config, at.thread)
        if expect is None and known is not None:
            expect = known.revision
        if expect is not None and known is not None:
            return known, expect
        newest, revision = yield from at.newest()
        stored = newest
        if newest is None or newest.id != parent:
            if expect is None:
                raise conflict(at, f"its newest checkpoint is {name_of(newest)}, not {parent}")
            stored = next(iter((yield from at.get([parent]))), None)
        if stored is None:
            raise conflict(at, f"the checkpoint {parent} was removed")
        return self._remember(at, stored, None), revision if expect is None else expect

    def _remember(self, at: Checkpoints, stored: Stored, revision: int | None) -> Known:
        place = at.thread.place(stored.id)
        if revision is None:
            before = self._known.get(place)
            revision = before.revision if before else None
        # A run changes the versions of the checkpoint that it was given.
        known = Known(stored.holders, dict(stored.checkpoint["channel_versions"]), revision)
        self._known.set(place, known)
        return known


def tuple_of(at: Checkpoints, stored: Stored, revision: int | None = None) -> Steps[CheckpointTuple]:
    """Read what belongs to a checkpoint, which was read at a revision."""
    values = yield from at.values(stored, stored.holders)
    pending = yield from writes.read(at.thread, at.serde, stored.id)
    checkpoint = cast("Checkpoint", {**stored.checkpoint, "channel_values": values})
    config = config_of(at.thread, stored.id, revision)
    # LangGraph puts a copy of a checkpoint after its parent.
    parent = None if stored.parent is None else config_of(at.thread, stored.parent, revision)
    return CheckpointTuple(config, checkpoint, stored.metadata, parent, pending)


def delta_history(
    at: Checkpoints, config: RunnableConfig, channels: Sequence[str]
) -> Steps[dict[str, DeltaChannelHistory]]:
    """Walk the ancestors of a checkpoint and read the channels asked for, no others."""
    pending: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
    seeds: dict[str, Any] = {}
    id_ = checkpoint_id(config)
    if id_ is None:
        start, _ = yield from at.newest()
    else:
        start = next(iter((yield from at.get([id_]))), None)
    ancestor = start.parent if start else None
    while ancestor is not None and len(seeds) < len(pending):
        stored = next(iter((yield from at.get([ancestor]))), None)
        if stored is None:
            break
        missing = [channel for channel in pending if channel not in seeds]
        for write in reversed((yield from writes.read(at.thread, at.serde, ancestor))):
            if write[1] in missing:
                pending[write[1]].append(write)
        seeds |= yield from at.values(stored, missing)
        ancestor = stored.parent
    histories: dict[str, DeltaChannelHistory] = {}
    for channel, found in pending.items():
        histories[channel] = {"writes": found[::-1]}
        if channel in seeds:
            histories[channel]["seed"] = seeds[channel]
    return histories


def name_of(stored: Stored | None) -> str:
    """Name a checkpoint in an error."""
    return stored.id if stored else "none"


def conflict(at: Checkpoints, why: str) -> ConflictError:
    """Return the error of a put that would fork the thread."""
    return ConflictError(f"nothing was put on thread {at.thread.id!r}: {why}; read it again, then decide")
