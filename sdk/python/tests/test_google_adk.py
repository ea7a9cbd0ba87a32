"""The session service for Google's ADK, through a real cluster."""

import asyncio
import contextlib
import datetime

import pytest
from google.adk.agents import LlmAgent
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.integrations.redis import RedisSessionService, RedisSessionServiceConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types
from redis.asyncio import Redis

import turnlog
from proxy import Proxy, losing
from turnlog.google_adk import TurnlogSessionService, copy_sessions


@pytest.fixture
def service(client, key):
    return TurnlogSessionService(client, prefix=f"{key}:")


@pytest.fixture
def proxy(cluster):
    made = Proxy(cluster.nodes[0].resp)
    yield made
    made.close()


def event(name, at=None, **delta):
    made = Event(invocation_id=name, author="agent", actions=EventActions(state_delta=delta))
    if at is not None:
        made.timestamp = at
    return made


def names(session):
    return [e.invocation_id for e in session.events]


WHERE = {"app_name": "app", "user_id": "alice", "session_id": "s"}


def test_it_does_what_the_adks_own_service_does(service):
    async def compare():
        ours, theirs = service, InMemorySessionService()
        held = {}

        async def create(s, user, id_, **state):
            held[s, user, id_] = await s.create_session(app_name="app", user_id=user, session_id=id_, state=state)

        async def append(s, user, id_, name, **delta):
            await s.append_event(held[s, user, id_], event(name, 1000.5 + len(name), **delta))

        async def delete(s, user, id_):
            await s.delete_session(app_name="app", user_id=user, session_id=id_)

        steps = [
            lambda s: create(s, "alice", "a", **{"k": 1, "app:x": [1], "user:lang": "pl"}),
            lambda s: create(s, "alice", "b:c"),
            lambda s: create(s, "alice:b", "c", **{"user:lang": "de"}),
            lambda s: create(s, "alic", "e"),
            lambda s: append(s, "alice", "a", "one", **{"k": None, "temp:t": 1, "user:n": {"ü": 2}, "app:x": 2}),
            lambda s: append(s, "alice", "b:c", "three", deep={"list": [1, {"a": None}]}),
            lambda s: append(s, "alice", "a", "seven77"),
            lambda s: delete(s, "alice", "b:c"),
            lambda s: delete(s, "carol", "x"),
        ]
        for step in steps:
            found = []
            for s in (ours, theirs):
                await step(s)
                lists = [await s.list_sessions(app_name="app", user_id=u) for u in ("alice", "alice:b", "none", None)]
                got = [await s.get_session(app_name="app", user_id=u, session_id=i) for s_, u, i in held if s_ is s]
                held_now = [held[k] for k in held if k[0] is s]
                user = await s.get_user_state(app_name="app", user_id="alice")
                every = [x for r in lists for x in r.sessions] + got + held_now
                found.append((user, [dump(x) for x in every if x], [x is None for x in got]))
            assert sorted(map(str, found[0][1])) == sorted(map(str, found[1][1]))
            assert (found[0][0], found[0][2]) == (found[1][0], found[1][2])
        with pytest.raises(AlreadyExistsError):
            await create(ours, "alice", " a ")
        with pytest.raises(SessionNotFoundError):
            await append(ours, "alice", "b:c", "gone")

    def dump(session):
        told = session.model_dump(mode="json")
        if not told["events"]:
            del told["last_update_time"]  # of the creation, by each service's own clock
        for e in told["events"]:
            del e["id"]
        return told

    asyncio.run(compare())


def test_an_event_and_its_state_are_one(service):
    async def write():
        session = await service.create_session(**WHERE)
        await service.append_event(session, event("1", **{"app:a": 1, "user:u": 1, "s": 1}))
        too_large = {"app:a": 2, "user:u": 2, "s": "x" * (9 << 20)}
        with pytest.raises(turnlog.TooLargeError):
            await service.append_event(session, event("2", **too_large))
        found = await service.get_session(**WHERE)
        assert (names(found), found.state) == (["1"], {"app:a": 1, "user:u": 1, "s": 1})
        await service.append_event(session, event("3", s="y" * (7 << 20)))  # and what failed makes nothing stale
        return await service.get_session(**WHERE)

    found = asyncio.run(write())
    assert names(found) == ["1", "3"]
    assert found.state["s"] == "y" * (7 << 20)


def test_readers_see_no_half_of_an_event(service):
    async def use():
        session = await service.create_session(**WHERE)

        async def write():
            for n in range(60):
                await service.append_event(session, event(str(n), n=n))

        writing = asyncio.create_task(write())
        seen = set()
        while not writing.done():
            found = await service.get_session(**WHERE)
            assert names(found) == [str(n) for n in range(len(found.events))]
            assert found.state.get("n", -1) == len(found.events) - 1
            seen.add(len(found.events))
        await writing
        return seen

    assert len(asyncio.run(use())) > 5


def test_a_writer_whose_session_has_changed_is_told(service, client, key):
    async def write():
        other = TurnlogSessionService(client, prefix=f"{key}:")
        mine = await service.create_session(**WHERE)
        theirs = await other.get_session(**WHERE)
        await other.append_event(theirs, event("theirs"))
        with pytest.raises(ValueError, match="modified in storage"):
            await service.append_event(mine, event("mine", k=1))
        mine = await service.get_session(**WHERE)
        await service.append_event(mine, event("mine", k=1))
        copies = [mine.model_copy(deep=True) for _ in range(8)]
        outcomes = await asyncio.gather(
            *(service.append_event(c, event(f"copy {i}", i=i)) for i, c in enumerate(copies)), return_exceptions=True
        )
        assert sum(isinstance(o, Event) for o in outcomes) == 1
        assert sum(isinstance(o, ValueError) and "modified" in str(o) for o in outcomes) == 7
        mine._storage_update_marker = None  # as one made by hand
        with pytest.raises(ValueError, match="modified in storage"):
            await service.append_event(mine, event("by hand"))
        await service.delete_session(**WHERE)
        with pytest.raises(SessionNotFoundError):
            await service.append_event(copies[0], event("deleted"))
        await service.create_session(**WHERE)
        with pytest.raises(ValueError, match="modified in storage"):
            await service.append_event(copies[0], event("made again"))

    asyncio.run(write())


def test_own_writes_in_flight_are_no_conflict(service):
    async def write():
        session = await service.create_session(**WHERE)
        await asyncio.gather(*(service.append_event(session, event(str(i), **{f"k{i}": i})) for i in range(20)))
        found = await service.get_session(**WHERE)
        assert names(found) == names(session)
        assert found.state == session.state == {f"k{i}": i for i in range(20)}
        again = session.events[3]
        await service.append_event(session, again)  # delivered twice
        assert len((await service.get_session(**WHERE)).events) == 20

    asyncio.run(write())


def test_what_the_adks_newest_contract_asks(service):
    """Ids are stripped wherever they come in, and the id of an event alone makes no event a repetition."""

    async def use():
        padded = WHERE | {"session_id": " order-42\n"}
        assert (await service.create_session(**padded, state={"k": 1})).id == "order-42"
        found = await service.get_session(**padded)
        assert (found.id, found.state) == ("order-42", {"k": 1})
        await service.append_event(found, event("one"))
        same = event("two")
        same.id = found.events[0].id
        await service.append_event(found, same)
        await service.append_event(found, same.model_copy(deep=True))  # delivered twice
        assert names(await service.get_session(**padded)) == ["one", "two"]
        await service.delete_session(**padded)
        assert await service.get_session(**WHERE | {"session_id": "order-42"}) is None

    asyncio.run(use())


def test_an_event_whose_reply_is_lost_is_stored_once(proxy, service, key):
    async def write():
        mine = TurnlogSessionService(turnlog.AsyncClient(proxy.address), prefix=f"{key}:")
        session = await mine.create_session(**WHERE)
        proxy.lose = losing(b"TURN.TX")
        await mine.append_event(session, event("1", k=1))
        await mine.append_event(session, event("2", k=2))
        return await service.get_session(**WHERE)

    found = asyncio.run(write())
    assert proxy.lost.is_set()
    assert (names(found), found.state) == (["1", "2"], {"k": 2})


@pytest.mark.parametrize("then", ["again", "another"])
def test_a_write_of_unknown_outcome_makes_nothing_stale(proxy, service, key, then):
    async def write():
        mine = TurnlogSessionService(turnlog.AsyncClient(proxy.address, retry_for=0), prefix=f"{key}:")
        session = await mine.create_session(**WHERE)
        first = event("1", k=1, **{"user:n": 1})
        proxy.lose = losing(b"TURN.TX")
        with pytest.raises(turnlog.UnknownOutcomeError):
            await mine.append_event(session, first)
        await mine.append_event(session, first if then == "again" else event("2", k=2))
        await mine.append_event(session, event("3"))
        found = await service.get_session(**WHERE)
        assert names(session) == names(found) == (["1", "3"] if then == "again" else ["1", "2", "3"])
        assert session.state["k"] == found.state["k"] == (1 if then == "again" else 2)
        assert found.state["user:n"] == 1
        proxy.lose = losing(b"TURN.TX")
        with pytest.raises(turnlog.UnknownOutcomeError):
            await mine.append_event(session, event("4"))
        await service.append_event(await service.get_session(**WHERE), event("another's"))
        with pytest.raises(ValueError, match="modified in storage"):
            await mine.append_event(session, event("5"))

    asyncio.run(write())


def test_a_long_session(service):
    async def use():
        session = await service.create_session(**WHERE)
        log = service.client.session(service.place(app="app", user="alice", id_="s").log)
        for start in range(0, 2400, 800):  # as appends one by one would store them
            made = [event(str(n), 1000.0 + n).model_dump_json(exclude_none=True) for n in range(start, start + 800)]
            await log.append(*made)
        found = await service.get_session(**WHERE)
        assert names(found) == [str(n) for n in range(2400)]
        for config, wanted in (
            ({"num_recent_events": 0}, []),
            ({"num_recent_events": 3}, ["2397", "2398", "2399"]),
            ({"num_recent_events": 1200}, [str(n) for n in range(1200, 2400)]),
            ({"after_timestamp": 3398.0}, ["2398", "2399"]),
            ({"after_timestamp": 9999.0, "num_recent_events": 3}, []),
        ):
            found = await service.get_session(**WHERE, config=GetSessionConfig(**config))
            assert names(found) == wanted
        with pytest.raises(ValueError, match="modified in storage"):
            await service.append_event(session, event("late"))

    asyncio.run(use())


def test_sessions_expire(client, key):
    async def use():
        service = TurnlogSessionService(client, prefix=f"{key}:", ttl=3600)
        session = await service.create_session(**WHERE, state={"k": 1, "user:u": 1})
        await service.append_event(session, event("1"))
        info = await client.aio.session(service.place("app", "alice", "s").log).info()
        assert info.expires_at > info.updated

    asyncio.run(use())


def test_what_something_else_wrote_is_an_error(service, client):
    async def use():
        await client.aio.session(service.place("app", "alice", "s").log).append("no event")
        with pytest.raises(turnlog.CorruptError):
            await service.get_session(**WHERE)
        session = await service.create_session(app_name="app", user_id="bob", session_id="t")
        await client.aio.session(service.place("app", "bob", "t").log).append("no event")
        with pytest.raises(turnlog.CorruptError):
            await service.get_session(app_name="app", user_id="bob", session_id="t")
        return session

    asyncio.run(use())


def test_the_sessions_of_redis_are_moved(cluster, service, key):
    """The ADK's service for Redis, on the Redis interface of the cluster."""

    async def move():
        host, _, port = cluster.nodes[0].resp.partition(":")
        redis = Redis(host=host, port=int(port), decode_responses=True)
        old = RedisSessionService(RedisSessionServiceConfig(key_prefix=f"{key}-redis:"), redis)
        for user, id_, at in (("bob", "b", 3000.5), ("alice", "a:1", 2000.5), ("alice", "empty", None)):
            state = {"k": user, "user:u": 1}
            session = await old.create_session(app_name="app", user_id=user, session_id=id_, state=state)
            for n in range(3 if at else 0):
                await old.append_event(session, event(f"{id_}{n}", at + n, **{"k": n, "user:u": n, "app:x": id_}))
        assert await copy_sessions(old, service, "app") == 3
        assert await copy_sessions(old, service, "app") == 0
        lists = [(await s.list_sessions(app_name="app")).sessions for s in (old, service)]
        assert [(s.id, s.state, s.last_update_time) for s in lists[0]] == [
            (s.id, s.state, s.last_update_time) for s in lists[1]
        ]
        for s in lists[0]:
            where = {"app_name": "app", "user_id": s.user_id, "session_id": s.id}
            ours, theirs = await service.get_session(**where), await old.get_session(**where)
            assert ours.model_dump() == theirs.model_dump()
        await redis.aclose()
        moved = await service.get_session(app_name="app", user_id="bob", session_id="b")
        await service.append_event(moved, event("goes on"))

    asyncio.run(move())


def test_values_without_json_are_kept_as_the_adks_own_service_keeps_them(service, tmp_path):
    """The ADK stores a callback as its name; what it cannot store is an error, and nothing is changed."""
    values = [print, {1}, {"nested": [print]}, None, datetime.datetime(2026, 1, 1), b"\xff", "\ud800", Model]

    async def keep(s, n, value):
        session = await s.create_session(app_name="app", user_id=f"u{n}", session_id="s")
        asked = {"t": ToolConfirmation(hint="sure?", payload={"id": 1})}
        actions = EventActions(state_delta={"v": value, "user:v": value}, requested_tool_confirmations=asked)
        error = None
        try:
            await s.append_event(session, Event(invocation_id="one", author="agent", actions=actions))
        except Exception as e:
            error = type(e).__name__
        found = await s.get_session(app_name="app", user_id=f"u{n}", session_id="s")
        return error, found.state, [e.actions.model_dump() for e in found.events]

    async def compare():
        theirs = SqliteSessionService(str(tmp_path / "theirs.db"))
        for n, value in enumerate(values):
            assert await keep(service, n, value) == await keep(theirs, n, value), value
        for s in (service, theirs):  # the empty name is that of no other user
            assert (await s.list_sessions(app_name="app", user_id="")).sessions == []

    asyncio.run(compare())


@pytest.mark.parametrize("when", ["before the events", "after the events"])
def test_what_a_user_shares_is_read_as_it_was_with_the_events(client, service, key, monkeypatch, when):
    """It was read beside the events: a counter in it was a turn behind, and the next turn counted the same again."""
    read_shared, read_stored = service._shared, turnlog.google_adk.service.stored

    async def main():
        other = TurnlogSessionService(client, prefix=f"{key}:")
        theirs, meanwhile = await other.create_session(**WHERE), asyncio.Event()
        await other.append_event(theirs, event("one", **{"user:n": 1}))

        async def shared(*arguments):
            found = await read_shared(*arguments)
            if not meanwhile.is_set():
                await other.append_event(theirs, event("two", **{"user:n": 2}))
                meanwhile.set()
            return found

        async def shared_later(*arguments):
            if not meanwhile.is_set():
                await other.append_event(theirs, event("two", **{"user:n": 2}))
                meanwhile.set()
            return await read_shared(*arguments)

        async def stored(*arguments):
            if when == "before the events":
                with contextlib.suppress(asyncio.TimeoutError):  # what is shared is read after it now
                    await asyncio.wait_for(meanwhile.wait(), 0.5)
            return await read_stored(*arguments)

        monkeypatch.setattr(service, "_shared", shared if when == "before the events" else shared_later)
        monkeypatch.setattr(turnlog.google_adk.service, "stored", stored)
        return await service.get_session(**WHERE)

    session = asyncio.run(main())
    assert session.state["user:n"] == session.events[-1].actions.state_delta["user:n"]


class Model(BaseLlm):
    """Answers with the number of contents that it was asked with."""

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.ModelContent(f"seen {len(llm_request.contents)}"))


def test_a_runner_goes_on_while_leaders_are_killed(fresh_cluster, key):
    """A process of its own for each turn, as far as it knows; the leader is killed before the model answers."""

    async def converse():
        client = turnlog.AsyncClient(fresh_cluster.addresses)
        agent = LlmAgent(name="support", model=Model(model="stub"), output_key="answer")
        answers = []
        for n in range(8):
            service = TurnlogSessionService(client, prefix=f"{key}:")
            runner = Runner(app_name="app", agent=agent, session_service=service, auto_create_session=True)
            dead = []
            if n in (3, 5):
                dead.append(fresh_cluster.leader())
                dead[0].kill()
            asked = types.UserContent(f"question {n}")
            async for e in runner.run_async(user_id="alice", session_id="s", new_message=asked):
                answers += [part.text for part in e.content.parts]
            for node in dead:
                node.start()
                fresh_cluster.wait_ready(node)
        session = await service.get_session(**WHERE)
        await client.aclose()
        return answers, session

    answers, session = asyncio.run(converse())
    assert answers == [f"seen {2 * n + 1}" for n in range(8)]
    texts = [part.text for e in session.events for part in e.content.parts]
    assert texts == [text for n in range(8) for text in (f"question {n}", f"seen {2 * n + 1}")]
    assert session.state == {"answer": "seen 15"}
