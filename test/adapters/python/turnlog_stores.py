"""The memories of the Python package, as `turnlog verify` holds them to the contract.

    TURNLOG_ADDRESSES=HOST:PORT turnlog verify 'exec:python3 -m turnlog.contract turnlog_stores:memory'
"""

import os

import turnlog
from turnlog.contract.histories import LangChain
from turnlog.langchain import TurnlogChatMessageHistory
from turnlog.memory import Memory


class Store:
    """What both have in common."""

    claims = ("ids", "late ids", "linearizable")
    shared = True
    prefix = "message_store:"

    def __init__(self):
        # The suite counts the seconds of a call. A client that retries for longer would not be wrong, but late.
        self.client = turnlog.Client(os.environ["TURNLOG_ADDRESSES"], retry_for=8, stall_timeout=3)

    def corrupt(self, session):
        found = self.client.session(self.prefix + session).last(1000)
        self.client.session(self.prefix + session).replace(2, b"\x80\x04pickle", *[m.data for m in found.messages[2:]])


class MemoryStore(Store):
    def memory(self, ttl=None):
        return Memory(self.client, prefix=self.prefix, ttl=ttl)

    def add(self, session, turn, ttl=None, version=None):
        self.memory(ttl).save(session, *map(new, turn), expect=None if version is None else int(version))

    async def aadd(self, session, turn, ttl=None, version=None):
        await self.memory(ttl).asave(session, *map(new, turn), expect=None if version is None else int(version))

    def load(self, session, last=None):
        return [of_model(m) for m in self.memory().load_memory(session, last=last)]

    async def aload(self, session):
        return [of_model(m) for m in await self.memory().aload(session)]

    def load_version(self, session):
        found = self.memory().load_memory(session)
        return [of_model(m) for m in found], str(found.revision)

    def clear(self, session):
        self.memory().clear(session)

    async def aclear(self, session):
        await self.memory().aclear(session)


class HistoryStore(Store):
    def history(self, session, ttl=None, version=None, last=None):
        revision = None if version is None else int(version)
        return TurnlogChatMessageHistory(session, self.client, ttl=ttl, last=last, message_ids=True, expect=revision)

    def add(self, session, turn, ttl=None, version=None):
        self.history(session, ttl, version).add_messages([LangChain.message(m) for m in turn])

    async def aadd(self, session, turn, ttl=None, version=None):
        await self.history(session, ttl, version).aadd_messages([LangChain.message(m) for m in turn])

    def load(self, session, last=None):
        return [LangChain.wire(m) for m in self.history(session, last=last).messages]

    async def aload(self, session):
        return [LangChain.wire(m) for m in await self.history(session).aget_messages()]

    def load_version(self, session):
        history = self.history(session)
        return [LangChain.wire(m) for m in history.messages], str(history.revision)

    def clear(self, session):
        self.history(session).clear()

    async def aclear(self, session):
        await self.history(session).aclear()


def new(wire):
    """A message of the suite as Memory saves it, with its id."""
    message = {"role": wire["role"], "content": wire["content"]}
    if "tool_calls" in wire:
        message["tool_calls"] = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
            for c in wire["tool_calls"]
        ]
    if "tool_call_id" in wire:
        message["tool_call_id"] = wire["tool_call_id"]
    return turnlog.NewMessage(turnlog.message.dump(message), wire.get("id", ""))


def of_model(message):
    """A message of Memory as the suite reads it."""
    calls = [{"id": c["id"], **c["function"]} for c in message.get("tool_calls", ())]
    return message | {"tool_calls": calls}


memory = MemoryStore
history = HistoryStore
