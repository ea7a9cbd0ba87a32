"""A process that writes turns to one conversation through the adapter of a framework, until its input ends:

    writer.py FRAMEWORK ADDRESSES NAME

It prints a line for each turn that was confirmed. Each class has ``add``, which saves what it is given as one turn,
and ``load``, which returns what is stored; frameworks are imported when they are used.
"""

import asyncio
import contextlib
import sys
import threading

import turnlog

CONVERSATION = "shared"
ALICES = {"app_name": "app", "user_id": "alice", "session_id": CONVERSATION}


class LangChain:
    def __init__(self, client):
        from turnlog.langchain import TurnlogChatMessageHistory

        self.history = TurnlogChatMessageHistory(CONVERSATION, client)

    def add(self, question, answer):
        from langchain_core.messages import AIMessage, HumanMessage

        self.history.add_messages([HumanMessage(question), AIMessage(answer)])

    def load(self):
        return [message.content for message in self.history.messages]


class OpenAIAgents:
    def __init__(self, client):
        from turnlog.openai_agents import TurnlogSession

        self.session = TurnlogSession(CONVERSATION, client)

    def add(self, *turn):
        asyncio.run(self.session.add_items([{"role": "user", "content": text} for text in turn]))

    def load(self):
        return [item["content"] for item in asyncio.run(self.session.get_items())]


class GoogleADK:
    """An event is a turn here. Each counts itself in the state, in which a lost update would be seen."""

    def __init__(self, client):
        from google.adk.errors.already_exists_error import AlreadyExistsError

        from turnlog.google_adk import TurnlogSessionService

        self.service = TurnlogSessionService(client)
        with contextlib.suppress(AlreadyExistsError):
            asyncio.run(self.service.create_session(**ALICES))

    def _load(self):
        self.session = asyncio.run(self.service.get_session(**ALICES))

    def add(self, *turn):
        from google.adk.errors._stale_session_error import StaleSessionError
        from google.adk.events.event import Event
        from google.adk.events.event_actions import EventActions
        from google.genai import types

        said = types.Content(role="user", parts=[types.Part(text=text) for text in turn])
        while True:
            self._load()  # as a runner does for each request
            counted = {name: self.session.state.get(name, 0) + 1 for name in ("n", "user:n", "app:n")}
            event = Event(author="user", content=said, actions=EventActions(state_delta=counted))
            try:
                return asyncio.run(self.service.append_event(self.session, event))
            except StaleSessionError:
                pass

    def load(self):
        self._load()
        found = [part.text for event in self.session.events for part in event.content.parts]
        assert [self.session.state[name] for name in ("n", "user:n", "app:n")] == [len(found) / 2] * 3
        return found


class LlamaIndex:
    def __init__(self, client):
        from turnlog.llama_index import TurnlogChatStore

        self.store = TurnlogChatStore(client)

    def add(self, *turn):
        from llama_index.core.llms import ChatMessage

        self.store.add_messages(CONVERSATION, [ChatMessage(role="user", content=text) for text in turn])

    def load(self):
        return [message.content for message in self.store.get_messages(CONVERSATION)]


class AgentFramework:
    def __init__(self, client):
        from turnlog.agent_framework import TurnlogHistoryProvider

        self.history = TurnlogHistoryProvider(client)

    def add(self, *turn):
        from agent_framework import Message

        asyncio.run(self.history.save_messages(CONVERSATION, [Message("user", [text]) for text in turn]))

    def load(self):
        return [message.text for message in asyncio.run(self.history.get_messages(CONVERSATION))]


class PydanticAI:
    def __init__(self, client):
        from turnlog.pydantic_ai import TurnlogConversationStore

        self.store = TurnlogConversationStore(client)

    def add(self, question, answer):
        from pydantic_ai.conversation import Conversation
        from pydantic_ai.conversation_store import ConversationConflict
        from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

        async def save():
            found = await self.store.load(CONVERSATION) or Conversation(conversation_id=CONVERSATION)
            found.messages += [ModelRequest([UserPromptPart(question)]), ModelResponse([TextPart(answer)])]
            await self.store.save(found)

        while True:
            try:
                return asyncio.run(save())
            except ConversationConflict:
                pass

    def load(self):
        return [part.content for m in asyncio.run(self.store.load(CONVERSATION)).messages for part in m.parts]


class Strands:
    """A message has its place: of two processes that add one in the same place one is told, and takes the next."""

    def __init__(self, client):
        from strands.types.exceptions import SessionException
        from strands.types.session import Session, SessionAgent, SessionType

        from turnlog.strands import TurnlogSessionRepository

        self.repository = TurnlogSessionRepository(client)
        for create in (
            lambda: self.repository.create_session(Session(CONVERSATION, SessionType.AGENT)),
            lambda: self.repository.create_agent(CONVERSATION, SessionAgent("agent", {}, {})),
        ):
            with contextlib.suppress(SessionException, turnlog.ConflictError):  # the other process was first
                create()

    def add(self, *turn):
        from strands.types.session import SessionMessage

        said = {"role": "user", "content": [{"text": text} for text in turn]}
        while True:
            at = len(self.repository.list_messages(CONVERSATION, "agent"))
            try:
                message = SessionMessage.from_message(said, at)
                return self.repository.create_message(CONVERSATION, "agent", message)
            except turnlog.ConflictError:
                pass

    def load(self):
        found = self.repository.list_messages(CONVERSATION, "agent")
        return [part["text"] for message in found for part in message.message["content"]]


class CrewAI:
    """The state of a flow, saved whole: of two processes that change it at once one is told, and loads it again."""

    def __init__(self, client):
        from turnlog.crewai import TurnlogFlowPersistence

        self.persistence = TurnlogFlowPersistence(client, conditional=True)

    def add(self, *turn):
        while True:
            said = (self.persistence.load_state(CONVERSATION) or {"said": []})["said"]
            try:
                return self.persistence.save_state(CONVERSATION, "method", {"said": [*said, *turn]})
            except turnlog.ConflictError:
                pass

    def load(self):
        return self.persistence.load_state(CONVERSATION)["said"]


def main(framework, addresses, name):
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    with turnlog.Client(addresses, retry_for=60) as client:
        memory = globals()[framework](client)
        n = 0
        while not ended.is_set():
            memory.add(f"{name}:{n}:q", f"{name}:{n}:a")
            print(n, flush=True)
            n += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
