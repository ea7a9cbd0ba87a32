"""A checkpointer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ..client import Client
from ..errors import InvalidError
from ..steps import Steps, T, arun, asearch, run, search
from . import removal, writes
from .checkpoints import Checkpoints
from .keeping import Keeping, delta_history, tuple_of
from .listing import Listing
from .place import checkpoint_id, configurable, thread_id
from .thread import Thread

Writes = Sequence[tuple[str, Any]]


class TurnlogSaver(BaseCheckpointSaver[Any]):
    """Keeps the checkpoints of graphs, for ``invoke`` and for ``ainvoke``.

    A put is one transaction. It is a ConflictError if another writer has put a checkpoint since the
    one that it follows was read or put: two processes on one thread cannot fork it unnoticed. To fork
    on purpose, run the graph with the ``checkpoint_id`` of an older checkpoint. The newest checkpoint
    of a thread is the one put last.

    A channel's value is stored once, with the checkpoint that changed it, so a step costs what it
    changes.

    Args:
        client: Also makes the ``AsyncClient`` of the asynchronous calls.
        prefix: What all keys begin with.
        serde: Encodes values.
    """

    def __init__(self, client: Client, *, prefix: str = "langgraph:", serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._client = client
        self._prefix = prefix
        self._keeping = Keeping()

    def _run(self, steps: Steps[T]) -> T:
        return run(self._client, steps)

    async def _arun(self, steps: Steps[T]) -> T:
        return await arun(self._client.aio, steps)

    def _at(self, config: RunnableConfig) -> Checkpoints:
        ns = configurable(config).get("checkpoint_ns") or ""
        return Checkpoints(Thread(self._client, self._prefix, thread_id(config), ns), self.serde)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read the checkpoint of a config, or the newest of its thread."""
        return self._run(self._keeping.get_tuple(self._at(config), config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read the checkpoint of a config, or the newest of its thread."""
        return await self._arun(self._keeping.get_tuple(self._at(config), config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, of each namespace the newest first."""
        listing = Listing(config, filter, before, limit)
        for at, stored in search(self._client, listing.search(self._client, self._prefix, self.serde)):
            yield self._run(tuple_of(at, stored))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, of each namespace the newest first."""
        listing = Listing(config, filter, before, limit)
        async for at, stored in asearch(self._client.aio, listing.search(self._client, self._prefix, self.serde)):
            yield await self._arun(tuple_of(at, stored))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Put a checkpoint after the one of the config; raises ConflictError if it is not the newest."""
        return self._run(self._keeping.put(self._at(config), config, checkpoint, metadata, new_versions))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Put a checkpoint after the one of the config; raises ConflictError if it is not the newest."""
        return await self._arun(self._keeping.put(self._at(config), config, checkpoint, metadata, new_versions))

    def put_writes(self, config: RunnableConfig, writes: Writes, task_id: str, task_path: str = "") -> None:
        """Add what a task wrote, all or none."""
        self._run(self._add(config, writes, task_id, task_path))

    async def aput_writes(self, config: RunnableConfig, writes: Writes, task_id: str, task_path: str = "") -> None:
        """Add what a task wrote, all or none."""
        await self._arun(self._add(config, writes, task_id, task_path))

    def _add(self, config: RunnableConfig, given: Writes, task: str, path: str) -> Steps[None]:
        id_ = checkpoint_id(config)
        if id_ is None:
            raise InvalidError("writes belong to a checkpoint, but the config has no checkpoint_id; nothing was sent")
        if given:
            yield from writes.add(self._at(config).thread, self.serde, id_, given, task=task, path=path)

    def delete_thread(self, thread_id: str) -> None:
        """Remove all checkpoints and writes of a thread."""
        self._run(removal.delete(self._client, self._prefix, str(thread_id)))

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove all checkpoints and writes of a thread."""
        await self._arun(removal.delete(self._client, self._prefix, str(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints of runs, with their writes. It reads all checkpoints of all threads."""
        self._run(removal.delete_runs(self._client, self._prefix, self.serde, set(run_ids)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints of runs, with their writes. It reads all checkpoints of all threads."""
        await self._arun(removal.delete_runs(self._client, self._prefix, self.serde, set(run_ids)))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread; raises ExistsError if there is one of the other id."""
        self._run(self._copy(source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread; raises ExistsError if there is one of the other id."""
        await self._arun(self._copy(source_thread_id, target_thread_id))

    def _copy(self, source: str, target: str) -> Steps[None]:
        return removal.copy(self._client, self._prefix, self.serde, str(source), str(target))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the newest checkpoint of each namespace of threads, and what its delta channels need;
        with ``"delete"``, nothing.
        """
        self._run(self._prune(thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the newest checkpoint of each namespace of threads, and what its delta channels need;
        with ``"delete"``, nothing.
        """
        await self._arun(self._prune(thread_ids, strategy))

    def _prune(self, threads: Sequence[str], strategy: str) -> Steps[None]:
        if isinstance(threads, str) or strategy not in ("keep_latest", "delete"):
            raise InvalidError("prune takes a list of threads, and the strategy keep_latest or delete")
        for id_ in threads:
            if strategy == "delete":
                yield from removal.delete(self._client, self._prefix, str(id_))
            else:
                yield from removal.prune(self._client, self._prefix, self.serde, str(id_))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes of channels in the ancestors of a checkpoint, and what they began with."""
        return self._run(delta_history(self._at(config), config, channels))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes of channels in the ancestors of a checkpoint, and what they began with."""
        return await self._arun(delta_history(self._at(config), config, channels))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the version after another: a number, or text in a thread that came with text."""
        if isinstance(current, str):
            return f"{int(current.split('.')[0]) + 1:032}.0"
        return super().get_next_version(current, channel)
