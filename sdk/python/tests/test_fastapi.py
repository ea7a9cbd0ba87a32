"""The example in examples/fastapi-memory, deployed and killed while users talk to it."""

import concurrent.futures
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

import turnlog
from cluster import ROOT, START_TIMEOUT
from proxy import Proxy
from turnlog.memory import Memory

USERS = 8


class Service:
    """Two uvicorn workers of the example."""

    def __init__(self, port, addresses, log):
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        command = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(port), "--workers", "2"]
        environment = {"PYTHONPATH": str(ROOT / "sdk" / "python" / "src"), "TURNLOG_ADDR": addresses}
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                [*command, "--log-level", "warning"],
                cwd=ROOT / "examples" / "fastapi-memory",
                env=os.environ | environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def call(self, path, body=None, **headers):
        headers = {"request-id": headers["request_id"], "content-type": "application/json"} if body else {}
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(self.url + path, data, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def workers(self):
        """Wait until two workers answer, and return their pids."""
        until, found = time.monotonic() + START_TIMEOUT, set()
        while len(found) < 2:
            assert time.monotonic() < until, self.log.read_text()[-4000:]
            with contextlib.suppress(OSError):
                found.add(self.call("/health")["worker"])
        return found

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(START_TIMEOUT)


class LoadBalancer:
    """Sends a request again under its id, to the service that is live then, until it is answered."""

    def __init__(self, live):
        self.live = live
        self.repeated = 0

    def ask(self, user, text, request_id):
        until = time.monotonic() + 3 * START_TIMEOUT
        while time.monotonic() < until:
            try:
                return self.live.call(f"/chats/{user}", {"text": text}, request_id=request_id)["text"]
            except OSError:  # refused, reset, or HTTP 500
                self.repeated += 1
                time.sleep(0.05)
        raise AssertionError(f"{user} got no answer to {text}")


class Talk:
    """Users who ask one question after the other; some more of them can be waited for."""

    def __init__(self, balancer):
        self.balancer = balancer
        self.stop = False
        self.count = 0
        self.changed = threading.Condition()

    def user(self, number):
        asked = []
        while not self.stop:
            text = f"u{number}q{len(asked)}"
            asked.append((text, self.balancer.ask(f"user{number}", text, f"request-{text}")))
            with self.changed:
                self.count += 1
                self.changed.notify_all()
        return asked

    def wait_for_more(self, n):
        with self.changed:
            goal = self.count + n
            assert self.changed.wait_for(lambda: self.count >= goal, 2 * START_TIMEOUT), f"{self.count} of {goal}"


@pytest.mark.slow
def test_deployed_and_killed_while_users_talk(fresh_cluster, ports, tmp_path):
    proxy = Proxy(fresh_cluster.nodes[0].resp)
    ports = ports(2)
    blue = Service(ports[0], proxy.address, tmp_path / "blue.log")
    services = [blue]
    try:
        blue.workers()
        balancer = LoadBalancer(blue)
        talk = Talk(balancer)
        with concurrent.futures.ThreadPoolExecutor(USERS) as pool:
            users = [pool.submit(talk.user, i) for i in range(USERS)]
            try:
                talk.wait_for_more(3 * USERS)
                green = Service(ports[1], fresh_cluster.addresses, tmp_path / "green.log")
                services.append(green)
                workers = green.workers()

                # The turn is saved, its worker does not hear of it, and is killed.
                proxy.hang, proxy.lose = True, lambda request: b"TURN.APPEND" in request
                assert proxy.lost.wait(START_TIMEOUT)
                balancer.live = green
                blue.kill()
                talk.wait_for_more(3 * USERS)

                os.kill(min(workers), signal.SIGKILL)  # uvicorn starts another one
                talk.wait_for_more(3 * USERS)
                leader = fresh_cluster.leader()
                leader.kill()
                talk.wait_for_more(3 * USERS)
                leader.start()
                fresh_cluster.wait_ready(leader)
                assert len(green.workers() - {min(workers)}) >= 1
            finally:
                talk.stop = True
            asked = [user.result(3 * START_TIMEOUT) for user in users]
        assert balancer.repeated > 0
        with turnlog.Client(fresh_cluster.addresses) as client:
            for number, turns in enumerate(asked):
                saved = [m["content"] for m in Memory(client, prefix="chat:").load_memory(f"user{number}")]
                assert saved == [text for turn in turns for text in turn], "lost, doubled, torn or answered twice"
                assert green.call(f"/chats/user{number}")[0]["content"] == saved[0]
    finally:
        for service in services:
            service.kill()
        proxy.close()


@pytest.mark.slow
def test_what_the_readme_prints(cluster, ports, tmp_path):
    page = (ROOT / "examples" / "fastapi-memory" / "README.md").read_text()
    printed = re.search(r"```\n(\$ .*?)```", page, re.DOTALL)[1]
    (port,) = ports(1)
    service = Service(port, cluster.addresses, tmp_path / "log")
    try:
        service.workers()
        commands = [line[2:] for line in printed.splitlines() if line.startswith("$ ")]
        said = ""
        for command in commands:
            run = ["sh", "-c", command.replace("localhost:8000", f"127.0.0.1:{port}")]
            said += f"$ {command}\n{subprocess.run(run, capture_output=True, text=True, check=True).stdout}\n"
    finally:
        service.kill()
    (token,) = set(re.findall(r"[0-9a-f]{8}(?=, after)", said))
    assert re.sub(r"[0-9a-f]{8}(?=, after)", token, printed) == said


def test_a_request_that_is_sent_again_gets_its_first_answer(client, key, monkeypatch):
    """Without a server: the application itself, twice at the same time, as from two workers."""
    from fastapi.testclient import TestClient

    monkeypatch.syspath_prepend(str(ROOT / "examples" / "fastapi-memory"))
    import app

    monkeypatch.setattr(app, "memory", Memory(client, prefix="chat:"))
    both = threading.Barrier(2)

    async def model(history, question):
        if question == "at once":
            both.wait(START_TIMEOUT)
        return os.urandom(4).hex()

    monkeypatch.setattr(app, "model", model)

    def ask(text, request_id):
        with TestClient(app.app) as http:
            return http.post(f"/chats/{key}", json={"text": text}, headers={"request-id": request_id}).json()["text"]

    first = ask("hello", "1")
    assert ask("hello", "1") == first
    assert ask("hello", "2") != first
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = set(pool.map(lambda _: ask("at once", "3"), range(2)))
    assert len(answers) == 1
    assert len(Memory(client, prefix="chat:").load_memory(key)) == 6
