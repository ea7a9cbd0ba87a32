#!/usr/bin/env python3
"""Holds popular chat histories to the contract and keeps the table in
docs/contract.md:

    adapters/compare.py [--only NAME ...] [--write]

It needs redis-server, bin/turnlog (make build) and, for each adapter, its library;
adapters/install.sh puts the libraries into bin/. Results are kept in
bin/compare/, so that --write can be repeated, and single stores measured again.
"""

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "contract.md")
KEPT = os.path.join(ROOT, "bin", "compare")
BEGIN, END = "<!-- comparison: written by adapters/compare.py -->", "<!-- end of comparison -->"
GATES = ["sequential", "concurrency", "isolation", "edges", "faults", "restart", "retry", "conflict"]

PYTHON = f"{ROOT}/bin/venv/bin/python -W ignore {ROOT}/adapters/python/turnlog_contract.py"
NODE = f"cd {ROOT}/bin/node && exec node_modules/.bin/tsx {ROOT}/bin/node/turnlog_contract.ts"

# name in the table, target, further flags; {redis} is a Redis of the script's own,
# {dir} an empty directory
STORES = {
    "turnlog, three nodes": ("turnlog:", []),
    "Redis list, one RPUSH a turn": ("redis://{redis}", ["--restart-cmd", "{restart}"]),
    "Redis string, read-modify-write": ("redis://{redis}?layout=rmw", ["--restart-cmd", "{restart}"]),
    "LangChain InMemoryChatMessageHistory": (f"exec:{PYTHON} langchain-memory", []),
    "LangChain FileChatMessageHistory": (f"exec:{PYTHON} langchain-file:{{dir}}", []),
    "LangChain RedisChatMessageHistory": (
        f"exec:{PYTHON} langchain-redis:redis://{{{{backend}}}}/1", ["--backend", "redis://{redis}", "--restart-cmd", "{restart}"]),
    "OpenAI Agents SQLiteSession": (f"exec:{PYTHON} agents-sqlite:{{dir}}/sessions.db", []),
    "OpenAI Agents RedisSession": (
        f"exec:{PYTHON} agents-redis:redis://{{{{backend}}}}/2", ["--backend", "redis://{redis}", "--restart-cmd", "{restart}"]),
    "LangChain.js InMemoryChatMessageHistory": (f"exec:{NODE} langchain-memory", []),
}


@contextlib.contextmanager
def redis(directory):
    """A Redis with its default settings; yields its address and a command that
    kills it with -9 and starts it again."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    pid = os.path.join(directory, "redis.pid")
    start = f"redis-server --port {port} --dir {directory} --daemonize yes --pidfile {pid} --logfile {directory}/redis.log"
    ready = f"until redis-cli -p {port} ping 2>/dev/null | grep -q PONG; do sleep 0.05; done"
    subprocess.run(f"{start} && {ready}", shell=True, check=True)
    kill = f"kill -9 $(cat {pid}); while kill -0 $(cat {pid}) 2>/dev/null; do sleep 0.02; done"
    try:
        yield f"127.0.0.1:{port}", f"{kill}; rm -f {pid}; {start} && {ready}"
    finally:
        subprocess.run(kill, shell=True)


def verify(name):
    target, flags = STORES[name]
    directory = tempfile.mkdtemp(prefix="turnlog-compare-")
    try:
        with redis(directory) as (address, restart):
            fill = dict(redis=address, restart=restart, dir=directory)
            command = [os.environ.get("TURNLOG", f"{ROOT}/bin/turnlog"), "verify", target.format(**fill), "--json", "--seed", "1", *(f.format(**fill) for f in flags)]
            out = subprocess.run(command, stdout=subprocess.PIPE, cwd=directory).stdout
    finally:
        shutil.rmtree(directory)
    return json.loads(out)


def cell(result, gate):
    for g in result["gates"]:
        if g["gate"] == gate:
            bad = g["failed"] + g["undecided"]
            if g["status"] == "not supported":
                return "–"
            return f"**{bad} of {bad + g['passed']} fail**" if bad else f"{g['passed']} hold"
    return "–"


def table(results):
    lines = ["| store | " + " | ".join(GATES) + " | remembered after |", "|---|" + "---|" * (len(GATES) + 1)]
    for name, r in results.items():
        remembered = ", ".join(f"{a['restart']}: {a['after_percent']:.0f} %" for a in r["accuracy"]) or "–"
        lines.append(f"| {name} | " + " | ".join(cell(r, g) for g in GATES) + f" | {remembered} |")
    lines += ["", "What fails, case by case (`turnlog verify --list` says what each proves):", ""]
    for name, r in results.items():
        failed = [c["case"] for c in r["cases"] if c["status"] in ("FAIL", "undecided")]
        lines.append(f"- {name}: " + (", ".join(f"`{c}`" for c in failed) if failed else "nothing") + ".")
    return "\n".join(lines)


def write(results):
    page = open(PAGE, encoding="utf-8").read()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(f"{before}{BEGIN}\n\n{table(results)}\n\n{END}{after}")


def kept(name):
    return os.path.join(KEPT, "".join(c if c.isalnum() else "-" for c in name) + ".json")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(STORES), metavar="NAME", choices=list(STORES))
    parser.add_argument("--write", action="store_true", help="put the table into docs/contract.md")
    args = parser.parse_args()
    os.makedirs(KEPT, exist_ok=True)
    for name in args.only:
        start = time.time()
        print(f"{name} …", file=sys.stderr)
        with open(kept(name), "w") as f:
            json.dump(verify(name), f)
        print(f"{name}: {time.time() - start:.0f} s", file=sys.stderr)
    results = {n: json.load(open(kept(n))) for n in STORES if os.path.exists(kept(n))}
    print(table(results))
    if args.write:
        write(results)


if __name__ == "__main__":
    main()
