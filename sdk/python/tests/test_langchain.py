"""The chat history for LangChain, through a real cluster."""

import asyncio
import concurrent.futures
import json
import multiprocessing
import threading

import pytest
from langchain_classic.memory import ConversationBufferMemory
from langchain_community.chat_message_histories import RedisChatMessageHistory
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import ConfigurableFieldSpec, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

import turnlog
from proxy import Proxy, losing
from turnlog.langchain import RunnableWithTurns, TurnlogChatMessageHistory
from turnlog.memory import Memory

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

WORKERS, TURNS = 6, 10
CALL = {
    "name": "find",
    "args": {"n": 12345678901234567890, "price": 0.1, "q": 'ü "x"\u2028'},
    "id": "c1",
    "type": "tool_call",
}
MESSAGES = [
    SystemMessage("Be brief."),
    HumanMessage([{"type": "text", "text": "Where is order 7? 👩‍👩‍👧"}], name="alice"),
    AIMessage(
        "",
        id="lc_run--1",
        tool_calls=[CALL],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model": "m"},
    ),
    ToolMessage("on its way", tool_call_id="c1", artifact={"raw": [1]}, status="success"),
    FunctionMessage("\x00\r\n", name="f"),
    ChatMessage("noted", role="clerk"),
    AIMessage("It is on its way.\ud800", additional_kwargs={"refusal": None}),
]


@pytest.fixture
def history(client, key):
    return TurnlogChatMessageHistory(key, client)


def contents(history):
    return [m.content for m in history.messages]


def published(cluster, key):
    return RedisChatMessageHistory(key, url=f"redis://{cluster.nodes[1].resp}/0")


def test_messages_come_back_as_they_were(client, history, key):
    assert history.messages == []
    history.add_messages(MESSAGES)
    assert history.messages == MESSAGES
    assert asyncio.run(TurnlogChatMessageHistory(key, client).aget_messages()) == MESSAGES
    stored = client.session(f"message_store:{key}").last(20).messages
    assert [m.json() for m in stored] == [message_to_dict(m) for m in MESSAGES]
    assert json.dumps(stored[2].json()["data"]["tool_calls"][0]["args"]) == json.dumps(CALL["args"])
    assert (
        client.session(f"message_store:{key}").info().revision
        == client.session(f"message_store:{key}").last(1).revision
    )


def test_it_takes_over_what_the_published_history_stored(cluster, client, history, key):
    old = published(cluster, key)
    old.add_messages(MESSAGES[:-1])  # json.dumps of the last one is beyond Redis clients
    assert old.messages == history.messages == MESSAGES[:-1]
    history.add_messages([HumanMessage("and now?"), AIMessage("well")])
    assert contents(history)[-2:] == ["and now?", "well"]
    assert history.messages[:-2] == MESSAGES[:-1]


def test_it_reads_what_other_programs_appended(client, history, key):
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"n": 7}'}}
    answer = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "x", "tool_call_id": "c1"},
    ]
    Memory(client, prefix="message_store:").save_context(key, "Where is order 7?", answer)
    human, ai, tool = history.messages
    assert human == HumanMessage("Where is order 7?")
    assert ai.tool_calls[0]["args"] == {"n": 7}
    assert tool == ToolMessage("x", tool_call_id="c1")


def turns_of(worker):
    return [[f"{worker}:{i}:q", f"{worker}:{i}:a"] for i in range(TURNS)]


def as_messages(turn):
    return [HumanMessage(turn[0]), AIMessage(turn[1])]


def write(addresses, key, worker):
    with turnlog.Client(addresses) as client:
        for turn in turns_of(worker):
            TurnlogChatMessageHistory(key, client).add_messages(as_messages(turn))


async def awrite(client, key, worker):
    for turn in turns_of(worker):
        await TurnlogChatMessageHistory(key, client).aadd_messages(as_messages(turn))


@pytest.mark.parametrize("processes", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_of_many_workers_no_turn_is_torn(cluster, client, history, key, processes):
    """Threads, tasks and processes add turns at once. On the published history they tear each other's."""

    async def tasks():
        await asyncio.gather(*[awrite(client, key, f"task{i}") for i in range(WORKERS)])

    spawn = multiprocessing.get_context("spawn")
    started = [spawn.Process(target=write, args=(cluster.addresses, key, f"process{i}")) for i in range(processes)]
    for p in started:
        p.start()
    with concurrent.futures.ThreadPoolExecutor(WORKERS + 1) as pool:
        running = [pool.submit(write, cluster.addresses, key, f"thread{i}") for i in range(WORKERS)]
        running.append(pool.submit(asyncio.run, tasks()))
        for each in running:
            each.result(60)
    for p in started:
        p.join(60)
        assert p.exitcode == 0
    got = contents(history)
    counts = {"thread": WORKERS, "task": WORKERS, "process": processes}
    workers = [f"{kind}{i}" for kind, count in counts.items() for i in range(count)]
    assert sorted(got) == sorted(text for w in workers for turn in turns_of(w) for text in turn), "lost or doubled"
    assert all(q[:-1] == a[:-1] for q, a in zip(got[::2], got[1::2], strict=True)), "torn"
    for w in workers:
        assert [t for t in got if t.split(":")[0] == w] == [text for turn in turns_of(w) for text in turn], (
            "out of order"
        )


@pytest.mark.parametrize("lost", [b"TURN.APPEND", b"TURN.TX"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_lost_reply_neither_doubles_nor_loses(cluster, key, lost, asynchronous):
    proxy = Proxy(cluster.nodes[0].resp)
    proxy.lose = losing(lost)

    async def use(history):
        await history.aadd_messages([HumanMessage("1")])
        await history.aclear()
        await history.aadd_messages([HumanMessage("2")])

    with turnlog.Client(f"{proxy.address},{cluster.addresses}") as client:
        history = TurnlogChatMessageHistory(key, client)
        if asynchronous:
            asyncio.run(use(history))
        else:
            history.add_message(HumanMessage("1"))
            history.clear()
            history.add_message(HumanMessage("2"))
        assert proxy.lost.is_set()
        assert contents(history) == ["2"]
    proxy.close()


def test_a_turn_id_makes_a_repeated_request_harmless(client, key):
    def request(answer="a"):
        history = TurnlogChatMessageHistory(key, client, turn_id="request-1")
        history.add_user_message("q")
        history.add_messages([AIMessage("", tool_calls=[CALL]), ToolMessage("x", tool_call_id="c1")])
        history.add_ai_message(answer)
        return history

    request()
    again = request()
    assert contents(again) == ["q", "", "x", "a"]
    with pytest.raises(turnlog.IDReusedError):
        request("another answer")
    again.clear()
    assert contents(request()) == []


def test_messages_may_be_known_by_their_own_ids(client, key):
    history = TurnlogChatMessageHistory(key, client, message_ids=True)
    for _ in range(2):
        history.add_messages([HumanMessage("q", id="1"), AIMessage("a", id="2")])
    with pytest.raises(turnlog.ConflictError):
        history.add_messages([HumanMessage("q", id="3"), AIMessage("a", id="2")])
    assert contents(history) == ["q", "a"]
    cached = AIMessage("a", id="lc_run--same")
    plain = TurnlogChatMessageHistory(key, client)
    for _ in range(2):
        plain.add_messages([HumanMessage("again"), cached])
    assert contents(plain) == ["q", "a", "again", "a", "again", "a"]


def test_a_conditional_history_learns_that_the_conversation_moved_on(client, key):
    first, second = (TurnlogChatMessageHistory(key, client, conditional=True) for _ in range(2))
    assert first.messages == second.messages == []
    first.add_user_message("1")
    first.add_ai_message("one")
    for change in (lambda: second.add_user_message("2"), second.clear):
        with pytest.raises(turnlog.ConflictError):
            change()
    assert contents(second) == ["1", "one"]
    second.add_user_message("2")
    second.clear()
    second.add_user_message("3")
    assert contents(second) == ["3"]
    seen = second.revision
    TurnlogChatMessageHistory(key, client, expect=seen).add_ai_message("three")
    with pytest.raises(turnlog.ConflictError):
        TurnlogChatMessageHistory(key, client, expect=seen).add_ai_message("four")


@pytest.mark.parametrize(
    "payload",
    [b"\x80\x04pickle", b"[1]", b"7", b'{"type":"ai"}', b'{"type":"unheard","data":{"content":""}}', b'{"data":1}'],
)
def test_what_cannot_be_decoded_is_never_an_empty_history(client, history, key, payload):
    history.add_user_message("q")
    client.session(f"message_store:{key}").append(payload)
    with pytest.raises(turnlog.CorruptError, match="message 2 "):
        _ = history.messages
    with pytest.raises(turnlog.CorruptError):
        asyncio.run(history.aget_messages())


def test_what_is_not_json_is_not_added(history):
    with pytest.raises(turnlog.InvalidError, match="nothing was sent"):
        history.add_messages([HumanMessage("q"), AIMessage("a", additional_kwargs={"when": object()})])
    assert history.messages == []


def test_limits_and_ttl(client, key):
    history = TurnlogChatMessageHistory(key, client, key_prefix="", last=2, ttl=600)
    history.add_messages([HumanMessage("1"), AIMessage("one"), HumanMessage("2")])
    assert contents(history) == ["one", "2"]
    assert client.session(key).info().expires_at > 0
    history.add_messages([])


def test_the_buffer_memory_reads_like_langchains(client, history, key):
    theirs = ConversationBufferMemory(chat_memory=history)
    ours = Memory(client, prefix="message_store:").of(key)
    theirs.save_context({"input": "hi"}, {"output": "whats up"})
    ours.save_context({"input": "and now?"}, {"output": "well"})
    history.add_messages([SystemMessage("s"), ToolMessage("t", tool_call_id="c"), ChatMessage("c", role="clerk")])
    assert ours.load_memory_variables({}) == theirs.load_memory_variables({})
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("user", "{input}")])
    loaded = Memory(client, prefix="message_store:").of(key, return_messages=True).load_memory_variables({})
    loaded["history"] = loaded["history"][:2]
    assert [m.content for m in prompt.invoke(loaded | {"input": "x"}).messages] == ["hi", "whats up", "x"]


# --- runs -----------------------------------------------------------------------


def answering(text="a"):
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("user", "{input}")])
    return prompt | GenericFakeChatModel(messages=iter([AIMessage(f"the answer {text}")] * 9))


KEYS = {"input_messages_key": "input", "history_messages_key": "history"}


def config(key):
    return {"configurable": {"session_id": key}}


@pytest.mark.parametrize("wrapper", [RunnableWithMessageHistory, RunnableWithTurns])
def test_with_message_history(client, history, key, wrapper):
    chain = wrapper(answering(), lambda session: TurnlogChatMessageHistory(session, client), **KEYS)
    assert chain.invoke({"input": "1"}, config(key)).content == "the answer a"
    asyncio.run(chain.ainvoke({"input": "2"}, config(key)))
    assert contents(history) == ["1", "the answer a", "2", "the answer a"]


def test_streams_and_batches_are_saved_as_whole_messages(client, history, key):
    chain = RunnableWithTurns(answering(), lambda session: TurnlogChatMessageHistory(session, client), **KEYS)
    assert len(list(chain.stream({"input": "1"}, config(key)))) > 1

    async def stream():
        return [chunk async for chunk in chain.astream({"input": "2"}, config(key))]

    assert len(asyncio.run(stream())) > 1
    assert [type(m) for m in history.messages] == [HumanMessage, AIMessage] * 2
    assert contents(history) == ["1", "the answer a", "2", "the answer a"]
    keys = [f"{key}-{i}" for i in range(3)]
    chain.batch([{"input": k} for k in keys], [config(k) for k in keys])
    for k in keys:
        assert contents(TurnlogChatMessageHistory(k, client)) == [k, "the answer a"]


class NotSaved(TurnlogChatMessageHistory):
    def add_messages(self, messages):
        raise turnlog.UnavailableError("no node answers")

    async def aadd_messages(self, messages):
        raise turnlog.UnavailableError("no node answers")


def test_a_turn_that_was_not_saved_is_an_error_of_the_run(client, key):
    """LangChain's own logs it, and returns the answer."""

    async def collect(chunks):
        return [chunk async for chunk in chunks]

    given = {"input": "1"}, config(key)
    unsaved = lambda session: NotSaved(session, client)  # noqa: E731
    RunnableWithMessageHistory(answering(), unsaved, **KEYS).invoke(*given)
    chain = RunnableWithTurns(answering(), unsaved, **KEYS)
    for run in (
        lambda: chain.invoke(*given),
        lambda: list(chain.stream(*given)),
        lambda: chain.batch([given[0]], given[1]),
        lambda: asyncio.run(chain.ainvoke(*given)),
        lambda: asyncio.run(collect(chain.astream(*given))),
    ):
        with pytest.raises(turnlog.UnavailableError):
            run()


def test_turns_that_overlap_are_both_whole(client, history, key):
    """One request is answered while another one thinks. LangChain's own loses what the other user said."""
    both = threading.Barrier(2)
    thought = threading.Event()

    def think(messages):
        both.wait(30)
        if messages[-1].content == "slow":
            assert thought.wait(30)
        return AIMessage(f"to {messages[-1].content}")

    chain = RunnableWithTurns(RunnableLambda(think), lambda session: TurnlogChatMessageHistory(session, client))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        slow = pool.submit(chain.invoke, "slow", config(key))
        chain.invoke("fast", config(key))
        thought.set()
        slow.result(30)
    assert contents(history) == ["fast", "to fast", "slow", "to slow"]


def test_the_id_of_a_request_comes_with_the_config(client, key):
    fields = [
        ConfigurableFieldSpec(id="session_id", annotation=str),
        ConfigurableFieldSpec(id="turn_id", annotation=str),
    ]
    made = lambda session_id, turn_id: TurnlogChatMessageHistory(session_id, client, turn_id=turn_id)  # noqa: E731
    chain = RunnableWithTurns(answering(), made, history_factory_config=fields, **KEYS)
    for turn in ("r1", "r1", "r2"):
        chain.invoke({"input": "1"}, {"configurable": {"session_id": key, "turn_id": turn}})
    assert contents(made(key, None)) == ["1", "the answer a"] * 2
