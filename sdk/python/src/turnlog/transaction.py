"""Transactions: changes of several keys that take place together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import decode, requests
from .clientbase import ClientBase
from .message import Payload
from .operation import AGAIN, Argument, Operation
from .requests import Key, Seconds, Side, Value, key_bytes
from .result import Committed

if TYPE_CHECKING:
    from .client import Client  # noqa: F401

C = TypeVar("C", bound=ClientBase)
X = TypeVar("X", bound="TransactionBase[Any]")


class TransactionBase(Generic[C]):
    """Changes several keys of the namespace at once: all of its steps take place, in their order
    and with nothing in between, or none does. Its methods collect conditions and steps; ``commit``
    sends them. It is for one thread or task.

    A step sees what the steps before it changed; conditions are about the state before the first
    step. A key holds either messages and metadata, or fields, unless ``delete`` comes in between.

    What each step does is decided before the first one: on one session, ``edit`` and ``remove`` come
    before steps that add or remove others, and name a message that is there before the transaction.
    ``pop``, and ``retain`` by turns, come before all others that change messages. A key that is
    renamed, or renamed to, is in no other step.
    """

    __slots__ = ("_client", "_conditions", "_decoders", "_id", "_steps", "_timeout")

    def __init__(self, client: C, id: str, timeout: float | None) -> None:  # noqa: A002
        self._client = client
        self._timeout = timeout
        self._id = id or client.config.new_id()
        self._conditions: list[Argument] = []
        self._steps: list[Argument] = []
        self._decoders: list[Callable[[Any], Any]] = []

    @property
    def id(self) -> str:
        """The id: with the keys of steps and conditions, it is known for ten minutes, so that it takes place once."""
        return self._id

    def if_revision(self: X, key: Key, revision: int) -> X:
        """Require that the revision of a key is this number; 0: there is no such key."""
        return self._if(key, "REVISION", str(revision))

    def if_seq(self: X, key: Key, seq: int) -> X:
        """Require that the highest seq that a session ever gave is this number; 0: none."""
        return self._if(key, "SEQ", str(seq))

    def if_exists(self: X, key: Key) -> X:
        """Require that there is such a key."""
        return self._if(key, "EXISTS")

    def if_absent(self: X, key: Key) -> X:
        """Require that there is no such key."""
        return self._if(key, "ABSENT")

    def _if(self: X, key: Key, *words: Argument) -> X:
        self._conditions += ["IF", key_bytes(key), *words]
        return self

    def append(self: X, key: Key, *messages: Payload, metadata: Mapping[str, str] | None = None) -> X:
        """Append messages to a session, and merge metadata into it.

        A message without an id gets none: that of the transaction keeps it from being appended
        twice. One that was appended before is a ConflictError: it belongs to another call.
        """
        return self._step(requests.append(key_bytes(key), messages, lambda: "", metadata=metadata))

    def replace(self: X, key: Key, from_seq: int, *messages: Payload) -> X:
        """Remove the messages of a session, which must exist, with seq >= from_seq and append others."""
        return self._step(requests.replace(key_bytes(key), from_seq, messages, lambda: "", None))

    def pop(self: X, key: Key, n: int = 1, side: Side = "newest") -> X:
        """Remove up to n messages of one side; the step's result has them. All pops of a transaction
        take out 9 MiB at most, each message counted with its id and 96 bytes more.
        """
        return self._step(requests.pop(key_bytes(key), n, side, None))

    def edit(self: X, key: Key, data: Payload, *, seq: int | None = None, id: str | None = None) -> X:  # noqa: A002
        """Give one message another payload."""
        return self._step(requests.edit(key_bytes(key), data, seq, id, None))

    def remove(self: X, key: Key, *, seq: int | None = None, id: str | None = None) -> X:  # noqa: A002
        """Remove one message, if it is there."""
        return self._step(requests.remove(key_bytes(key), seq, id, None))

    def retain(
        self: X, key: Key, *, messages: int | None = None, turns: int | None = None, everything: bool = False
    ) -> X:
        """Set how much a session keeps by itself from here on, and drop what is beyond it."""
        return self._step(requests.retain(key_bytes(key), messages, turns, everything=everything, expect=None))

    def rename(self: X, key: Key, to: Key, *, replace: bool = False) -> X:
        """Move what a key holds to another key, which must not exist unless replace is set."""
        return self._step(requests.rename(key_bytes(key), to, replace, None))

    def set_metadata(self: X, key: Key, values: Mapping[str, str], *, unset: Iterable[str] = ()) -> X:
        """Merge values into a session's metadata and remove the keys in unset."""
        return self._step(requests.set_metadata(key_bytes(key), values, unset, None))

    def set_fields(self: X, key: Key, fields: Mapping[str, Value]) -> X:
        """Set fields of a hash."""
        return self._step(requests.set_fields(key_bytes(key), fields))

    def remove_fields(self: X, key: Key, *names: str) -> X:
        """Remove fields of a hash. A hash without fields does not exist."""
        return self._step(requests.remove_fields(key_bytes(key), names))

    def trim(self: X, key: Key, *, keep: int | None = None, before: int | None = None) -> X:
        """Remove all but the ``keep`` newest messages, or those with a seq below ``before``."""
        return self._step(requests.trim(key_bytes(key), keep, before, None))

    def clear(self: X, key: Key) -> X:
        """Remove all messages of a session; keep the session."""
        return self._step(requests.clear(key_bytes(key), None))

    def delete(self: X, key: Key) -> X:
        """Delete a key, whatever it holds."""
        return self._step(requests.delete(key_bytes(key), None), decode.removed)

    def expire(self: X, key: Key, ttl: Seconds, *, slide: bool = False) -> X:
        """Delete a key when ttl has passed; with slide, which is for sessions alone, every later
        append begins that time again.
        """
        return self._step(requests.expire(key_bytes(key), ttl, slide=slide, expect=None), int)

    def persist(self: X, key: Key) -> X:
        """Remove the deadline of a key."""
        return self._step(requests.persist(key_bytes(key), None), int)

    def _step(self: X, operation: Operation[Any], decoder: Callable[[Any], Any] | None = None) -> X:
        self._steps += ["STEP", str(len(operation.request)), *operation.request]
        self._decoders.append(decoder or operation.decode)
        return self

    def operation(self) -> Operation[Committed]:
        """Return what ``commit`` sends."""
        arguments = ("ID", self._id, *self._conditions, *self._steps)
        reads = functools.partial(decode.committed, decoders=tuple(self._decoders))
        return Operation("TURN.TX", AGAIN["TURN.TX"], arguments, reads)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._id!r}, {len(self._decoders)} steps)"


class Transaction(TransactionBase["Client"]):
    """A transaction, for threads."""

    __slots__ = ()

    def commit(self) -> Committed:
        """Carry the transaction out.

        When it returns, all of it is on the disks of a majority. Called again, such as after
        UnknownOutcomeError, it sends the same id.

        Raises:
            ConflictError: A condition does not hold; ``condition`` says which, from 1.
            IDReusedError: Another transaction over the same keys took place under this id. One over
                other keys is not the same, and takes place.
            UnknownOutcomeError: No reply came within ``timeout`` or ``retry_for``.
            TurnlogError: A step cannot take place; ``step`` says which, from 1.
        """
        return self._client.run(self.operation(), self._timeout)
