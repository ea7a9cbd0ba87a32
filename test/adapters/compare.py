#!/usr/bin/env python3
"""Holds popular chat histories to the contract and keeps the table in
docs/contract.md:

    test/adapters/compare.py [--only NAME ...] [--case PATTERN ...] [--write]

It needs redis-server, PostgreSQL, bin/turnlog (make build) and the libraries that
test/adapters/install.sh --all puts into bin/. Results are kept in bin/compare/, so that
--write can be repeated, and single stores measured again, or some of their cases.
"""

import argparse
import json
import os
import sys
import textwrap
import time

from stores import GATES, ROOT, STORES, UNSTEADY, measured_with, verdict, verify

PAGE = os.path.join(ROOT, "docs", "contract.md")
KEPT = os.path.join(ROOT, "bin", "compare")
SCALE = ["--timeout", "120s"]  # so that no store fails because the machine is busy
# How the JSON of a gate counts what its cases came to.
COUNTED = {"passed": "pass", "failed": "FAIL", "undecided": "undecided", "not_supported": "not supported"}
BEGIN, END = "<!-- comparison: written by test/adapters/compare.py -->", "<!-- end of comparison -->"


def wrapped(text):
    """Breaks prose and items of lists; check.py joins them again."""
    return textwrap.fill(text, 100, subsequent_indent="  " if text.startswith("- ") else "",
                         break_long_words=False, break_on_hyphens=False)


def table(results):
    lines = [wrapped(measured_with()), "", "| store | " + " | ".join(GATES) + " | remembered after |", "|---|" + "---|" * (len(GATES) + 1)]
    for name, r in results.items():
        remembered = ", ".join(f"{a['restart']}: {a['after_percent']:.0f} %" for a in r["accuracy"]) or "–"
        lines.append(f"| {name} | " + " | ".join(verdict(r, g)[1] + "°" * ((name, g) in UNSTEADY) for g in GATES) + f" | {remembered} |")
    lines += ["", "What fails, case by case (`turnlog verify --list` says what each proves):", ""]
    for name, r in results.items():
        failed = [f"`{c['case']}`" for c in r["cases"] if c["status"] == "FAIL"]
        failed += [f"{c['case']} (undecided)" for c in r["cases"] if c["status"] == "undecided"]
        lines.append(wrapped(f"- {name}: " + (", ".join(failed) or "nothing") + "."))
    return "\n".join(lines)


def write(results):
    page = open(PAGE, encoding="utf-8").read()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(f"{before}{BEGIN}\n\n{table(results)}\n\n{END}{after}")


def kept(name):
    return os.path.join(KEPT, "".join(c if c.isalnum() else "-" for c in name) + ".json")


def again(old, new):
    """The old result with the cases of the new one in place of the same old ones."""
    fresh = {c["case"]: c for c in new["cases"]}
    cases = [fresh.pop(c["case"], c) for c in old["cases"]]
    if fresh:
        raise SystemExit(f"measured with another suite before: {', '.join(fresh)} had no result")
    gates = []
    for g in old["gates"]:
        statuses = [c["status"] for c in cases if c["case"].startswith(g["gate"] + "/")]
        count = {key: statuses.count(status) for key, status in COUNTED.items()}
        gates.append({**g, **count, "status": next((s for s in ("FAIL", "undecided", "pass") if s in statuses), "not supported")})
    return {**old, "cases": cases, "gates": gates, "accuracy": new["accuracy"] or old["accuracy"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(STORES), metavar="NAME", choices=list(STORES))
    parser.add_argument("--case", nargs="*", metavar="PATTERN", help="only these cases, of stores that were measured before")
    parser.add_argument("--write", action="store_true", help="put the table into docs/contract.md")
    args = parser.parse_args()
    os.makedirs(KEPT, exist_ok=True)
    for name in args.only:
        start = time.time()
        print(f"{name} …", file=sys.stderr)
        result = verify(name, *SCALE, *(["--case", ",".join(args.case)] if args.case else []))
        if args.case:
            with open(kept(name)) as f:
                result = again(json.load(f), result)
        with open(kept(name), "w") as f:
            json.dump(result, f)
        print(f"{name}: {time.time() - start:.0f} s", file=sys.stderr)
    results = {n: json.load(open(kept(n))) for n in STORES if os.path.exists(kept(n))}
    print(table(results))
    if args.write:
        write(results)


if __name__ == "__main__":
    main()
