"""Makes clients usable after ``os.fork``: the child opens connections of its own."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Resettable(Protocol):
    """What must forget the parent's connections and locks."""

    def reset_after_fork(self) -> None:
        """Forget them without touching the parent's sockets."""


_alive: weakref.WeakSet[Resettable] = weakref.WeakSet()


def reset_in_child(thing: Resettable) -> None:
    """Call ``thing.reset_after_fork()`` in every process that is forked from this one."""
    _alive.add(thing)


def _after_fork() -> None:
    for thing in list(_alive):
        thing.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
