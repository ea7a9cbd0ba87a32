"""Memory of agents, through a real cluster."""

import asyncio
import concurrent.futures
import json

import pytest

import turnlog
from proxy import Proxy, losing
from turnlog.memory import ConversationMemory, Memory

WORKERS, TURNS = 12, 8


@pytest.fixture
def memory(client):
    return Memory(client)


def said(messages):
    return [(m["role"], m["content"]) for m in messages]


def test_a_turn_is_saved_and_loaded(memory, key):
    assert memory.load_memory(key) == []
    done = memory.save_context(key, "Where is my order?", "Which one?")
    assert (done.first_seq, done.last_seq) == (1, 2)
    loaded = memory.load_memory(key)
    assert said(loaded) == [("user", "Where is my order?"), ("assistant", "Which one?")]
    assert loaded.revision == done.revision
    assert said(memory.load_memory(key, last=1)) == [("assistant", "Which one?")]


def test_a_turn_with_tools_is_one_append(memory, key):
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"n": 7}'}}
    answer = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "on its way", "tool_call_id": "c1"},
        "It is on its way.",
    ]
    done = memory.save_context(key, "Where is order 7?", answer)
    assert (done.first_seq, done.last_seq) == (1, 4)
    loaded = memory.load_memory(key)
    assert loaded[1]["tool_calls"] == [call]
    assert [m["role"] for m in loaded] == ["user", "assistant", "tool", "assistant"]


def test_tasks_and_threads_share_one_object(memory, key):
    """Every worker talks in a session of its own and in one of all: nothing is lost, torn or mixed."""

    def turn(worker, i):
        return f"{worker}:{i}:q", f"{worker}:{i}:a"

    def by_thread(worker):
        for i in range(TURNS):
            memory.save_context(f"{key}:{worker}", *turn(worker, i))
            memory.save_context(key, *turn(worker, i))

    async def by_task(worker):
        for i in range(TURNS):
            await memory.asave_context(f"{key}:{worker}", *turn(worker, i))
            await memory.asave_context(key, *turn(worker, i))

    async def tasks():
        await asyncio.gather(*[by_task(f"task{i}") for i in range(WORKERS)])

    with concurrent.futures.ThreadPoolExecutor(WORKERS + 1) as pool:
        running = [pool.submit(by_thread, f"thread{i}") for i in range(WORKERS)]
        running.append(pool.submit(asyncio.run, tasks()))
        for each in running:
            each.result(60)
    workers = [f"{kind}{i}" for kind in ("thread", "task") for i in range(WORKERS)]
    for worker in workers:
        expected = [text for i in range(TURNS) for text in turn(worker, i)]
        assert [m["content"] for m in memory.load_memory(f"{key}:{worker}")] == expected
    together = [m["content"] for m in memory.load_memory(key)]
    assert sorted(together) == sorted(text for w in workers for i in range(TURNS) for text in turn(w, i))
    assert all(q[:-1] == a[:-1] for q, a in zip(together[::2], together[1::2], strict=True)), "torn"


def test_a_second_request_learns_that_the_conversation_moved_on(memory, key):
    first, second = memory.load_memory(key), memory.load_memory(key)
    memory.save_context(key, "1", "one", expect=first.revision)
    with pytest.raises(turnlog.ConflictError):
        memory.save_context(key, "2", "two", expect=second.revision)
    memory.save_context(key, "2", "two", expect=memory.load_memory(key).revision)
    assert [m["content"] for m in memory.load_memory(key)] == ["1", "one", "2", "two"]


def test_a_turn_id_makes_a_repeated_request_harmless(memory, key):
    assert memory.save_context(key, "q", "a", turn_id="request-1").duplicate is False
    again = Memory(turnlog.Client.from_config(memory._client.config))
    assert again.save_context(key, "q", "a", turn_id="request-1").duplicate is True
    with pytest.raises(turnlog.IDReusedError):
        again.save_context(key, "q", "another answer", turn_id="request-1")
    memory.save_context(key, "x", "y", turn_id="request-10")
    loaded = memory.load_memory(key)
    assert len(loaded) == 4
    assert said(loaded.turn("request-1")) == [("user", "q"), ("assistant", "a")]
    assert loaded.turn("request") == loaded.turn("") == []
    memory.clear(key)
    assert memory.save_context(key, "q", "a", turn_id="request-1").duplicate is True
    assert memory.load_memory(key) == []


@pytest.mark.parametrize("lost", [b"TURN.APPEND", b"TURN.TX"])
def test_a_lost_reply_neither_doubles_nor_loses(cluster, key, lost):
    proxy = Proxy(cluster.nodes[0].resp)
    proxy.lose = losing(lost)
    with turnlog.Client(f"{proxy.address},{cluster.addresses}") as client:
        memory = Memory(client)
        memory.save_context(key, "1", "one")
        memory.clear(key)
        memory.save_context(key, "2", "two")
        assert proxy.lost.is_set()
        assert [m["content"] for m in memory.load_memory(key)] == ["2", "two"]
    proxy.close()


@pytest.mark.parametrize(
    "payload", [b"\x80\x04pickle", b"[1]", b"7", b'{"content":"no role"}', b'{"type":"ai"}', b"{}"]
)
def test_what_cannot_be_decoded_is_never_an_empty_history(client, memory, key, payload):
    memory.save_context(key, "q", "a")
    client.session(key).append(payload)
    for load in (memory.load_memory, memory.of(key).load_memory_variables):
        with pytest.raises(turnlog.CorruptError, match="message 3 "):
            load(key)
    with pytest.raises(turnlog.CorruptError):
        asyncio.run(memory.aload(key))


@pytest.mark.parametrize("message", [{}, {"content": "x"}, {"role": "user"}, {"role": 7, "content": ""}])
def test_what_could_not_be_loaded_is_not_saved(memory, key, message):
    with pytest.raises(turnlog.InvalidError, match="nothing was saved"):
        memory.save_context(key, message, "a")
    assert memory.load_memory(key) == []


def test_an_outage_is_an_error(key):
    memory = Memory(turnlog.Client("127.0.0.1:9", retry_for=0))
    for call in (memory.load_memory, memory.clear, lambda key: memory.save_context(key, "q", "a")):
        with pytest.raises(turnlog.UnavailableError):
            call(key)


def test_a_conversation_of_many_pages(client, memory, key):
    for start in range(0, 2400, 800):
        client.session(key).append(*[turnlog.user(str(i)) for i in range(start, start + 800)])
    assert [m["content"] for m in memory.load_memory(key)] == [str(i) for i in range(2400)]
    assert [m["content"] for m in Memory(client, last=3).load_memory(key)] == ["2397", "2398", "2399"]


def test_a_clear_between_pages_leaves_no_half(client, memory, key, monkeypatch):
    """The conversation is cleared after its newest page was read: it is read again."""
    client.session(key).append(*[turnlog.user(str(i)) for i in range(900)])
    client.session(key).append(*[turnlog.user(str(i)) for i in range(900, 1500)])
    run, reads = client.run, []

    def removing(operation, timeout):
        if operation.command == "TURN.READ":
            reads.append(operation)
            if len(reads) == 2:
                client.session(key).clear()
        return run(operation, timeout)

    monkeypatch.setattr(client, "run", removing)
    assert memory.load_memory(key) == []


def test_ttl(client, key):
    Memory(client, ttl=600).save_context(key, "q", "a")
    assert client.session(key).info().expires_at > 0


def test_keys(client):
    for session in ("emoji 👩‍👩‍👧", b"\xff\x00", "a/b:*"):
        memory = Memory(client, prefix="keys:")
        memory.clear(session)
        memory.save_context(session, "q", "a")
        assert said(memory.load_memory(session)) == [("user", "q"), ("assistant", "a")]


def test_the_interface_of_conversation_buffer_memory(memory, key):
    request = memory.of(key)
    assert isinstance(request, ConversationMemory)
    assert request.memory_variables == ["history"]
    assert request.load_memory_variables({}) == {"history": ""}
    request.save_context({"input": "hi", "history": "", "stop": ["x"]}, {"output": "whats up", "tokens": 3})
    asyncio.run(request.asave_context({"question": "and now?"}, {"answer": "well"}))
    assert request.load_memory_variables({}) == {"history": "Human: hi\nAI: whats up\nHuman: and now?\nAI: well"}
    chat = memory.of(key, return_messages=True, memory_key="chat", input_key="q", output_key="a")
    assert asyncio.run(chat.aload_memory_variables({}))["chat"][0] == {"role": "user", "content": "hi"}
    chat.save_context({"q": "x", "other": 1}, {"a": "y", "b": 2}, expect=chat.load_memory().revision)
    assert len(asyncio.run(chat.aload())) == 6
    for inputs, outputs in (({"a": "1", "b": "2"}, {"output": ""}), ({"a": "1"}, {"x": "", "y": ""}), ({}, {"o": ""})):
        with pytest.raises(turnlog.InvalidError):
            request.save_context(inputs, outputs)
    asyncio.run(request.aclear())
    request.clear()
    assert request.load_memory() == []


def test_it_goes_on_with_what_langchain_stored(cluster, client, key):
    """Messages as RedisChatMessageHistory writes them: LPUSH of LangChain's JSON."""
    import redis

    host, _, port = cluster.nodes[1].resp.partition(":")
    with redis.Redis(host=host, port=int(port)) as list_client:
        for kind, data in (
            ("human", {"content": "Where is order 7?"}),
            ("ai", {"content": "", "tool_calls": [{"id": "c1", "name": "find", "args": {"n": 7}}]}),
            ("tool", {"content": "on its way", "tool_call_id": "c1"}),
            ("chat", {"content": "noted", "role": "clerk"}),
        ):
            list_client.lpush(f"message_store:{key}", json.dumps({"type": kind, "data": data}))
    memory = Memory(client, prefix="message_store:")
    memory.save_context(key, "thanks", "welcome")
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"n":7}'}}
    assert memory.load_memory(key) == [
        {"role": "user", "content": "Where is order 7?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "on its way", "tool_call_id": "c1"},
        {"role": "clerk", "content": "noted"},
        {"role": "user", "content": "thanks"},
        {"role": "assistant", "content": "welcome"},
    ]
