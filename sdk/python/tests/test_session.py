"""What a session promises, through a real cluster."""

import asyncio
import concurrent.futures
import contextlib
import datetime
import math
import ssl
import threading

import pytest

import turnlog
from turnlog import assistant, user


def texts(history):
    return [m.text() for m in history.messages]


def test_append_and_read(client, key):
    s = client.session(key)
    done = s.append(user("Where is my order?"), assistant("Which one?"))
    assert (done.first_seq, done.last_seq, done.count, done.duplicate) == (1, 2, 2, False)
    assert len(set(done.ids)) == 2
    history = s.last(20)
    assert [m.json() for m in history.messages] == [
        {"role": "user", "content": "Where is my order?"},
        {"role": "assistant", "content": "Which one?"},
    ]
    assert [m.seq for m in history.messages] == [1, 2]
    assert [m.id for m in history.messages] == list(done.ids)
    assert history.revision == done.revision
    now = datetime.datetime.now(datetime.timezone.utc)
    assert abs(now - history.messages[0].time) < datetime.timedelta(minutes=5)


def test_a_session_that_does_not_exist_is_empty(client, key):
    assert client.session(key).last(5) == turnlog.History([], 0, 0, 0, 0, 0, False)
    assert client.session(key).metadata() == {}
    assert client.session(key).delete() is False
    with pytest.raises(turnlog.NotFoundError):
        client.session(key).info()


@pytest.mark.parametrize(
    "payload", [b"", b"\x00\xff\r\n", "emoji 👩‍👩‍👧", {"a": "\ud800"}, {"n": [1, None, "ü"]}, b"x" * (1 << 20)]
)
def test_payloads_come_back(client, key, payload):
    s = client.session(key)
    s.append(payload)
    got = s.last(1).messages[0]
    if isinstance(payload, dict):
        assert got.json() == payload
    else:
        assert got.data == (payload if isinstance(payload, bytes) else payload.encode())


@pytest.mark.parametrize("name", ["with space", "a/b:c*?", "\r\n", "ünï", b"\xff\x00", "x" * 512])
def test_keys(client, key, name):
    s = client.session(name)
    s.delete()
    s.append("x")
    assert s.info().key == s.key
    assert s.key in [i.key for i in client.sessions(name)]
    s.delete()


@pytest.mark.parametrize("name", ["", "x" * 513, "\ud800"])
def test_keys_that_no_server_takes(client, name):
    with pytest.raises(turnlog.InvalidError):
        client.session(name)


def test_expect(client, key):
    s = client.session(key)
    first = s.append("1", expect=0)
    with pytest.raises(turnlog.ConflictError) as e:
        s.append("2", expect=0)
    assert e.value.revision == first.revision
    assert e.value.outcome == "not_applied"
    s.append("2", expect=first.revision)
    assert texts(s.last(5)) == ["1", "2"]


def test_the_same_ids_are_stored_once(client, key):
    s = client.session(key)
    first = s.append(user("a", id="x1"), user("b", id="x2"))
    again = s.append(user("a", id="x1"), user("b", id="x2"))
    assert again.duplicate
    assert (again.first_seq, again.last_seq, again.revision) == (first.first_seq, first.last_seq, first.revision)
    assert s.last(9).count == 2
    with pytest.raises(turnlog.IDReusedError):
        s.append(user("c", id="x1"))
    with pytest.raises(turnlog.ConflictError):
        s.append(user("b", id="x2"), user("new", id="x3"))


def test_reads(client, key):
    s = client.session(key)
    s.append(*[str(i) for i in range(1, 11)])
    assert texts(s.read(after=7)) == ["8", "9", "10"]
    assert texts(s.read(after=2, limit=2)) == ["3", "4"]
    assert texts(s.read(before=4, limit=2)) == ["2", "3"]
    for staleness in (math.inf, 60):  # a node may not have it yet
        assert texts(s.read(last=3, max_staleness=staleness)) in ([], ["8", "9", "10"])
    assert texts(s.read(max_bytes=3)) == ["9", "10"]
    assert len(s.read(max_tokens=1).messages) == 3
    assert s.read(last=3).more
    assert [m.text() for m in s.all(after=8)] == ["9", "10"]
    with pytest.raises(turnlog.InvalidError):
        s.read(last=1, after=1)


@pytest.mark.parametrize("value", [math.nan, math.inf, {"deep": [-math.inf]}])
def test_a_mapping_that_is_not_json_is_rejected(client, key, value):
    """Python writes NaN and Infinity, which no other client can read as JSON."""
    with pytest.raises(turnlog.InvalidError, match="not JSON"):
        client.session(key).append({"score": value})
    assert client.session(key).last(9).count == 0


def test_unset_takes_names_not_one_text(client, key):
    """The letters of a text would be taken for names, and the name itself kept."""
    session = client.session(key)
    session.append("x", metadata={"draft": "1", "d": "2"})
    for call in (
        lambda: session.append("y", unset="draft"),
        lambda: session.set_metadata({"a": "1"}, unset="draft"),
        lambda: client.transaction().set_metadata(key, {}, unset="draft"),
    ):
        with pytest.raises(turnlog.InvalidError, match="nothing was sent"):
            call()
    assert session.metadata() == {"draft": "1", "d": "2"}


@pytest.mark.parametrize("name", [["x"], 7, None])
def test_names_that_are_no_text_are_invalid(client, key, name):
    with pytest.raises(turnlog.InvalidError, match="nothing was sent"):
        client.hash(key).get(name)
    with pytest.raises(turnlog.InvalidError, match="nothing was sent"):
        client.session(name).last(1)


def test_all_pages(client, key):
    s = client.session(key)
    for i in range(2):
        s.append(*[f"{i}-{j}" for j in range(700)])
    assert [m.seq for m in s.all()] == list(range(1, 1401))


def test_pop_trim_clear_replace_delete(client, key):
    s = client.session(key)
    s.append("1", "2", "3", "4", "5")
    assert [m.text() for m in s.pop(2).messages] == ["5", "4"]
    assert [m.text() for m in s.pop(side="head").messages] == ["1"]
    assert s.trim(keep=1).removed == 1
    replaced = s.replace(3, "c", "d")
    assert (replaced.removed, replaced.count) == (1, 2)
    assert texts(s.last(9)) == ["c", "d"]
    last = s.last(9).last_seq
    assert s.trim(before=last).count == 1
    assert s.clear().removed == 1
    assert s.last(9).last_seq == last
    assert s.delete(expect=s.last(1).revision) is True
    assert s.last(9).revision == 0


def test_fork(client, key):
    s = client.session(key)
    s.append("1", "2", "3")
    s.set_metadata({"title": "order"})
    copy = client.session(key + "-fork")
    assert s.fork(copy.key, at=2).count == 2
    assert texts(copy.last(9)) == ["1", "2"]
    assert copy.metadata() == {"title": "order"}
    with pytest.raises(turnlog.ExistsError):
        s.fork(copy.key)
    with pytest.raises(turnlog.NotFoundError):
        client.session(key + "-none").fork(key + "-other")


def test_metadata(client, key):
    s = client.session(key)
    revision = s.set_metadata({"user": "ü", "SET": "v"})
    assert s.metadata() == {"user": "ü", "SET": "v"}
    s.set_metadata({}, unset=["SET"], expect=revision)
    assert s.metadata() == {"user": "ü"}
    with pytest.raises(turnlog.InvalidError):
        s.set_metadata({})


def test_rename(client, key):
    s, to = client.session(key), client.session(key + "-to")
    with pytest.raises(turnlog.NotFoundError):
        s.rename(to.key)
    s.append("a", "b")
    to.append("c")
    with pytest.raises(turnlog.ExistsError):
        s.rename(to.key)
    with pytest.raises(turnlog.ConflictError):
        s.rename(to.key, replace=True, expect=0)
    assert s.rename(to.key, replace=True) == to.info().revision
    assert [m.text() for m in to.read().messages] == ["a", "b"]
    assert not s.read().messages


def test_expiry(client, key):
    s = client.session(key)
    assert s.expire(60) is False
    s.append("x", ttl=datetime.timedelta(hours=1))
    assert s.info().expires_at > 0
    assert s.persist() is True
    assert s.info().expires_at == 0
    assert s.expire(600, slide=True) is True
    assert s.info().slide_ms == 600_000
    assert s.expire_at(datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)) is True
    assert s.last(1).count == 0
    with pytest.raises(turnlog.InvalidError):
        s.expire_at(datetime.datetime(2030, 1, 1))


def test_retain(client, key):
    s = client.session(key)
    s.append("a", "b", "c")
    assert s.retain(messages=2).removed == 1
    assert s.append("d").count == 2
    assert s.info().retain_messages == 2
    s.retain(turns=1)
    assert (s.info().retain_messages, s.info().retain_turns) == (0, 1)
    assert s.append("e", "f").count == 2
    s.retain(everything=True)
    assert s.info().retain_turns == 0
    for wrong in ({}, {"messages": 1, "turns": 1}, {"messages": 1, "everything": True}):
        with pytest.raises(turnlog.InvalidError):
            s.retain(**wrong)


def test_sessions_and_erase(client, key):
    for name in ("a", "b", "c"):
        client.session(f"{key}:{name}").append("x")
    assert [i.key for i in client.sessions(key + ":")] == [f"{key}:{n}" for n in "abc"]
    page = client.sessions_page(key + ":", limit=2)
    assert len(page.sessions) == 2
    assert [i.key for i in client.sessions_page(key + ":", page.cursor).sessions] == [f"{key}:c"]
    assert client.erase(key + ":") == 3
    with pytest.raises(turnlog.InvalidError):
        client.erase("")


def test_sessions_by_label(client, key):
    for name in ("a", "b", "c"):
        client.session(f"{key}:{name}").append("x", metadata={"label.user": key, "label.first": str(name == "a")})
    client.session(f"{key}:a").append("y")
    assert [i.key for i in client.sessions(labels={"user": key})] == [f"{key}:{n}" for n in "acb"]
    page = client.sessions_page(limit=2, labels={"user": key})
    assert [i.key for i in page.sessions] == [f"{key}:a", f"{key}:c"]
    assert [i.key for i in client.sessions_page(cursor=page.cursor, labels={"user": key}).sessions] == [f"{key}:b"]
    assert [i.key for i in client.sessions(labels={"user": key, "first": "True"})] == [f"{key}:a"]


def test_namespaces(cluster, client, key):
    with turnlog.Client(cluster.addresses, namespace="other") as other:
        client.session(key).append("here")
        assert other.session(key).last(1).count == 0
        other.session(key).append("there")
        assert other.erase_all() >= 1
    assert texts(client.session(key).last(1)) == ["here"]


def test_cluster(client):
    assert len(client.cluster()["nodes"]) == 3


def test_limits_are_the_servers(client, key):
    with pytest.raises(turnlog.TooLargeError) as e:
        client.session(key).append(b"x" * (9 << 20))
    assert e.value.outcome == "not_applied"
    with pytest.raises(turnlog.InvalidError):
        client.session(key).append()
    with pytest.raises(TypeError):
        client.session(key).append(7)


def test_another_type(cluster, client, key):
    import redis

    host, _, port = cluster.nodes[0].resp.partition(":")
    redis.Redis(host=host, port=int(port)).set(key, "string")
    with pytest.raises(turnlog.WrongTypeError):
        client.session(key).append("x")


def test_urls():
    parse = turnlog.config.parse
    c = parse("turnlog://bot:p%40ss@h1:1,[::1]:2/ns%2F1")
    assert (c.addresses, c.username, c.password, c.namespace) == ((("h1", 1), ("::1", 2)), "bot", "p@ss", "ns/1")
    assert parse("redis://h/3").addresses == (("h", 7379),)
    assert parse("redis://h/3").namespace == "3"
    assert isinstance(parse("turnlogs://h").tls, ssl.SSLContext)
    assert "p%40ss" not in repr(c) and "p@ss" not in repr(c)
    for bad in ("http://h", "turnlog://", "turnlog://u@h", "h:x", "turnlog://h?ca=x", "turnlog://h?y=1", "a/b"):
        with pytest.raises(turnlog.InvalidError):
            parse(bad)
    with pytest.raises(turnlog.InvalidError):
        turnlog.Client("h", username="u")


def test_a_closed_client(cluster, key):
    client = turnlog.Client(cluster.addresses)
    client.session(key).append("x")
    client.close()
    with pytest.raises(turnlog.InvalidError, match="closed"):
        client.session(key).append("x")


def test_a_client_that_is_closed_in_one_event_loop_is_closed_in_all(cluster, key):
    client = turnlog.AsyncClient(cluster.addresses)

    async def close():
        await client.session(key).append("of another loop")
        await client.aclose()

    async def use():
        await client.session(key).append("x")
        await asyncio.to_thread(asyncio.run, close())
        with pytest.raises(turnlog.InvalidError, match="closed"):
            await client.session(key).append("y")
        await client.aclose()

    asyncio.run(use())


def test_threads_get_one_client_for_asyncio(cluster, monkeypatch):
    """Two clients would each have connections that nothing closes."""
    made, meeting = turnlog.AsyncClient.from_config, threading.Barrier(2)

    def slow(config):
        with contextlib.suppress(threading.BrokenBarrierError):
            meeting.wait(0.1)  # until another thread makes one, too
        return made(config)

    monkeypatch.setattr(turnlog.AsyncClient, "from_config", slow)
    with turnlog.Client(cluster.addresses) as client, concurrent.futures.ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: client.aio, range(2))
    assert first is second


def test_one_message_is_edited_and_removed(client, key):
    s = client.session(key)
    first = [turnlog.NewMessage(b"one", "a"), turnlog.NewMessage(b"two", "b"), turnlog.NewMessage(b"three", "c")]
    done = s.append(*first)
    edited = s.edit({"n": 2}, id="b")
    assert (edited.seq, edited.count) == (2, 3)
    assert edited.revision > done.revision
    assert s.edit('{"n":2}', seq=2).revision == edited.revision  # as it was
    assert s.remove(seq=1, expect=edited.revision).removed == 1
    assert s.remove(id="a").removed == 0
    assert s.append(*first).duplicate
    assert [(m.seq, m.id, m.text()) for m in s.last(9).messages] == [(2, "b", '{"n":2}'), (3, "c", "three")]
    with pytest.raises(turnlog.ConflictError):
        s.edit("late", seq=3, expect=done.revision)
    with pytest.raises(turnlog.NotFoundError):
        s.edit("gone", id="a")
    for unnamed in ({}, {"seq": 1, "id": "a"}):
        with pytest.raises(turnlog.InvalidError):
            s.remove(**unnamed)
    with pytest.raises(turnlog.InvalidError):
        s.edit(turnlog.NewMessage(b"x", "b"), seq=2)


def test_one_message_is_edited_and_removed_for_asyncio(cluster, key):
    async def run():
        async with turnlog.AsyncClient(cluster.addresses) as client:
            s = client.session(key)
            await s.append(turnlog.NewMessage(b"one", "a"), turnlog.NewMessage(b"two", "b"))
            assert (await s.edit("uno", id="a")).seq == 1
            assert (await s.remove(seq=2)).removed == 1
            assert texts(await s.last(9)) == ["uno"]

    asyncio.run(run())


def test_a_read_by_number_keeps_tool_calls_and_results_together(client, key):
    s = client.session(key)
    s.append(
        user("weather?"),
        {"role": "assistant", "tool_calls": [{"id": "a"}]},
        {"role": "tool", "tool_call_id": "a"},
        assistant("rain"),
    )
    assert [m.seq for m in s.last(2).messages] == [3, 4]
    assert [m.seq for m in s.last(2, whole=True).messages] == [4]
    assert [m.seq for m in s.last(3, whole=True).messages] == [2, 3, 4]
    assert [m.seq for m in s.read(after=0, limit=2, whole=True).messages] == [1]


def test_messages_are_read_by_time(client, key):
    s = client.session(key)
    times = []
    for text in ("a", "b", "c"):
        s.append(text)
        while times and s.last(1).messages[0].time_ms == times[-1].time_ms:  # by the clock of the cluster
            s.pop()
            s.append(text)
        times.append(s.last(1).messages[0])
    assert times[0].time_ms < times[1].time_ms < times[2].time_ms
    assert texts(s.read(since=times[1].time_ms)) == ["b", "c"]
    assert texts(s.read(until=times[1].time)) == ["a"]
    assert texts(s.read(since=times[0].time, until=times[2].time_ms, last=1)) == ["b"]
    with pytest.raises(turnlog.InvalidError):
        s.read(since=datetime.datetime(2026, 1, 1))  # of which time zone?
