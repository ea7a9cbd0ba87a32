"""Users and TLS."""

import contextlib
import socket
import ssl
import subprocess
import threading

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
        ({"username": "bot", "password": password}, turnlog.InvalidError),  # without TLS
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


class Listener:
    """Accepts connections, hands each to a function, and counts them."""

    def __init__(self, serve):
        self.accepted = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._serve = serve
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.accepted += 1
            with connection, contextlib.suppress(OSError):
                connection.settimeout(10)
                self._serve(connection)

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def says(text):
    def serve(connection):
        connection.recv(4096)
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass

    return serve


def shows(certificate, directory):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(directory / f"{certificate}.crt", directory / f"{certificate}.key")

    def serve(connection):
        with tls.wrap_socket(connection, server_side=True) as secured:
            secured.recv(4096)

    return serve


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    d = tmp_path_factory.mktemp("certificates") / "certs"
    for command in (
        ["cert", "ca"],
        ["cert", "node", "here", "--host", "127.0.0.1"],
        ["cert", "node", "elsewhere", "--host", "elsewhere.example"],
    ):
        subprocess.run([BINARY, *command, "--dir", d], check=True, capture_output=True)
    return d


@pytest.mark.parametrize("make", [turnlog.Client, turnlog.AsyncClient])
@pytest.mark.parametrize(
    ("case", "error", "text"),
    [
        ("authority", turnlog.UnavailableError, "trust the authority"),
        ("host", turnlog.UnavailableError, "connect by a name"),
        ("no TLS", turnlog.UnavailableError, "does not take TLS"),
        ("TLS only", turnlog.InvalidError, "this port takes TLS only"),
        ("HTTP", turnlog.UnavailableError, "no port for Redis clients"),
        ("no user", turnlog.UnauthorizedError, "neither a user nor a password"),
    ],
)
def test_a_wrong_address_or_certificate_is_an_error_at_once(certificates, make, case, error, text):
    """It was tried again for all of retry_for, and the error did not say what to do."""
    import asyncio

    trusted = ssl.create_default_context(cafile=certificates / "ca.crt")
    serve, tls = {
        "authority": (shows("here", certificates), ssl.create_default_context()),
        "host": (shows("elsewhere", certificates), trusted),
        "no TLS": (says(b"-ERR Protocol error\r\n"), trusted),
        "TLS only": (says(b"-ERR this port takes TLS only\r\n"), None),
        "HTTP": (says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), None),
        "no user": (says(b"-NOAUTH HELLO must be called\r\n"), None),
    }[case]
    node = Listener(serve)
    client = make(node.address, tls=tls, retry_for=300)

    async def first(client):
        async for _ in client.session("s").tail():
            pass

    with pytest.raises(error, match=text) as e:
        client.session("s").append("x") if make is turnlog.Client else asyncio.run(_append(client, "s"))
    assert e.value.outcome == "not_applied"
    with pytest.raises(error, match=text):
        next(client.session("s").tail()) if make is turnlog.Client else asyncio.run(first(client))
    node.close()
    assert node.accepted == 2


def test_a_wrong_node_costs_nothing_as_long_as_another_works(cluster):
    wrong = Listener(says(b"-ERR this port takes TLS only\r\n"))
    with turnlog.Client([wrong.address, *cluster.addresses.split(",")]) as client:
        assert client.session("wrong-node").append("x").last_seq >= 1
    assert wrong.accepted == 1
    with turnlog.Client([wrong.address, "127.0.0.1:1"], retry_for=1) as client, pytest.raises(turnlog.TurnlogError):
        client.session("wrong-node").last(1)
    assert wrong.accepted > 2  # the other node may come back
    wrong.close()
    unnamed = turnlog.Client([*cluster.addresses.split(","), "127.0.0.1:1"], namespace="x" * 1000, retry_for=300)
    with unnamed, pytest.raises(turnlog.InvalidError):  # everywhere, so that no other node is waited for
        unnamed.session("s").last(1)
