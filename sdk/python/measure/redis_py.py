"""Measure the clients beside redis-py, with the same operations on the same three nodes.

    bin/sdk-python/bin/python sdk/python/measure/redis_py.py [ROUNDS]

An append is compared with RPUSH, and the last 20 messages with LRANGE. Both run in turns, the one that begins
changing from round to round, so that what else the machine does slows both. The figures are medians of the
rounds, of a ratio also the quartiles; the CPU time is that of this process, which says most on a busy machine.
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


def timed(calls, seconds, began):
    """Calls a second, and the microseconds of CPU time of one, since process_time was that."""
    return calls / seconds, (time.process_time() - began) * 1e6 / max(calls, 1)


def threads(n, call):
    """How many calls a second n threads make, and what one costs."""
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
    began = time.process_time()
    start.wait()
    for w in workers:
        w.join()
    return timed(sum(counts), SECONDS, began)


async def tasks(n, call):
    """How many calls a second n tasks make, and what one costs."""
    began = time.process_time()
    end = time.perf_counter() + SECONDS

    async def work(i):
        count = 0
        while time.perf_counter() < end:
            await call(i)
            count += 1
        return count

    return timed(sum(await asyncio.gather(*(work(i) for i in range(n)))), SECONDS, began)


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
    """What both clients reach in each round, by operation."""
    host, _, port = address.rpartition(":")
    with turnlog.Client(address) as ours, redis.Redis(host=host, port=int(port)) as theirs:
        for name, (our, their) in sync_calls(ours, theirs).items():
            pairs = []
            for i in range(rounds):
                sides = {side: threads(n, (our, their)[side]) for side in ((0, 1) if i % 2 else (1, 0))}
                pairs.append((sides[0], sides[1]))
            yield name, pairs


async def measure_async(address, n, rounds):
    """The same in asyncio."""
    host, _, port = address.rpartition(":")
    found = {}
    async with turnlog.AsyncClient(address) as ours, redis.asyncio.Redis(host=host, port=int(port)) as theirs:
        for name, (our, their) in sync_calls(ours, theirs).items():
            pairs = []
            for i in range(rounds):
                sides = {side: await tasks(n, (our, their)[side]) for side in ((0, 1) if i % 2 else (1, 0))}
                pairs.append((sides[0], sides[1]))
            found[name] = pairs
    return found.items()


def row(pairs):
    """Return the cells of rounds: their medians, and the quartiles of the ratios."""
    ours, theirs = ([statistics.median(p[side][i] for p in pairs) for i in (0, 1)] for side in (0, 1))
    rate, cpu = ([a[i] / b[i] for a, b in pairs] for i in (0, 1))
    low, middle, high = statistics.quantiles(rate, n=4)
    return (
        f"{ours[0]:,.0f}/s | {theirs[0]:,.0f}/s | {middle:.2f} ({low:.2f} to {high:.2f}) | "
        f"{ours[1]:.0f}, {theirs[1]:.0f} µs | {statistics.median(cpu):.2f}"
    )


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
            print("| operation | clients | turnlog | redis-py | ratio | CPU time of a call | ratio |")
            print("|---|---|---|---|---|---|---|")
            for n in (1, 16):
                for kind, found in (
                    ("threads", measure_sync(address, n, rounds)),
                    ("asyncio", asyncio.run(measure_async(address, n, rounds))),
                ):
                    for name, pairs in found:
                        print(f"| {name}, {kind} | {n} | {row(pairs)} |", flush=True)
        finally:
            cluster.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
