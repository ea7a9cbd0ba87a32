"""The store of conversations for Pydantic AI, through a real cluster."""

import asyncio

import pytest
from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, InMemoryConversationStore
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

import turnlog
from proxy import Proxy, losing
from turnlog.pydantic_ai import TurnlogConversationStore


@pytest.fixture
def store(client, key):
    return TurnlogConversationStore(client, prefix=f"{key}:")


@pytest.fixture
def proxy(cluster):
    made = Proxy(cluster.nodes[0].resp)
    yield made
    made.close()


def turn(text):
    return [ModelRequest(parts=[UserPromptPart(text)]), ModelResponse(parts=[TextPart(f"answer to {text}")])]


def texts(conversation):
    return [part.content for message in conversation.messages for part in message.parts]


def test_it_does_what_the_frameworks_own_store_does(store):
    async def compare():
        stores = (store, InMemoryConversationStore())

        async def save(s, id_, text, scope=None):
            conversation = await s.load(id_) or Conversation(conversation_id=id_)
            conversation.messages += turn(text)
            return len(await s.save(conversation, scope=scope))

        async def rewrite(s):
            conversation = await s.load("a")
            conversation.messages[1:] = turn("rewritten")[1:]
            conversation.new_message_index = None
            return len(await s.save(conversation))

        async def revision(s, id_):
            return (await s.load(id_)).revision

        async def branch(s):
            return texts(await s.branch("a", at=2, expected_revision=await revision(s, "a")))

        async def back(s):
            (tip, *_) = (await s.read_record("a")).branches
            return texts(await s.branch("a", from_entry=tip, expected_revision=await revision(s, "a")))

        async def fork(s, id_, new, at=None):
            return texts(await s.fork(id_, at=at, new_conversation_id=new, scope="forks"))

        steps = [
            lambda s: save(s, "a", "one", "alice"),
            lambda s: save(s, "a", "two"),
            lambda s: save(s, "b:c", "zwölf ü", "alice"),
            branch,
            lambda s: save(s, "a", "other"),
            back,
            lambda s: fork(s, "a", "f", 2),
            lambda s: save(s, "f", "in the fork"),
            lambda s: fork(s, "f", "g"),
            lambda s: s.delete("a"),
            lambda s: save(s, "g", "more"),
            lambda s: s.delete("b:c", scope="bob"),
            lambda s: s.delete("b:c"),
            lambda s: save(s, "a", "made again"),
            rewrite,
        ]
        for n, step in enumerate(steps):
            found = []
            for s in stores:
                outcome = await step(s)
                loaded = [await s.load(id_) for id_ in ("a", "b:c", "f", "g", "none")]
                last = [await s.load(id_, limit=1) for id_ in ("a", "g")]
                listed = [
                    [r.conversation_id for r in await s.list_conversations(scope=scope)] for scope in (None, "alice")
                ]
                found.append((outcome, [x and texts(x) for x in loaded + last], listed))
            assert found[0] == found[1], n

    asyncio.run(compare())


@pytest.mark.slow
def test_an_agent_goes_on_in_another_process_while_leaders_are_killed(fresh_cluster, key):
    agent = Agent(FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart(f"seen {len(messages)}")])))

    async def converse():
        client = turnlog.AsyncClient(fresh_cluster.addresses)
        answers = []
        for n in range(6):
            store = TurnlogConversationStore(client, prefix=f"{key}:")
            conversation = await store.load("c") or Conversation(conversation_id="c")
            result = await agent.run(f"question {n}", conversation=conversation)
            answers.append(result.output)
            dead = fresh_cluster.leader() if n in (2, 4) else None
            if dead:
                dead.kill()
            await store.save(result)
            if dead:
                dead.start()
                fresh_cluster.wait_ready(dead)
        loaded = await store.load("c")
        await client.aclose()
        return answers, texts(loaded)

    answers, said = asyncio.run(converse())
    assert answers == [f"seen {2 * n + 1}" for n in range(6)]
    assert said == [text for n in range(6) for text in (f"question {n}", f"seen {2 * n + 1}")]


def test_of_many_workers_at_once_one_saves(store, client, key):
    async def race():
        first = Conversation(conversation_id="c")
        first.messages += turn("first")
        await store.save(first)
        stores = [TurnlogConversationStore(client, prefix=f"{key}:") for _ in range(10)]
        loaded = [await s.load("c") for s in stores]
        for i, conversation in enumerate(loaded):
            conversation.messages += turn(f"worker {i}")
        saves = (s.save(c) for s, c in zip(stores, loaded, strict=True))
        outcomes = await asyncio.gather(*saves, return_exceptions=True)
        assert sum(isinstance(o, ConversationConflict) for o in outcomes) == 9
        assert len((await store.load("c")).messages) == 4
        with pytest.raises(ConversationConflict):
            await store.save(Conversation(conversation_id="c"))

    asyncio.run(race())


def test_a_save_whose_reply_is_lost_takes_place_once(proxy, store, key):
    async def save():
        mine = TurnlogConversationStore(turnlog.AsyncClient(proxy.address), prefix=f"{key}:")
        conversation = Conversation(conversation_id="c")
        conversation.messages += turn("once")
        proxy.lose = losing(b"TURN.TX")
        await mine.save(conversation)
        conversation.messages += turn("twice")
        await mine.save(conversation)
        return texts(await store.load("c"))

    assert asyncio.run(save()) == ["once", "answer to once", "twice", "answer to twice"]
    assert proxy.lost.is_set()


def test_a_deleted_conversation_leaves_nothing_that_no_fork_needs(store, client, key):
    async def delete():
        for id_ in ("alone", "forked"):
            conversation = Conversation(conversation_id=id_)
            conversation.messages += turn(id_)
            await store.save(conversation)
        await store.fork("forked", new_conversation_id="fork")
        await store.delete("alone")
        await store.delete("forked")
        assert [s.key.removeprefix(f"{key}:") async for s in client.aio.sessions(f"{key}:")] == [
            "entries:forked",
            "record:fork",
        ]
        assert texts(await store.load("fork")) == ["forked", "answer to forked"]
        with pytest.raises(LookupError):
            await store.read_entry("none")

    asyncio.run(delete())


def test_a_save_is_whole_or_not_there(store):
    async def save():
        conversation = Conversation(conversation_id="c")
        conversation.messages += turn("small")
        await store.save(conversation)
        conversation.messages += turn("x" * (9 << 20))
        with pytest.raises(turnlog.TooLargeError):
            await store.save(conversation)
        return texts(await store.load("c"))

    assert asyncio.run(save()) == ["small", "answer to small"]
