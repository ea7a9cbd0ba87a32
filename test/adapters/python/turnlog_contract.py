#!/usr/bin/env python3
"""Holds a Python chat history to the turnlog contract.

    turnlog verify 'exec:python3 turnlog_contract.py STORE'

STORE is one of the names below, or MODULE:FUNCTION (a file FILE.py in the current
directory is the module FILE). The function gets a session key and returns what an
application would use for it: a LangChain BaseChatMessageHistory or an OpenAI Agents
Session. If it has a second parameter, that is the time to live in seconds, or None. A
function corrupt(session) of the module, if there is one, makes one of the messages
unreadable, as another version of the application would leave it.

    langchain-memory          InMemoryChatMessageHistory, one per session
    langchain-file:DIR        FileChatMessageHistory, a file per session
    langchain-redis:URL       RedisChatMessageHistory
    agents-sqlite:FILE        SQLiteSession
    agents-redis:URL          RedisSession

Options:
    --shared        other processes that run the same command see the same data
    --can NAME      the store promises this too, such as "ids" or "linearizable"
    --max-bytes N   longer messages are refused ("size limit")

It speaks JSON lines on standard input and output; docs/contract.md describes them.
It needs Python 3.9 and the library under test, nothing else.
"""

import argparse
import asyncio
import base64
import contextlib
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

    can = ["async", "async load", "async clear"]

    def __init__(self, history, corrupt=None):
        self.history = history  # (session, ttl) -> BaseChatMessageHistory
        self.corrupt = corrupt  # (session) -> None

    async def add(self, session, turn, ttl, as_async):
        messages = [self.message(m) for m in turn]
        history = self.history(session, ttl)
        if as_async:
            await history.aadd_messages(messages)
        else:
            await in_thread(history.add_messages, messages)

    async def load(self, session, last, as_async):
        history = self.history(session, None)
        messages = await history.aget_messages() if as_async else await in_thread(lambda: list(history.messages))
        return [self.wire(m) for m in messages]

    async def clear(self, session, as_async):
        history = self.history(session, None)
        if as_async:
            await history.aclear()
        else:
            await in_thread(history.clear)

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
    """A store of Session objects, one made for each operation. All that they do is
    asynchronous."""

    can = ["async", "async load", "async clear", "pop", "load last"]

    def __init__(self, session, corrupt=None):
        self.session = session  # (session, ttl) -> Session
        self.corrupt = corrupt  # (session) -> None

    async def add(self, session, turn, ttl, as_async):
        await self.session(session, ttl).add_items([i for m in turn for i in self.items(m)])

    async def load(self, session, last, as_async):
        return self.wires(await self.session(session, None).get_items(limit=last))

    async def pop(self, session):
        item = await self.session(session, None).pop_item()
        return self.wires([item] if item else [])

    async def clear(self, session, as_async):
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


# What a program may have left that knew a class which is gone.
UNREADABLE = b"\x80\x04\x8c\x07chat.v1\x8c\x07Message\x93)\x81."


def corrupt_list(url, key_of):
    """Replaces the second element of a list in Redis."""

    def corrupt(session):
        import redis

        with redis.Redis.from_url(url) as client:
            client.lset(key_of(session), 1, UNREADABLE)

    return corrupt


def langchain_memory(_):
    from langchain_core.chat_history import InMemoryChatMessageHistory

    histories, lock = {}, threading.Lock()

    def history(session, ttl):
        with lock:
            return histories.setdefault(session, InMemoryChatMessageHistory())

    return LangChain(history), False, False


def langchain_file(directory):
    from langchain_community.chat_message_histories.file import FileChatMessageHistory

    def path(session):
        name = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()
        return os.path.join(directory, name + ".json")

    def history(session, ttl):
        return FileChatMessageHistory(path(session), encoding="utf-8")

    def corrupt(session):
        with open(path(session), "wb") as f:
            f.write(UNREADABLE)

    os.makedirs(directory, exist_ok=True)
    return LangChain(history, corrupt), True, False


def langchain_redis(url):
    from langchain_community.chat_message_histories.redis import RedisChatMessageHistory

    corrupt = corrupt_list(url, lambda session: "message_store:" + session)
    return LangChain(lambda session, ttl: RedisChatMessageHistory(session, url=url, ttl=ttl), corrupt), True, True


def agents_sqlite(path):
    from agents import SQLiteSession

    sessions, lock = {}, threading.Lock()

    def session(key, ttl):
        with lock:  # each holds connections of its own
            if key not in sessions:
                sessions[key] = SQLiteSession(key, path)
            return sessions[key]

    def corrupt(key):
        import sqlite3

        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE agent_messages SET message_data = ? WHERE id = "
                       "(SELECT id FROM agent_messages WHERE session_id = ? ORDER BY id LIMIT 1 OFFSET 1)", ("chat.v1 Message", key))

    return Agents(session, corrupt), True, False


def agents_redis(url):
    from agents.extensions.memory import RedisSession

    corrupt = corrupt_list(url, lambda session: f"agents:session:{session}:messages")
    return Agents(lambda key, ttl: RedisSession.from_url(key, url=url, ttl=ttl), corrupt), True, True


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
    module = importlib.import_module(head)
    function = getattr(module, rest)
    has_ttl = len(inspect.signature(function).parameters) > 1
    factory = function if has_ttl else lambda session, ttl: function(session)
    sample = factory("turnlog-contract-probe", None)
    store = Agents if hasattr(sample, "get_items") else LangChain
    return store(factory, getattr(module, "corrupt", None)), False, has_ttl


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
        return {"messages": await store.load(session, request.get("last"), request.get("async", False))}
    if op == "clear":
        await store.clear(session, request.get("async", False))
        return {}
    if op == "corrupt" and store.corrupt:
        await in_thread(store.corrupt, session)
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
    parser.add_argument("--max-bytes", type=int, default=0, metavar="N")
    args = parser.parse_args()
    store, shared, has_ttl = open_store(args.store)
    can = store.can + args.can + (["expiry"] if has_ttl else []) + (["corrupt"] if store.corrupt else [])
    hello = {"name": args.store, "can": can, "shared": shared or args.shared, "concurrent": True, "max_bytes": args.max_bytes}
    asyncio.run(serve(store, hello))


if __name__ == "__main__":
    main()
