"""Published histories that have a name here."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import threading
from collections.abc import Callable
from typing import Any

from .histories import Agents, Corrupt, Factory, LangChain

Named = tuple[Any, "Corrupt | None", bool, bool]  # store, corrupt, whether processes share it, whether it has a ttl

# What a program may have left that knew a class which is gone.
UNREADABLE = b"\x80\x04\x8c\x07chat.v1\x8c\x07Message\x93)\x81."


def kept(make: Callable[[str], Any]) -> Factory:
    """Make one object for each session of this process."""
    made: dict[str, Any] = {}
    lock = threading.Lock()

    def get(session: str, _: int | None) -> Any:
        with lock:
            if session not in made:
                made[session] = make(session)
            return made[session]

    return get


def corrupt_list(url: str, key_of: Callable[[str], str]) -> Corrupt:
    """Replace the second element of a list in Redis."""

    def corrupt(session: str) -> None:
        import redis  # noqa: PLC0415

        with redis.Redis.from_url(url) as client:
            client.lset(key_of(session), 1, UNREADABLE)

    return corrupt


def langchain_memory(_: str) -> Named:
    """InMemoryChatMessageHistory, one per session."""
    from langchain_core.chat_history import InMemoryChatMessageHistory  # noqa: PLC0415

    return LangChain(kept(lambda _: InMemoryChatMessageHistory())), None, False, False


def langchain_file(directory: str) -> Named:
    """FileChatMessageHistory, a file per session."""
    from langchain_community.chat_message_histories.file import FileChatMessageHistory  # noqa: PLC0415

    def path(session: str) -> str:
        name = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()
        return os.path.join(directory, name + ".json")

    def corrupt(session: str) -> None:
        pathlib.Path(path(session)).write_bytes(UNREADABLE)

    pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
    store = LangChain(lambda session, _: FileChatMessageHistory(path(session), encoding="utf-8"))
    return store, corrupt, True, False


def langchain_redis(url: str) -> Named:
    """RedisChatMessageHistory."""
    from langchain_community.chat_message_histories.redis import RedisChatMessageHistory  # noqa: PLC0415

    corrupt = corrupt_list(url, lambda session: "message_store:" + session)
    return LangChain(lambda session, ttl: RedisChatMessageHistory(session, url=url, ttl=ttl)), corrupt, True, True


def agents_sqlite(path: str) -> Named:
    """SQLiteSession; each holds connections of its own."""
    from agents import SQLiteSession  # noqa: PLC0415

    def corrupt(key: str) -> None:
        import sqlite3  # noqa: PLC0415

        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute(
                "UPDATE agent_messages SET message_data = ? WHERE id = "
                "(SELECT id FROM agent_messages WHERE session_id = ? ORDER BY id LIMIT 1 OFFSET 1)",
                ("chat.v1 Message", key),
            )

    return Agents(kept(lambda key: SQLiteSession(key, path))), corrupt, True, False


def agents_redis(url: str) -> Named:
    """RedisSession."""
    from agents.extensions.memory import RedisSession  # noqa: PLC0415

    corrupt = corrupt_list(url, lambda session: f"agents:session:{session}:messages")
    return Agents(lambda key, ttl: RedisSession.from_url(key, url=url, ttl=ttl)), corrupt, True, True


STORES: dict[str, Callable[[str], Named]] = {
    "langchain-memory": langchain_memory,
    "langchain-file": langchain_file,
    "langchain-redis": langchain_redis,
    "agents-sqlite": agents_sqlite,
    "agents-redis": agents_redis,
}
