#!/usr/bin/env python3
"""Compares the report of a client's test suite with what is known to fail.

compare.py SUITE REPORT SERVER

A test that fails because turnlog does not know a command counts as left out, unless
docs/redis.md lists the command. Any other failure needs a line in known.tsv: suite,
test, reason. A test is a glob over "class :: name"; * matches anything. A line with
"passed" instead of a test says how many must pass at least.
"""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

here = pathlib.Path(__file__).parent
UNKNOWN = re.compile(r"unknown command '?\"?`?([\w.]+)|unknown subcommand '?([\w-]+)'?\. Try (\w+) HELP", re.I)


def report(path):
    """Yields each test with its state and, if it failed, why."""
    for case in xml.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname') or ''} :: {case.get('name') or ''}"
        failure = next((f for kind in ("failure", "error") if (f := case.find(kind)) is not None), None)
        if failure is not None:
            yield name, "failed", f"{failure.get('message') or ''}\n{failure.text or ''}"
        else:
            yield name, "passed" if case.find("skipped") is None else "skipped", ""


def known(suite):
    """Returns the patterns with their reasons, and how many tests must pass."""
    patterns, least = [], 0
    for line in (here / "known.tsv").read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        of, test, reason = line.split("\t")
        if of != suite:
            continue
        if test == "passed":
            least = int(reason)
        else:
            patterns.append((re.compile(".*".join(map(re.escape, test.split("*")))), test))
    return patterns, least


def documented():
    """The commands that docs/redis.md lists."""
    page = (here / "../../../docs/redis.md").read_text()
    table = page.split("<!-- commands:")[1].split("<!-- end of commands -->")[0]
    names = set()
    for row in re.findall(r"^\| `([^`]*)`", table, re.M):
        words = row.split()
        names.update((words[0].lower(), " ".join(words[:2]).lower()))
    return names


def missing(text, commands):
    """Returns the command for want of which a test failed."""
    for m in UNKNOWN.finditer(text):
        name = m.group(1) or f"{m.group(3)} {m.group(2)}"
        if name.lower() not in commands:
            return name.upper()
    return None


def main():
    suite, path, server = sys.argv[1:]
    patterns, least = known(suite) if server == "turnlog" else ([], 0)
    commands = documented()
    states, lacking, unexplained, used = collections.Counter(), collections.Counter(), [], set()
    for name, state, why in report(path):
        if state == "failed" and (command := missing(why, commands)):
            state = "left out"
            lacking[command] += 1
        elif state == "failed":
            line = next((text for pattern, text in patterns if pattern.fullmatch(name)), None)
            state = "known to fail" if line else "failed"
            used.add(line)
            if not line:
                unexplained.append((name, " ".join(why.split())[:200]))
        states[state] += 1
    print(f"{suite}: " + ", ".join(f"{n} {state}" for state, n in sorted(states.items())))
    if lacking:
        print("  left out for want of " + ", ".join(f"{c} ({n})" for c, n in sorted(lacking.items())))
    for name, why in unexplained:
        print(f"  FAILED {name}\n         {why}")
    for text in (t for _, t in patterns if t not in used):
        print(f"  passes by now: {text}")
    if states["passed"] < least:
        print(f"  FAILED only {states['passed']} passed, {least} must")
    sys.exit(1 if unexplained or states["passed"] < least else 0)


main()
