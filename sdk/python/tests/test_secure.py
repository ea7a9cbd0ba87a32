"""Users and TLS."""

import ssl
import subprocess

import pytest

import turnlog
from cluster import BINARY, Cluster


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    """A node with a certificate and a user, whose name and password it has."""
    d = tmp_path_factory.mktemp("secured")
    for command in (["cert", "ca"], ["cert", "node", "n1", "--host", "127.0.0.1"]):
        subprocess.run([BINARY, *command, "--dir", d / "certs"], check=True, capture_output=True, cwd=d)
    add = ["user", "add", "bot", "--right", "write", "--allow-namespace", "0", "--allow-prefix", "chat:"]
    password = subprocess.run([BINARY, *add], check=True, capture_output=True, cwd=d, text=True).stdout.strip()
    node = Cluster(
        d, 1, ["--users-file", d / "users.yaml", "--tls-cert", d / "certs/n1.crt", "--tls-key", d / "certs/n1.key"]
    )
    address = node.nodes[0].resp
    ca = d / "certs" / "ca.crt"
    node.nodes[0].start()
    try:
        client = turnlog.Client(f"turnlogs://bot:{password}@{address}?ca={ca}", retry_for=60)
        client.session("chat:ready").append("x")
        client.close()
        yield address, password, ca
    finally:
        node.stop()


def test_a_user_over_tls(secured):
    address, password, ca = secured
    tls = ssl.create_default_context(cafile=ca)
    client = turnlog.Client(address, username="bot", password=password, tls=tls)
    assert client.session("chat:1").append("x").count == 1
    with pytest.raises(turnlog.ForbiddenError) as e:
        client.session("orders:1").append("x")
    assert e.value.outcome == "not_applied"
    assert client.session("chat:1").last(1).count == 1


async def _append(client, key):
    return await client.session(key).append("x")


def test_a_user_over_tls_in_asyncio(secured):
    import asyncio

    address, password, ca = secured
    client = turnlog.AsyncClient(f"turnlogs://bot:{password}@{address}?ca={ca}")
    assert asyncio.run(_append(client, "chat:2")).count == 1
    with pytest.raises(turnlog.ForbiddenError):
        asyncio.run(_append(client, "orders:1"))


@pytest.mark.parametrize("make", [turnlog.Client, turnlog.AsyncClient])
def test_strangers(secured, make):
    import asyncio

    address, password, ca = secured
    tls = ssl.create_default_context(cafile=ca)
    for options, error in (
        ({"tls": tls}, turnlog.UnauthorizedError),
        ({"tls": tls, "username": "bot", "password": "guess"}, turnlog.UnauthorizedError),
        ({"username": "bot", "password": password}, turnlog.UnavailableError),  # without TLS
        ({"tls": ssl.create_default_context()}, turnlog.UnavailableError),  # an authority that it does not trust
    ):
        client = make(address, retry_for=0, **options)
        with pytest.raises(error) as e:
            if make is turnlog.Client:
                client.session("chat:3").append("x")
            else:
                asyncio.run(_append(client, "chat:3"))
        assert e.value.outcome == "not_applied"
        assert password not in str(e.value)
