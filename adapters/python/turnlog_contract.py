#!/usr/bin/env python3
"""Holds a Python chat history to the turnlog contract.

    turnlog verify 'exec:python3 turnlog_contract.py STORE'

STORE is one of the names below, or MODULE:FUNCTION (a file FILE.py in the current
directory is the module FILE). The function gets a session key and returns what an
application would use for it: a LangChain BaseChatMessageHistory or an OpenAI Agents
Session. If it has a second parameter, that is the time to live in seconds, or None.

    langchain-memory          InMemoryChatMessageHistory, one per session
    langchain-file:DIR        FileChatMessageHistory, a file per session
    langchain-redis:URL       RedisChatMessageHistory
    agents-sqlite:FILE        SQLiteSession
    agents-redis:URL          RedisSession

Options:
    --shared        other processes that run the same command see the same data
    --can NAME      the store promises this too, such as "ids" or "linearizable"

It speaks JSON lines on standard input and output; docs/contract.md describes them.
It needs Python 3.9 and the library under test, nothing else.
"""

import argparse
import asyncio
import base64
import hashlib
import importlib
import inspect
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

MAX_THREADS = 64


class Refused(Exception):
    """The store cannot hold such a message. Nothing was changed."""


# --- messages -----------------------------------------------------------------


def text_of(wire):
    """The content of a message from the suite. Python's strings hold lone
    surrogates, but no other bytes that are not UTF-8."""
    if "content_base64" not in wire:
        return wire.get("content", "")
    try:
        return base64.b64decode(wire["content_base64"]).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as e:
        raise Refused(f"a Python string cannot hold these bytes: {e}") from e


def wire_of(role, text, tool_calls=(), tool_call_id=""):
    """A message as the suite reads it."""
    wire = {"role": role, "content": text}
    try:
        text.encode()
    except UnicodeEncodeError:
        wire["content"] = ""
        wire["content_base64"] = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
    if tool_calls:
        wire["tool_calls"] = list(tool_calls)
    if tool_call_id:
        wire["tool_call_id"] = tool_call_id
    return wire


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- LangChain ----------------------------------------------------------------


class LangChain:
    """A store of BaseChatMessageHistory objects, one made for each operation, as
    RunnableWithMessageHistory does."""

    can = ["async"]

    def __init__(self, history):
        self.history = history  # (session, ttl) -> BaseChatMessageHistory

    async def add(self, session, turn, ttl, as_async):
        messages = [self.message(m) for m in turn]
        history = self.history(session, ttl)
        if as_async:
            await history.aadd_messages(messages)
        else:
            await in_thread(history.add_messages, messages)

    async def load(self, session, last):
        history = self.history(session, None)
        return [self.wire(m) for m in await in_thread(lambda: list(history.messages))]

    async def clear(self, session):
        await in_thread(self.history(session, None).clear)

    @staticmethod
    def message(wire):
        from langchain_core import messages as lc

        text, more = text_of(wire), {"id": wire.get("id") or None}
        role = wire.get("role")
        if role == "user":
            return lc.HumanMessage(text, **more)
        if role == "system":
            return lc.SystemMessage(text, **more)
        if role == "tool":
            return lc.ToolMessage(text, tool_call_id=wire["tool_call_id"], **more)
        if role == "assistant":
            calls = [{"id": c["id"], "name": c["name"], "args": json.loads(c["arguments"])} for c in wire.get("tool_calls", ())]
            return lc.AIMessage(text, tool_calls=calls, **more)
        raise Refused(f"no message of role {role!r}")

    @staticmethod
    def wire(m):
        role = {"human": "user", "ai": "assistant"}.get(m.type, m.type)
        calls = [{"id": c["id"] or "", "name": c["name"], "arguments": compact(c["args"])} for c in getattr(m, "tool_calls", None) or ()]
        text = m.content if isinstance(m.content, str) else compact(m.content)
        return wire_of(role, text, calls, getattr(m, "tool_call_id", ""))


# --- OpenAI Agents ------------------------------------------------------------


class Agents:
    """A store of Session objects, one made for each operation."""

    can = ["async", "pop", "load last"]

    def __init__(self, session):
        self.session = session  # (session, ttl) -> Session

    async def add(self, session, turn, ttl, as_async):
        await self.session(session, ttl).add_items([i for m in turn for i in self.items(m)])

    async def load(self, session, last):
        return self.wires(await self.session(session, None).get_items(limit=last))

    async def pop(self, session):
        item = await self.session(session, None).pop_item()
        return self.wires([item] if item else [])

    async def clear(self, session):
        await self.session(session, None).clear_session()

    @staticmethod
    def items(wire):
        """A message is one item, but each call that it makes is a further one."""
        text = text_of(wire)
        if wire.get("role") == "tool":
            return [{"type": "function_call_output", "call_id": wire["tool_call_id"], "output": text}]
        calls = wire.get("tool_calls", [])
        items = [{"role": wire["role"], "content": text}] if text or not calls else []
        for c in calls:
            items.append({"type": "function_call", "call_id": c["id"], "name": c["name"], "arguments": c["arguments"]})
        return items

    @staticmethod
    def wires(items):
        out = []
        for i in items:
            kind = i.get("type", "message")
            if kind == "function_call_output":
                out.append(wire_of("tool", i["output"], tool_call_id=i["call_id"]))
            elif kind == "function_call":
                call = {"id": i["call_id"], "name": i["name"], "arguments": i["arguments"]}
                if not out or out[-1]["role"] != "assistant":
                    out.append(wire_of("assistant", ""))
                out[-1].setdefault("tool_calls", []).append(call)
            else:
                out.append(wire_of(i["role"], i["content"]))
        return out


# --- the stores that have a name ------------------------------------------------


def langchain_memory(_):
    from langchain_core.chat_history import InMemoryChatMessageHistory

    histories, lock = {}, threading.Lock()

    def history(session, ttl):
        with lock:
            return histories.setdefault(session, InMemoryChatMessageHistory())

    return LangChain(history), False, False


def langchain_file(directory):
    from langchain_community.chat_message_histories.file import FileChatMessageHistory

    def history(session, ttl):
        name = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()
        return FileChatMessageHistory(os.path.join(directory, name + ".json"), encoding="utf-8")

    os.makedirs(directory, exist_ok=True)
    return LangChain(history), True, False


def langchain_redis(url):
    from langchain_community.chat_message_histories.redis import RedisChatMessageHistory

    return LangChain(lambda session, ttl: RedisChatMessageHistory(session, url=url, ttl=ttl)), True, True


def agents_sqlite(path):
    from agents import SQLiteSession

    sessions, lock = {}, threading.Lock()

    def session(key, ttl):
        with lock:  # each holds connections of its own
            if key not in sessions:
                sessions[key] = SQLiteSession(key, path)
            return sessions[key]

    return Agents(session), True, False


def agents_redis(url):
    from agents.extensions.memory import RedisSession

    return Agents(lambda key, ttl: RedisSession.from_url(key, url=url, ttl=ttl)), True, True


NAMED = {
    "langchain-memory": langchain_memory,
    "langchain-file": langchain_file,
    "langchain-redis": langchain_redis,
    "agents-sqlite": agents_sqlite,
    "agents-redis": agents_redis,
}


def open_store(name):
    """Returns the store, whether processes share it, and whether it has a ttl."""
    head, _, rest = name.partition(":")
    if head in NAMED:
        return NAMED[head](rest)
    sys.path.insert(0, os.getcwd())
    function = getattr(importlib.import_module(head), rest)
    has_ttl = len(inspect.signature(function).parameters) > 1
    factory = function if has_ttl else lambda session, ttl: function(session)
    sample = factory("turnlog-contract-probe", None)
    store = Agents if hasattr(sample, "get_items") else LangChain
    return store(factory), False, has_ttl


# --- the protocol -----------------------------------------------------------------

threads = ThreadPoolExecutor(MAX_THREADS)


async def in_thread(f, *args):
    return await asyncio.get_running_loop().run_in_executor(threads, f, *args)


def session_of(request):
    if "session_base64" not in request:
        return request.get("session", "")
    try:
        return base64.b64decode(request["session_base64"]).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as e:
        raise Refused(f"a Python string cannot hold this key: {e}") from e


async def answer(store, request):
    op, session = request["op"], session_of(request)
    if op == "add":
        ttl = request.get("ttl_ms")
        ttl = max(1, ttl // 1000) if ttl else None
        await store.add(session, request["turn"], ttl, request.get("async", False))
        return {}
    if op == "load":
        return {"messages": await store.load(session, request.get("last"))}
    if op == "clear":
        await store.clear(session)
        return {}
    if op == "pop" and hasattr(store, "pop"):
        return {"messages": await store.pop(session)}
    raise Refused(f"no operation {op!r}")


async def serve(store, hello):
    loop = asyncio.get_running_loop()

    def tell(n, reply):
        sys.stdout.buffer.write(json.dumps({"n": n, **reply}).encode() + b"\n")
        sys.stdout.buffer.flush()

    async def handle(request):
        try:
            reply = hello if request["op"] == "hello" else await answer(store, request)
        except (Refused, UnicodeEncodeError) as e:
            reply = {"error": {"kind": "refused", "message": str(e)}}
        except Exception as e:  # whatever the library raises
            kind = "refused" if str(e).startswith("TOO_LARGE") else "failed"  # so says turnlog to Redis clients
            reply = {"error": {"kind": kind, "message": f"{type(e).__name__}: {e}"}}
        tell(request["n"], reply)

    running = set()
    while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
        task = asyncio.create_task(handle(json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)
    if running:
        await asyncio.wait(running)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", metavar="STORE")
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--can", action="append", default=[], metavar="NAME")
    args = parser.parse_args()
    store, shared, has_ttl = open_store(args.store)
    can = store.can + args.can + (["expiry"] if has_ttl else [])
    hello = {"name": args.store, "can": can, "shared": shared or args.shared, "concurrent": True}
    asyncio.run(serve(store, hello))


if __name__ == "__main__":
    main()
