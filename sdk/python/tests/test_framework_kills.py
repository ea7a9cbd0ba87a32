"""Agents of several frameworks go on while leaders are killed."""

import asyncio

import pytest
from agent_framework import Message
from llama_index.core.llms import ChatMessage
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from kills import WRITERS, leaders_are_killed_while_it_saves
from turnlog.agent_framework import TurnlogHistoryProvider
from turnlog.llama_index import TurnlogChatStore
from turnlog.strands import TurnlogSessionRepository


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
    leaders_are_killed_while_it_saves(fresh_cluster, framework)
