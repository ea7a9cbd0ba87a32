"""The memories and adapters of turnlog's own Python package, for driver.py.

Their client knows the one address that the other libraries have, too.
"""

import asyncio
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "sdk" / "python" / "src"))

import turnlog  # noqa: E402

HOUR = 3600


class Adapter:
    """What they have in common; most need not begin a conversation."""

    def __init__(self, config, url):
        self.client = turnlog.Client(url)
        self.make()

    def make(self):
        pass

    async def open(self, name):
        pass


class Client(Adapter):
    """Each message is a request that reads the conversation, and adds to it under an id if nothing has changed since."""

    packages = ["redis"]

    async def add(self, name, text, id):
        session = self.client.aio.session("client:" + name)
        seen = await session.last(1)
        await session.append(turnlog.user(text, id=id), expect=seen.revision, ttl=HOUR)

    async def texts(self, name):
        return [m.json()["content"] async for m in self.client.aio.session("client:" + name).all()]


class Memory(Adapter):
    packages = ["redis"]

    def make(self):
        from turnlog.memory import Memory

        self.memory = Memory(self.client, prefix="memory:", ttl=HOUR)

    async def add(self, name, text, id):
        await self.memory.asave(name, {"role": "user", "content": text}, turn_id=id)

    async def texts(self, name):
        return [m["content"] for m in await self.memory.aload(name)]


class LangChain(Adapter):
    """The history is made for each request, by threads."""

    packages = ["langchain-core", "redis"]

    def history(self, name, id=None):
        from turnlog.langchain import TurnlogChatMessageHistory

        return TurnlogChatMessageHistory(name, self.client, ttl=HOUR, turn_id=id)

    async def add(self, name, text, id):
        from langchain_core.messages import HumanMessage

        await asyncio.to_thread(self.history(name, id).add_messages, [HumanMessage(text)])

    async def texts(self, name):
        return [m.content for m in await asyncio.to_thread(lambda: self.history(name).messages)]


class LangGraph(Adapter):
    """A graph that answers nothing; each message is an invocation."""

    packages = ["langgraph", "langgraph-checkpoint", "redis"]

    def make(self):
        import operator
        from typing import Annotated, TypedDict

        from langgraph.graph import END, START, StateGraph
        from turnlog.langgraph import TurnlogSaver

        state = TypedDict("State", {"said": Annotated[list, operator.add]})
        graph = StateGraph(state)
        graph.add_node("answer", lambda state: {})
        graph.add_edge(START, "answer")
        graph.add_edge("answer", END)
        self.graph = graph.compile(checkpointer=TurnlogSaver(self.client))

    async def add(self, name, text, id):
        await self.graph.ainvoke({"said": [text]}, {"configurable": {"thread_id": name}})

    async def texts(self, name):
        state = await self.graph.aget_state({"configurable": {"thread_id": name}})
        return state.values.get("said", [])


class OpenAIAgents(Adapter):
    packages = ["openai-agents", "redis"]

    def make(self):
        from turnlog.openai_agents import TurnlogSession

        self.session = lambda name: TurnlogSession(name, self.client, prefix="agents:", ttl=HOUR)

    async def add(self, name, text, id):
        await self.session(name).add_items([{"role": "user", "content": text}])

    async def texts(self, name):
        return [i["content"] for i in await self.session(name).get_items()]


class LlamaIndex(Adapter):
    packages = ["llama-index-core", "redis"]

    def make(self):
        from turnlog.llama_index import TurnlogChatStore

        self.store = TurnlogChatStore(self.client, ttl=HOUR)

    async def add(self, name, text, id):
        from llama_index.core.llms import ChatMessage

        await self.store.async_add_message(name, ChatMessage(role="user", content=text))

    async def texts(self, name):
        return [m.content for m in await self.store.aget_messages(name)]


class AgentFramework(Adapter):
    packages = ["agent-framework-core", "redis"]

    def make(self):
        from turnlog.agent_framework import TurnlogHistoryProvider

        self.provider = TurnlogHistoryProvider(self.client, ttl=HOUR)

    async def add(self, name, text, id):
        from agent_framework import Message

        await self.provider.save_messages(name, [Message("user", [text])])

    async def texts(self, name):
        return [m.text for m in await self.provider.get_messages(name)]


class ADK(Adapter):
    """The session is read for each event, as a runner does for each request."""

    packages = ["google-adk", "redis"]
    begins = True

    def make(self):
        from turnlog.google_adk import TurnlogSessionService

        self.service = TurnlogSessionService(self.client, ttl=HOUR)

    async def open(self, name):
        await self.service.create_session(app_name="compat", user_id="u", session_id=name)

    async def session(self, name):
        return await self.service.get_session(app_name="compat", user_id="u", session_id=name)

    async def add(self, name, text, id):
        from google.adk.events import Event
        from google.genai import types

        content = types.Content(role="user", parts=[types.Part(text=text)])
        await self.service.append_event(await self.session(name), Event(author="user", content=content))

    async def texts(self, name):
        session = await self.session(name)
        return [e.content.parts[0].text for e in session.events] if session else []


class PydanticAI(Adapter):
    """The conversation is loaded for each message, as an application does for each request."""

    packages = ["pydantic-ai-slim", "redis"]

    def make(self):
        from turnlog.pydantic_ai import TurnlogConversationStore

        self.store = TurnlogConversationStore(self.client)

    async def load(self, name):
        from pydantic_ai.conversation import Conversation

        return await self.store.load(name) or Conversation(conversation_id=name)

    async def add(self, name, text, id):
        from pydantic_ai.messages import ModelRequest, UserPromptPart

        conversation = await self.load(name)
        conversation.messages += [ModelRequest(parts=[UserPromptPart(text)])]
        await self.store.save(conversation)

    async def texts(self, name):
        return [m.parts[0].content for m in (await self.load(name)).messages]


class Strands(Adapter):
    """Messages are numbered by the agent that adds them, which counts those that were saved."""

    packages = ["strands-agents", "redis"]
    begins = True

    def make(self):
        from turnlog.strands import TurnlogSessionRepository

        self.repository = TurnlogSessionRepository(self.client)

    async def open(self, name):
        from strands.types.session import Session, SessionAgent, SessionType

        def create():
            self.repository.create_session(Session(name, SessionType.AGENT))
            self.repository.create_agent(name, SessionAgent("a", {}, {}))

        await asyncio.to_thread(create)

    async def add(self, name, text, id):
        from strands.types.session import SessionMessage

        message = {"role": "user", "content": [{"text": text}]}
        number = int(text.rpartition("/")[2])
        await asyncio.to_thread(
            self.repository.create_message, name, "a", SessionMessage.from_message(message, number)
        )

    async def texts(self, name):
        messages = await asyncio.to_thread(self.repository.list_messages, name, "a")
        return [m.message["content"][0]["text"] for m in messages]


class CrewAI(Adapter):
    """The state of a flow, which is loaded before each message, as a run of the flow does."""

    packages = ["crewai", "redis"]

    def make(self):
        from turnlog.crewai import TurnlogFlowPersistence

        self.persistence = TurnlogFlowPersistence(self.client)

    async def add(self, name, text, id):
        def run():
            state = self.persistence.load_state(name) or {"said": []}
            self.persistence.save_state(name, "ask", {"said": [*state["said"], text]})

        await asyncio.to_thread(run)

    async def texts(self, name):
        state = await asyncio.to_thread(self.persistence.load_state, name)
        return state["said"] if state else []


ADAPTERS = {
    "client for Python": Client,
    "turnlog.memory": Memory,
    "turnlog.langchain": LangChain,
    "turnlog.langgraph": LangGraph,
    "turnlog.openai_agents": OpenAIAgents,
    "turnlog.llama_index": LlamaIndex,
    "turnlog.agent_framework": AgentFramework,
    "turnlog.google_adk": ADK,
    "turnlog.pydantic_ai": PydanticAI,
    "turnlog.strands": Strands,
    "turnlog.crewai": CrewAI,
}
