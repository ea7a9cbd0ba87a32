"""Leaders are killed while the adapter of a framework saves: nothing is lost, nothing is there twice."""

import concurrent.futures

import turnlog
from test_kill import Progress

WRITERS = 4


def leaders_are_killed_while_it_saves(cluster, framework):
    """``framework(client)`` has ``add(writer, n)``, which saves two messages, and ``load()``, which returns all."""
    progress = Progress()

    def write(writer):
        turns = 0
        while not progress.stop:
            memory.add(writer, turns)
            turns += 1
            progress.add()
        return turns

    with turnlog.Client(cluster.addresses, retry_for=60) as client:
        memory = framework(client)
        with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
            running = [pool.submit(write, writer) for writer in range(WRITERS)]
            try:
                for _ in range(2):
                    progress.wait_for_more(15)
                    leader = cluster.leader()
                    leader.kill()
                    progress.wait_for_more(15)
                    leader.start()
                    cluster.wait_ready(leader)
            finally:
                progress.stop = True
            written = [r.result(60) for r in running]
        got = memory.load()
    wanted = [f"{w}:{n}:{part}" for w, turns in enumerate(written) for n in range(turns) for part in "qa"]
    assert sorted(got) == sorted(wanted), "lost or doubled"
    assert all(a[:-1] == b[:-1] for a, b in zip(got[::2], got[1::2], strict=True)), "torn"
