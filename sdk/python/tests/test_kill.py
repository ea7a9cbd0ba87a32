"""Writers go on while the leader is killed: nothing is lost, nothing is there twice."""

import asyncio
import concurrent.futures
import threading

import pytest

import turnlog

WRITERS = 6


class Progress:
    """Counts turns, lets a test wait for some of them, and says when writers may stop."""

    def __init__(self):
        self.done = 0
        self.stop = False
        self._changed = threading.Condition()

    def add(self):
        with self._changed:
            self.done += 1
            self._changed.notify_all()

    def wait_for_more(self, n):
        with self._changed:
            goal = self.done + n
            assert self._changed.wait_for(lambda: self.done >= goal, 60), f"{self.done} of {goal} turns"


def write(client, key, writer, progress):
    turns = []
    while not progress.stop:
        turn = [f"{writer}:{len(turns)}:{part}" for part in "qa"]
        client.session(key).append(*turn)
        turns.append(turn)
        progress.add()
    return turns


async def awrite(client, key, writer, progress):
    turns = []
    while not progress.stop:
        turn = [f"{writer}:{len(turns)}:{part}" for part in "qa"]
        await client.session(key).append(*turn)
        turns.append(turn)
        progress.add()
    return turns


@pytest.mark.slow
def test_leader_killed_while_appending(fresh_cluster):
    """Threads and tasks write while each of two leaders is killed with -9 and started again."""
    progress = Progress()
    client = turnlog.Client(fresh_cluster.addresses, retry_for=60)

    async def tasks():
        return await asyncio.gather(*[awrite(client.aio, "k", f"task{i}", progress) for i in range(WRITERS)])

    with concurrent.futures.ThreadPoolExecutor(WRITERS + 1) as pool:
        running = [pool.submit(write, client, "k", f"thread{i}", progress) for i in range(WRITERS)]
        running.append(pool.submit(asyncio.run, tasks()))
        try:
            for _ in range(2):
                progress.wait_for_more(50)
                leader = fresh_cluster.leader()
                leader.kill()
                progress.wait_for_more(50)
                leader.start()
                fresh_cluster.wait_ready(leader)
        finally:
            progress.stop = True
        written = [r.result(60) for r in running[:-1]] + running[-1].result(60)
    got = [m.text() for m in client.session("k").all()]
    wanted = [text for turns in written for turn in turns for text in turn]
    assert sorted(got) == sorted(wanted), "lost or doubled"
    assert all(a[:-1] == b[:-1] for a, b in zip(got[::2], got[1::2], strict=True)), "torn"
    for turns in written:
        mine = [t for t in got if t.split(":")[0] == turns[0][0].split(":")[0]]
        assert mine == [text for turn in turns for text in turn], "out of order"


def test_a_tail_over_killed_leaders(fresh_cluster):
    client = turnlog.Client(fresh_cluster.addresses, retry_for=60)
    tail = client.session("t").tail()
    for i in range(2):
        client.session("t").append(f"{i}a")
        assert next(tail).text() == f"{i}a"
        leader = fresh_cluster.leader()
        leader.kill()
        client.session("t").append(f"{i}b")
        assert next(tail).text() == f"{i}b"
        leader.start()
        fresh_cluster.wait_ready(leader)
