#!/usr/bin/env python3
"""Holds LangChain's chat histories to the contract and fails when the table in
docs/contract.md says something else; runs the snippets of that page, too.

A gate that the table shows to fail must fail again, in one of the cases that it
names; of a gate that it shows to hold, all cases but the slowest must hold. What
differs is run once more, since the scheduler has its part in what fails.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time

from compare import BEGIN, END, PAGE
from stores import GATES, ROOT, STORES, TURNLOG, UNSTEADY, measured_with, redis, verdict, verify

CHECKED = [name for name in STORES if name.startswith("LangChain ")]
# A small crew is enough for the verdicts.
SCALE = ["--turns", "6", "--writers", "4", "--timeout", "60s"]
# Parts of the names of cases that take seconds each, and are run only where they are
# shown to fail.
SLOW = {"half-open", "recovers", "delayed", "flapping", "error-answer", "long-history", "processes"}


def shown(page):
    """The verdicts of the table and the cases that it says fail, by store."""
    text = page.split(BEGIN)[1].split(END)[0].replace("\n  ", " ")
    gates, failing = {}, {}
    for line in text.splitlines():
        if line.startswith("| "):
            name, *cells = [c.strip() for c in line.strip("|").split("|")]
            gates[name] = {g: "–" if c == "–" else "fails" if "fail" in c else "undecided" if "undecided" in c else "holds"
                           for g, c in zip(GATES, cells) if (name, g) not in UNSTEADY}
        elif line.startswith("- "):
            name, _, cases = line[2:].rpartition(": ")
            failing[name] = re.findall(r"`([^`]+)`", cases)
    return text, gates, failing


def is_slow(case):
    return any(s in case for s in SLOW)


def differences(name, gates, failing, cases, seed):
    """Runs the cases that decide about these gates, and returns the gates whose
    verdict is not the one shown."""
    chosen = [c for c in failing if gates.get(c.split("/")[0]) == "fails"]
    chosen += [c for c in cases if gates.get(c.split("/")[0]) in ("holds", "undecided", "–") and not is_slow(c)]
    result = verify(name, *SCALE, "--seed", str(seed), "--case", ",".join(chosen))
    wrong = {}
    for gate, expected in gates.items():
        found = verdict(result, gate)[0]
        if found != expected and not (expected == "undecided" and found == "holds"):
            bad = [f"{c['case']}: {c['detail']}" for c in result["cases"] if c["case"].startswith(gate + "/") and c["status"] in ("FAIL", "undecided")]
            wrong[gate] = f"{name}: {gate} {found}, and the table says that it {expected}\n" + "\n".join(bad)
    return wrong


def check(name, gates, failing, cases):
    wrong = differences(name, gates, failing, cases, seed=1)
    if wrong:
        print("once more:\n" + "\n".join(wrong.values()), file=sys.stderr)
        wrong = differences(name, {g: gates[g] for g in wrong}, failing, cases, seed=2)
    return list(wrong.values())


# --- the snippets -----------------------------------------------------------------


def block(page, language, marker):
    for text in re.findall(rf"```{language}\n(.*?)```", page, re.S):
        if marker in text:
            return text
    sys.exit(f"docs/contract.md has no {language} snippet with {marker!r}")


def snippets(page):
    """Runs what the page tells people to put into their CI, in an empty directory
    with the history that it shows, and a small crew."""
    wrong = []
    with tempfile.TemporaryDirectory() as directory, redis(directory) as (address, _):
        history = block(page, "python", "my_store.py").replace("localhost:6379", address)
        files = {"my_store.py": history, "test_memory.py": block(page, "python", "# test_memory.py"),
                 "turnlog": f'#!/bin/sh\nexec {TURNLOG} "$@" {" ".join(SCALE)} $MORE\n'}
        for name, text in files.items():
            with open(os.path.join(directory, name), "w") as f:
                f.write(text)
        os.chmod(os.path.join(directory, "turnlog"), 0o755)
        env = {**os.environ, "PATH": f"{directory}:{ROOT}/bin/venv/bin:{os.environ['PATH']}", "PYTHONPATH": f"{ROOT}/sdk/python/src",
               "TURNLOG_BINARY": f"{directory}/turnlog"}
        run = lambda command: subprocess.run(command, shell=True, cwd=directory, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        names = "roundtrip or large-turns or namespaces or similar-keys or short"
        out = run(f"python -m pytest -q -p turnlog_pytest -p no:cacheprovider -k '{names}' test_memory.py")
        if not re.search(r"^1 failed, 3 passed, 1 skipped", out.stdout, re.M) or "contract: concurrency/large-turns" not in out.stdout:
            wrong.append("the pytest snippet should report 3 cases that hold, large-turns that fails, and namespaces that is skipped:\n" + out.stdout)
        env["MORE"] = "--case roundtrip,large-turns,namespaces,similar-keys,short"
        command = re.search(r"- run: \|\n((?:    .*\n)+)", block(page, "yaml", "turnlog verify"))[1]
        out = run(command)
        report = os.path.join(directory, "contract.xml")
        if out.returncode != 1 or not os.path.exists(report) or "large-turns" not in open(report).read():
            wrong.append(f"the GitHub Actions snippet ended with status {out.returncode} instead of 1, or wrote no report:\n{out.stdout}")
    return wrong


def main():
    start = time.time()
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    text, gates, failing = shown(page)
    if measured_with() not in " ".join(text.split()):
        sys.exit(f"The table in docs/contract.md was measured with something else than\n  {measured_with()}\n`make compare` measures again.")
    missing = [n for n in STORES if n not in gates or n not in failing]
    if missing:
        sys.exit(f"The table in docs/contract.md lacks {', '.join(missing)}. `make compare` measures them.")
    listed = subprocess.run([TURNLOG, "verify", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    cases = [line.split()[0] for line in listed.splitlines() if "/" in line.split(" ")[0]]
    with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
        jobs = [pool.submit(check, n, gates[n], failing[n], cases) for n in CHECKED] + [pool.submit(snippets, page)]
        wrong = [w for j in jobs for w in j.result()]
    for w in wrong:
        print(w, file=sys.stderr)
    if wrong:
        sys.exit("docs/contract.md does not say what is the case. `make compare` measures again.")
    print(f"the table says of {', '.join(CHECKED)} what is the case, and the snippets run ({time.time() - start:.0f} s)")


if __name__ == "__main__":
    main()
