"""The pytest plugin, as the tests of an application use it, and the stores that it is pointed at."""

import asyncio
import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

import turnlog
from cluster import BINARY
from turnlog.contract import Conflict, Contract, NotApplied
from turnlog.contract.outcome import kind_of
from turnlog.contract.plain import Plain
from turnlog.contract.suite import SuiteError

GOOD = """
import os
import turnlog
from turnlog.contract import Contract
from turnlog.memory import Memory

class Store:
    claims = ["ids", "late ids", "linearizable"]
    shared = True

    def __init__(self):
        self.client = turnlog.Client(os.environ["ADDRESSES"])
        self.memory = Memory(self.client, prefix="contract-test:")

    def add(self, session, turn, ttl=None, version=None, timeout=None):
        expect = None if version is None else int(version)
        Memory(self.client, prefix="contract-test:", ttl=ttl).save(session, *map(new, turn), expect=expect)

    async def aadd(self, session, turn, ttl=None):
        await Memory(self.client, prefix="contract-test:", ttl=ttl).asave(session, *map(new, turn))

    def load(self, session, last=None):
        return list(self.memory.load_memory(session, last=last))

    def load_version(self, session):
        found = self.memory.load_memory(session)
        return found, str(found.revision)

    async def aload(self, session):
        return await self.memory.aload(session)

    def clear(self, session):
        self.memory.clear(session)

    async def aclear(self, session):
        await self.memory.aclear(session)

def new(m):
    return turnlog.NewMessage(turnlog.message.dump({k: v for k, v in m.items() if k != "id"}), m.get("id", ""))

contract = Contract(Store, writers=3, turns=4, timeout=60)
"""

# A store of the client itself, with metadata and labels.
LABELLED = """
import os
import turnlog
from turnlog.contract import Conflict, Contract

class Store:
    shared = True

    def __init__(self):
        self.client = turnlog.Client(os.environ["ADDRESSES"])

    def add(self, session, turn, metadata=None, must_exist=False):
        try:
            self.client.session(session).append(*turn, metadata=metadata or {}, must_exist=must_exist)
        except turnlog.NotFoundError as e:
            raise Conflict(str(e)) from e

    def load(self, session):
        return self.load_with(session)[0]

    def load_with(self, session):
        found = self.client.session(session).read(last=1000, metadata=True)
        return [m.json() for m in found.messages], found.metadata

    def labelled(self, name, value):
        return [found.key for found in self.client.sessions(labels={name: value})]

    def clear(self, session):
        self.client.session(session).clear()

    def delete(self, session):
        self.client.session(session).delete()

contract = Contract(Store, cases=["*label*", "metadata*", "must-exist"])
"""

# Incident I1: read, extend, write back.
BAD = """
import json, os, pathlib, threading
from turnlog.contract import Contract, Refused

class Store:
    shared = True

    def path(self, session):
        return pathlib.Path(os.environ["DATA"]) / session.encode("utf-8", "surrogatepass").hex()[-200:]

    def load(self, session):
        path = self.path(session)
        return json.loads(path.read_text()) if path.exists() else []

    def add(self, session, turn):
        messages = self.load(session) + turn
        fresh = self.path(session).with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        fresh.write_text(json.dumps(messages))
        fresh.replace(self.path(session))

    def clear(self, session):
        self.path(session).unlink(missing_ok=True)

class TestFiles:
    contract = Contract(Store, gates=["concurrency", "conflict"], cases=["many-handles", "conflict/one-*"])

required = Contract("test_bad:Store", cases=["edges/ttl-ends"], require=["edges"])
"""


def run_pytest(directory, *arguments, **environment):
    plugins = [entry.value for entry in importlib.metadata.entry_points(group="pytest11")]
    plugin = [] if "turnlog_pytest" in plugins else ["-p", "turnlog_pytest"]  # the package is installed, or it is not
    paths = os.pathsep.join([str(pathlib.Path(turnlog.__file__).parents[1]), str(directory)])
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", *arguments],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": paths, "TURNLOG_BINARY": BINARY, **environment},
        capture_output=True,
        text=True,
    )


def counted(done):
    found = re.findall(r"(\d+) (passed|failed|skipped|error)", done.stdout.splitlines()[-1])
    return {word: int(n) for n, word in found}


def test_cases_of_a_good_memory_are_items_that_pass(cluster, tmp_path):
    (tmp_path / "test_good.py").write_text(GOOD)
    chosen = "turns-whole or async-burst or namespaces"
    done = run_pytest(tmp_path, "-v", "-rs", "-k", chosen, "--junit-xml", "report.xml", ADDRESSES=cluster.addresses)
    assert counted(done) == {"passed": 2, "skipped": 1}, done.stdout
    assert "test_good.py::contract::concurrency/turns-whole PASSED" in done.stdout
    assert "the store does not support: namespaces" in done.stdout
    case = ET.parse(tmp_path / "report.xml").find(".//testcase[@name='concurrency/turns-whole']")
    assert {p.get("name"): p.get("value") for p in case.iter("property")}["incident"] == "I1"


def test_metadata_and_labels_are_held_to_the_contract(cluster, tmp_path):
    (tmp_path / "test_labelled.py").write_text(LABELLED)
    done = run_pytest(tmp_path, "-q", "-rfs", ADDRESSES=cluster.addresses)
    assert counted(done) == {"passed": 6}, done.stdout[-6000:]
    (tmp_path / "test_labelled.py").write_text(
        LABELLED.replace("for found in", "for found in [*").replace("={name: value})]", "={name: value})][:2]]")
    )
    done = run_pytest(tmp_path, "-q", ADDRESSES=cluster.addresses)
    assert counted(done)["failed"], "a store that lists too few passes"


@pytest.mark.slow
def test_memory_holds_the_whole_contract(cluster, tmp_path):
    (tmp_path / "test_good.py").write_text(GOOD)
    done = run_pytest(tmp_path, "-q", "-rf", ADDRESSES=cluster.addresses)
    assert "failed" not in counted(done), done.stdout[-6000:]
    assert counted(done)["passed"] > 90, done.stdout


def test_the_lost_message_is_in_the_failure(tmp_path):
    (tmp_path / "test_bad.py").write_text(BAD)
    done = run_pytest(tmp_path, "-v", DATA=str(tmp_path))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "test_bad.py::TestFiles::contract::concurrency/many-handles FAILED" in done.stdout
    assert re.search(r"lost: writer \d+ turn \d+ was acknowledged", done.stdout)
    assert "should hold: Many workers, each with its own handle" in done.stdout
    assert "Traceback" not in done.stdout
    assert re.search(r"edges/ttl-ends FAILED[\s\S]*not supported: edges/ttl-ends", done.stdout)
    assert counted(done)["failed"] == 2
    assert counted(done)["skipped"] == 2


def test_a_contract_that_cannot_be_run_is_a_failure(tmp_path, monkeypatch):
    (tmp_path / "test_none.py").write_text(
        'from turnlog.contract import Contract\nc = Contract("nowhere:x", cases=["roundtrip"])\n'
    )
    done = run_pytest(tmp_path, "-q")
    assert done.returncode == 1 and "No module named 'nowhere'" in done.stdout
    monkeypatch.setenv("TURNLOG_BINARY", BINARY)
    with pytest.raises(SuiteError, match="no case of the contract is in"):
        Contract("x:y", cases=["no-such"]).all()
    monkeypatch.setenv("TURNLOG_BINARY", "")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SuiteError, match="the program turnlog, which runs the contract, is not on the path"):
        Contract("x:y").all()


def test_a_store_gets_what_its_methods_take():
    calls = []

    class Store:
        def add(self, session, turn, ttl=None, timeout=None):
            calls.append((session, turn[0]["content"], ttl, timeout))

        async def aadd(self, session, turn):
            calls.append((session, turn[0]["content"]))

        def load(self, session):
            return [{"role": "user", "content": "\ud800"}]

        def clear(self, session):
            raise turnlog.UnavailableError("no node answers")

    store = Plain(Store())
    assert sorted(store.can) == ["async", "expiry"]
    turn = [{"role": "user", "content_base64": "7aCA"}]
    request = {"turn": turn, "timeout_ms": 1500}
    asyncio.run(store.add("s", request | {"ttl_ms": 2000}))
    asyncio.run(store.add("s", request | {"async": True}))
    assert calls == [("s", "\ud800", 2.0, 1.5), ("s", "\ud800")]
    assert asyncio.run(store.load("s", {}))["messages"][0]["content_base64"] == "7aCA"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Conflict(), "conflict"),
        (turnlog.IDReusedError(""), "conflict"),
        (turnlog.TooLargeError(""), "refused"),
        (Exception("TOO_LARGE more than 8 MiB"), "refused"),
        (turnlog.UnavailableError(""), "not_applied"),
        (NotApplied(), "not_applied"),
        (turnlog.UnknownOutcomeError(""), "failed"),
        (ConnectionError("reset"), "failed"),
    ],
)
def test_errors_tell_what_became_of_a_call(error, kind):
    assert kind_of(error) == kind


def test_a_run_without_a_contract_imports_nothing(tmp_path):
    (tmp_path / "test_plain.py").write_text("import sys\ndef test_it():\n    assert 'turnlog' not in sys.modules\n")
    assert counted(run_pytest(tmp_path, "-q")) == {"passed": 1}
