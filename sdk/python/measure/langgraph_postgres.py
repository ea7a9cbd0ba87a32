"""Measures TurnlogSaver beside LangGraph's checkpointer for PostgreSQL: time and bytes of a step.

Both run on this machine, each write on disk before it is answered: turnlog as three nodes, of which a
majority must have it, PostgreSQL as one. The runs alternate, and the median of each is printed; on a
busy machine only the ratio means something.

    bin/sdk-python/bin/pip install langgraph-checkpoint-postgres==3.2.0 'psycopg[binary]==3.3.9'
    bin/sdk-python/bin/python sdk/python/measure/langgraph_postgres.py --steps 1000 --runs 3
"""

import argparse
import contextlib
import glob
import itertools
import operator
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Annotated, TypedDict

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PACKAGE / "src"), str(PACKAGE / "tests")]

import psycopg
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, StateGraph

import turnlog
from cluster import Cluster
from ports import reserved
from turnlog.langgraph import TurnlogSaver, copy_threads

WHERE = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
DOCUMENT_BYTES = 50_000
MESSAGE_BYTES = 300
TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
WORDS = "the a order invoice of to for customer agent tool call result weather book please which one today".split()


def text(size, seed):
    """Words, which compress about as well as those of people."""
    chosen = random.Random(seed)
    return " ".join(f"{chosen.choice(WORDS)}{chosen.randrange(1000)}" for _ in range(size // 8))[:size]


class Whole(TypedDict):
    """A list of messages that is stored whole whenever it grows."""

    document: dict
    messages: Annotated[list, operator.add]


class Delta(TypedDict):
    """A list of messages of which a step stores what it adds."""

    document: dict
    messages: Annotated[list, DeltaChannel(lambda state, writes: state + [m for w in writes for m in w])]


def run(saver, state, steps):
    """Run a graph of so many steps, each saved before the next; return the seconds of each."""
    graph = StateGraph(state)
    graph.add_node("step", lambda s: {"messages": [text(MESSAGE_BYTES, len(s["messages"]))]})
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda s: "step" if len(s["messages"]) < steps else "__end__")
    config = WHERE | {"recursion_limit": steps + 10}
    start = time.perf_counter()
    done = graph.compile(checkpointer=saver).invoke(
        {"document": {"text": text(DOCUMENT_BYTES, 0)}, "messages": []}, config, durability="sync"
    )
    took = time.perf_counter() - start
    if len(done["messages"]) != steps:
        raise RuntimeError(f"{len(done['messages'])} steps instead of {steps}")
    return took / steps


def on_disk(paths):
    """Bytes that files take; a sparse one has more."""
    return sum(512 * file.stat().st_blocks for path in paths for file in (path, *path.rglob("*")) if file.is_file())


class OnTurnlog:
    """Three nodes."""

    def __init__(self, directory):
        self.directory = directory
        self.cluster = Cluster(directory)
        self.cluster.start()
        self.client = turnlog.Client(self.cluster.addresses)

    def run(self, state, steps):
        """Return the seconds of a step."""
        return run(TurnlogSaver(self.client), state, steps)

    def stored(self):
        """End the nodes, which makes them write their state; return the bytes of one, without its log."""
        self.stop()
        (directory,) = self.directory.glob("n1")
        return on_disk(path for path in directory.iterdir() if path.name != "wal")

    def stop(self):
        """End the nodes."""
        self.client.close()
        for node in self.cluster.nodes:
            if node.process.poll() is None:
                node.kill(signal.SIGTERM)
        self.cluster.stop()


class OnPostgres:
    """One server, with its settings as they come."""

    def __init__(self, directory):
        programs = pathlib.Path(max(glob.glob("/usr/lib/postgresql/*/bin"), default="/usr/local/bin"))
        self.data = directory / "data"
        as_user = []
        if os.getuid() == 0:  # it does not run as root
            shutil.chown(directory, "postgres")
            as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        init = [programs / "initdb", "-D", self.data, "-U", "turnlog", "--auth=trust", "--locale=C", "-E", "UTF8"]
        subprocess.run([*as_user, *init], check=True, stdout=subprocess.DEVNULL)
        self.held = contextlib.ExitStack()
        (port,) = self.held.enter_context(reserved(1))
        serve = [programs / "postgres", "-D", self.data, "-p", str(port), "-k", directory, "-h", "127.0.0.1"]
        self.process = subprocess.Popen([*as_user, *serve], stderr=subprocess.DEVNULL)
        self.url = f"postgresql://turnlog@127.0.0.1:{port}/postgres"
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url).close()
                break
            except psycopg.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def run(self, state, steps):
        """Return the seconds of a step."""
        with PostgresSaver.from_conn_string(self.url) as saver:
            saver.setup()
            return run(saver, state, steps)

    def stored(self):
        """Return the bytes of the tables with their indexes."""
        sizes = " + ".join(f"pg_total_relation_size('{table}')" for table in TABLES)
        with psycopg.connect(self.url) as connection:
            return connection.execute(f"select {sizes}").fetchone()[0]

    def stop(self):
        """End the server."""
        self.process.terminate()
        self.process.wait(60)
        self.held.close()


def measure(kind, state, steps):
    """Return the seconds and the bytes of a step, in a store that is made for it."""
    with tempfile.TemporaryDirectory() as directory:
        store = kind(pathlib.Path(directory))
        try:
            seconds = store.run(state, steps)
            return seconds, store.stored() / steps
        finally:
            store.stop()


def copy(steps):
    """Copy a thread from PostgreSQL, and print how long it takes."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        old, new = OnPostgres(pathlib.Path(one)), OnTurnlog(pathlib.Path(other))
        try:
            old.run(Whole, steps)
            with PostgresSaver.from_conn_string(old.url) as saver:
                start = time.perf_counter()
                copied = copy_threads(saver, TurnlogSaver(new.client))
                print(f"{copied} checkpoints copied from PostgreSQL in {time.perf_counter() - start:.1f} s")
                same = saver.get_tuple(WHERE).checkpoint == TurnlogSaver(new.client).get_tuple(WHERE).checkpoint
                print(f"the newest ones are {'equal' if same else 'NOT EQUAL'}")
        finally:
            old.stop()
            new.stop()


def main():
    """Measure, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    found = {}
    print(f"{options.steps} steps, {options.runs} runs, {os.cpu_count()} cores, load {os.getloadavg()}")
    for _ in range(options.runs):
        for state, kind in itertools.product((Whole, Delta), (OnTurnlog, OnPostgres)):
            figures = measure(kind, state, options.steps)
            found.setdefault((state, kind), []).append(figures)
            print(state.__name__, kind.__name__, [round(x, 5) for x in figures], flush=True)
        for state in (Whole, Delta):
            found.setdefault((state, InMemorySaver), []).append((run(InMemorySaver(), state, options.steps), 0))
    print("| state | checkpointer | ms of a step | bytes of a step |\n|---|---|---|---|")
    for (state, kind), runs in found.items():
        seconds, stored = (statistics.median(column) for column in zip(*runs, strict=True))
        print(f"| {state.__name__} | {kind.__name__} | {1000 * seconds:.1f} | {stored:,.0f} |")
    copy(options.steps)


if __name__ == "__main__":
    main()
