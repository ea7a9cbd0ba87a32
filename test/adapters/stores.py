"""The stores that are held to the contract here, and the servers behind them."""

import contextlib
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(f"{ROOT}/sdk/python/tests")

from ports import reserved  # noqa: E402

TURNLOG = os.environ.get("TURNLOG", f"{ROOT}/bin/turnlog")
PYTHON = (f"PYTHONPATH={ROOT}/sdk/python/src:{ROOT}/test/adapters/python"
          f" exec {ROOT}/bin/venv/bin/python -W ignore -m turnlog.contract")
PACKAGE = f"TURNLOG_ADDRESSES={{{{backend}}}} {PYTHON} turnlog_stores"
NODE = f"cd {ROOT}/bin/node && exec node_modules/.bin/tsx turnlog_contract.ts"


# --- servers --------------------------------------------------------------------
#
# Each yields where it listens, and a shell command that kills it with -9, starts it
# again and returns when it serves.


@contextlib.contextmanager
def serving(start, kill, end=None):
    subprocess.run(start, shell=True, check=True)
    try:
        yield f"{kill}; {start}"
    finally:
        subprocess.run(end or kill, shell=True)


def kill_by(pid_file):
    return f"pid=$(head -n 1 {pid_file}); kill -9 $pid; while kill -0 $pid 2>/dev/null; do sleep 0.02; done; rm -f {pid_file}"


def answers_ping(port):
    return f"until redis-cli -p {port} ping 2>/dev/null | grep -q PONG; do sleep 0.05; done"


@contextlib.contextmanager
def redis(directory, settings=""):
    """A Redis with its default settings and those given."""
    with reserved(1) as (port,):
        pid = f"{directory}/redis.pid"
        start = f"redis-server --port {port} --dir {directory} --daemonize yes --pidfile {pid} --logfile {directory}/redis.log {settings}"
        with serving(f"{start} && {answers_ping(port)}", kill_by(pid)) as restart:
            yield f"127.0.0.1:{port}", restart


def careful_redis(directory):
    return redis(directory, "--appendonly yes --appendfsync always")


@contextlib.contextmanager
def turnlog(directory):
    """A single node."""
    with reserved(3) as (port, http, raft):
        pid = f"{directory}/turnlog.pid"
        start = (f"{TURNLOG} serve --data-dir {directory}/data --resp-addr 127.0.0.1:{port} --http-addr 127.0.0.1:{http}"
                 f" --raft-addr 127.0.0.1:{raft} >>{directory}/log 2>&1 & echo $! >{pid}; {answers_ping(port)}")
        with serving(start, kill_by(pid)) as restart:
            yield f"127.0.0.1:{port}", restart


@contextlib.contextmanager
def cluster(directory):
    """Three nodes, of which the command kills the leader. Clients know one of them."""
    tool = f"python3 {ROOT}/test/adapters/cluster.py"
    with reserved(9) as ports, serving(f"{tool} start {directory} {' '.join(map(str, ports))}", f"{tool} stop {directory}"):
        yield f"127.0.0.1:{ports[0]}", f"{tool} kill-leader {directory}"


@contextlib.contextmanager
def postgres(directory):
    """A PostgreSQL with its default settings. It refuses to be run by root, and a
    killed one is not done before its last process has ended."""
    program, data = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1], f"{directory}/data"
    user = ""
    if os.getuid() == 0:
        user = "setpriv --reuid=postgres --regid=postgres --clear-groups -- "
        shutil.chown(directory, "postgres")
    subprocess.run(f"{user}{program}/initdb -D {data} -U turnlog --auth=trust --no-sync --encoding=UTF8 --locale=C",
                   shell=True, check=True, stdout=subprocess.DEVNULL, cwd="/")
    kill = f"pid=$(head -n 1 {data}/postmaster.pid); kill -9 $pid; while kill -0 $pid 2>/dev/null; do sleep 0.02; done"
    with reserved(1) as (port,):
        start = f"{user}{program}/pg_ctl start -s -w -D {data} -l {directory}/log -o '-p {port} -k {directory} -h 127.0.0.1'"
        end = f"cd / && {user}{program}/pg_ctl stop -s -m immediate -D {data}"  # a killed one leaves shared memory behind
        with serving(f"cd / && until {start}; do sleep 0.1; done", kill, end) as restart:
            yield f"127.0.0.1:{port}", restart


@contextlib.contextmanager
def nothing(directory):
    yield "", ""


# --- stores ---------------------------------------------------------------------

# name in the table, its server, target, further flags; {server} is where the server
# listens, {dir} an empty directory
RESTART = ["--restart-cmd", "{restart}"]
BACKEND = ["--backend", "redis://{server}", *RESTART]
STORES = {
    "turnlog, three nodes": (nothing, "turnlog:", []),
    "Redis list, one RPUSH a turn": (redis, "redis://{server}", RESTART),
    "Redis list, `appendfsync always`": (careful_redis, "redis://{server}", RESTART),
    "Redis string, read-modify-write": (redis, "redis://{server}?layout=rmw", RESTART),
    "PostgreSQL, a transaction a turn": (postgres, "postgres://turnlog@{server}/postgres?sslmode=disable", RESTART),
    "LangChain InMemoryChatMessageHistory": (nothing, f"exec:{PYTHON} langchain-memory", []),
    "LangChain FileChatMessageHistory": (nothing, f"exec:{PYTHON} langchain-file:{{dir}}", []),
    "LangChain RedisChatMessageHistory": (redis, f"exec:{PYTHON} langchain-redis:redis://{{{{backend}}}}/1", BACKEND),
    "LangChain RedisChatMessageHistory on turnlog": (turnlog, f"exec:{PYTHON} langchain-redis:redis://{{{{backend}}}}/1", BACKEND),
    "turnlog.memory, three nodes": (cluster, f"exec:{PACKAGE}:memory", BACKEND),
    "turnlog.langchain, three nodes": (cluster, f"exec:{PACKAGE}:history", BACKEND),
    "OpenAI Agents SQLiteSession": (nothing, f"exec:{PYTHON} agents-sqlite:{{dir}}/sessions.db", []),
    "OpenAI Agents RedisSession": (redis, f"exec:{PYTHON} agents-redis:redis://{{{{backend}}}}/2", BACKEND),
    "LangChain.js InMemoryChatMessageHistory": (nothing, f"exec:{NODE} langchain-memory", []),
    "OpenAI Agents JS MemorySession": (nothing, f"exec:{NODE} agents_memory.ts#session", []),
}


def verify(name, *more):
    """Returns what `turnlog verify --json` says about the store."""
    server, target, flags = STORES[name]
    directory = tempfile.mkdtemp(prefix="turnlog-compare-")
    try:
        with server(directory) as (address, restart):
            fill = dict(server=address, restart=restart, dir=directory)
            command = [TURNLOG, "verify", target.format(**fill), "--json", *(f.format(**fill) for f in flags), *more]
            run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=directory)
    finally:
        shutil.rmtree(directory)
    try:
        return json.loads(run.stdout)
    except json.JSONDecodeError:
        raise SystemExit(f"{name}: verify ended with status {run.returncode}: {run.stderr.decode()}")


# --- what the page shows ----------------------------------------------------------

GATES = ["sequential", "concurrency", "isolation", "edges", "faults", "restart", "retry", "conflict"]


# Cells that the scheduler decides, since it takes luck to find saves half done.
UNSTEADY = {
    ("LangChain InMemoryChatMessageHistory", "concurrency"),
    ("LangChain InMemoryChatMessageHistory", "faults"),
    ("LangChain FileChatMessageHistory", "faults"),
    ("LangChain FileChatMessageHistory", "restart"),
}


def verdict(result, gate):
    """holds, fails, undecided or –, and a word on it for the table. What is undecided is
    counted apart: it is neither a pass nor a failure."""
    for g in result["gates"]:
        if g["gate"] == gate and g["status"] != "not supported":
            undecided = f", {g['undecided']} undecided" if g["undecided"] else ""
            if g["failed"]:
                return "fails", f"**{g['failed']} of {g['failed'] + g['passed']} fail**{undecided}"
            return "undecided" if undecided else "holds", f"{g['passed']} hold{undecided}"
    return "–", "–"


def measured_with():
    """Names everything that the table depends on: the suite, and the libraries."""
    import hashlib

    cases = json.loads(subprocess.run([TURNLOG, "verify", "--list", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    text = "\n".join(f"{c['case']} {c.get('needs')}" for c in cases)
    pins = []
    for path in ("requirements.txt", "requirements-compare.txt"):
        pins += [p.strip().replace("==", " ") for p in open(f"{ROOT}/test/adapters/{path}") if "==" in p and "pytest" not in p]
    packages = json.load(open(f"{ROOT}/test/adapters/typescript/package.json"))["dependencies"]
    pins += [f"{p} {v}" for p, v in packages.items() if p.startswith("@")]
    return f"{len(cases)} cases (suite {hashlib.sha256(text.encode()).hexdigest()[:8]}), {', '.join(pins)}."
