"""Transactions and hashes, through a real cluster."""

import asyncio
import concurrent.futures
import inspect
import threading

import pytest

import turnlog
from proxy import Proxy, losing
from turnlog import Appended, Committed, NewMessage, Removed, user


def done(result):
    """What a call of either client returns."""
    if not inspect.isawaitable(result):
        return result

    async def wait():
        return await result

    return asyncio.run(wait())


@pytest.fixture(params=[turnlog.Client, turnlog.AsyncClient])
def make(request):
    return request.param


@pytest.fixture
def any_client(make, cluster):
    return make(cluster.addresses)


@pytest.fixture
def proxy(cluster):
    made = Proxy(cluster.nodes[0].resp)
    yield made
    made.close()


def test_steps_answer_as_calls_do(any_client, client, key):
    old, state = key + ":old", key + ":state"
    client.session(old).append("a", "b", "c")
    tx = any_client.transaction().if_absent(key).if_exists(old).if_seq(old, 3)
    tx.append(key, "1", NewMessage(b"2", "m2"), metadata={"user": "u1"}).set_metadata(key, {"k": "v"}, unset=["user"])
    tx.set_fields(state, {"x": "1", "y": b"\xff"}).remove_fields(state, "y", "z")
    tx.trim(old, keep=1).expire(key, 3600, slide=True).append(key, "3").clear(old).persist(key).delete(old)
    first = done(tx.commit())
    appended, meta, new, gone, trimmed, expires, more, cleared, persists, deleted = first.steps
    assert not first.duplicate
    assert isinstance(appended, Appended)
    assert (appended.first_seq, appended.last_seq, appended.ids) == (1, 2, ("", "m2"))
    assert appended.revision < meta < more.revision <= first.revision
    assert (new, gone, expires, persists) == (2, 1, 1, 1)
    assert all(isinstance(step, Removed) for step in (trimmed, cleared, deleted))
    assert [step.removed for step in (trimmed, cleared, deleted)] == [2, 1, 1]
    history = client.session(key).read(metadata=True)
    assert [m.data for m in history.messages] == [b"1", b"2", b"3"]
    assert history.metadata == {"k": "v"}
    assert client.hash(state).all() == {"x": b"1"}
    assert client.session(old).last(1).revision == 0
    again = done(tx.commit())
    assert again.duplicate
    assert (again.revision, again.steps[0].last_seq) == (first.revision, 2)
    assert client.session(key).last(9).count == 3


def test_steps_on_messages_answer_as_calls_do(any_client, client, key):
    other, old, new = key + ":other", key + ":old", key + ":new"
    for k in (key, other, old):
        client.session(k).append(*(NewMessage(x, x.decode()) for x in (b"a", b"b", b"c")))
    tx = any_client.transaction().edit(key, "x", id="a").remove(key, seq=2).replace(key, 3, "y")
    tx.pop(other, 2, "head").retain(other, messages=1).retain(key, everything=True).rename(old, new, replace=True)
    first = done(tx.commit())
    edited, removed, replaced, popped, kept, everything, renamed = first.steps
    assert (edited.seq, removed.removed, replaced.first_seq, replaced.removed) == (1, 1, 4, 1)
    assert [(m.id, m.data) for m in popped.messages] == [("a", b"a"), ("b", b"b")]
    assert (kept.removed, kept.count, everything.count) == (0, 1, 2)
    assert renamed <= first.revision
    assert [m.data for m in client.session(key).last(9).messages] == [b"x", b"y"]
    assert client.session(new).last(9).count == 3
    again = done(tx.commit())
    assert again.duplicate
    assert again.steps == first.steps
    with pytest.raises(turnlog.NotFoundError) as e:
        done(any_client.transaction().remove(key, seq=1).edit(key, "z", seq=1).commit())
    assert e.value.step == 2
    with pytest.raises(turnlog.InvalidError):
        done(any_client.transaction().append(key, "z").pop(key).commit())
    assert client.session(key).last(9).count == 2


def test_a_transaction_that_is_rejected_changes_nothing(any_client, client, key):
    first = client.session(key).append(NewMessage(b"a", "m1"))
    client.hash(key + ":hash").set({"f": "v"})

    def changes():
        return any_client.transaction().append(key + ":other", "x").set_metadata(key, {"k": "v"})

    hash_key, kinds = key + ":hash", turnlog.errors
    for tx, kind, condition, step in (
        (changes().if_exists(key).if_revision(key, first.revision + 7), kinds.ConflictError, 2, 0),
        (changes().if_seq(key, 2), kinds.ConflictError, 1, 0),
        (changes().if_absent(hash_key), kinds.ConflictError, 1, 0),
        (changes().if_exists(key + ":none"), kinds.ConflictError, 1, 0),
        (changes().append(hash_key, "x"), kinds.WrongTypeError, 0, 3),
        (changes().append(key, NewMessage(b"a", "m1")), kinds.ConflictError, 0, 3),
        (changes().append(key, NewMessage(b"b", "m1")), kinds.IDReusedError, 0, 3),
    ):
        with pytest.raises(kind) as e:
            done(tx.commit())
        assert (e.value.condition, e.value.step, e.value.outcome) == (condition, step, "not_applied")
        assert "condition=" not in e.value.message
    with pytest.raises(turnlog.ConflictError) as e:
        done(changes().if_revision(key, 0).commit())
    assert e.value.revision == first.revision
    assert client.session(key).info().revision == first.revision
    assert client.session(key + ":other").last(1).revision == 0
    with pytest.raises(turnlog.InvalidError):
        done(any_client.transaction().if_exists(key).commit())


def test_another_transaction_under_the_same_id(any_client, key):
    done(any_client.transaction(key).append(key, "x").commit())
    with pytest.raises(turnlog.IDReusedError):
        done(any_client.transaction(key).append(key, "y").commit())


def test_a_commit_whose_reply_is_lost_takes_place_once(make, proxy, client, key):
    proxy.lose = losing(b"TURN.TX")
    committed = done(make(proxy.address).transaction().append(key, user("once")).commit())
    assert proxy.lost.is_set()
    assert isinstance(committed, Committed)
    assert committed.duplicate
    assert client.session(key).last(9).count == 1


def test_a_commit_of_unknown_outcome_may_be_made_again(make, proxy, client, key):
    proxy.lose = losing(b"TURN.TX")
    tx = make(proxy.address, retry_for=0).transaction().append(key, "once")
    with pytest.raises(turnlog.UnknownOutcomeError) as e:
        done(tx.commit())
    assert e.value.outcome == "unknown"
    assert done(tx.commit()).duplicate
    assert client.session(key).last(9).count == 1


def test_one_of_many_transactions_of_the_same_revision(client, key):
    start = threading.Barrier(8)

    def commit(i):
        start.wait(60)
        try:
            tx = client.transaction().if_revision(key, 0)
            return tx.append(key, str(i)).set_fields(key + ":state", {"by": str(i)}).commit()
        except turnlog.ConflictError:
            return None

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        won = [i for i, c in enumerate(pool.map(commit, range(8))) if c]
    assert len(won) == 1
    assert client.session(key).last(9).messages[0].text() == str(won[0])
    assert client.hash(key + ":state").get("by") == {"by": str(won[0]).encode()}


def test_a_hash(any_client, key):
    h = any_client.hash(key)
    assert done(h.all()) == {}
    assert done(h.get("x")) == {}
    assert done(h.set({"x": "ü", "b": b"\x00\xff"})) == 2
    assert done(h.set({"x": "1", "y": "2"})) == 1
    assert done(h.get("y", "none", "x")) == {"x": b"1", "y": b"2"}
    assert done(h.all()) == {"x": b"1", "y": b"2", "b": b"\x00\xff"}
    assert done(h.remove("x", "none")) == 1
    assert done(h.remove("y", "b")) == 2
    assert done(h.all()) == {}
    for nothing in (lambda: h.set({}), h.remove, h.get):
        with pytest.raises(turnlog.InvalidError):
            done(nothing())
    done(any_client.session(key).append("x"))
    with pytest.raises(turnlog.WrongTypeError):
        done(h.set({"x": "1"}))
    with pytest.raises(turnlog.WrongTypeError):
        done(h.all())


def test_a_field_set_whose_reply_is_lost_is_set_once(make, proxy, client, key):
    proxy.lose = losing(b"TURN.TX")
    assert done(make(proxy.address).hash(key).set({"f": "v"})) == 1
    assert proxy.lost.is_set()
    assert client.hash(key).all() == {"f": b"v"}


def test_append_with_metadata_and_must_exist(any_client, key):
    s = any_client.session(key)
    with pytest.raises(turnlog.NotFoundError):
        done(s.append("x", must_exist=True))
    first = done(s.append(NewMessage(b"x", "m1"), metadata={"user": "ü", "step": "1"}))
    done(s.append("y", must_exist=True, metadata={"step": "2"}, unset=["user"]))
    history = done(s.read(metadata=True))
    assert (history.count, history.metadata) == (2, {"step": "2"})
    assert done(s.read()).metadata == {}
    again = done(s.append(NewMessage(b"x", "m1"), metadata={"user": "ü", "step": "1"}))
    assert (again.duplicate, again.revision) == (True, first.revision)
    assert done(s.metadata()) == {"step": "2"}  # an append that is a duplicate changes nothing
    with pytest.raises(turnlog.ConflictError):
        done(s.append("z", expect=first.revision, metadata={"step": "3"}))
    assert done(s.metadata()) == {"step": "2"}
