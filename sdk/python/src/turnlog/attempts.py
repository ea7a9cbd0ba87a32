"""The attempts of one call: when another is made, and what the caller is told at last."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .config import Config
from .errors import (
    ConflictError,
    ExistsError,
    IDReusedError,
    NotFoundError,
    OverloadedError,
    TurnlogError,
    UnavailableError,
    UnknownOutcomeError,
)
from .operation import Again, Operation

PAUSE_FIRST = 0.01
PAUSE_MOST = 0.5

# After an attempt whose outcome is unknown, only these settle the matter: the state machine says them
# after it has looked for the ids. A node may refuse all else before that, by its limits, as of a version
# that does not know the request, or as a key that has been given another type since.
SETTLING = (
    NotFoundError,
    ExistsError,
    ConflictError,
    IDReusedError,
    UnknownOutcomeError,
)


class WrongNodes:
    """The nodes that no further attempt will mend, of those of the configuration."""

    __slots__ = ("_all", "_wrong")

    def __init__(self, config: Config) -> None:
        self._all = len(set(config.addresses))
        self._wrong: set[str] = set()

    def all_after(self, error: TurnlogError) -> bool:
        """Whether with this error no node is left."""
        if error.wrong_node:
            self._wrong.add(error.wrong_node)
        return len(self._wrong) >= self._all


class Attempts:
    """Decides after each failed attempt of one call. Times are of the clock ``now``."""

    __slots__ = ("_again", "_deadline", "_now", "_pause", "_retry_until", "_uncertain", "_wrong", "made")

    def __init__(
        self,
        operation: Operation[Any],
        config: Config,
        start: float,
        deadline: float | None,
        now: Callable[[], float],
    ) -> None:
        self._again = operation.again
        self._deadline = deadline
        self._retry_until = start + config.retry_for
        self._pause = PAUSE_FIRST
        self._now = now
        self._uncertain = False  # an attempt before may have been carried out
        self._wrong = WrongNodes(config)
        self.made: int = 1

    def failed(self, error: TurnlogError) -> float:
        """Return the seconds to wait before the next attempt, or raise what the caller is told."""
        unknown = isinstance(error, UnknownOutcomeError)
        self._uncertain = self._uncertain or unknown
        passing = isinstance(error, (UnavailableError, OverloadedError)) or error.wrong_node != ""
        if (not unknown and not passing) or self._wrong.all_after(error):
            raise self._settled(error)
        if unknown and self._again is Again.NEVER:
            raise error
        now = self._now()
        if self._deadline is not None and now + self._pause > self._deadline:
            raise self._settled(error, timed_out=True)
        if now + self._pause > self._retry_until:
            raise self._settled(error)
        wait = self._pause * random.uniform(0.5, 1.5)  # noqa: S311
        self._pause = min(2 * self._pause, PAUSE_MOST)
        self.made += 1
        return wait

    def _settled(self, error: TurnlogError, *, timed_out: bool = False) -> TurnlogError:
        error.timed_out = error.timed_out or timed_out
        if not self._uncertain or isinstance(error, SETTLING):
            return error
        unknown = UnknownOutcomeError(
            f"an earlier attempt may have taken place, but its reply was lost (then: {error})",
            timed_out=error.timed_out,
        )
        unknown.__cause__ = error
        return unknown
