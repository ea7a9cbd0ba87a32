"""Which node the next request goes to."""

from __future__ import annotations

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
        self.failures: int = 0
        self.avoid_until: float = 0.0


class Routed(Protocol):
    """A node as the router sees it."""

    health: Health


N = TypeVar("N", bound=Routed)


class Router(Generic[N]):
    """Stays with the node that worked last; when it fails, takes the next.

    Threads share it without a lock, which a signal handler that raises could leave locked: one that
    overlooks what another has just learned tries a node in vain, no more.
    """

    def __init__(self, nodes: Sequence[N], now: Callable[[], float] = time.monotonic) -> None:
        self.nodes: tuple[N, ...] = tuple(nodes)
        self._now = now
        self._current = self.nodes[0]

    def pick(self) -> N:
        """Return the node to try next."""
        current = self._current
        if current.health.failures:
            current = self._current = min(self.nodes, key=lambda n: n.health.avoid_until)
        return current

    def failed(self, node: N) -> None:
        """Note that a node gave no useful answer."""
        health = node.health
        pause = min(AVOID_FIRST * 2 ** min(health.failures, 10), AVOID_MOST)
        health.avoid_until = self._now() + pause
        health.failures += 1

    def worked(self, node: N) -> None:
        """Note that a node answered."""
        if node.health.failures:
            node.health.avoid_until = 0.0
            node.health.failures = 0
