"""The checkpointer for LangGraph, through a real cluster."""

import asyncio
import concurrent.futures
import multiprocessing
import operator
import os
import re
import subprocess
import sys
import threading
from typing import Annotated, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint, uuid6
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

import turnlog
from cluster import ROOT
from proxy import Proxy, losing
from test_readme import ADDRESSES
from turnlog.langgraph import TurnlogSaver, copy_threads

META = {"source": "loop", "step": 0, "parents": {}}


class State(TypedDict):
    said: Annotated[list, operator.add]


def agent(saver):
    """A graph of two nodes; the second one asks a person first."""
    graph = StateGraph(State)
    graph.add_node("think", lambda s: {"said": [f"thought {len(s['said'])}"]})
    graph.add_node("ask", lambda s: {"said": [str(interrupt("go on?"))]})
    graph.add_edge(START, "think")
    graph.add_edge("think", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


def checkpoint(said, version):
    made = empty_checkpoint()
    return made | {
        "id": str(uuid6(clock_seq=version)),
        "channel_values": {"said": said},
        "channel_versions": {"said": version},
    }


def where(thread, checkpoint_id=None):
    entries = {"thread_id": thread, "checkpoint_ns": ""}
    return {"configurable": entries | ({"checkpoint_id": checkpoint_id} if checkpoint_id else {})}


def put(saver, config, said, version):
    return saver.put(config, checkpoint(said, version), META, {"said": version})


def said(found):
    return found.checkpoint["channel_values"].get("said")


def test_the_published_conformance_suite_passes_whole(client):
    @checkpointer_test(name="TurnlogSaver")
    async def made():
        yield TurnlogSaver(client)

    report = asyncio.run(validate(made))
    failures = [failure for result in report.results.values() for failure in result.failures]
    assert failures == []
    assert len(report.results) == 8
    assert all(result.passed for result in report.results.values())
    assert report.conformance_level() == "FULL"
    table = (ROOT / "docs" / "compat.md").read_text()
    row = re.search(r"langgraph-checkpoint-conformance [\d.]+.* \| (\d+) \| 0 \| 0 \|", table)
    passed = sum(result.tests_passed for result in report.results.values())
    assert row and passed == int(row[1]), f"the table in docs/compat.md is stale: {passed} passed"


def test_an_interrupted_graph_is_resumed_by_another_client_after_the_leader_was_killed(fresh_cluster, key):
    config = where(key)
    with turnlog.Client(fresh_cluster.addresses) as first:
        agent(TurnlogSaver(first)).invoke({"said": ["hello"]}, config)
    fresh_cluster.leader().kill()
    with turnlog.Client(fresh_cluster.addresses) as second:
        resumed = agent(TurnlogSaver(second))
        state = resumed.invoke(Command(resume="yes"), config)
        assert state["said"] == ["hello", "thought 1", "yes"]
        history = list(resumed.get_state_history(config))
        assert [s.next for s in history] == [(), ("ask",), ("think",), ("__start__",)]
        resumed.update_state(history[1].config, {"said": ["edited"]})  # a fork, on purpose
        assert resumed.get_state(config).values["said"] == ["hello", "thought 1", "edited"]
        assert resumed.get_state(history[0].config).values["said"] == ["hello", "thought 1", "yes"]
        assert resumed.invoke(None, history[1].config)["said"] == ["hello", "thought 1"]  # another one


def test_a_graph_in_asyncio(client, key):
    async def both():
        graph = agent(TurnlogSaver(client))
        await graph.ainvoke({"said": ["hello"]}, where(key))
        state = await graph.ainvoke(Command(resume="yes"), where(key))
        return state["said"], [s.next async for s in graph.aget_state_history(where(key))]

    said_, nexts = asyncio.run(both())
    assert said_ == ["hello", "thought 1", "yes"]
    assert nexts == [(), ("ask",), ("think",), ("__start__",)]


def team(saver):
    """A graph that asks agents of its own in parallel; each is a graph that asks a person."""
    graph = StateGraph(State)
    graph.add_node("ask", agent(None))
    graph.add_conditional_edges(START, lambda s: [Send("ask", {"said": [name]}) for name in s["said"]])
    return graph.compile(checkpointer=saver)


def test_agents_within_an_agent_are_resumed_by_another_client(cluster, client, key):
    team(TurnlogSaver(client)).invoke({"said": ["a", "b"]}, where(key))
    with turnlog.Client(cluster.addresses) as other:
        resumed = team(TurnlogSaver(other))
        waiting = resumed.get_state(where(key), subgraphs=True)
        assert len(waiting.interrupts) == 2
        answers = {waiting.interrupts[0].id: "yes", waiting.interrupts[1].id: "no"}
        done = resumed.invoke(Command(resume=answers), where(key))
        assert done["said"] == ["a", "b", "a", "thought 1", "yes", "b", "thought 1", "no"]
        spaces = {found.config["configurable"]["checkpoint_ns"] for found in TurnlogSaver(other).list(where_all(key))}
        assert len(spaces) == 3


def where_all(thread):
    return {"configurable": {"thread_id": thread}}


def test_two_processes_on_one_thread_cannot_fork_it_unnoticed(client, key):
    a, b = TurnlogSaver(client), TurnlogSaver(client)
    assert a.get_tuple(where(key)) is None
    assert b.get_tuple(where(key)) is None
    first = put(a, where(key), "a", 1)
    with pytest.raises(turnlog.ConflictError):
        put(b, where(key), "b", 1)
    read_by_b = b.get_tuple(where(key)).config
    second = put(a, first, "aa", 2)
    with pytest.raises(turnlog.ConflictError):
        put(b, read_by_b, "ab", 2)
    stranger = TurnlogSaver(client)
    with pytest.raises(turnlog.ConflictError):
        put(stranger, first, "ac", 2)
    # A walk through the history is no reading of what a run goes on from.
    b.get_delta_channel_history(config=second, channels=["said"])
    list(b.list(where(key)))
    with pytest.raises(turnlog.ConflictError):
        put(b, read_by_b, "ad", 2)
    # Nor is what another task of this process read.
    forked_at = b.get_tuple(first).config
    with pytest.raises(turnlog.ConflictError):
        put(b, read_by_b, "ae", 2)
    assert said(stranger.get_tuple(where(key))) == "aa"
    # Versions of the channel are numbered alike on both branches, and their values are told apart.
    put(b, forked_at, "af", 2)
    assert said(b.get_tuple(second)) == "aa"
    assert said(b.get_tuple(where(key))) == "af"


def test_of_twenty_writers_at_once_one_puts_the_next_checkpoint(client, key):
    put(TurnlogSaver(client), where(key), "root", 1)
    savers = [TurnlogSaver(client) for _ in range(20)]
    configs = [saver.get_tuple(where(key)).config for saver in savers]
    start = threading.Barrier(20)

    def write(i):
        start.wait(60)
        try:
            return put(savers[i], configs[i], f"writer {i}", 2)
        except turnlog.ConflictError as e:
            return e

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        results = list(pool.map(write, range(20)))
    won = [i for i, result in enumerate(results) if not isinstance(result, Exception)]
    assert len(won) == 1
    assert sum(isinstance(result, turnlog.ConflictError) for result in results) == 19
    assert said(savers[0].get_tuple(where(key))) == f"writer {won[0]}"


def run_graph(addresses, thread, name, start, results):
    """Run a graph in a process of its own, from what it has read before others began to write."""
    with turnlog.Client(addresses) as client:
        saver = TurnlogSaver(client)
        config = saver.get_tuple(where(thread)).config
        start.wait(60)
        try:
            put(saver, config, name, 2)
            results.put("put")
        except turnlog.ConflictError:
            results.put("conflict")


def test_of_two_processes_one_puts(cluster, client, key):
    put(TurnlogSaver(client), where(key), "root", 1)
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(2), context.Queue()
    processes = [
        context.Process(target=run_graph, args=(cluster.addresses, key, name, start, results)) for name in "ab"
    ]
    for process in processes:
        process.start()
    assert sorted(results.get(timeout=60) for _ in processes) == ["conflict", "put"]
    for process in processes:
        process.join(60)


def test_a_run_that_another_one_has_overtaken_says_so(client, key):
    """The second run of a graph begins while the first one waits inside a node."""
    inside, go_on = threading.Event(), threading.Event()

    def slow(state):
        if state["said"][-1] == "slow":
            inside.set()
            assert go_on.wait(60)
        return {"said": ["done"]}

    graph = StateGraph(State).add_node("work", slow).add_edge(START, "work").add_edge("work", END)
    config = where(key)
    graph.compile(checkpointer=TurnlogSaver(client)).invoke({"said": ["root"]}, config)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        slow_one = graph.compile(checkpointer=TurnlogSaver(client))
        first = pool.submit(slow_one.invoke, {"said": ["slow"]}, config, durability="sync")
        assert inside.wait(60)
        other = graph.compile(checkpointer=TurnlogSaver(client))
        assert other.invoke({"said": ["fast"]}, config)["said"][-2:] == ["fast", "done"]
        go_on.set()
        with pytest.raises(turnlog.ConflictError):
            first.result(60)
    assert other.get_state(config).values["said"][-2:] == ["fast", "done"]


def test_a_put_that_is_repeated_takes_place_once(client, key):
    saver = TurnlogSaver(client)
    saver.get_tuple(where(key))
    once = checkpoint("once", 1)
    config = saver.put(where(key), once, META, {"said": 1})
    assert saver.put(where(key), once, META, {"said": 1}) == config
    put(saver, config, "next", 2)
    assert [said(found) for found in saver.list(where(key))] == ["next", "once"]


def test_a_put_whose_reply_is_lost_takes_place_once(cluster, client, key):
    proxy = Proxy(cluster.nodes[0].resp)
    saver = TurnlogSaver(turnlog.Client(proxy.address))
    first = put(saver, where(key), "a", 1)
    proxy.lose = losing(b"TURN.TX")
    second = put(saver, first, "b", 2)
    assert proxy.lost.is_set()
    put(saver, second, "c", 3)
    assert [said(found) for found in TurnlogSaver(client).list(where(key))] == ["c", "b", "a"]
    proxy.close()


def test_a_put_of_unknown_outcome_may_be_made_again(cluster, client, key):
    proxy = Proxy(cluster.nodes[0].resp)
    saver = TurnlogSaver(turnlog.Client(proxy.address, retry_for=0))
    first, second = put(saver, where(key), "a", 1), checkpoint("b", 2)
    proxy.lose = losing(b"TURN.TX")
    with pytest.raises(turnlog.UnknownOutcomeError):
        saver.put(first, second, META, {"said": 2})
    put(saver, saver.put(first, second, META, {"said": 2}), "c", 3)
    assert [said(found) for found in TurnlogSaver(client).list(where(key))] == ["c", "b", "a"]
    proxy.close()


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_a_run_goes_on_while_the_leader_is_killed(fresh_cluster, key, durability):
    def step(state):
        if len(state["said"]) == 10:
            fresh_cluster.leader().kill()
        return {"said": [len(state["said"])]}

    graph = StateGraph(State).add_node("step", step).add_edge(START, "step")
    graph.add_conditional_edges("step", lambda s: "step" if len(s["said"]) < 20 else END)
    with turnlog.Client(fresh_cluster.addresses) as client:
        app = graph.compile(checkpointer=TurnlogSaver(client))
        done = app.invoke({"said": [0]}, where(key) | {"recursion_limit": 50}, durability=durability)
        assert done["said"] == list(range(20))
        history = [len(s.values["said"]) for s in app.get_state_history(where(key))]
        assert history == [*range(20, 0, -1), 0]


def test_a_step_stores_what_it_changes_not_the_state(client, key):
    saver, large, config = TurnlogSaver(client, prefix=f"{key}:"), "x" * 100_000, where("t")
    for step in range(1, 51):
        made = checkpoint(step, step)
        made["channel_values"]["large"], made["channel_versions"]["large"] = large, 1
        config = saver.put(config, made, META, {"said": 1, "large": 1} if step == 1 else {"said": step})
    read = TurnlogSaver(client, prefix=f"{key}:").get_tuple(config)
    assert read.checkpoint["channel_values"] == {"said": 50, "large": large}
    assert sum(map(len, client.hash(f"{key}:data:t:").all().values())) < 2 * len(large)


def keys_of(cluster, prefix):
    import redis

    host, _, port = cluster.leader().resp.partition(":")
    found = redis.Redis(host=host, port=int(port)).keys("*")  # a prefix may have what stands for others
    return sorted(k.decode() for k in found if k.startswith(prefix.encode()))


def test_a_thread_is_deleted_with_all_it_has_and_no_other_one(cluster, client):
    saver = TurnlogSaver(client, prefix="gone:")
    for thread in ("1", "12", "1:2", "1%3A2"):
        for ns in ("", "child:x"):
            config = put(saver, {"configurable": {"thread_id": thread, "checkpoint_ns": ns}}, thread, 1)
            saver.put_writes(config, [("said", "w")], "task")
    saver.delete_thread("1")
    left = [found.config["configurable"]["thread_id"] for found in saver.list(None)]
    assert sorted(left) == sorted(["1%3A2", "1%3A2", "12", "12", "1:2", "1:2"])
    keys = keys_of(cluster, "gone:")
    assert [k for k in keys if k.split(":")[2] == "1"] == []
    assert len(keys) == 18


class Between(turnlog.Client):
    """Does something else before its operations of some number."""

    def interrupt(self, number, other):
        self.left, self.other = number, other

    def run(self, operation, timeout):
        self.left -= 1
        if self.left == 0:
            self.other()
        return super().run(operation, timeout)


def begin_again(client, key):
    """Begin a thread, as a run of a graph does."""
    saver = TurnlogSaver(client, prefix=f"{key}:")
    found = saver.get_tuple(where("t"))
    config = put(saver, found.config if found else where("t"), "new", 7)
    saver.put_writes(config, [("said", "w")], "task")
    return saver, config


@pytest.mark.parametrize("operation", range(1, 5))
def test_a_run_that_begins_while_its_thread_is_deleted_has_whole_checkpoints_or_a_conflict(
    cluster, client, key, operation
):
    put(*begin_again(client, key), "old", 8)
    begun = []
    with Between(cluster.addresses) as deleting:
        deleting.interrupt(operation, lambda: begun.append(begin_again(client, key)))
        TurnlogSaver(deleting, prefix=f"{key}:").delete_thread("t")
    found = TurnlogSaver(client, prefix=f"{key}:").get_tuple(where("t"))
    if found is None:
        for run in begun:
            with pytest.raises(turnlog.ConflictError):
                put(*run, "next", 9)
    else:
        assert (said(found), found.pending_writes) == ("new", [("task", "said", "w")])
        put(*begun[0], "next", 9)
        assert [said(found) for found in begun[0][0].list(where("t"))] == ["next", "new"]


@pytest.mark.parametrize("operation", range(1, 10))
def test_a_run_that_begins_a_thread_while_another_one_is_copied_to_it_loses_nothing(cluster, client, key, operation):
    source = TurnlogSaver(client, prefix=f"{key}:")
    config = put(source, where("source"), "copied", 1)
    source.put_writes(config, [("said", "w")], "task")
    begun = []
    with Between(cluster.addresses) as copying:
        copying.interrupt(operation, lambda: begun.append(begin_again(client, key)))
        try:
            TurnlogSaver(copying, prefix=f"{key}:").copy_thread("source", "t")
        except turnlog.ExistsError:
            assert begun
    assert [s.key for s in client.sessions(f"{key}:writes:t:") if s.key.endswith(":")] == []
    found = source.get_tuple(where("t"))
    if begun:
        assert (said(found), found.pending_writes) == ("new", [("task", "said", "w")])
    else:
        assert (said(found), found.pending_writes) == ("copied", [("task", "said", "w")])


@pytest.mark.parametrize("operation", range(1, 10))
def test_a_thread_that_goes_on_while_it_is_copied_is_copied_as_it_was_at_one_moment(cluster, client, key, operation):
    source = TurnlogSaver(client, prefix=f"{key}:")
    config = put(source, where("source"), "first", 1)
    source.put_writes(config, [("said", "w")], "task")
    with Between(cluster.addresses) as copying:
        copying.interrupt(operation, lambda: put(source, config, "second", 2))
        TurnlogSaver(copying, prefix=f"{key}:").copy_thread("source", "t")
    copied = [said(found) for found in source.list(where("t"))]
    assert copied in (["first"], ["second", "first"])
    assert [s.key for s in client.sessions(f"{key}:writes:t:") if s.key.endswith(":")] == []


def test_pruning_leaves_nothing_but_the_newest(cluster, client, key):
    saver = TurnlogSaver(client, prefix=f"{key}:")
    config, kept = where("t"), "large value"
    for step in range(1, 101):
        made = checkpoint(step, step)
        made["channel_values"]["kept"], made["channel_versions"]["kept"] = kept, 1
        config = saver.put(config, made, META, {"said": 1, "kept": 1} if step == 1 else {"said": step})
        saver.put_writes(config, [("said", step)], f"task {step}")
    before = saver.get_tuple(where("t"))
    saver.prune(["t"])
    after = TurnlogSaver(client, prefix=f"{key}:").get_tuple(where("t"))
    assert after.checkpoint == before.checkpoint
    assert after.pending_writes == [("task 100", "said", 100)]
    assert [said(found) for found in saver.list(where("t"))] == [100]
    assert len(client.hash(f"{key}:data:t:").all()) == 3  # the checkpoint, and two values
    assert len(keys_of(cluster, f"{key}:")) == 3
    with pytest.raises(turnlog.ConflictError):  # a run that has read what was removed since
        put(saver, before.config, "late", 101)
    saver.prune(["t"], strategy="delete")
    assert keys_of(cluster, f"{key}:") == []


def test_of_a_run_that_is_deleted_values_stay_that_others_need(cluster, client, key):
    saver = TurnlogSaver(client, prefix=f"{key}:")
    first, second, third = checkpoint("a", 1), checkpoint("a", 1), checkpoint("c", 2)
    one = saver.put(where("t"), first, META | {"run_id": "r1"}, {"said": 1})
    two = saver.put(one, second, META | {"run_id": "r2"}, {})
    saver.put(two, third, META | {"run_id": "r3"}, {"said": 2})
    saver.delete_for_runs(["r1", "r3"])
    assert said(saver.get_tuple(where("t"))) == "a"  # the newest that is left, with what r1 stored
    assert [found.metadata["run_id"] for found in saver.list(where("t"))] == ["r2"]
    config = put(saver, saver.get_tuple(where("t")).config, "d", 3)
    assert said(saver.get_tuple(config)) == "d"
    saver.delete_for_runs(["r2"])
    assert said(saver.get_tuple(where("t"))) == "d"


class Kept(TypedDict):
    items: Annotated[list, DeltaChannel(lambda state, writes: state + [x for w in writes for x in w])]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_delta_channels_survive_pruning(client, key, durability):
    graph = StateGraph(Kept).add_node("work", lambda s: {"items": [f"done {len(s['items'])}"]})
    graph = graph.add_edge(START, "work").add_edge("work", END)
    expected = []
    for i in range(5):
        app = graph.compile(checkpointer=TurnlogSaver(client))
        app.invoke({"items": [f"in {i}"]}, where(key), durability=durability)
        expected += [f"in {i}", f"done {2 * i + 1}"]
    assert app.get_state(where(key)).values["items"] == expected
    saver = TurnlogSaver(client)
    saver.prune([key])
    assert graph.compile(checkpointer=saver).get_state(where(key)).values["items"] == expected


def copies_of(saver):
    """Copy each checkpoint of a finished run, as a user who goes back to it does."""
    app = agent(saver)
    app.invoke({"said": ["hello"]}, where("t"))
    app.invoke(Command(resume="yes"), where("t"))
    for before in list(app.get_state_history(where("t"))):
        app = agent(saver if isinstance(saver, InMemorySaver) else TurnlogSaver(saver._client, prefix=saver._prefix))
        copied = app.get_state(app.update_state(before.config, None, as_node="__copy__"))
        yield copied.values, copied.next, app.get_state(where("t")).values
    app.update_state(where("t"), None, as_node="__copy__")  # of the newest, in the process that has put it
    yield app.get_state(where("t")).values, len(list(app.get_state_history(where("t"))))


def test_a_checkpoint_is_copied_on_purpose(client, key):
    assert list(copies_of(TurnlogSaver(client, prefix=f"{key}:"))) == list(copies_of(InMemorySaver()))


def test_a_copy_is_put_after_what_was_read_of_it(client, key):
    saver, other = TurnlogSaver(client), TurnlogSaver(client)
    first = put(saver, where(key), "a", 1)
    read = put(saver, first, "b", 2)
    for config in (first, read):
        found = saver.get_tuple(config)
        after = found.parent_config or {"configurable": found.config["configurable"] | {"checkpoint_id": None}}
        put(other, other.get_tuple(where(key)).config, "other", 3)
        with pytest.raises(turnlog.ConflictError):
            saver.put(after, checkpoint("copy", 4), META | {"source": "fork"}, {})


def test_values_that_are_larger_together_than_a_message(client, key):
    class Parts(TypedDict):
        a: str
        b: str
        c: str

    graph = StateGraph(Parts).add_node("work", lambda s: {k: k * (5 << 20) for k in "abc"}).add_edge(START, "work")
    saver = TurnlogSaver(client)
    graph.compile(checkpointer=saver).invoke({"a": ""}, where(key), durability="sync")
    state = graph.compile(checkpointer=saver).get_state(where(key))
    assert [(k, v[:1], len(v)) for k, v in state.values.items()] == [(k, k, 5 << 20) for k in "abc"]
    written = [w for found in saver.list(where(key)) for w in found.pending_writes if len(w[2] or "") > 10]
    assert [w[1] for w in written] == ["a", "b", "c"]


def test_a_value_that_is_too_large_is_named(client, key):
    saver = TurnlogSaver(client)
    with pytest.raises(turnlog.TooLargeError, match="of 'said', has 209715"):
        put(saver, where(key), "x" * (20 << 20), 1)
    config = put(saver, where(key), "x", 1)
    with pytest.raises(turnlog.TooLargeError, match="of 'large', has 94371"):
        saver.put_writes(config, [("small", "x"), ("large", "x" * (9 << 20))], "task")
    assert saver.get_tuple(config).pending_writes == []


def test_a_thousand_channels_are_read_in_a_few_requests(cluster, client, key):
    made = checkpoint("x", 1)
    made["channel_values"] = {f"c{i}": i for i in range(1000)}
    made["channel_versions"] = dict.fromkeys(made["channel_values"], 1)
    TurnlogSaver(client).put(where(key), made, META, made["channel_versions"])
    with Between(cluster.addresses) as counting:
        counting.left = 0
        assert TurnlogSaver(counting).get_tuple(where(key)).checkpoint == made
        assert -counting.left < 10


def test_a_copy_is_a_thread_of_its_own(client, key):
    saver = TurnlogSaver(client, prefix=f"{key}:")
    agent(saver).invoke({"said": ["hello"]}, where("source"))
    saver.copy_thread("source", "target")
    with pytest.raises(turnlog.ExistsError):
        saver.copy_thread("source", "target")
    graph = agent(TurnlogSaver(client, prefix=f"{key}:"))
    assert graph.invoke(Command(resume="yes"), where("target"))["said"] == ["hello", "thought 1", "yes"]
    assert graph.get_state(where("source")).next == ("ask",)


@pytest.mark.parametrize("operation", range(3, 12))
def test_a_copy_that_failed_is_deleted_and_made_again(cluster, client, key, operation):
    source = TurnlogSaver(client, prefix=f"{key}:")
    for ns in ("", "child"):
        config = put(source, where("source") | {"configurable": {"thread_id": "source", "checkpoint_ns": ns}}, ns, 1)
        source.put_writes(config, [("said", "w")], "task")

    def fail():
        raise turnlog.UnavailableError("no node answers")

    with Between(cluster.addresses) as copying:
        copying.interrupt(operation, fail)
        with pytest.raises(turnlog.UnavailableError):
            TurnlogSaver(copying, prefix=f"{key}:").copy_thread("source", "t")
    source.delete_thread("t")
    assert [found for found in keys_of(cluster, f"{key}:") if ":t:" in found] == []
    assert [s.key for s in client.sessions(f"{key}:writes:t:")] == []
    with Between(cluster.addresses) as copying:
        copying.interrupt(operation, fail)
        with pytest.raises(turnlog.UnavailableError):
            TurnlogSaver(copying, prefix=f"{key}:").copy_thread("source", "u")
    if not list(source.list(where_all("u"))):
        source.copy_thread("source", "u")
        assert [s.key for s in client.sessions(f"{key}:writes:u:") if s.key.endswith(":")] == []
        assert [said(found) for found in source.list(where_all("u"))] == ["", "child"]


def test_a_thread_larger_than_a_reply_is_copied_and_pruned(cluster, client, key):
    saver, config = TurnlogSaver(client, prefix=f"{key}:"), where("source")
    for step in range(1, 11):
        config = put(saver, config, str(step % 10) * (7 << 20), step)
    saver.copy_thread("source", "target")
    saver.prune(["source"])
    assert said(saver.get_tuple(where("source"))) == "0" * (7 << 20)
    assert said(saver.get_tuple(where("target"))) == "0" * (7 << 20)
    assert len(list(saver.list(where("target")))) == 10
    saver.prune(["target", "source"], strategy="delete")
    assert keys_of(cluster, f"{key}:") == []


def test_a_thread_that_came_with_text_as_versions_goes_on(client, key):
    versions = {"said": "00000000000000000000000000000007.0.5"}
    made = checkpoint(["old"], 1) | {"channel_versions": versions}
    saver = TurnlogSaver(client)
    saver.put(where(key), made, META, versions)
    agent(saver).invoke({"said": ["hello"]}, where(key))
    assert agent(saver).get_state(where(key)).values["said"] == ["old", "hello", "thought 2"]


def test_threads_move_from_another_checkpointer(client, key):
    old, saver = InMemorySaver(), TurnlogSaver(client, prefix=f"{key}:")
    for thread in ("a", "b:c"):
        agent(old).invoke({"said": [f"hello {thread}"]}, where(thread))
    done = agent(old).invoke(Command(resume="yes"), where("a"))
    asked = [s for s in agent(old).get_state_history(where("a")) if s.next == ("ask",)]
    agent(old).update_state(asked[0].config, {"said": ["edited"]})
    count = copy_threads(old, saver)
    assert count == len(list(old.list(None))) == len(list(saver.list(None)))
    for thread in ("a", "b:c"):
        ours, theirs = (list(agent(s).get_state_history(where(thread))) for s in (saver, old))
        assert [(s.values, s.next, s.metadata) for s in ours] == [(s.values, s.next, s.metadata) for s in theirs]
        assert [i.value for i in ours[0].interrupts] == [i.value for i in theirs[0].interrupts]
    assert agent(saver).get_state(where("a")).values["said"] == ["hello a", "thought 1", "edited"]
    assert done["said"] in [s.values["said"] for s in agent(saver).get_state_history(where("a"))]
    assert agent(saver).invoke(Command(resume="on"), where("b:c"))["said"][1:] == ["thought 1", "on"]


def test_the_page_runs(cluster, tmp_path):
    page = (ROOT / "docs" / "langgraph.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    for code in blocks:
        assert ADDRESSES in code
        script = code.replace(ADDRESSES, cluster.addresses)
        environment = os.environ | {"PYTHONPATH": str(ROOT / "sdk" / "python" / "src")}
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "Which one?\n"


def test_of_a_tasks_writes_under_one_index_the_first_is_kept_of_its_errors_the_last(client, key):
    saver = TurnlogSaver(client)
    config = put(saver, where(key), "x", 1)
    saver.put_writes(config, [("said", "b")], "task-b", "~2")
    saver.put_writes(config, [("said", "first"), ("__error__", "e1")], "task-a", "~1")
    saver.put_writes(config, [("said", "second"), ("__error__", "e2")], "task-a", "~1")
    assert saver.get_tuple(config).pending_writes == [
        ("task-a", "__error__", "e2"),
        ("task-a", "said", "first"),
        ("task-b", "said", "b"),
    ]


@pytest.mark.parametrize("foreign", [b"not ours", b'{"lengths":[5]}\nabc', b'{"x":1}\n', b"[]\n"])
def test_what_is_no_checkpoint_is_an_error_never_an_empty_thread(client, key, foreign):
    saver = TurnlogSaver(client, prefix=f"{key}:")
    config = put(saver, where("t"), "x", 1)
    id_ = config["configurable"]["checkpoint_id"]
    client.session(f"{key}:writes:t::{id_}").append(foreign)
    with pytest.raises(turnlog.CorruptError):
        saver.get_tuple(config)


def test_configs_that_lead_nowhere(client, key):
    saver = TurnlogSaver(client)
    with pytest.raises(turnlog.InvalidError):
        saver.get_tuple({"configurable": {}})
    with pytest.raises(turnlog.InvalidError):
        saver.put_writes(where(key), [("said", "x")], "task")
    assert saver.get_tuple(where(key, "none")) is None
