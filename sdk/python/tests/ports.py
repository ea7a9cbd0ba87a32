"""Ports for servers that tests start, held in the same way as those of tests in Go: see internal/ports."""

import contextlib
import random
import socket

# Below the ports that systems give to outgoing connections.
FIRST, LAST = 10_000, 31_999


@contextlib.contextmanager
def reserved(n, in_a_row=False):
    """Ports of loopback on which nothing listens, and which no other test gets before this ends.

    Each is held by a UDP socket of the same number, so also while the server that it is for is down.
    """
    width = n if in_a_row else 1
    found = []
    with contextlib.ExitStack() as held:
        for _ in range(1000 + 10 * n):
            if len(found) == n:
                break
            first = random.randint(FIRST, LAST + 1 - width)
            with contextlib.ExitStack() as attempt:
                row = range(first, first + width)
                if all(_hold(attempt, port) for port in row):
                    held.enter_context(attempt.pop_all())
                    found += row
        else:
            raise RuntimeError(f"no {n} free ports were found")
        yield found


def _hold(held, port):
    lock = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    try:
        lock.bind(("127.0.0.1", port))
    except OSError:
        return False
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) != 0
