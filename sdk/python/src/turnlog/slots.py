"""How many connections to a node may be in use, counted so that no interrupted call costs one."""

from __future__ import annotations

import collections
import contextlib
import itertools
import threading
import time
import weakref

LOOK_AGAIN = 0.2  # seconds after which a call that waits counts again: an interrupted one tells no other


class Slot:
    """The right of one call to one connection. It ends when it is given back, or when it is garbage."""

    __slots__ = ("__weakref__",)


class Slots:
    """Counts the slots that are alive, not those that were taken and not given back.

    A signal handler can raise between any two instructions, and so just before a slot is given back. Such a
    slot is garbage with the exception, and is counted no more. For the same reason there is no lock here that
    a call could leave locked, and being woken is a hint: a call that waits looks by itself, too.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # Those in use and those that wait, in the order in which they came: the first ones are in use.
        self._taken: dict[weakref.ref[Slot], None] = {}
        self._waiting: collections.deque[threading.Lock] = collections.deque()

    def take(self, slot: Slot, timeout: float) -> bool:
        """Wait until the slot is among those in use; either way it is to be given back."""
        ref = weakref.ref(slot)
        self._taken[ref] = None
        return len(self._taken) <= self._most or self._wait(ref, time.monotonic() + timeout)

    def give_back(self, slot: Slot) -> None:
        """End a slot, also one that was not taken."""
        self._taken.pop(weakref.ref(slot), None)
        if self._waiting:
            with contextlib.suppress(IndexError, RuntimeError):  # another thread was faster
                self._waiting.popleft().release()

    def _wait(self, ref: weakref.ref[Slot], until: float) -> bool:
        told = threading.Lock()
        told.acquire()
        self._waiting.append(told)
        try:
            while not self._in_use(ref):
                left = until - time.monotonic()
                if left <= 0:
                    return False
                told.acquire(timeout=min(left, LOOK_AGAIN))
            return True
        finally:
            with contextlib.suppress(ValueError):
                self._waiting.remove(told)

    def _in_use(self, ref: weakref.ref[Slot]) -> bool:
        """Forget the slots of interrupted calls, and return whether this one's turn has come."""
        for other in list(self._taken):
            if other() is None:
                self._taken.pop(other, None)
        return ref in itertools.islice(list(self._taken), self._most)
