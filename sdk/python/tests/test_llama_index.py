"""The store of conversations for LlamaIndex, through a real cluster."""

import asyncio

import pytest
from llama_index.core.llms import ChatMessage, ImageBlock, MessageRole, MockLLM, TextBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.storage.chat_store import SimpleChatStore

import turnlog
from proxy import Proxy, losing
from turnlog.llama_index import TurnlogChatStore


@pytest.fixture
def store(client, key):
    return TurnlogChatStore(client, prefix=f"{key}:")


@pytest.fixture
def proxied(cluster, key):
    """A store behind a proxy, and the proxy."""
    proxy = Proxy(cluster.nodes[0].resp)
    with turnlog.Client(proxy.address) as client:
        yield TurnlogChatStore(client, prefix=f"{key}:"), proxy
    proxy.close()


def said(*texts):
    return [ChatMessage(role="user" if i % 2 == 0 else "assistant", content=text) for i, text in enumerate(texts)]


def contents(messages):
    return [message.content for message in messages]


STEPS = [
    lambda s: s.get_messages("a"),
    lambda s: s.delete_messages("a"),
    lambda s: s.delete_message("a", 0),
    lambda s: s.delete_last_message("a"),
    lambda s: s.set_messages("a", said("1", "2", "3")),
    lambda s: s.add_message("a", said("4")[0]),
    lambda s: s.delete_message("a", 1),
    lambda s: s.delete_message("a", 9),
    lambda s: s.delete_last_message("a"),
    lambda s: s.set_messages("a", said("1", "x", "y")),
    lambda s: s.set_messages("a", said("1", "x", "y", "z")),
    lambda s: s.set_messages("a", said("1")),
    lambda s: s.set_messages("a", said("new")),
    lambda s: s.add_message("b", said("1")[0]),
    lambda s: sorted(s.get_keys()),
    lambda s: s.set_messages("b", []),
    lambda s: s.get_messages("b"),
    lambda s: s.delete_messages("a"),
]


def test_it_does_what_the_frameworks_own_store_does(store):
    theirs = SimpleChatStore()
    for i, step in enumerate(STEPS):
        assert step(store) == step(theirs), i
        assert store.get_messages("a") == theirs.get_messages("a"), i


def test_the_asynchronous_calls_do_the_same(store):
    async def write():
        await store.aset_messages("a", said("1", "2"))
        await store.async_add_message("a", said("3")[0])
        removed = [await store.adelete_message("a", 0), await store.adelete_last_message("a")]
        return contents(removed), await store.aget_keys(), contents(await store.adelete_messages("a"))

    assert asyncio.run(write()) == (["1", "3"], ["a"], ["2"])
    assert store.get_messages("a") == []


def test_messages_come_back_as_they_were(store):
    call = ChatMessage(role="assistant", additional_kwargs={"tool_calls": [{"id": "c", "function": {"name": "f"}}]})
    image = ChatMessage(role="user", blocks=[TextBlock(text="ü \U0001f600"), ImageBlock(image=b"iVBORw0KGgo=")])
    result = ChatMessage(role=MessageRole.TOOL, content="42", additional_kwargs={"tool_call_id": "c"})
    store.add_messages("a", [call, image, result])
    assert store.get_messages("a") == [call, image, result]


def test_the_frameworks_memories(store):
    buffer = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="a", llm=MockLLM())
    for message in said("1", "2"):
        buffer.put(message)
    again = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="a", llm=MockLLM())
    assert contents(again.get()) == ["1", "2"]
    again.reset()
    assert store.get_messages("a") == []


@pytest.mark.parametrize(
    ("command", "call", "left"),
    [
        (b"TURN.APPEND", lambda s: s.add_message("a", said("4")[0]), ["1", "2", "3", "4"]),
        (b"TURN.REPLACE", lambda s: s.set_messages("a", said("1", "x")), ["1", "x"]),
        (b"TURN.REPLACE", lambda s: s.set_messages("a", said("1", "2")), ["1", "2"]),
        (b"TURN.TX", lambda s: s.set_messages("a", []), []),
        (b"TURN.TX", lambda s: s.delete_messages("a"), []),
        (b"TURN.REMOVE", lambda s: s.delete_last_message("a"), ["1", "2"]),
    ],
    ids=["add", "replace", "cut", "clear", "delete", "remove"],  # the key has it: it must not contain the command
)
def test_a_call_takes_place_once_though_the_reply_is_lost(proxied, command, call, left):
    store, proxy = proxied
    store.set_messages("a", said("1", "2", "3"))
    proxy.lose = losing(command)
    call(store)
    assert proxy.lost.is_set()
    assert contents(store.get_messages("a")) == left


def test_a_turn_is_there_once_under_its_id(store):
    for _ in range(2):
        store.add_messages("a", said("q", "a"), turn_id="request-1")
    assert contents(store.get_messages("a")) == ["q", "a"]
    with pytest.raises(turnlog.IDReusedError):
        store.add_messages("a", said("q", "another"), turn_id="request-1")


def test_what_is_no_message_is_an_error_not_an_empty_history(store, client, key):
    client.session(f"{key}:a").append("no JSON")
    for call in (store.get_messages, store.delete_messages):
        with pytest.raises(turnlog.CorruptError):
            call("a")
