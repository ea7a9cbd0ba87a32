"""Each example keeps its conversation while it and the leader are killed with -9.

The agents answer with the number of questions so far, which they know from turnlog alone: a question that
was lost or stored twice makes it wrong.
"""

import os
import pathlib
import queue
import subprocess
import sys
import threading

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "sdk" / "python" / "tests"))

from cluster import Cluster  # noqa: E402

AGENTS = {
    "langgraph": [sys.executable, HERE / "python" / "langgraph_agent.py"],
    "openai-agents-python": [sys.executable, HERE / "python" / "openai_agents.py"],
    "openai-agents": ["node", HERE / "typescript" / "openai-agents.mjs"],
    "ai-sdk": ["node", HERE / "typescript" / "ai-sdk.mjs"],
}
WANTED = os.environ.get("EXAMPLES", "").split() or list(AGENTS)
TIMEOUT = 60  # seconds until an agent counts as hanging; the machine may be busy


class Agent:
    """An agent's process, which is started again when it is asked after it was killed."""

    def __init__(self, command, addresses, conversation):
        self.command = [*command, addresses, conversation]
        self.environment = os.environ | {"PYTHONPATH": str(HERE.parent / "sdk" / "python" / "src")}
        self.process = None

    def start(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(self.command, env=self.environment, **pipes)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, args=(self.process.stdout, self.lines), daemon=True).start()

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put("")  # the process has ended

    def kill(self):
        self.process.kill()
        self.process.wait()

    def attempt(self, request, during):
        """Send a request, and return the answer; None if the agent was killed before it came."""
        if self.process is None or self.process.poll() is not None:
            self.start()
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        while line := self.lines.get(timeout=TIMEOUT):
            if line.startswith("tool: "):
                during()
            elif line.startswith("agent: "):
                return line.removeprefix("agent: ").strip()
        return None

    def ask(self, request, *faults):
        """Make a request until it is answered. The faults strike while the agent looks something up."""
        left = list(faults)
        for _ in range(10):
            reply = self.attempt(request, lambda: [left.pop()() for _ in faults if left])
            if reply is not None:
                assert not left, "the agent has looked nothing up"
                return reply
            assert faults, "the agent has ended"
        raise AssertionError("no answer")


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    made.start()
    yield made
    made.stop()


@pytest.mark.parametrize("name", WANTED)
def test_an_agent_and_the_leader_are_killed(name, cluster):
    agent = Agent(AGENTS[name], cluster.addresses, "alice")

    def kill_leader():
        leader = cluster.leader()
        leader.kill()
        cluster.killed = leader

    faults = {2: [agent.kill], 4: [kill_leader], 6: [agent.kill, kill_leader]}
    try:
        for n in range(1, 8):
            answer = agent.ask(f"#request-{n} Where is order {n}?", *faults.get(n, []))
            assert answer == f"Order {n} is on its way. Questions so far: {n}."
            if 4 in faults and n == 4:
                cluster.killed.start()
                cluster.wait_ready(cluster.killed)
        agent.kill()
        repeated = agent.ask("#request-3 Where is order 3?")
        assert repeated == "Order 3 is on its way. Questions so far: 3.", "a request that was answered"
        assert agent.ask("#request-8 Hello") == "Which order? Questions so far: 8."
    finally:
        agent.kill()
