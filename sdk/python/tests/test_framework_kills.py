"""Agents of several frameworks go on while leaders are killed: nothing is lost, nothing is there twice."""

import asyncio
import concurrent.futures

import pytest
from agent_framework import Message
from llama_index.core.llms import ChatMessage
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

import turnlog
from test_kill import Progress
from turnlog.agent_framework import TurnlogHistoryProvider
from turnlog.llama_index import TurnlogChatStore
from turnlog.strands import TurnlogSessionRepository

WRITERS = 4


class LlamaIndex:
    def __init__(self, client):
        self.store = TurnlogChatStore(client)

    def add(self, writer, n):
        self.store.add_messages("k", [ChatMessage(role="user", content=f"{writer}:{n}:{part}") for part in "qa"])

    def load(self):
        return [message.content for message in self.store.get_messages("k")]


class AgentFramework:
    def __init__(self, client):
        self.history = TurnlogHistoryProvider(client)

    def add(self, writer, n):
        turn = [Message("user", [f"{writer}:{n}:{part}"]) for part in "qa"]
        asyncio.run(self.history.save_messages("k", turn))

    def load(self):
        return [message.text for message in asyncio.run(self.history.get_messages("k"))]


class Strands:
    """Each writer is an agent of one session."""

    def __init__(self, client):
        self.repository = TurnlogSessionRepository(client)
        self.repository.create_session(Session("k", SessionType.AGENT))
        for writer in range(WRITERS):
            self.repository.create_agent("k", SessionAgent(f"{writer}", {}, {}))

    def add(self, writer, n):
        for i, part in enumerate("qa"):
            said = {"role": "user", "content": [{"text": f"{writer}:{n}:{part}"}]}
            self.repository.create_message("k", f"{writer}", SessionMessage.from_message(said, 2 * n + i))

    def load(self):
        found = [m for writer in range(WRITERS) for m in self.repository.list_messages("k", f"{writer}")]
        return [message.message["content"][0]["text"] for message in found]


@pytest.mark.slow
@pytest.mark.parametrize("framework", [LlamaIndex, AgentFramework, Strands])
def test_leaders_are_killed_while_agents_save(fresh_cluster, framework):
    progress = Progress()

    def write(writer):
        turns = 0
        while not progress.stop:
            memory.add(writer, turns)
            turns += 1
            progress.add()
        return turns

    with turnlog.Client(fresh_cluster.addresses, retry_for=60) as client:
        memory = framework(client)
        with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
            running = [pool.submit(write, writer) for writer in range(WRITERS)]
            try:
                for _ in range(2):
                    progress.wait_for_more(15)
                    leader = fresh_cluster.leader()
                    leader.kill()
                    progress.wait_for_more(15)
                    leader.start()
                    fresh_cluster.wait_ready(leader)
            finally:
                progress.stop = True
            written = [r.result(60) for r in running]
        got = memory.load()
    wanted = [f"{w}:{n}:{part}" for w, turns in enumerate(written) for n in range(turns) for part in "qa"]
    assert sorted(got) == sorted(wanted), "lost or doubled"
    assert all(a[:-1] == b[:-1] for a, b in zip(got[::2], got[1::2], strict=True)), "torn"
