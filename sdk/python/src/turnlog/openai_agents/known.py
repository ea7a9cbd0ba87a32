"""Up to which revision a reader knows a session."""

from __future__ import annotations

from ..result import Appended, History


class Known:
    """The revision up to which a reader knows a session. It moves on with the reader's own appends,
    unless another writer's messages are in between.
    """

    __slots__ = ("_last_seq", "revision")

    def __init__(self) -> None:
        self.revision: int | None = None
        self._last_seq = 0

    def read(self, history: History) -> None:
        """Note what was read."""
        self.revision, self._last_seq = history.revision, history.last_seq

    def appended(self, done: Appended) -> None:
        """Note an append of the reader's own."""
        if self.revision is not None and done.first_seq == self._last_seq + 1:
            self.revision, self._last_seq = done.revision, done.last_seq

    def forget(self) -> None:
        """Know nothing, until the next read."""
        self.revision = None
