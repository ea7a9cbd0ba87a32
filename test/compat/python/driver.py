#!/usr/bin/env python3
"""Drives Python chat histories; see test/compat/README.md for the protocol.

Each library is used as an application would use it: through its public methods.
"""

import asyncio
import importlib.metadata
import json
import sys
import threading
import time
import urllib.parse
import warnings

import turnlog_adapters

warnings.simplefilter("ignore")


def client(module, config, url, **more):
    """A client as applications make them: one made from a URL does not resend what it
    knows no outcome of; one made from a host does, in redis-py 6 and later."""
    if not config["retry"]:
        return module.from_url(url, **more)
    at = urllib.parse.urlsplit(url)
    return module.Redis(host=at.hostname, port=at.port, db=int(at.path[1:]), **more)


# Each history has: packages, whose versions are reported; open(conversation), called
# once for each, and also by whom reads it in the end, unless begins says that it makes
# the conversation; add(conversation, text, id); texts(conversation).


class LangChain:
    packages = ["langchain-community", "redis"]

    def __init__(self, config, url):
        from langchain_community.chat_message_histories import RedisChatMessageHistory

        self.make = lambda name: RedisChatMessageHistory(name, url=url, ttl=3600)
        self.histories = {}

    async def open(self, name):
        self.histories[name] = await asyncio.to_thread(self.make, name)

    async def add(self, name, text, id):
        from langchain_core.messages import HumanMessage

        await asyncio.to_thread(self.histories[name].add_messages, [HumanMessage(text, id=id)])

    async def texts(self, name):
        return [m.content for m in await asyncio.to_thread(lambda: self.histories[name].messages)]


class OpenAIAgents:
    packages = ["openai-agents", "redis"]

    def __init__(self, config, url):
        import redis.asyncio
        from agents.extensions.memory import RedisSession

        shared = client(redis.asyncio, config, url)
        self.make = lambda name: RedisSession(name, redis_client=shared, ttl=3600)
        self.sessions = {}

    async def open(self, name):
        self.sessions[name] = self.make(name)

    async def add(self, name, text, id):
        await self.sessions[name].add_items([{"id": id, "role": "user", "content": text}])

    async def texts(self, name):
        return [i["content"] for i in await self.sessions[name].get_items()]


class LlamaIndex:
    packages = ["llama-index-storage-chat-store-redis", "redis"]

    def __init__(self, config, url):
        import redis.asyncio
        from llama_index.core.llms import ChatMessage
        from llama_index.storage.chat_store.redis import RedisChatStore

        self.message = lambda text, id: ChatMessage(role="user", content=text, additional_kwargs={"id": id})
        own = {}
        if config["retry"]:
            own = {"redis_client": client(redis, config, url), "aredis_client": client(redis.asyncio, config, url)}
        self.store = RedisChatStore(redis_url=url, ttl=3600, **own)

    async def open(self, name):
        pass

    async def add(self, name, text, id):
        await asyncio.to_thread(self.store.add_message, name, self.message(text, id))

    async def texts(self, name):
        return [m.content for m in await asyncio.to_thread(self.store.get_messages, name)]


class LlamaIndexAsync(LlamaIndex):
    async def add(self, name, text, id):
        await self.store.async_add_message(name, self.message(text, id))

    async def texts(self, name):
        return [m.content for m in await self.store.aget_messages(name)]


class AgentFramework:
    packages = ["agent-framework-redis", "redis"]

    def __init__(self, config, url):
        import redis.asyncio
        from agent_framework import Message
        from agent_framework_redis import RedisHistoryProvider

        self.message = lambda text, id: Message("user", [text], message_id=id)
        own = client(redis.asyncio, config, url, decode_responses=True)
        self.provider = RedisHistoryProvider(redis_client=own, application_id="compat")

    async def open(self, name):
        pass

    async def add(self, name, text, id):
        await self.provider.save_messages(name, [self.message(text, id)])

    async def texts(self, name):
        return [m.text for m in await self.provider.get_messages(name)]


class ADK:
    packages = ["google-adk", "redis"]
    begins = True

    def __init__(self, config, url):
        from google.adk.integrations.redis import RedisSessionService, RedisSessionServiceConfig

        self.service = RedisSessionService(RedisSessionServiceConfig(uri=url))

    async def open(self, name):
        await self.service.create_session(app_name="compat", user_id="u", session_id=name)

    async def session(self, name):
        return await self.service.get_session(app_name="compat", user_id="u", session_id=name)

    async def add(self, name, text, id):
        from google.adk.events import Event
        from google.genai import types

        content = types.Content(role="user", parts=[types.Part(text=text)])
        session = await self.session(name)
        await self.service.append_event(session, Event(id=id, author="user", content=content))

    async def texts(self, name):
        session = await self.session(name)
        return [e.content.parts[0].text for e in session.events] if session else []


class ADKCommunity(ADK):
    packages = ["google-adk-community", "redis"]

    def __init__(self, config, url):
        from google.adk_community.sessions import RedisSessionService

        self.service = RedisSessionService(uri=url)


class Agno:
    """The database of agents. Agents themselves log an error of it, and go on as if they had saved."""

    packages = ["agno", "redis"]
    begins = True

    def __init__(self, config, url):
        import redis
        from agno.db.redis import RedisDb

        self.db = RedisDb(redis_client=client(redis, config, url), expire=3600)

    async def open(self, name):
        from agno.session import AgentSession

        await asyncio.to_thread(self.db.upsert_session, AgentSession(session_id=name, agent_id="a", user_id="u"))

    async def add(self, name, text, id):
        from agno.run.agent import RunInput, RunOutput

        run = RunOutput(run_id=id, session_id=name, agent_id="a", user_id="u", input=RunInput(text), content="noted")
        number = int(text.rpartition("/")[2])
        await asyncio.to_thread(self.db.upsert_run, run, name, "u", number)

    async def texts(self, name):
        session = await asyncio.to_thread(self.db.get_session, name)
        return [run.input.input_content for run in session.runs or []] if session else []


LIBRARIES = {
    "langchain-community": LangChain,
    "openai-agents": OpenAIAgents,
    "llama-index": LlamaIndex,
    "llama-index async": LlamaIndexAsync,
    "agent-framework": AgentFramework,
    "google-adk": ADK,
    "google-adk-community": ADKCommunity,
    "agno": Agno,
    **turnlog_adapters.ADAPTERS,
}


protocol, sys.stdout = sys.stdout, sys.stderr  # some libraries print


def say(**line):
    protocol.write(json.dumps(line) + "\n")
    protocol.flush()


def reason(error):
    return f"{type(error).__name__}: {error}"


class Driver:
    def __init__(self, config):
        self.config = config
        self.subject = LIBRARIES[config["subject"]]
        self.history = self.subject(config, config["url"])
        self.stopping = False

    async def slot(self, number):
        """One conversation after the other, one message after the other."""
        round = 0
        while not self.stopping:
            name = f"{self.config['prefix']}-{number}-{round}"
            round += 1
            if await self.open(self.history, name):
                await self.converse(name)

    async def open(self, history, name):
        try:
            await history.open(name)
            return True
        except Exception as e:
            say(open=name, error=reason(e))
            await asyncio.sleep(0.1)
            return False

    async def converse(self, name):
        for n in range(self.config["messages"]):
            if self.stopping:
                return
            await self.add(name, n)
            if n % self.config["read_every"] == 0:
                await self.read(self.history, "read", name)
            await asyncio.sleep(self.config["pause_ms"] / 1000)

    async def add(self, name, n):
        text, start, error = f"{name}/{n}", time.monotonic(), ""
        try:
            await self.history.add(name, text, text)
        except Exception as e:
            error = reason(e)
        say(add=name, n=n, took=time.monotonic() - start, error=error)

    async def read(self, history, kind, name):
        try:
            say(**{kind: name}, seen=await history.texts(name))
        except Exception as e:
            say(**{kind: name}, error=reason(e))

    async def final(self, url, names):
        history = self.subject(self.config, url)
        for name in names:
            if not getattr(history, "begins", False):
                await self.open(history, name)
            await self.read(history, "final", name)


async def main():
    loop, commands = asyncio.get_running_loop(), asyncio.Queue()

    def listen():
        for line in sys.stdin:
            loop.call_soon_threadsafe(commands.put_nowait, json.loads(line))
        loop.call_soon_threadsafe(commands.put_nowait, None)

    threading.Thread(target=listen, daemon=True).start()
    driver = Driver(await commands.get())
    say(ready={p: importlib.metadata.version(p) for p in driver.subject.packages})
    slots = []
    while (command := await commands.get()) is not None:
        if "start" in command:
            slots = [asyncio.create_task(driver.slot(i)) for i in range(driver.config["slots"])]
        elif "stop" in command:
            driver.stopping = True
            await asyncio.gather(*slots)
            say(done="stop")
        else:
            await driver.final(command["read"], command["names"])
            say(done="read")


if __name__ == "__main__":
    asyncio.run(main())
