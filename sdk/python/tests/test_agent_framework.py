"""The provider of histories for Microsoft's Agent Framework, through a real cluster."""

import asyncio

import pytest
from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FileHistoryProvider, Message

import turnlog
from proxy import Proxy, losing
from turnlog.agent_framework import TurnlogHistoryProvider


class Model(BaseChatClient):
    """Answers with the number of questions; another worker may write while it thinks."""

    def __init__(self, meanwhile=None):
        super().__init__()
        self.meanwhile = meanwhile

    async def _inner_get_response(self, *, messages, stream, options, **kwargs):
        if self.meanwhile:
            await self.meanwhile()
        asked = sum(message.role == "user" for message in messages)
        return ChatResponse(messages=[Message("assistant", [f"question {asked}"])])


@pytest.fixture
def provider(client, key):
    return TurnlogHistoryProvider(client, prefix=f"{key}:")


async def ask(provider, text, session_id="a", model=None):
    agent = Agent(model or Model(), context_providers=[provider])
    return (await agent.run(text, session=agent.create_session(session_id=session_id))).text


def texts(provider, session_id="a"):
    return [message.text for message in asyncio.run(provider.get_messages(session_id))]


def test_it_does_what_the_frameworks_own_provider_does(provider, tmp_path):
    async def compare():
        theirs = FileHistoryProvider(tmp_path)
        call = Content.from_function_call(call_id="c", name="f", arguments={"a": 1})
        result = Content.from_function_result(call_id="c", result="42")
        turn = [Message("user", ["ü \U0001f600"]), Message("assistant", [call], message_id="m")]
        turn.append(Message("tool", [result]))
        runs = [turn, [], [Message("user", ["same"])], [Message("user", ["same"])], [*turn[:1], Message("user", ["x"])]]
        for messages in runs:
            got = []
            for one in (provider, theirs):
                await one.save_messages("a", messages)
                got.append([message.to_dict() for message in await one.get_messages("a")])
            assert got[0] == got[1]
        assert await provider.get_messages("b") == []

    asyncio.run(compare())


def test_an_agent_goes_on_with_a_conversation(provider, client, key):
    assert asyncio.run(ask(provider, "1")) == "question 1"
    other = TurnlogHistoryProvider(client, prefix=f"{key}:", last=2)
    assert asyncio.run(ask(other, "2")) == "question 2"
    assert texts(provider) == ["1", "question 1", "2", "question 2"]
    assert texts(other) == ["2", "question 2"]
    asyncio.run(provider.clear("a"))
    assert texts(provider) == []


def test_a_run_is_saved_once_though_the_reply_is_lost(cluster, provider, key):
    proxy = Proxy(cluster.nodes[0].resp)
    proxy.lose = losing(b"TURN.APPEND")
    far = TurnlogHistoryProvider(turnlog.AsyncClient(proxy.address), prefix=f"{key}:")
    asyncio.run(ask(far, "1"))
    proxy.close()
    assert proxy.lost.is_set()
    assert texts(provider) == ["1", "question 1"]


def test_runs_at_once_are_all_kept_whole(provider):
    async def many():
        await asyncio.gather(*(ask(provider, f"run {i}") for i in range(8)))

    asyncio.run(many())
    got = texts(provider)
    assert sorted(got[::2]) == [f"run {i}" for i in range(8)]
    assert all(text.startswith("question") for text in got[1::2]) and len(got) == 16


def test_a_run_that_was_too_late_is_told(client, provider, key):
    strict = TurnlogHistoryProvider(client, prefix=f"{key}:", conditional=True)

    async def meanwhile():
        await provider.save_messages("a", [Message("user", ["of another worker"])])

    with pytest.raises(turnlog.ConflictError):
        asyncio.run(ask(strict, "late", model=Model(meanwhile)))
    assert texts(provider) == ["of another worker"]
    assert asyncio.run(ask(strict, "again")) == "question 2"


def test_what_is_no_message_is_an_error_not_an_empty_history(provider, client, key):
    client.session(f"{key}:a").append({"role": 1, "contents": 5})
    with pytest.raises(turnlog.CorruptError):
        texts(provider)
    with pytest.raises(turnlog.InvalidError):
        texts(provider, None)
