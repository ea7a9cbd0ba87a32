"""Measure the clients beside redis-py, with the same operations on the same three nodes.

    bin/sdk-python/bin/python sdk/python/measure/redis_py.py [ROUNDS]

An append is compared with RPUSH, and the last 20 messages with LRANGE. Both run in turns, so that what else
the machine does slows both; the figures are medians of the rounds.
"""

import asyncio
import pathlib
import statistics
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parent / "tests")]

import redis
import redis.asyncio

import turnlog
from cluster import Cluster

SECONDS = 1.0  # each part of a round
PAYLOAD = b'{"role": "user", "content": "' + b"x" * 270 + b'"}'
LAST = 20


def threads(n, call):
    """How many calls a second n threads make."""
    counts, start = [0] * n, threading.Barrier(n + 1)

    def work(i):
        start.wait()
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            call(i)
            counts[i] += 1

    workers = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    for w in workers:
        w.start()
    start.wait()
    for w in workers:
        w.join()
    return sum(counts) / SECONDS


async def tasks(n, call):
    """How many calls a second n tasks make."""
    end = time.perf_counter() + SECONDS

    async def work(i):
        count = 0
        while time.perf_counter() < end:
            await call(i)
            count += 1
        return count

    return sum(await asyncio.gather(*(work(i) for i in range(n)))) / SECONDS


def sync_calls(ours, theirs):
    """Each operation, with turnlog's client and with redis-py."""
    return {
        "append": (
            lambda i: ours.session(f"ours:{i}").append(PAYLOAD),
            lambda i: theirs.rpush(f"theirs:{i}", PAYLOAD),
        ),
        "last 20": (
            lambda i: ours.session(f"read:{i}").last(LAST),
            lambda i: theirs.lrange(f"read:{i}", -LAST, -1),
        ),
    }


def measure_sync(address, n, rounds):
    """Calls a second of both clients in each round, by operation."""
    host, _, port = address.rpartition(":")
    with turnlog.Client(address) as ours, redis.Redis(host=host, port=int(port)) as theirs:
        for name, (our, their) in sync_calls(ours, theirs).items():
            yield name, [(threads(n, our), threads(n, their)) for _ in range(rounds)]


async def measure_async(address, n, rounds):
    """The same in asyncio."""
    host, _, port = address.rpartition(":")
    found = {}
    async with turnlog.AsyncClient(address) as ours, redis.asyncio.Redis(host=host, port=int(port)) as theirs:
        for name, (our, their) in sync_calls(ours, theirs).items():
            found[name] = [(await tasks(n, our), await tasks(n, their)) for _ in range(rounds)]
    return found.items()


def main(rounds=5):
    """Print the table."""
    with tempfile.TemporaryDirectory() as directory:
        cluster = Cluster(pathlib.Path(directory))
        try:
            cluster.start()
            address = cluster.leader().resp
            with turnlog.Client(address) as client:
                for i in range(16):
                    client.session(f"read:{i}").append(*[PAYLOAD] * LAST)
            print("| operation | clients | turnlog | redis-py | ratio |\n|---|---|---|---|---|")
            for n in (1, 16):
                for kind, found in (
                    ("threads", measure_sync(address, n, rounds)),
                    ("asyncio", asyncio.run(measure_async(address, n, rounds))),
                ):
                    for name, pairs in found:
                        ours, theirs = (statistics.median(p[side] for p in pairs) for side in (0, 1))
                        ratio = statistics.median(a / b for a, b in pairs)
                        print(f"| {name}, {kind} | {n} | {ours:,.0f}/s | {theirs:,.0f}/s | {ratio:.2f} |", flush=True)
        finally:
            cluster.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
