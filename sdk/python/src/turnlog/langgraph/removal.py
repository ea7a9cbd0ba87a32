"""How checkpoints are removed and copied.

A removal changes the log together with the checkpoints, so that a put that follows what was read
before is a conflict. Values stay as long as a checkpoint that is left needs them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from urllib.parse import unquote

from langgraph.checkpoint.serde.base import SerializerProtocol

from .. import requests
from ..clientbase import ClientBase
from ..errors import ConflictError, ExistsError, OverloadedError
from ..requests import key_bytes
from ..steps import Steps, one
from ..transaction import TransactionBase
from .checkpoints import Checkpoints, Stored, checkpoint_field, value_field
from .fields import VALUES_PER_READ
from .thread import PAGE, Thread, families, threads

ATTEMPTS = 5
DELETES = 500  # steps of a transaction
COPIED_BYTES = 4 << 20

Keep = Callable[[list[Stored]], Iterable[Stored]]


def delete(client: ClientBase, prefix: str, id_: str) -> Steps[None]:
    """Remove a thread. A run that begins meanwhile is removed whole, or it stays."""
    begin = families(prefix, id_)[2]
    written = yield from _writes(begin.encode())
    logs = yield from all_threads(client, prefix, id_)
    for thread in logs:
        yield from one(thread.transaction().delete(thread.log).delete(thread.data).operation())
    spaces = {unquote(key[len(begin) :].partition(b":")[0].decode()) for key in written}
    for ns in spaces - {thread.ns for thread in logs}:  # what a copy that failed has left
        thread = Thread(client, prefix, id_, ns)
        with contextlib.suppress(ConflictError):
            yield from one(thread.transaction().if_absent(thread.log).delete(thread.data).operation())
    yield from _delete_keys(client, written)


def prune(client: ClientBase, prefix: str, serde: SerializerProtocol, id_: str) -> Steps[None]:
    """Keep the newest checkpoint of each namespace of a thread."""
    for thread in (yield from all_threads(client, prefix, id_)):
        yield from reduce_to(Checkpoints(thread, serde), newest_with_deltas)


def delete_runs(client: ClientBase, prefix: str, serde: SerializerProtocol, runs: Collection[str]) -> Steps[None]:
    """Remove the checkpoints of runs, wherever they are."""

    def of_others(found: list[Stored]) -> list[Stored]:
        return [stored for stored in found if stored.metadata.get("run_id") not in runs]

    cursor: str | None = "" if runs else None
    while cursor is not None:
        page, following = yield from threads(client, prefix, None, cursor)
        cursor = following or None
        for thread in page:
            yield from reduce_to(Checkpoints(thread, serde), of_others)


def newest_with_deltas(found: list[Stored]) -> list[Stored]:
    """Return the newest checkpoint, and those from which its delta channels are made again."""
    kept = found[:1]
    missing = set(kept[0].metadata.get("counters_since_delta_snapshot") or ()) - set(kept[0].holders) if kept else set()
    by_id = {stored.id: stored for stored in found}
    while missing and kept[-1].parent in by_id:
        ancestor = by_id[kept[-1].parent]
        kept.append(ancestor)
        missing -= set(ancestor.holders)
    return kept


def reduce_to(at: Checkpoints, keep: Keep) -> Steps[None]:
    """Remove all checkpoints of a namespace but those that ``keep`` selects of them, newest first."""
    for _ in range(ATTEMPTS - 1):
        try:
            return (yield from _reduce_to(at, keep))
        except ConflictError:  # a run has put a checkpoint
            pass
    return (yield from _reduce_to(at, keep))


def _reduce_to(at: Checkpoints, keep: Keep) -> Steps[None]:
    thread = at.thread
    revision = (yield from one(requests.read(thread.log, last=1))).revision
    found = yield from all_of(at)
    kept = {stored.id: stored for stored in keep(found)}
    removed = [stored.id for stored in found if stored.id not in kept]
    if revision == 0 or not removed:
        return
    tx = thread.transaction().if_revision(thread.log, revision)
    if kept:
        unneeded = fields_of(found) - fields_of(kept.values())
        tx.set_metadata(thread.log, {"removed": removed[0]}).remove_fields(thread.data, *unneeded)
    else:
        tx.delete(thread.log).delete(thread.data)
    yield from one(tx.operation())
    yield from _delete_keys(thread.client, (thread.writes(id_) for id_ in removed))


def fields_of(found: Iterable[Stored]) -> set[str]:
    """Return the fields that checkpoints need."""
    fields = set()
    for stored in found:
        fields.add(checkpoint_field(stored.id))
        fields |= {value_field(holder, channel) for channel, holder in stored.holders.items()}
    return fields


def all_of(at: Checkpoints) -> Steps[list[Stored]]:
    """Read all checkpoints of a namespace, the newest first."""
    found, position = yield from at.page(None)
    while position is not None:
        page, position = yield from at.page(position)
        found += page
    return found


def all_threads(client: ClientBase, prefix: str, id_: str) -> Steps[list[Thread]]:
    """Return all namespaces of a thread."""
    found, cursor = yield from threads(client, prefix, id_, "")
    while cursor:
        page, cursor = yield from threads(client, prefix, id_, cursor)
        found += page
    return found


def copy(client: ClientBase, prefix: str, serde: SerializerProtocol, source: str, target: str) -> Steps[None]:
    """Copy a thread to one that does not exist: its logs last, so that no reader finds half of it."""
    if (yield from all_threads(client, prefix, target)):
        raise ExistsError(f"there is a thread {target!r} already; nothing was copied")
    for thread in (yield from all_threads(client, prefix, source)):
        copied = Thread(client, prefix, target, thread.ns)
        try:
            for _ in range(ATTEMPTS):
                if (yield from _copy_namespace(Checkpoints(thread, serde), copied)):
                    break
            else:
                yield from one(copied.transaction().if_absent(copied.log).delete(copied.data).operation())
                yield from _delete_keys(client, (yield from _writes(copied.all_writes)))
                raise OverloadedError(
                    f"thread {source!r} is changed faster than it can be copied; what was copied of it is no copy: "
                    f"delete thread {target!r} before you try again"
                )
        except (ConflictError, ExistsError) as e:
            yield from one(requests.delete(copied.all_writes, None))
            raise ExistsError(f"thread {target!r} was begun while it was copied to; it is not a copy") from e


def _copy_namespace(at: Checkpoints, target: Thread) -> Steps[bool]:
    """Copy a namespace; return whether it is as it was when the copy began, and else is no copy."""
    source = at.thread
    for key in (target.data, *(yield from _writes(target.all_writes))):  # of a copy that failed
        yield from one(target.transaction().if_absent(target.log).delete(key).operation())
    # Until the log is there, this tells a deletion where to look.
    mark = target.transaction().if_absent(target.log).set_metadata(target.all_writes, {"copied": "0"})
    yield from one(mark.operation())
    log = yield from one(requests.read(source.log, last=1))
    names = iter(fields_of((yield from all_of(at))))
    while some := list(islice(names, VALUES_PER_READ)):
        yield from _set_fields(target, (yield from source.get(some)))
    for key in (yield from _writes(source.all_writes)):
        yield from one(requests.fork(key, target.all_writes + key[len(source.all_writes) :], None, None))
    try:
        yield from one(requests.fork(source.log, target.log, None, log.revision))
    except ConflictError:
        return False
    yield from one(requests.delete(target.all_writes, None))
    return True


def _set_fields(thread: Thread, fields: Mapping[str, bytes]) -> Steps[None]:
    """Set fields that may be too large for one request."""
    left = list(fields.items())
    while left:
        part, size = dict([left.pop()]), 0
        while left and size + len(left[-1][1]) <= COPIED_BYTES:
            name, part[name] = left.pop()
            size += len(part[name])
        yield from one(thread.transaction().if_absent(thread.log).set_fields(thread.data, part).operation())


def _writes(begin: bytes) -> Steps[list[bytes]]:
    """Return the keys of writes that begin so."""
    page = yield from one(requests.list_sessions(begin, "", PAGE))
    found = page.sessions
    while page.cursor:
        page = yield from one(requests.list_sessions(begin, page.cursor, PAGE))
        found += page.sessions
    return [key_bytes(session.key) for session in found]


def _delete_keys(client: ClientBase, keys: Iterable[bytes]) -> Steps[None]:
    left = iter(keys)
    while some := list(islice(left, DELETES)):
        tx: TransactionBase[ClientBase] = TransactionBase(client, "", None)
        for key in some:
            tx.delete(key)
        yield from one(tx.operation())
