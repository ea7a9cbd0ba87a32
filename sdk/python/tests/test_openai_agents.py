"""The sessions for the OpenAI Agents SDK, through a real cluster."""

import asyncio
import itertools
import json
import types

import pytest
from agents import Agent, RunConfig, Runner, SessionSettings, SQLiteSession, function_tool, set_tracing_disabled
from agents.extensions.memory import AdvancedSQLiteSession
from agents.memory import OpenAIResponsesCompactionSession, Session
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.usage import Usage

import turnlog
from cluster import ROOT
from proxy import Proxy, losing
from turnlog.openai_agents import AdvancedTurnlogSession, TurnlogSession

set_tracing_disabled(True)
ITEMS = ROOT / "sdk" / "testdata" / "openai-agents-items.json"


def user(text):
    return {"role": "user", "content": text}


def said(text):
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def call(call_id):
    return {"type": "function_call", "call_id": call_id, "name": "look_up", "arguments": "{}", "id": f"fc_{call_id}"}


def result(call_id):
    return {"type": "function_call_output", "call_id": call_id, "output": "found"}


@pytest.fixture
def session(client, key):
    return TurnlogSession(key, client)


@pytest.fixture
def proxy(cluster):
    made = Proxy(cluster.nodes[0].resp)
    yield made
    made.close()


def test_it_does_what_the_sdks_own_session_does(session):
    async def compare():
        theirs = SQLiteSession(session.session_id)
        assert isinstance(session, Session)
        steps = [
            lambda s: s.pop_item(),
            lambda s: s.add_items([]),
            lambda s: s.add_items([user("ü \ud83d\ude00"), said("1"), call("a"), result("a"), said("2")]),
            *[lambda s, n=n: s.get_items(limit=n) for n in (0, 1, 2, 5, 9)],
            lambda s: s.get_items(2),
            lambda s: s.pop_item(),
            lambda s: s.add_items([user("x" * 100_000), {"type": "reasoning", "id": "r", "summary": []}]),
            lambda s: s.clear_session(),
            lambda s: s.add_items([user("after")]),
        ]
        for step in steps:
            assert await step(session) == await step(theirs)
            assert await session.get_items() == await theirs.get_items()

    asyncio.run(compare())


def test_a_run_remembers_with_its_tools(session):
    @function_tool
    def look_up(order: str) -> str:
        return f"order {order} is on its way"

    async def converse():
        model = ScriptedModel()
        agent = Agent(name="support", model=model, tools=[look_up])
        model.enqueue([function_call("look_up", {"order": "7"}, call_id="c1")])
        model.enqueue([assistant_message("It is on its way.")])
        first = await Runner.run(agent, "Where is order 7?", session=session)
        model.enqueue([assistant_message("You are welcome.")])
        await Runner.run(agent, "Thank you", session=session)
        return first.final_output, await session.get_items(), model

    output, items, model = asyncio.run(converse())
    assert output == "It is on its way."
    assert [i.get("type", i.get("role")) for i in items] == [
        "user",
        "function_call",
        "function_call_output",
        "message",
        "user",
        "message",
    ]
    assert items[2]["output"] == "order 7 is on its way"
    assert len(model.last_call.input) == 5


def test_settings_limit_what_a_run_reads(client, key):
    async def converse():
        session = TurnlogSession(key, client, session_settings={"limit": 2})
        await session.add_items([user("1"), said("2"), user("3")])
        assert await session.get_items() == [said("2"), user("3")]
        assert len(await session.get_items(limit=3)) == 3
        model = ScriptedModel()
        model.enqueue([assistant_message("ok")])
        config = RunConfig(session_settings=SessionSettings(limit=1))
        await Runner.run(Agent(name="a", model=model), "4", session=session, run_config=config)
        return model.last_call.input

    assert [i["content"] for i in asyncio.run(converse())] == ["3", "4"]


def test_a_turn_is_whole_among_many_writers(client, key):
    async def write():
        async def one(i):
            session = TurnlogSession(key, client)
            for n in range(5):
                await session.add_items([user(f"{i}.{n}"), call(f"{i}.{n}"), result(f"{i}.{n}"), said(f"{i}.{n}")])

        await asyncio.gather(*(one(i) for i in range(10)))
        return await TurnlogSession(key, client).get_items()

    items = asyncio.run(write())
    assert len(items) == 200
    for turn in zip(*[iter(items)] * 4, strict=True):
        name = turn[0]["content"]
        assert list(turn) == [user(name), call(name), result(name), said(name)], "torn"


def test_items_whose_reply_is_lost_are_stored_once(proxy, session, key):
    proxy.lose = losing(b"TURN.APPEND")

    async def write():
        await TurnlogSession(key, turnlog.AsyncClient(proxy.address)).add_items([user("1"), said("2")])
        return await session.get_items()

    assert asyncio.run(write()) == [user("1"), said("2")]
    assert proxy.lost.is_set()


def test_a_history_is_cleared_though_the_reply_is_lost(proxy, session, key):
    async def write():
        await session.add_items([user("1")])
        proxy.lose = losing(b"TURN.TX")
        await TurnlogSession(key, turnlog.AsyncClient(proxy.address)).clear_session()
        return await session.get_items()

    assert asyncio.run(write()) == []
    assert proxy.lost.is_set()


def test_an_item_is_removed_once_though_the_reply_is_lost(proxy, session, key):
    async def write():
        await session.add_items([user("1"), user("2"), user("3")])
        proxy.lose = losing(b"TURN.REPLACE")
        popped = await TurnlogSession(key, turnlog.AsyncClient(proxy.address)).pop_item()
        return popped, await session.get_items(), await session.pop_item(), await session.get_items(1)

    assert asyncio.run(write()) == (user("3"), [user("1"), user("2")], user("2"), [user("1")])
    assert proxy.lost.is_set()


def test_workers_that_pop_and_add_at_once_share_the_items_out(client, session, key):
    """Each item is popped once, or is still there."""

    async def work(n):
        own, got = TurnlogSession(key, client), []
        for i in range(5):
            await own.add_items([user(f"{n} {i}")])
            got.append(await own.pop_item())
        return got

    async def write():
        await session.add_items([user("first")])
        return await asyncio.gather(*map(work, range(4))), await session.get_items()

    popped, left = asyncio.run(write())
    found = [item["content"] for item in [*itertools.chain(*popped), *left]]
    assert sorted(found) == sorted(["first", *(f"{n} {i}" for n in range(4) for i in range(5))])
    assert len(left) == 1


def test_large_items(session):
    large = [user(str(i) * (6 << 20)) for i in range(3)]

    async def write():
        await session.add_items(large[:2])
        await session.add_items(large[2:])
        for refused in ([user("small"), user("x" * (9 << 20))], [user("x")] * 1001, large):
            with pytest.raises(turnlog.TooLargeError):
                await session.add_items(refused)
        with pytest.raises(TypeError):
            await session.add_items([user("small"), {"role": "user", "content": {1}}])
        return await session.get_items(), await session.get_items(limit=2), await session.pop_item()

    assert asyncio.run(write()) == (large, large[1:], large[2])


def test_a_long_history_is_read_whole_while_others_write(session, client, key):
    async def write():
        for start in range(0, 2400, 800):
            await session.add_items([user(str(n)) for n in range(start, start + 800)])
        done = asyncio.Event()

        async def others():
            n = 2400
            while not done.is_set():
                await client.aio.session(key).append(user(str(n)))
                n += 1
                await asyncio.sleep(0.05)

        writing = asyncio.create_task(others())
        try:
            histories = [await session.get_items() for _ in range(3)]
        finally:
            done.set()
            await writing
        return histories

    for history in asyncio.run(write()):
        assert [i["content"] for i in history] == [str(n) for n in range(len(history))]
        assert len(history) >= 2400


def test_a_cancelled_write_is_over_when_its_caller_is_told(session):
    async def write():
        task = asyncio.create_task(session.add_items([user("cancelled")]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [await session.get_items(), await session.get_items()]

    first, second = asyncio.run(write())
    assert first == second
    assert first in ([], [user("cancelled")])


def test_what_is_no_item_is_an_error_not_an_empty_history(session, client, key):
    client.session(key).append("no JSON")
    with pytest.raises(turnlog.CorruptError):
        asyncio.run(session.get_items())
    with pytest.raises(turnlog.CorruptError) as e:
        asyncio.run(session.pop_item())
    assert e.value.outcome == "not_applied" and client.session(key).last(1).count == 1
    with pytest.raises(turnlog.InvalidError):
        TurnlogSession("", client)


def test_the_conversation_of_a_typescript_agent(session, client, key):
    """The TypeScript package tests the other direction with the same file."""
    pairs = json.loads(ITEMS.read_text())
    client.session(key).append(*[json.dumps(pair["typescript"]) for pair in pairs])
    assert asyncio.run(session.get_items()) == [pair["python"] for pair in pairs]

    async def own():
        await session.clear_session()
        await session.add_items([pair["python"] for pair in pairs])
        return await session.get_items()

    assert asyncio.run(own()) == [pair["python"] for pair in pairs]


def test_marks_of_history_transactions_are_passed_over(session, client, key):
    mark = {"$turnlog": {"transaction": "t"}}
    client.session(key).append(user("1"), {**user("2"), **mark}, mark)

    async def read():
        return await session.get_items(), await session.get_items(1), await session.pop_item()

    assert asyncio.run(read()) == ([user("1"), user("2")], [user("2")], user("2"))


class Compactor:
    """Stands for the OpenAI client of a compaction: another worker writes while the model thinks."""

    def __init__(self, summary, meanwhile=None):
        self.responses, self._summary, self._meanwhile = self, summary, meanwhile

    async def compact(self, **_):
        if self._meanwhile:
            await self._meanwhile()
        return type("Compacted", (), {"output": [self._summary], "usage": None})


def test_compaction_replaces_the_history_at_once(session):
    async def compact():
        await session.add_items([user("1"), said("2"), user("3")])
        compaction = OpenAIResponsesCompactionSession(
            "s", session, client=Compactor(user("sum")), compaction_mode="input"
        )
        await compaction.run_compaction({"force": True})
        return await session.get_items(), (await session._log.info()).last_seq

    items, last_seq = asyncio.run(compact())
    assert items == [user("sum")]
    assert last_seq == 4  # replaced, and not cleared and filled


def test_a_compaction_removes_nothing_that_it_has_not_seen(session, client, key):
    async def compact():
        other = TurnlogSession(key, client)
        await session.add_items([user("1"), said("2")])
        await session.get_items()
        await other.add_items([user("3")])
        with pytest.raises(turnlog.ConflictError):
            await session._atomic_replace_items([user("sum")])
        snapshot = await session._get_compaction_snapshot(2)
        assert (snapshot.items, snapshot.complete) == ([said("2"), user("3")], False)
        await other.add_items([user("4")])
        assert not await snapshot.replace_suffix(0, [user("sum")])
        snapshot = await session._get_compaction_snapshot(9)
        assert snapshot.complete
        assert await snapshot.replace_suffix(1, [user("sum")])
        return await other.get_items()

    assert asyncio.run(compact()) == [user("1"), user("sum")]


def test_branches(client, key):
    async def branch():
        session = AdvancedTurnlogSession(key, client)
        await session.add_items([user("first"), said("a"), user("second"), call("c"), result("c"), said("b")])
        name = await session.create_branch_from_turn(2)
        assert session.branch_id == name
        assert await session.get_items() == [user("first"), said("a")]
        await session.add_items([user("another"), said("z")])
        assert [t["content"] for t in await session.get_conversation_turns()] == ["first", "another"]
        await session.switch_to_branch("main")
        assert len(await session.get_items()) == 6
        assert len(await session.get_items(branch_id=name)) == 4
        assert await session.create_branch_from_content("SECOND", "named") == "named"
        with pytest.raises(ValueError, match="exists"):
            await session.create_branch_from_turn(1, "named")
        assert await session.create_branch_from_turn(1, "empty") == "empty"
        assert await session.get_items() == []
        described = [(b["branch_id"], b["message_count"], b["is_current"]) for b in await session.list_branches()]
        assert described == [("main", 6, False), (name, 4, False), ("named", 2, False), ("empty", 0, True)]
        opened = TurnlogSession(f"{key}#named", client)
        assert await opened.get_items() == [user("first"), said("a")]
        for wrong in ((9, None), (0, None), (1, " "), (1, "main")):
            with pytest.raises(ValueError, match=r"Turn|Branch|branch"):
                await session.create_branch_from_turn(*wrong)
        with pytest.raises(ValueError, match="current"):
            await session.delete_branch("empty")
        await session.delete_branch("empty", force=True)
        assert session.branch_id == "main"
        with pytest.raises(ValueError, match="not exist"):
            await session.switch_to_branch("empty")
        await session.clear_session()
        assert await session.get_items() == []
        return [b["branch_id"] for b in await session.list_branches()]

    assert asyncio.run(branch()) == ["main"]
    with pytest.raises(turnlog.InvalidError):
        AdvancedTurnlogSession("a#b", client)


def run_with(tokens):
    """What a run returns that has used so many tokens, as far as a session looks at it."""
    usage = Usage(requests=1, input_tokens=tokens, output_tokens=1, total_tokens=tokens + 1)
    return types.SimpleNamespace(context_wrapper=types.SimpleNamespace(usage=usage))


def test_tools_and_tokens_of_turns_are_those_of_the_sdks_own_session(client, key, tmp_path):
    async def compare():
        ours = AdvancedTurnlogSession(key, client)
        theirs = AdvancedSQLiteSession(session_id=key, db_path=tmp_path / "theirs.db", create_tables=True)

        async def add(s, *items):
            await s.add_items(list(items))

        kinds = (
            "computer_call",
            "mcp_call",
            "shell_call",
            "tool_search_call",
            "tool_search_output",
            "custom_tool_call",
        )
        calls = [{"type": kind, "id": kind, "name": "n", "server_label": "srv"} for kind in kinds]
        steps = [
            lambda s: s.store_run_usage(run_with(1)),
            lambda s: add(s, said("before the first turn")),
            lambda s: s.store_run_usage(run_with(2)),
            lambda s: add(s, user("one"), call("a"), result("a"), call("b"), result("b"), said("1")),
            lambda s: s.store_run_usage(run_with(3)),
            lambda s: add(s, user("two"), *calls),
            lambda s: s.store_run_usage(run_with(4)),
            lambda s: s.store_run_usage(run_with(5)),
            lambda s: add(s, user("three"), call("c") | {"namespace": "crm"}, calls[4]),
            lambda s: s.create_branch_from_turn(3, "b"),
            lambda s: add(s, user("other"), call("d") | {"namespace": "look_up"}),
            lambda s: s.store_run_usage(run_with(6)),
            lambda s: s.pop_item(),
            lambda s: s.pop_item(),
            lambda s: add(s, user("takes the number of the one that was popped")),
            lambda s: s.switch_to_branch("main"),
            lambda s: s.store_run_usage(run_with(7)),
            lambda s: s.delete_branch("b"),
            lambda s: s.create_branch_from_turn(2, "c"),
            lambda s: s.clear_session(),
            lambda s: add(s, user("after all was cleared")),
        ]
        for n, step in enumerate(steps):
            found = []
            for s in (ours, theirs):
                await step(s)
                tools = sorted(await s.get_tool_usage(), key=str)
                tokens = [await s.get_turn_usage(), await s.get_turn_usage(2), await s.get_session_usage()]
                main = [await s.get_session_usage("main"), await s.get_turn_usage(branch_id="main")]
                found.append((tools, tokens, main, await s.get_conversation_by_turns()))
            assert found[0] == found[1], n
        theirs.close()

    asyncio.run(compare())


def test_the_tokens_of_a_turn_are_stored_once_and_go_with_the_conversation(proxy, client, key):
    async def main():
        session = AdvancedTurnlogSession(key, turnlog.AsyncClient(proxy.address), ttl=600)
        await session.add_items([user("one")])
        proxy.lose = losing(b"TURN.TX")
        await session.store_run_usage(run_with(3))
        assert proxy.lost.is_set()
        assert await session.get_session_usage() == {
            "requests": 1,
            "input_tokens": 3,
            "output_tokens": 1,
            "total_tokens": 4,
            "total_turns": 1,
        }
        client.session(key).delete()
        await session.add_items([user("another conversation")])
        assert await session.get_session_usage() is None
        await session.clear_session()
        assert client.hash(session._log.key + "#\0usage").all() == {}

    asyncio.run(main())


@pytest.mark.slow
def test_a_conversation_goes_on_while_leaders_are_killed(fresh_cluster, key):
    """A worker of its own for each turn; the leader is killed after the model was asked."""

    async def converse():
        client = turnlog.AsyncClient(fresh_cluster.addresses)
        model = ScriptedModel()
        agent = Agent(name="support", model=model)
        for n in range(12):
            dead = []
            if n in (4, 8):
                dead.append(fresh_cluster.leader())
                dead[0].kill()
            model.enqueue([assistant_message(f"answer {n}")])
            await Runner.run(agent, f"question {n}", session=TurnlogSession(key, client))
            for node in dead:
                node.start()
                fresh_cluster.wait_ready(node)
        items = await TurnlogSession(key, client).get_items()
        await client.aclose()
        return items

    items = asyncio.run(converse())
    texts = [i["content"] if i.get("role") == "user" else i["content"][0]["text"] for i in items]
    assert texts == [f"{what} {n}" for n in range(12) for what in ("question", "answer")]
