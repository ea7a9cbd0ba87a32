"""Where a tail has arrived, and what it asks for next."""

from __future__ import annotations

import math
import time
from typing import Any

from . import requests
from .attempts import PAUSE_FIRST, PAUSE_MOST, WrongNodes
from .config import Config
from .errors import OverloadedError, TurnlogError, UnavailableError, UnknownOutcomeError
from .message import Message
from .operation import Operation
from .result import History

# How long the server holds back an empty answer, in seconds.
BLOCK = 5.0
PAGE_MESSAGES = 512
PAGE_BYTES = 4 << 20


class TailPosition:
    """The position of a tail, and how long it has had no answer."""

    def __init__(self, key: bytes, after: int, config: Config) -> None:
        self._key = key
        self._after = after
        self._incarnation = 0  # of the session that after belongs to; 0: not known yet
        self._config = config
        self._wrong = WrongNodes(config)
        self._down_since: float | None = None
        self._pause = PAUSE_FIRST
        self._waiting = False
        self._own = False  # ask the node itself, which has seen what ended the wait

    def begin(self) -> None:
        """Begin on a new connection."""
        self._waiting = self._own = False

    def requests(self) -> list[Operation[Any]]:
        """Return what to send together: a wait for more, unless there is more, and a read.

        A read after one that found something asks the node itself, which has seen what ended
        the wait; it may be behind the leader that answered before, and ``take`` passes over
        what is older than what it has. The others are linearizable, lest a node that lags
        show nothing again and again.
        """
        read = requests.read(
            self._key,
            after=self._after,
            limit=PAGE_MESSAGES,
            max_bytes=PAGE_BYTES,
            max_staleness=math.inf if self._own else None,
        )
        return [requests.wait(self._key, self._after, BLOCK), read] if self._waiting else [read]

    def take(self, found: History) -> list[Message]:
        """Return the messages that are next.

        If they belong to another session than the one that was followed, there are none yet:
        the next read begins at that one's start.
        """
        self._down_since, self._pause, self._wrong = None, PAUSE_FIRST, WrongNodes(self._config)
        self._waiting, self._own = not found.more, bool(found.messages)
        known = self._incarnation != 0
        same = known and found.incarnation == self._incarnation
        if found.incarnation < self._incarnation or (same and found.last_seq < self._after):
            return []  # deleted, or this node has yet to come to what the leader told before
        restarted = known and found.incarnation > self._incarnation
        self._incarnation = found.incarnation
        if restarted or found.last_seq < self._after:  # the second: after is of an earlier session
            self._after = 0
            return []
        return found.messages

    def passed(self, message: Message) -> None:
        """Note that the consumer has a message."""
        self._after = message.seq

    def failed(self, error: TurnlogError) -> float:
        """Return how long to wait before the next connection, or raise the error."""
        passing = isinstance(error, (UnavailableError, OverloadedError, UnknownOutcomeError)) or error.wrong_node
        if not passing or self._wrong.all_after(error):
            raise error
        now = time.monotonic()
        if self._down_since is None:
            self._down_since = now
        if now - self._down_since > self._config.retry_for:
            raise error
        pause = self._pause
        self._pause = min(2 * pause, PAUSE_MOST)
        return pause
