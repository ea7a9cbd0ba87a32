"""Operations: a command, what may be done when its reply is lost, and how the reply is read.

Neither client knows more about a command than this, so both have the same semantics.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
# No numbers: a signal at which hiredis 3.5 writes one, such as Ctrl-C, ends the process (its pack_command).
Argument = bytes | str


class Again(enum.Enum):
    """Whether a request may be sent again after an attempt that may have reached the server.

    The attempt that was given up can still be on its way: it may be carried out after the
    repetition was answered, and after whatever the caller did next. A late second time must
    not undo what came in between.
    """

    NEVER = enum.auto()  # a late repetition would change what came in between
    IDENTIFIED = enum.auto()  # the server recognises the ids and answers with the first outcome
    HARMLESS = enum.auto()  # it changes nothing


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """A request, encoded once and sent unchanged at every attempt."""

    command: str
    again: Again
    arguments: tuple[Argument, ...]
    decode: Callable[[Any], T]
    reply_wait: float | None = 0  # seconds for which the server may hold the reply back; None: no limit

    def stall(self, stall_timeout: float) -> float | None:
        """Return the seconds without a byte after which the reply is given up; None: never."""
        return None if self.reply_wait is None else stall_timeout + self.reply_wait

    @property
    def request(self) -> tuple[Argument, ...]:
        """The command with its arguments."""
        return (self.command, *self.arguments)


# By command, whether it may be repeated. Any request is repeated when it surely was not
# carried out: when it was never sent, or when the server says so.
AGAIN = {
    "TURN.APPEND": Again.IDENTIFIED,
    "TURN.REPLACE": Again.IDENTIFIED,  # with messages; a mere cut carries no id
    "TURN.POP": Again.NEVER,  # takes further messages, and the first ones were never seen
    "TURN.TRIM": Again.NEVER,  # "keep 20" would drop what was appended since
    "TURN.EDIT": Again.NEVER,  # overrides an edit made since
    "TURN.REMOVE": Again.NEVER,  # seqs begin again after a delete, and ids are forgotten
    "TURN.CLEAR": Again.NEVER,  # removes what was appended since
    "TURN.DELETE": Again.NEVER,  # removes a session created since
    "TURN.EXPIRE": Again.NEVER,  # overrides a deadline set since
    "TURN.RETAIN": Again.NEVER,  # overrides a limit set since
    "TURN.FORK": Again.NEVER,  # answers EXISTS for its own success
    "TURN.RENAME": Again.NEVER,  # answers NOT_FOUND for its own success
    "TURN.META": Again.NEVER,  # overrides values set since; reading them is harmless
    "TURN.ERASE": Again.NEVER,  # removes sessions created since
    "TURN.TX": Again.IDENTIFIED,  # it carries an id of its own
    "HSET": Again.NEVER,  # overrides values set since
    "HDEL": Again.NEVER,  # removes fields set since
    "HMGET": Again.HARMLESS,
    "HGETALL": Again.HARMLESS,
    "HSCAN": Again.HARMLESS,
    "HLEN": Again.HARMLESS,
    "TURN.READ": Again.HARMLESS,
    "TURN.TAIL": Again.HARMLESS,
    "TURN.INFO": Again.HARMLESS,
    "TURN.LIST": Again.HARMLESS,
    "TURN.CLUSTER": Again.HARMLESS,
}
