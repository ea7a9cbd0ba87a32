"""Which node the next request goes to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

# How long a node that failed is passed over, in seconds: doubled with each failure in a row.
AVOID_FIRST = 0.05
AVOID_MOST = 2.0


class Health:
    """What is remembered of a node: failures in a row, and until when it is passed over."""

    __slots__ = ("avoid_until", "failures")

    def __init__(self) -> None:
        self.failures = 0
        self.avoid_until = 0.0


class Routed(Protocol):
    """A node as the router sees it."""

    health: Health


N = TypeVar("N", bound=Routed)


class Router(Generic[N]):
    """Stays with the node that worked last; when it fails, takes the next. Thread-safe."""

    def __init__(self, nodes: Sequence[N], now: Callable[[], float] = time.monotonic) -> None:
        self.nodes = tuple(nodes)
        self._now = now
        self._lock = threading.Lock()
        self._current = self.nodes[0]

    def pick(self) -> N:
        """Return the node to try next."""
        current = self._current
        if current.health.failures == 0:
            return current
        with self._lock:
            if self._now() < self._current.health.avoid_until:
                self._current = min(self.nodes, key=lambda n: n.health.avoid_until)
            return self._current

    def failed(self, node: N) -> None:
        """Note that a node gave no useful answer."""
        with self._lock:
            health = node.health
            pause = min(AVOID_FIRST * 2 ** min(health.failures, 10), AVOID_MOST)
            health.failures += 1
            health.avoid_until = self._now() + pause

    def worked(self, node: N) -> None:
        """Note that a node answered."""
        if node.health.failures:
            with self._lock:
                node.health.failures = 0
                node.health.avoid_until = 0.0

    def reset_after_fork(self) -> None:
        """Replace the lock, which another thread of the parent may have held."""
        self._lock = threading.Lock()
