#!/usr/bin/env python3
"""Runs three turnlog nodes for the stores in stores.py:

    cluster.py start DIR PORT… | kill-leader DIR | stop DIR

Nine ports are needed; on the first, the first node serves Redis clients. kill-leader kills the leader
with -9, starts it again, and returns when every node is ready.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TURNLOG = os.environ.get("TURNLOG", f"{ROOT}/bin/turnlog")
START_TIMEOUT = 60  # seconds; the machine may be busy
NODES = 3


class Cluster:
    def __init__(self, directory, ports):
        self.directory = directory
        self.file = f"{directory}/nodes.json"
        if os.path.exists(self.file):
            with open(self.file) as f:
                self.nodes = json.load(f)
            return
        self.nodes = {f"n{i + 1}": {"ports": ports[3 * i : 3 * i + 3]} for i in range(NODES)}
        with open(os.open(f"{directory}/secret", os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
            f.write(os.urandom(32).hex())

    def start(self, name):
        redis, http, raft = self.nodes[name]["ports"]
        peers = ",".join(f"{n}=127.0.0.1:{node['ports'][2]}" for n, node in self.nodes.items())
        command = [TURNLOG, "serve", "--node-id", name, "--data-dir", f"{self.directory}/{name}",
                   "--resp-addr", f"127.0.0.1:{redis}", "--http-addr", f"127.0.0.1:{http}", "--raft-addr", f"127.0.0.1:{raft}",
                   "--initial-cluster", peers, "--cluster-secret-file", f"{self.directory}/secret"]
        with open(f"{self.directory}/{name}.log", "ab") as log:
            self.nodes[name]["pid"] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True).pid
        with open(self.file, "w") as f:
            json.dump(self.nodes, f)

    def kill(self, name):
        pid = self.nodes[name].pop("pid")
        os.kill(pid, signal.SIGKILL)
        until(lambda: not alive(pid), f"{name} does not end")

    def ready(self, name):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.nodes[name]['ports'][1]}/readyz", timeout=1) as answer:
                return answer.status == 200
        except OSError:
            return False

    def wait_ready(self):
        for name in self.nodes:
            until(lambda: self.ready(name), f"{name} is not ready: see {self.directory}/{name}.log")

    def leader(self):
        """The node that leads, once there is one; until then, the status of the cluster is a failure."""
        found = []
        addresses = ",".join(f"127.0.0.1:{node['ports'][0]}" for node in self.nodes.values())

        def ask():
            said = subprocess.run([TURNLOG, "cluster", "status", "--addr", addresses, "--json"], stdout=subprocess.PIPE)
            if said.returncode == 0:
                found.append(json.loads(said.stdout).get("leader"))
            return found and found[-1] in self.nodes

        until(ask, "the cluster has no leader")
        return found[-1]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition, else_say):
    end = time.monotonic() + START_TIMEOUT
    while not condition():
        if time.monotonic() > end:
            sys.exit(else_say)
        time.sleep(0.02)


def main():
    what, directory, *ports = sys.argv[1:]
    cluster = Cluster(directory, ports)
    if what == "start":
        for name in cluster.nodes:
            cluster.start(name)
        cluster.wait_ready()
    elif what == "kill-leader":
        leader = cluster.leader()
        cluster.kill(leader)
        cluster.start(leader)
        cluster.wait_ready()
    elif what == "stop":
        for name in [n for n, node in cluster.nodes.items() if "pid" in node]:
            cluster.kill(name)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
