"""Moves the threads of another checkpointer."""

from __future__ import annotations

import itertools
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from .place import configurable
from .saver import TurnlogSaver


def copy_threads(source: BaseCheckpointSaver[Any], target: TurnlogSaver) -> int:
    """Copy all threads of a checkpointer that is not in use, the oldest checkpoint of each first.

    Return how many checkpoints there were. After a copy that failed, delete its threads and begin
    again: a checkpoint that is there already is a ConflictError.
    """
    copied = 0
    for thread_id, ns in _namespaces(source):
        where: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns}}
        for config in reversed([found.config for found in source.list(where)]):
            found = source.get_tuple(config)
            if found is not None:
                _copy(found, where, target)
                copied += 1
    return copied


def _namespaces(source: BaseCheckpointSaver[Any]) -> list[tuple[str, str]]:
    places = (configurable(found.config) for found in source.list(None))
    return list(dict.fromkeys((str(place["thread_id"]), place.get("checkpoint_ns", "")) for place in places))


def _copy(found: CheckpointTuple, where: RunnableConfig, target: TurnlogSaver) -> None:
    parent = target.get_tuple(found.parent_config) if found.parent_config else None
    after = parent.config if parent else where
    at = target.put(after, found.checkpoint, found.metadata, {})
    tasks = itertools.groupby(found.pending_writes or [], key=lambda write: write[0])
    for i, (task, writes) in enumerate(tasks):
        # Paths of tasks are not told. These keep the order, and sort before real ones.
        target.put_writes(at, [(channel, value) for _, channel, value in writes], task, f"{i:06}")
