"""An agent is killed after each call of its checkpointer: what is left, and how it goes on, compared with SQLite's."""

import importlib.util
import multiprocessing
import os
import sqlite3
import threading

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

import turnlog
from cluster import ROOT
from turnlog.langgraph import TurnlogSaver

CONFIG = {"configurable": {"thread_id": "t"}}
KILLED = 9
EXAMPLE = ROOT / "examples" / "python" / "langgraph_agent.py"
WAIT = 60

# By kill point, the call after which the agent is killed, what the thread's state then names as next, its tasks,
# and what runs again if the graph is invoked with None.
POINTS = [
    ("put input", ("__start__",), ("__start__",), ["agent", "tools", "agent"]),
    ("put_writes __start__", (), ("__start__",), ["agent", "tools", "agent"]),
    ("put loop", ("agent",), ("agent",), ["agent", "tools", "agent"]),
    ("put_writes agent", (), ("agent",), ["tools", "agent"]),
    ("put loop", ("tools",), ("tools",), ["tools", "agent"]),
    ("put_writes tools", (), ("tools",), ["agent"]),
    ("put loop", ("agent",), ("agent",), ["agent"]),
    ("put_writes agent", (), ("agent",), []),
    ("put loop", (), (), []),
]


class Judge(SqliteSaver):
    """SQLite's checkpointer, with versions of channels that another one can go on with."""

    def get_next_version(self, current, channel):
        return BaseCheckpointSaver.get_next_version(self, current, channel)


class Both(BaseCheckpointSaver):
    """Saves the same in turnlog and in SQLite, and ends the process after a call, if that is told."""

    def __init__(self, ours, theirs, kill_after=None):
        super().__init__()
        self.ours, self.theirs, self.left = ours, theirs, kill_after
        self.turn, self.puts, self.written = threading.Condition(), 0, 0

    def get_tuple(self, config):
        return self.ours.get_tuple(config)

    def put(self, *given):
        with self.turn:
            # The writes of a step are on their way when its checkpoint is put; here they come first.
            assert self.turn.wait_for(lambda: self.written >= self.puts, WAIT)
            self.puts += 1
            self.theirs.put(*given)
            return self._done(self.ours.put(*given))

    def put_writes(self, *given):
        with self.turn:
            self.theirs.put_writes(*given)
            self.ours.put_writes(*given)
            self.written += 1
            self.turn.notify_all()
            self._done(None)

    def _done(self, result):
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                os._exit(KILLED)
        return result


def build(saver, ran):
    """An agent that calls a tool and answers; ``ran`` gets the names of the nodes that run."""

    def agent(state):
        ran("agent")
        last = state["messages"][-1]
        if isinstance(last, HumanMessage):
            call = {"name": "look_up", "args": {}, "id": f"call {last.id}"}
            return {"messages": [AIMessage("", id=f"asks {last.id}", tool_calls=[call])]}
        return {"messages": [AIMessage(f"It is {last.content}.", id=f"answers {last.id}")]}

    def tools(state):
        ran("tools")
        call = state["messages"][-1].tool_calls[0]["id"]
        return {"messages": [ToolMessage("there", tool_call_id=call, id=f"result of {call}")]}

    graph = StateGraph(MessagesState).add_node("agent", agent).add_node("tools", tools).add_edge(START, "agent")
    graph.add_conditional_edges("agent", lambda s: "tools" if s["messages"][-1].tool_calls else END, ["tools", END])
    return graph.add_edge("tools", "agent").compile(checkpointer=saver)


def savers(client, prefix, file):
    return TurnlogSaver(client, prefix=prefix), Judge(sqlite3.connect(file, check_same_thread=False))


def run_until_killed(addresses, prefix, file, kill_after, durability):
    """Answer a first request whole, and die on the way of a second one."""
    ours, theirs = savers(turnlog.Client(addresses), prefix, file)
    build(Both(ours, theirs), lambda _: None).invoke({"messages": [HumanMessage("1", id="1")]}, CONFIG)
    graph = build(Both(ours, theirs, kill_after), lambda _: None)
    graph.invoke({"messages": [HumanMessage("2", id="2")]}, CONFIG, durability=durability)


def ids(values):
    return [message.id for message in values["messages"]]


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["sync", "async"])
def test_what_is_left_of_an_agent_that_is_killed_after_each_call_is_what_sqlite_has(
    cluster, client, key, tmp_path, durability
):
    context = multiprocessing.get_context("forkserver")
    for point, (call, next_, tasks, runs) in enumerate(POINTS, start=1):
        where = (f"{key}-{point}:", tmp_path / f"{point}.sqlite")
        process = context.Process(target=run_until_killed, args=(cluster.addresses, *where, point, durability))
        process.start()
        process.join(WAIT)
        assert process.exitcode == KILLED
        left = []
        for saver in savers(client, *where):
            ran = []
            graph = build(saver, ran.append)
            kept = [t._replace(config=None, parent_config=id_of(t.parent_config)) for t in saver.list(CONFIG)]
            state = graph.get_state(CONFIG)
            if saver.__class__ is TurnlogSaver:
                saver.copy_thread("t", "copy")
            done = ids(graph.invoke(None, CONFIG))
            left.append((kept, ids(state.values), state.next, tuple(task.name for task in state.tasks), ran, done))
        ours, theirs = left
        assert ours == theirs, (point, call)
        if durability == "sync":  # else a step's writes and its checkpoint come in any order
            assert ours[2:5] == (next_, tasks, runs), (point, call)
            assert ours[5][4:] == ["2", "asks 2", "result of call 2", "answers result of call 2"], (point, call)
            again = []
            copy = build(TurnlogSaver(client, prefix=where[0]), again.append)
            assert example().answer(copy, "copy", "2", "2") == "It is there.", (point, call)
            assert again == runs, (point, call)


def id_of(config):
    return config and config["configurable"]["checkpoint_id"]


def example():
    spec = importlib.util.spec_from_file_location("example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
