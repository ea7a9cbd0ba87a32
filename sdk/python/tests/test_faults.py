"""Lost replies, deadlines, forks and threads."""

import asyncio
import concurrent.futures
import datetime
import multiprocessing
import os
import threading
import time
import uuid

import pytest

import turnlog
from proxy import Proxy, losing
from turnlog import user


@pytest.fixture
def proxy(cluster):
    made = Proxy(cluster.nodes[0].resp)
    yield made
    made.close()


def call(client, key, method, *args, **options):
    """Call a method of a session, through the client for threads or the one for asyncio."""
    if isinstance(client, turnlog.Client):
        return getattr(client.session(key), method)(*args, **options)
    return asyncio.run(getattr(client.session(key), method)(*args, **options))


@pytest.fixture(params=[turnlog.Client, turnlog.AsyncClient])
def make(request):
    return request.param


def test_an_append_whose_reply_is_lost_is_stored_once(proxy, make, key):
    proxy.lose = losing(b"TURN.APPEND")
    client = make(proxy.address)
    done = call(client, key, "append", user("once"))
    assert proxy.lost.is_set()
    assert done.duplicate
    assert call(client, key, "last", 9).count == 1


def test_a_pop_whose_reply_is_lost_is_not_repeated(proxy, make, key):
    client = make(proxy.address)
    call(client, key, "append", "1", "2", "3")
    proxy.lose = losing(b"TURN.POP")
    with pytest.raises(turnlog.UnknownOutcomeError) as e:
        call(client, key, "pop")
    assert e.value.outcome == "unknown"
    assert call(client, key, "last", 9).count == 2


def test_a_lost_read_is_repeated(proxy, make, key):
    proxy.lose = losing(b"TURN.READ", 3)
    assert call(make(proxy.address), key, "last", 9).count == 0


def test_without_retries_a_lost_append_is_unknown(proxy, make, key):
    proxy.lose = losing(b"TURN.APPEND")
    with pytest.raises(turnlog.UnknownOutcomeError):
        call(make(proxy.address, retry_for=0), key, "append", "x")


def test_an_uncertain_append_stays_unknown_when_no_node_answers(proxy, make, key):
    proxy.lose = losing(b"TURN.APPEND")
    client = make(proxy.address, retry_for=1, dial_timeout=0.2)
    threading.Thread(target=lambda: (proxy.lost.wait(60), proxy.close())).start()
    proxy.lose = losing(b"TURN.APPEND", 1000)
    with pytest.raises(turnlog.UnknownOutcomeError):
        call(client, key, "append", "x")


def test_a_node_that_hangs_is_given_up(cluster, proxy, make, key):
    proxy.lose, proxy.hang = losing(b"TURN.APPEND", 1000), True
    client = make([proxy.address, cluster.nodes[1].resp], stall_timeout=0.3)
    done = call(client, key, "append", user("once"))
    assert done.duplicate
    assert call(client, key, "last", 9).count == 1


def test_a_node_that_takes_a_request_slowly_is_not_given_up(proxy, make, key):
    left = [12 << 20]  # so much of 16 MiB takes three seconds, and the rest, which is in buffers by then, none

    def slowly(data):
        left[0] -= len(data)
        if left[0] > 0:
            time.sleep(0.015 * len(data) / 65536)
        return data

    client = make(proxy.address, stall_timeout=1.5, retry_for=0)
    call(client, key, "append", "1")
    proxy.request = slowly
    half = b"x" * ((8 << 20) - 1024)
    assert call(client, key, "append", half, half).count == 3


def test_the_timeout_is_a_deadline(proxy, make, key):
    proxy.lose, proxy.hang = losing(b"TURN.READ", 1000), True
    client = make(proxy.address, timeout=0.3)
    start = time.monotonic()
    with pytest.raises(turnlog.UnavailableError) as e:
        call(client, key, "last", 1)
    assert time.monotonic() - start < 5  # and not the 8 s of stall_timeout
    assert e.value.timed_out


def test_a_write_at_the_deadline_is_unknown(proxy, make, key):
    proxy.lose, proxy.hang = losing(b"TURN.APPEND", 1000), True
    with pytest.raises(turnlog.UnknownOutcomeError) as e:
        call(make(proxy.address, timeout=0.3), key, "append", "x")
    assert e.value.timed_out


def test_no_node_at_all(make, key):
    with pytest.raises(turnlog.UnavailableError) as e:
        call(make("127.0.0.1:1", retry_for=0.1), key, "append", "x")
    assert e.value.outcome == "not_applied"
    assert "127.0.0.1:1" in str(e.value)


@pytest.mark.parametrize(
    "message",
    [turnlog.NewMessage({"role": "user"}), turnlog.NewMessage(None), turnlog.NewMessage(b"x", uuid.uuid4())],
)
def test_what_cannot_be_sent_is_rejected_at_once(cluster, make, key, message):
    """It was tried again for retry_for, and then an append that may have been carried out."""
    client = make(cluster.addresses, timeout=30)
    start = time.monotonic()
    with pytest.raises(turnlog.InvalidError, match="nothing was sent") as e:
        call(client, key, "append", message)
    assert e.value.outcome == "not_applied" and time.monotonic() - start < 10
    assert call(client, key, "append", "next").first_seq == 1


def test_requests_have_no_numbers(cluster, key, monkeypatch):
    """Ctrl-C at the moment in which hiredis 3.5 writes a number is a segmentation fault (NULL of PyObject_Str)."""
    sent = []
    packed = turnlog.connection.Connection._packed

    def seen(self, request, traceparent):
        sent.append(request)
        return packed(self, request, traceparent)

    monkeypatch.setattr(turnlog.connection.Connection, "_packed", seen)
    client = turnlog.Client(cluster.addresses)
    s = client.session(key)
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    s.append("1", "2", "3", expect=0, ttl=60)
    s.read(last=2, max_bytes=9, since=1, max_staleness=60)
    s.read(after=0, limit=1, max_tokens=9, until=at)
    s.read(before=3)
    s.edit("b", seq=2)
    s.retain(messages=9)
    s.retain(turns=9)
    s.expire(60)
    s.expire_at(at)
    s.replace(3, "c", expect=s.last(1).revision)
    s.pop(1)
    s.trim(keep=1)
    s.trim(before=1)
    s.fork(key + "-fork", at=4)
    next(client.sessions(key))
    client.hash(key + "-hash").set({"a": "1"})
    assert client.hash(key + "-hash").all() == {"a": b"1"}
    tx = client.transaction().if_revision(key, s.last(1).revision).if_seq(key, s.last(1).last_seq)
    tx.append(key, "d").expire(key, 60).commit()
    assert [r for r in sent if not all(isinstance(a, (bytes, str)) for a in r)] == []


@pytest.mark.parametrize("message", [turnlog.NewMessage(b"x", "\ud800"), turnlog.NewMessage("\ud800")])
def test_text_that_is_not_unicode_is_rejected(cluster, make, key, message):
    client = make(cluster.addresses)
    with pytest.raises(turnlog.InvalidError, match="nothing was sent"):
        call(client, key, "append", message)
    assert call(client, key, "last", 9).count == 0


@pytest.mark.parametrize("again", [0, 1100])
def test_all_never_goes_on_with_the_messages_of_another_session(cluster, make, key, again):
    """It took the deletion of a session for its end, or read on in one that took its place."""
    threads = turnlog.Client(cluster.addresses)
    threads.session(key).append(*["first"] * 522)
    seen = []

    def replaced(message):
        seen.append(message.text())
        if len(seen) == 512:
            threads.session(key).delete()
            for _ in range(again // 550):
                threads.session(key).append(*["second"] * 550)

    async def asyncio_all(session):
        async for message in session.all():
            replaced(message)

    with pytest.raises(turnlog.ConflictError) as e:
        if make is turnlog.Client:
            for message in threads.session(key).all():
                replaced(message)
        else:
            asyncio.run(asyncio_all(make(cluster.addresses).session(key)))
    assert seen == ["first"] * 512
    assert (e.value.revision > 0) == (again > 0)


def test_connections_that_were_closed_while_idle(proxy, make, key):
    client = make(proxy.address)

    async def both():
        s = client.session(key)
        await s.append("1", "2")
        proxy.cut()
        await asyncio.sleep(0.05)  # the loop has to see the end
        return await s.pop()

    if make is turnlog.Client:
        call(client, key, "append", "1", "2")
        proxy.cut()
        assert call(client, key, "pop").count == 1
    else:
        assert asyncio.run(both()).count == 1


def test_threads(cluster, key):
    with turnlog.Client(cluster.addresses, max_connections=4) as client:
        s = client.session(key)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda i: s.append(f"{i}a", f"{i}b"), range(100)))
        got = [m.text() for m in s.all()]
    assert sorted(got) == sorted(f"{i}{x}" for i in range(100) for x in "ab")
    assert all(a[:-1] == b[:-1] for a, b in zip(got[::2], got[1::2], strict=True))  # turns are whole


def test_too_few_connections(proxy, key):
    client = turnlog.Client(proxy.address, max_connections=1, retry_for=0.2)
    proxy.lose, proxy.hang = losing(b"TURN.READ"), True
    hanging = threading.Thread(target=lambda: pytest.raises(turnlog.TurnlogError, client.session(key).last, 1))
    hanging.start()
    assert proxy.lost.wait(60)
    with pytest.raises(turnlog.OverloadedError, match="busy"):
        client.session(key).last(1)
    proxy.close()
    hanging.join()


def _append_in_child(client, key, name, held):
    if held:
        held.acquire()
    client.session(key).append(name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_processes_go_on(cluster, key):
    """Children use the parent's client, also if another thread of the parent was in a call."""
    client = turnlog.Client(cluster.addresses)
    client.session(key).append("parent")
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            client.session(key + "-busy").last(1)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for t in threads:
        t.start()
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_append_in_child, args=(client, key, f"child {i}", None)) for i in range(6)]
    for c in children:
        c.start()
    for c in children:
        c.join(60)
    stop.set()
    for t in threads:
        t.join()
    assert [c.exitcode for c in children] == [0] * 6
    client.session(key).append("parent again")
    got = [m.text() for m in client.session(key).all()]
    assert got[0] == "parent" and got[-1] == "parent again" and len(got) == 8


def test_event_loops_one_after_another(cluster, key):
    client = turnlog.AsyncClient(cluster.addresses)
    for i in range(3):
        asyncio.run(client.session(key).append(str(i)))
    assert asyncio.run(client.session(key).last(9)).count == 3


def test_event_loops_in_threads(cluster, key):
    client = turnlog.AsyncClient(cluster.addresses)

    async def many():
        await asyncio.gather(*[client.session(key).append("x") for _ in range(20)])

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: asyncio.run(many()), range(4)))
    assert asyncio.run(client.session(key).last(1)).count == 80


def test_cancelled(proxy, cluster, key):
    client = turnlog.AsyncClient(proxy.address)

    async def cancel():
        s = client.session(key)
        await s.append("first")
        proxy.lose, proxy.hang = losing(b"TURN.APPEND"), True
        task = asyncio.create_task(s.append("cancelled"))
        await asyncio.get_running_loop().run_in_executor(None, proxy.lost.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await s.last(9)

    assert [m.text() for m in asyncio.run(cancel()).messages] == ["first", "cancelled"]  # no reply is mixed up
