"""Runs a real cluster of node processes for tests."""

import contextlib
import os
import pathlib
import signal
import subprocess
import time
import urllib.error
import urllib.request

import turnlog
from ports import reserved

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = os.environ.get("TURNLOG_BINARY", str(ROOT / "bin" / "turnlog"))
START_TIMEOUT = 60  # seconds; the machine may be busy


class Node:
    def __init__(self, name, resp, http, raft, directory, arguments):
        self.name, self.resp, self.http = name, f"127.0.0.1:{resp}", f"127.0.0.1:{http}"
        self.raft = f"127.0.0.1:{raft}"
        self.log = directory / f"{name}.log"
        self.arguments = [
            BINARY,
            "serve",
            "--node-id",
            name,
            "--data-dir",
            str(directory / name),
            "--resp-addr",
            self.resp,
            "--http-addr",
            self.http,
            "--raft-addr",
            self.raft,
            *arguments,
        ]
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.arguments, stdout=log, stderr=log)

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(START_TIMEOUT)

    def ready(self):
        try:
            with urllib.request.urlopen(f"http://{self.http}/readyz", timeout=1) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False


class Cluster:
    """Nodes on this machine, with their data in ``directory``."""

    def __init__(self, directory, size=3, arguments=()):
        self._held = contextlib.ExitStack()
        ports = self._held.enter_context(reserved(3 * size))
        each = [ports[3 * i : 3 * i + 3] for i in range(size)]
        extra = list(arguments)
        if size > 1:
            secret = directory / "secret"
            secret.write_text(os.urandom(32).hex())
            secret.chmod(0o600)
            peers = ",".join(f"n{i + 1}=127.0.0.1:{p[2]}" for i, p in enumerate(each))
            extra += ["--initial-cluster", peers, "--cluster-secret-file", str(secret)]
        self.nodes = [Node(f"n{i + 1}", *p, directory, extra) for i, p in enumerate(each)]

    @property
    def addresses(self):
        return ",".join(n.resp for n in self.nodes)

    def start(self):
        for n in self.nodes:
            n.start()
        for n in self.nodes:
            self.wait_ready(n)

    @staticmethod
    def wait_ready(node):
        until = time.monotonic() + START_TIMEOUT
        while not node.ready():
            if time.monotonic() > until or node.process.poll() is not None:
                raise RuntimeError(f"{node.name} is not ready:\n{node.log.read_text()[-4000:]}")
            time.sleep(0.02)

    def leader(self):
        """The node that leads, as one of those that run sees it."""
        until = time.monotonic() + START_TIMEOUT
        while time.monotonic() < until:
            for n in self.nodes:
                if n.process.poll() is not None:
                    continue
                with contextlib.suppress(turnlog.TurnlogError), turnlog.Client(n.resp, retry_for=0) as client:
                    leader = next((m for m in self.nodes if m.name == client.cluster().get("leader")), None)
                    if leader and leader.process.poll() is None:
                        return leader
            time.sleep(0.02)
        raise RuntimeError("no leader")

    def stop(self):
        for n in self.nodes:
            if n.process and n.process.poll() is None:
                n.kill()
        self._held.close()
