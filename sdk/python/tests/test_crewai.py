"""The persistence of CrewAI's flows, through a real cluster. It has an environment of its own."""

import datetime
import enum
import uuid
from typing import Any

import pytest
from crewai.flow import Flow, human_feedback, listen, start
from crewai.flow.async_feedback.types import HumanFeedbackPending, PendingFeedbackContext
from crewai.flow.persistence import SQLiteFlowPersistence, persist
from pydantic import BaseModel

import turnlog
import upstream
import writer
from kills import WRITERS, leaders_are_killed_while_it_saves
from processes import two_processes_write
from proxy import Proxy, losing
from turnlog.crewai import TurnlogFlowPersistence


class Asked(BaseModel):
    id: str = ""
    said: list[str] = []
    at: datetime.datetime = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)


class Kind(enum.Enum):
    A = 1


class Loose(BaseModel):
    what: Any = None
    at: datetime.datetime = Asked().at


@pytest.fixture
def persistence(client, key):
    return TurnlogFlowPersistence(client, prefix=f"{key}:")


def waiting(method="ask"):
    return PendingFeedbackContext(
        flow_id="f", flow_class="a.B", method_name=method, method_output={"draft": "ü"}, message="Good?", emit=["yes"]
    )


def test_it_does_what_the_frameworks_own_persistence_does(persistence, tmp_path):
    stores = (persistence, SQLiteFlowPersistence(str(tmp_path / "flows.db")))
    context = waiting()
    steps = [
        lambda s: s.load_state("f"),
        lambda s: s.load_pending_feedback("f"),
        lambda s: s.clear_pending_feedback("f"),
        lambda s: s.save_state("f", "one", {"id": "f", "said": ["zwölf ü", 1.5, None], "tags": ("a", "b")}),
        lambda s: s.load_state("f"),
        lambda s: s.save_state("f", "two", Asked(id="f", said=["x"])),
        lambda s: s.load_state("f"),
        lambda s: s.save_state("f", "two", {"at": Asked().at, "kind": Kind.A, "one": {uuid.UUID(int=0)}, "m": Asked()}),
        lambda s: s.load_state("f"),
        lambda s: s.save_state("f", "two", Loose(what=Kind)),
        lambda s: s.load_state("f"),
        lambda s: s.save_state("a/b:ü", "one", {"id": "a/b:ü"}),
        lambda s: s.save_pending_feedback("f", context, Asked(id="f", said=["y"])),
        lambda s: (s.load_state("f"), s.load_pending_feedback("f")),
        lambda s: s.save_pending_feedback("f", waiting("again"), {"id": "f"}),
        lambda s: [s.load_pending_feedback("f")[1].method_name, s.load_pending_feedback("f")[0]],
        lambda s: s.clear_pending_feedback("f"),
        lambda s: (s.load_state("f"), s.load_pending_feedback("f")),
        lambda s: s.load_state("a/b:ü"),
    ]
    for i, step in enumerate(steps):
        ours, theirs = [step(s) for s in stores]
        assert ours == theirs, i


def counting(persistence):
    @persist(persistence)
    class Counting(Flow[Asked]):
        @start()
        def ask(self):
            self.state.said.append(f"asked {len(self.state.said)}")

        @listen(ask)
        def answer(self):
            self.state.said.append(f"answered {len(self.state.said)}")
            return len(self.state.said)

    return Counting()


def test_a_flow_goes_on_where_another_process_left_it(client, key):
    id_ = str(uuid.uuid4())
    for run in range(3):
        flow = counting(TurnlogFlowPersistence(client, prefix=f"{key}:"))
        assert flow.kickoff(inputs={"id": id_}) == 2 * run + 2
    assert TurnlogFlowPersistence(client, prefix=f"{key}:").load_state(id_)["said"][-1] == "answered 5"


def test_a_person_is_asked_and_answers_elsewhere(client, key):
    class Later:
        def request_feedback(self, context, flow):
            raise HumanFeedbackPending(context=context)

    class Reviewed(Flow[Asked]):
        @start()
        @human_feedback(message="Good?", provider=Later())
        def draft(self):
            self.state.said.append("drafted")
            return "the draft"

        @listen(draft)
        def publish(self, feedback):
            self.state.said.append(feedback.feedback)
            return self.state.said

    flow = Reviewed(persistence=TurnlogFlowPersistence(client, prefix=f"{key}:"))
    assert isinstance(flow.kickoff(), HumanFeedbackPending)
    elsewhere = TurnlogFlowPersistence(client, prefix=f"{key}:", conditional=True)
    assert elsewhere.load_pending_feedback(flow.flow_id)[1].message == "Good?"
    resumed = Reviewed.from_pending(flow.flow_id, elsewhere)
    assert resumed.resume("print it") == ["drafted", "print it"]
    assert elsewhere.load_pending_feedback(flow.flow_id) is None


def test_a_process_that_is_behind_is_told(client, key):
    one, other = (TurnlogFlowPersistence(client, prefix=f"{key}:", conditional=True) for _ in range(2))
    one.save_state("f", "ask", {"n": 1})
    with pytest.raises(turnlog.ConflictError):
        other.save_state("f", "ask", {"n": 1})
    assert other.load_state("f") == {"n": 1}
    one.save_state("f", "ask", {"n": 2})
    with pytest.raises(turnlog.ConflictError):
        other.save_pending_feedback("f", waiting(), {"n": 3})
    assert other.load_pending_feedback("f") is None
    other.save_pending_feedback("f", waiting(), {"n": 3})
    assert one.load_pending_feedback("f")[0] == {"n": 3}
    one.save_state("f", "ask", {"n": 4})


def test_as_many_states_are_kept_as_are_asked_for(client, key):
    for keep in (1, 3):
        persistence = TurnlogFlowPersistence(client, prefix=f"{key}:{keep}:", keep=keep)
        for n in range(5):
            persistence.save_state("f", "ask", {"n": n})
        assert client.session(f"{key}:{keep}:state:f").last(9).count == keep
        assert persistence.load_state("f") == {"n": 4}
    with pytest.raises(ValueError, match="keep is 0"):
        TurnlogFlowPersistence(client, keep=0)


def test_calls_take_place_once_though_replies_are_lost(cluster, client, key):
    proxy = Proxy(cluster.nodes[0].resp)
    with turnlog.Client(proxy.address) as far:
        theirs = TurnlogFlowPersistence(far, prefix=f"{key}:", keep=9, conditional=True)
        proxy.lose = losing(b"TURN.TX", times=3)
        theirs.save_state("f", "ask", {"n": 1})
        theirs.save_pending_feedback("f", waiting(), {"n": 2})
        theirs.clear_pending_feedback("f")
    proxy.close()
    assert proxy.lost.is_set()
    assert client.session(f"{key}:state:f").last(9).count == 2
    assert TurnlogFlowPersistence(client, prefix=f"{key}:").load_pending_feedback("f") is None


def test_what_cannot_be_read_is_an_error(persistence, client, key):
    for stored in ("no JSON", "[]", '{"state": 1}'):
        client.session(f"{key}:state:g").append(stored)
        with pytest.raises(turnlog.CorruptError):
            persistence.load_state("g")


class Flows:
    """Each writer is a flow, whose state has all of its turns."""

    def __init__(self, client):
        self.persistence = TurnlogFlowPersistence(client, conditional=True)

    def add(self, writer, n):
        state = self.persistence.load_state(f"{writer}") or {"said": []}
        state["said"] += [f"{writer}:{n}:{part}" for part in "qa"]
        self.persistence.save_state(f"{writer}", "ask", state)

    def load(self):
        return [said for writer in range(WRITERS) for said in self.persistence.load_state(f"{writer}")["said"]]


@pytest.mark.slow
def test_leaders_are_killed_while_flows_save(fresh_cluster):
    leaders_are_killed_while_it_saves(fresh_cluster, Flows)


@pytest.mark.slow
def test_the_frameworks_own_tests(cluster, tmp_path):
    source = upstream.sdist("crewai", tmp_path)
    names = ("flow_persistence", "flow_persistence_factory", "async_human_feedback", "flow_resumability_regression")
    tests = [f"tests/test_{name}.py" for name in names]
    upstream.run(cluster, source, "upstream_crewai", tests, r"tests of crewai [\d.]+")


@pytest.mark.slow
def test_two_processes_write_to_one_flow_while_leaders_are_killed(fresh_cluster):
    two_processes_write(fresh_cluster, writer.CrewAI)
