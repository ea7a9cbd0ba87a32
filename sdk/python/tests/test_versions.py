"""A client with nodes of an older and of a newer version: a proxy makes real ones look like that."""

import re

import pytest

import turnlog
from cluster import Cluster
from proxy import Proxy, losing


@pytest.fixture
def proxy(cluster):
    made = Proxy(cluster.nodes[0].resp)
    yield made
    made.close()


def without(command):
    """Requests as a node sees them that does not know the command."""
    unknown = command[:-1] + b"?"
    return lambda data: data.replace(command, unknown)


def assert_older(error, command):
    assert error.outcome == "not_applied" and not error.retryable
    assert f"the server does not know {command}" in str(error) and "upgrade its nodes" in str(error)


def test_a_command_that_the_server_does_not_know(proxy, cluster, key):
    proxy.request = without(b"TURN.TX")
    with turnlog.Client(proxy.address) as client:
        with pytest.raises(turnlog.InvalidError) as raised:
            client.transaction().append(key, "1").commit()
        assert_older(raised.value, "TURN.T?")
        assert client.session(key).append("2").last_seq == 1, "what the server knows works"


async def _transaction(address, key):
    async with turnlog.AsyncClient(address) as client:
        await client.transaction().append(key, "1").commit()


def test_the_same_in_asyncio(proxy, key):
    import asyncio

    proxy.request = without(b"TURN.TX")
    with pytest.raises(turnlog.InvalidError) as raised:
        asyncio.run(_transaction(proxy.address, key))
    assert_older(raised.value, "TURN.T?")


def test_a_retry_at_an_older_node_leaves_the_outcome_unknown(cluster, key):
    newer, older = Proxy(cluster.nodes[0].resp), Proxy(cluster.nodes[0].resp)
    newer.lose = losing(b"TURN.APPEND")
    older.request = without(b"TURN.APPEND")
    try:
        with turnlog.Client([newer.address, older.address]) as client:
            with pytest.raises(turnlog.UnknownOutcomeError, match=r"the server does not know TURN\.APPEN\?"):
                client.session(key).append("stored")
            with turnlog.Client(cluster.nodes[0].resp) as direct:
                assert direct.session(key).info().count == 1
    finally:
        newer.close()
        older.close()


def test_an_option_that_the_server_does_not_know(proxy, key):
    proxy.request = without(b"EXISTING")
    with turnlog.Client(proxy.address) as client:
        client.session(key).append("1")
        with pytest.raises(turnlog.InvalidError) as raised:
            client.session(key).append("2", must_exist=True)
        assert raised.value.outcome == "not_applied" and "EXISTIN?" in str(raised.value)
        assert client.session(key).info().count == 1


def test_a_server_that_is_no_turnlog(proxy, key):
    proxy.request = without(b"TURN.NS")
    with turnlog.Client(proxy.address, retry_for=0) as client, pytest.raises(turnlog.TurnlogError) as raised:
        client.session(key).append("1")
    assert_older(raised.value, "TURN.N?")


def test_fields_that_the_client_does_not_know(proxy, key):
    """Each reply has one field more, as a newer server may add one."""

    def more(data):
        return re.sub(rb"^%(\d+)\r\n", lambda m: b"%%%d\r\n+novel\r\n*2\r\n:1\r\n_\r\n" % (int(m[1]) + 1), data)

    with turnlog.Client(proxy.address) as client:
        session = client.session(key)
        assert session.append("1", "2").last_seq == 2
        proxy.reply = more
        assert session.append("3").last_seq == 3
        assert [m.text() for m in session.last(2).messages] == ["2", "3"]
        assert session.info().count == 3
        assert session.pop().messages[0].text() == "3"
        assert client.transaction().append(key, "4").commit().steps[0].last_seq == 4
        assert key in [s.key for s in client.sessions(key)]


def test_an_error_that_the_client_does_not_know(proxy, key):
    proxy.reply = lambda data: re.sub(rb"^-[A-Z_]+", b"-QUOTA_OF_TOMORROW", data)
    with turnlog.Client(proxy.address) as client:
        client.session(key).append("1")
        with pytest.raises(turnlog.TurnlogError) as raised:
            client.session(key).append("2", expect=99)
    assert "QUOTA_OF_TOMORROW" in str(raised.value) and raised.value.outcome == "not_applied"


def test_what_a_cluster_at_a_lower_level_cannot_do(tmp_path):
    """As while nodes are upgraded: the error names the level, and nothing was changed."""
    held = Cluster(tmp_path, arguments=["--hold-level", "1"], size=1)
    try:
        held.start()
        with turnlog.Client(held.addresses) as client:
            session = client.session("s")
            assert session.append("1").last_seq == 1
            with turnlog.Client(held.addresses, retry_for=0) as impatient:
                for call in (
                    impatient.session("s").remove,
                    lambda seq: impatient.transaction().append("s", "2").commit(),
                ):
                    with pytest.raises(turnlog.UnavailableError, match="level 2") as raised:
                        call(seq=1)
                    assert raised.value.outcome == "not_applied"
            assert session.append("3").last_seq == 2
    finally:
        held.stop()
