"""Where a config points: to a thread's namespace, and a checkpoint in it."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig

from ..errors import InvalidError
from .thread import Thread

# The entry of a config that says at which revision its checkpoint was read. LangGraph passes it on to
# the puts of the run, and copies nothing that begins so into metadata.
READ_AT = "__turnlog_read_at"


def configurable(config: RunnableConfig | None) -> dict[str, Any]:
    """Return the part of a config that says where."""
    return (config or {}).get("configurable") or {}


def thread_id(config: RunnableConfig | None) -> str:
    """Return the thread of a config; raises InvalidError if it names none."""
    found = configurable(config).get("thread_id")
    if found is None or found == "":
        raise InvalidError('a checkpointer needs a thread: {"configurable": {"thread_id": "..."}}')
    return str(found)


def checkpoint_id(config: RunnableConfig | None) -> str | None:
    """Return the checkpoint of a config, None if it names none."""
    return configurable(config).get("checkpoint_id") or None


def config_of(thread: Thread, checkpoint: str, read_at: int | None = None) -> RunnableConfig:
    """Make the config of a checkpoint."""
    entries: dict[str, Any] = {"thread_id": thread.id, "checkpoint_ns": thread.ns, "checkpoint_id": checkpoint}
    if read_at is not None:
        entries[READ_AT] = f"{read_at} {thread.place(checkpoint)}"
    return {"configurable": entries}


def read_at(config: RunnableConfig, thread: Thread, *, of_any: bool = False) -> int | None:
    """Return the revision at which the checkpoint of a config was read, None if it does not say so
    of this checkpoint; or of any of its namespace.
    """
    given = configurable(config)
    revision, _, place = str(given.get(READ_AT, "")).partition(" ")
    if not revision.isdecimal() or not (thread.has(place) if of_any else place == thread.place(checkpoint_id(config))):
        return None
    return int(revision)
