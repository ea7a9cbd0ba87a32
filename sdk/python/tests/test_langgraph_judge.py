"""Random operations of graphs and stores, each answer compared with that of LangGraph's own checkpointer and store."""

import asyncio
import contextlib
import operator
import os
import random
import sqlite3
from typing import Annotated, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.errors import EmptyInputError, InvalidUpdateError
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send, interrupt

from test_langgraph_killed import Judge
from turnlog.langgraph import TurnlogSaver, TurnlogStore

SEEDS = range(int(os.environ.get("TURNLOG_SEEDS", "4")))
OPERATIONS = 25


def plain(found):
    """A checkpoint without what only one of both says of it."""
    if found is None:
        return None
    configs = [c and {k: v for k, v in c["configurable"].items() if not k.startswith("__")} for c in found[0:4:3]]
    names = ("thread_id", "checkpoint_ns", "checkpoint_id")
    configs = [c and {name: c.get(name, "") for name in names} for c in configs]
    # A value of a delta channel stays until its version changes; SQLite has it at the checkpoint that stored it alone.
    values = {name: value for name, value in found.checkpoint["channel_values"].items() if name != "kept"}
    checkpoint = {**found.checkpoint, "channel_values": values}
    return found._replace(config=configs[0], checkpoint=checkpoint, parent_config=configs[1])


class Judged(BaseCheckpointSaver):
    """Does everything on both, and compares what they answer."""

    def __init__(self, ours, theirs):
        super().__init__()
        self.ours, self.theirs, self.compared = ours, theirs, 0

    def get_tuple(self, config):
        ours, theirs = self.ours.get_tuple(config), self.theirs.get_tuple(config)
        assert plain(ours) == plain(theirs)
        self.compared += 1
        return ours

    def list(self, config, **options):
        ours, theirs = ([*s.list(config, **options)] for s in (self.ours, self.theirs))
        assert len(ours) == len(theirs)
        if "limit" not in options or config["configurable"].get("checkpoint_ns") is not None:
            assert by_id(ours) == by_id(theirs)
        self.compared += len(ours)
        yield from ours

    def put(self, *given):
        self.theirs.put(*given)
        return self.ours.put(*given)

    def put_writes(self, *given):
        self.theirs.put_writes(*given)
        self.ours.put_writes(*given)

    def delete_thread(self, thread):
        self.theirs.delete_thread(thread)
        self.ours.delete_thread(thread)

    def get_delta_channel_history(self, **given):
        ours, theirs = (s.get_delta_channel_history(**given) for s in (self.ours, self.theirs))
        assert ours == theirs
        return ours


def by_id(found: list[CheckpointTuple]):
    return sorted(map(plain, found), key=lambda t: (t.config["checkpoint_ns"], t.config["checkpoint_id"]))


class State(TypedDict, total=False):
    said: Annotated[list, operator.add]
    last: str
    kept: Annotated[list, DeltaChannel(lambda state, writes: state + [x for w in writes for x in w])]


class MockError(Exception):
    """What a node fails with."""


def build(saver, chance):
    """A graph that branches, asks, fails, sends and has a graph within, as chance wants."""

    def think(state):
        if chance.random() < 0.1:
            raise MockError
        return {"said": ["thought"], "last": "think", "kept": [chance.random()]}

    def ask(state):
        return {"said": [interrupt("go on?")]}

    within = StateGraph(State).add_node("think", think).add_node("ask", ask).add_edge(START, "think")
    within = within.add_conditional_edges("think", lambda s: chance.choice(["ask", END]), ["ask", END])
    graph = StateGraph(State).add_node("think", think).add_node("ask", ask).add_node("within", within.compile())

    def after(state):
        if len(state["said"]) > 40:
            return END
        return chance.choice(["ask", "within", END, [Send("think", state), Send("ask", state)], ["ask", "think"]])

    graph.add_edge(START, "think").add_conditional_edges("think", after, ["ask", "within", "think", END])
    return graph.compile(checkpointer=saver)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_graphs_find_in_turnlog_what_they_find_in_sqlite(client, key, tmp_path, seed):
    chance = random.Random(seed)
    theirs = Judge(sqlite3.connect(tmp_path / "theirs", check_same_thread=False))
    saver = Judged(TurnlogSaver(client, prefix=f"{key}:"), theirs)
    graph = build(saver, chance)
    for _ in range(OPERATIONS):
        thread = {"configurable": {"thread_id": chance.choice("ab")}, "recursion_limit": 8}
        history = list(graph.get_state_history(thread))
        some = chance.choice(history).config if history and chance.random() < 0.3 else thread
        some = {"recursion_limit": 8, **some}
        waiting = [i.id for i in graph.get_state(some).interrupts]
        how = chance.choice(["sync", "async", "exit"])
        with contextlib.suppress(MockError, EmptyInputError, InvalidUpdateError, RecursionError, RuntimeError):
            match chance.choice(["say", "say", "go on", "resume", "resume", "update", "copy", "list", "delete"]):
                case "say":
                    graph.invoke({"said": [f"hello {seed}"], "kept": ["k"]}, some, durability=how)
                case "go on":
                    graph.invoke(None, some, durability=how)
                case "resume" if waiting:
                    graph.invoke(Command(resume=dict.fromkeys(waiting, "yes")), some, durability=how)
                case "update":
                    graph.update_state(some, {"last": "updated", "kept": ["u"]}, as_node=chance.choice([None, "think"]))
                case "copy":
                    graph.update_state(some, None, as_node="__copy__")
                case "list":
                    before = {"before": some} if "checkpoint_id" in some["configurable"] else {}
                    list(saver.list(thread, filter={"source": "loop"}, limit=chance.randrange(4), **before))
                    list(saver.list(thread, filter=chance.choice([{"step": 1}, {"none": 1}, None]), **before))
                    list(saver.list({"configurable": thread["configurable"] | {"checkpoint_ns": ""}}, limit=2))
                case "delete" if chance.random() < 0.3:
                    saver.delete_thread(thread["configurable"]["thread_id"])
        graph.get_state(thread, subgraphs=True)
        list(saver.list(thread))
        ours, other = ([*build(s, chance).get_state_history(thread)] for s in (saver.ours, saver.theirs))
        assert [(s.values, s.next, s.tasks) for s in ours] == [(s.values, s.next, s.tasks) for s in other]
    assert saver.compared > OPERATIONS


LABELS = ["a", "b", "a:b", "ü/%3A", " ", "*x"]
FILTERS = [
    None,
    {},
    {"n": 1},
    {"n": {"$gt": 1}},
    {"n": {"$ne": 2}},
    {"tags": ["x"]},
    {"none": None},
    {"n": {"$lte": "2"}},
]


def operation_of(chance):
    namespace = tuple(chance.choice(LABELS) for _ in range(chance.randint(1, 3)))
    k = chance.choice(["k", "", "a:b", "ü", "long " * 50])
    match chance.choice(["put", "put", "put", "delete", "get", "search", "list"]):
        case "put":
            return PutOp(namespace, k, {"n": chance.choice([1, 2, 3.5, "2"]), "tags": chance.choice([["x"], "x"])})
        case "delete":
            return PutOp(namespace, k, None)
        case "get":
            return GetOp(namespace, k)
        case "search":
            prefix = namespace[: chance.randrange(3)]
            return SearchOp(prefix, filter=chance.choice(FILTERS), limit=1000, query=chance.choice([None, "meaning"]))
        case "list":
            path = tuple(chance.choice([*LABELS, "*"]) for _ in range(chance.randint(1, 2)))
            kinds = chance.sample(["prefix", "suffix"], chance.randrange(3))
            conditions = tuple(MatchCondition(kind, path) for kind in kinds) or None
            return ListNamespacesOp(conditions, chance.choice([None, 1, 2]), chance.randint(1, 9), chance.randrange(3))


def alone(store, op):
    """Carry out a read in LangGraph's store, which lists namespaces that are empty or were only asked for."""
    for namespace in [n for n, items in store._data.items() if not items]:
        del store._data[namespace]
    return store.batch([op])[0]


def answers(results):
    found = []
    for result in results:
        if isinstance(result, list):
            found.append(sorted((i.namespace, i.key, i.value, i.score) if hasattr(i, "key") else i for i in result))
        else:
            found.append(result and (result.namespace, result.key, result.value))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_store_answers_what_langgraphs_own_answers(client, key, seed):
    chance, ours, theirs = random.Random(seed), TurnlogStore(client, prefix=f"{key}:"), InMemoryStore()

    async def use():
        for _ in range(60):
            batch = [operation_of(chance) for _ in range(chance.randint(1, 5))]
            got = await ours.abatch(batch) if chance.random() < 0.5 else ours.batch(batch)
            reads = [None if isinstance(op, PutOp) else alone(theirs, op) for op in batch]
            theirs.batch([op for op in batch if isinstance(op, PutOp)])
            assert answers(got) == answers(reads), batch
            found = (s.search((), limit=1000) for s in (ours, theirs))
            assert answers([next(found)]) == answers([next(found)]), batch

    asyncio.run(use())


@pytest.mark.parametrize("namespace", [(), ("",), ("a.b",), (1,), ("a", "")])
def test_a_store_rejects_the_namespaces_that_langgraphs_own_rejects(client, key, namespace):
    stores = TurnlogStore(client, prefix=f"{key}:"), InMemoryStore()
    for store in stores:
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {"n": 1})
    with pytest.raises(InvalidNamespaceError):  # also where LangGraph does not look
        stores[0].batch([PutOp(("a",), "k", {"n": 1}), PutOp(namespace, "k", {"n": 1})])
    assert [store.search(()) for store in stores] == [[], []]


def test_a_store_does_not_pretend_that_items_expire(client, key):
    store = TurnlogStore(client, prefix=f"{key}:")
    for put in (lambda: store.put(("a",), "k", {}, ttl=1), lambda: store.batch([PutOp(("a",), "k", {}, ttl=1)])):
        with pytest.raises(NotImplementedError):
            put()
    assert store.search(()) == []
