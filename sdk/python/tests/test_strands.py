"""The sessions of Strands Agents, through a real cluster."""

import pytest
from strands import Agent, tool
from strands.models import Model
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

import turnlog
from proxy import Proxy, losing
from turnlog.strands import TurnlogSessionManager, TurnlogSessionRepository


class Stub(Model):
    """Uses its tool at each question, and answers with the number of messages."""

    async def stream(self, messages, *args, **kwargs):
        if "toolResult" in messages[-1]["content"][0]:
            start, delta, why = {}, {"text": f"{len(messages)} messages"}, "end_turn"
        else:
            use = {"toolUse": {"toolUseId": f"use-{len(messages)}", "name": "look_up"}}
            start, delta, why = {"start": use}, {"toolUse": {"input": "{}"}}, "tool_use"
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"contentBlockIndex": 0, "start": start.get("start", {})}}
        yield {"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}}
        yield {"contentBlockStop": {"contentBlockIndex": 0}}
        yield {"messageStop": {"stopReason": why}}

    def get_config(self):
        return {}

    def update_config(self, **config):
        pass

    def structured_output(self, *args, **kwargs):
        raise NotImplementedError


@tool
def look_up() -> str:
    """Look something up."""
    return "found"


def agent(manager, **options):
    options = {"agent_id": "support", "callback_handler": None, "tools": [look_up]} | options
    return Agent(Stub(), session_manager=manager, **options)


@pytest.fixture
def repository(client, key):
    return TurnlogSessionRepository(client, prefix=f"{key}:")


def message(n, text="x"):
    return SessionMessage.from_message({"role": "user", "content": [{"text": text}, {"document": {"b": b"\xff"}}]}, n)


def outcome(call):
    try:
        return call()
    except SessionException as e:
        return type(e)


def test_it_does_what_the_frameworks_own_repository_does(repository, tmp_path):
    theirs = FileSessionManager("other", storage_dir=str(tmp_path))
    session, made = Session("s", SessionType.AGENT), SessionAgent("a:1", {"k": [1]}, {"removed": 0})
    later = SessionAgent("a:1", {"k": [2]}, {"removed": 1})
    redacted = message(1, "second")
    redacted.redact_message = {"role": "user", "content": [{"text": "redacted"}]}
    messages = [message(n, str(n)) for n in range(4)]
    steps = [
        lambda r: r.read_session("s"),
        lambda r: r.create_session(session),
        lambda r: r.create_session(session),
        lambda r: r.read_session("s"),
        lambda r: r.read_agent("s", "a:1"),
        lambda r: r.update_agent("s", made),
        lambda r: r.create_agent("s", made),
        lambda r: r.read_agent("s", "a:1"),
        lambda r: r.update_agent("s", later),
        lambda r: r.read_agent("s", "a:1"),
        lambda r: r.list_messages("s", "a:1"),
        lambda r: [r.create_message("s", "a:1", m) for m in messages],
        lambda r: r.read_message("s", "a:1", 2),
        lambda r: r.read_message("s", "a:1", 7),
        lambda r: r.update_message("s", "a:1", redacted),
        lambda r: r.update_message("s", "a:1", message(9)),
        lambda r: r.list_messages("s", "a:1"),
        lambda r: r.list_messages("s", "a:1", limit=2, offset=1),
        lambda r: r.list_messages("s", "a:1", offset=9),
        lambda r: r.delete_session("s"),
        lambda r: r.read_session("s"),
        lambda r: r.delete_session("s"),
    ]
    for i, step in enumerate(steps):
        assert outcome(lambda: step(repository)) == outcome(lambda: step(theirs)), i  # noqa: B023


def test_a_deleted_session_leaves_nothing(repository, client, key):
    manager = TurnlogSessionManager("s", client, prefix=f"{key}:")
    agent(manager)("Where is my order?")
    repository.delete_session("s")
    assert [found.key for found in client.sessions(f"{key}:") if found.count] == []
    assert client.hash(f"{key}:agents:s").all() == {}


def test_an_agent_goes_on_with_a_session(client, key):
    for asked in range(3):
        manager = TurnlogSessionManager("s", client, prefix=f"{key}:")
        answer = str(agent(manager)("Where is my order?")).strip()
        assert answer == f"{4 * asked + 3} messages"


def test_a_worker_that_is_behind_is_told(client, key):
    first = agent(TurnlogSessionManager("s", client, prefix=f"{key}:"))
    first("1")
    second = agent(TurnlogSessionManager("s", client, prefix=f"{key}:"))
    first("2")
    with pytest.raises(turnlog.ConflictError):
        second("3")
    again = agent(TurnlogSessionManager("s", client, prefix=f"{key}:"))
    assert str(again("3")).strip() == "11 messages"


def test_an_agents_state_is_not_overwritten_unseen(client, key):
    one, other = (TurnlogSessionRepository(client, prefix=f"{key}:") for _ in range(2))
    one.create_session(Session("s", SessionType.AGENT))
    one.create_agent("s", SessionAgent("a", {"n": 1}, {}))
    with pytest.raises(turnlog.ConflictError):
        other.create_agent("s", SessionAgent("a", {"n": 1}, {}))
    assert other.read_agent("s", "a").state == {"n": 1}
    one.update_agent("s", SessionAgent("a", {"n": 2}, {}))
    with pytest.raises(turnlog.ConflictError):
        other.update_agent("s", SessionAgent("a", {"n": 3}, {}))
    assert other.read_agent("s", "a").state == {"n": 2}


@pytest.mark.parametrize("command", [b"TURN.TX", b"TURN.EDIT"], ids=["transaction", "edit"])  # the key has it
def test_calls_take_place_once_though_replies_are_lost(cluster, repository, key, command):
    proxy = Proxy(cluster.nodes[0].resp)
    with turnlog.Client(proxy.address) as far:
        theirs = TurnlogSessionRepository(far, prefix=f"{key}:")
        proxy.lose = losing(command, times=6)
        theirs.create_session(Session("s", SessionType.AGENT))
        theirs.create_agent("s", SessionAgent("a", {"n": 1}, {}))
        theirs.create_message("s", "a", message(0))
        theirs.create_message("s", "a", message(1))
        theirs.update_message("s", "a", message(1, "redacted"))
        theirs.update_agent("s", SessionAgent("a", {"n": 2}, {}))
    proxy.close()
    assert proxy.lost.is_set()
    found = repository.list_messages("s", "a")
    assert [m.message["content"][0]["text"] for m in found] == ["x", "redacted"]
    assert repository.read_agent("s", "a").state == {"n": 2}


def test_what_cannot_be_read_is_an_error(repository, client, key):
    client.session(f"{key}:messages:s:a").append("no JSON")
    with pytest.raises(turnlog.CorruptError):
        repository.list_messages("s", "a")
