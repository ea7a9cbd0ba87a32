"""Tails: every message once, in order, over whatever happens."""

import asyncio
import threading

import pytest

import turnlog
from proxy import Proxy


def take(iterator, n):
    return [next(iterator).text() for _ in range(n)]


def test_a_tail_delivers_what_is_there_and_what_comes(client, key):
    s = client.session(key)
    s.append("1", "2", "3")
    tail = s.tail(after=1)
    assert take(tail, 2) == ["2", "3"]
    threading.Timer(0.1, lambda: s.append("4", "5")).start()
    assert take(tail, 2) == ["4", "5"]
    tail.close()


def test_a_tail_of_a_session_to_come(client, key):
    tail = client.session(key).tail()
    threading.Timer(0.1, lambda: client.session(key).append("first")).start()
    assert take(tail, 1) == ["first"]


def test_a_tail_goes_on_when_connections_are_cut(cluster, client, key):
    proxies = [Proxy(n.resp) for n in cluster.nodes]
    s = client.session(key)
    with turnlog.Client([p.address for p in proxies]) as follower:
        tail = follower.session(key).tail()
        for i in range(20):
            s.append(f"{i}a", f"{i}b")
            assert take(tail, 2) == [f"{i}a", f"{i}b"]
            for p in proxies:
                p.cut()
    for p in proxies:
        p.close()


def test_a_tail_of_a_session_that_was_made_again(client, key):
    s = client.session(key)
    s.append("1", "2")
    tail = s.tail()
    assert take(tail, 2) == ["1", "2"]
    s.delete()
    s.append("new")
    assert take(tail, 1) == ["new"]


def test_a_tail_ends_with_an_error(key):
    with pytest.raises(turnlog.UnavailableError):
        next(turnlog.Client("127.0.0.1:1", retry_for=0.1).session(key).tail())


def test_a_tail_ends_when_its_client_is_closed(cluster, client, key):
    s = client.session(key)
    s.append("1")
    other = turnlog.Client(cluster.addresses)
    tail = other.session(key).tail()
    assert take(tail, 1) == ["1"]
    other.close()
    s.append("2", "3")  # what it waits for
    with pytest.raises(turnlog.InvalidError, match="the client is closed"):
        take(tail, 3)


def test_an_asynchronous_tail_ends_when_its_client_is_closed(cluster, client, key):
    async def run():
        s = client.session(key)
        s.append("1")
        other = turnlog.AsyncClient(cluster.addresses)
        tail = other.session(key).tail()
        assert (await anext(tail)).text() == "1"
        await other.aclose()
        s.append("2", "3")
        with pytest.raises(turnlog.InvalidError, match="the client is closed"):
            await asyncio.wait_for(drain(tail), 30)

    async def drain(tail):
        async for _ in tail:
            pass

    asyncio.run(run())


def test_an_asynchronous_tail(cluster, key):
    client = turnlog.AsyncClient(cluster.addresses)

    async def follow():
        got = []
        async for m in client.session(key).tail():
            got.append(m.text())
            if len(got) == 50:
                return got

    async def both():
        following = asyncio.create_task(follow())
        for i in range(25):
            await client.session(key).append(f"{i}a", f"{i}b")
        return await asyncio.wait_for(following, 60)

    assert asyncio.run(both()) == [f"{i}{x}" for i in range(25) for x in "ab"]
