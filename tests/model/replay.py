#!/usr/bin/env python3
"""Runs every recorded program again on the running server: which run now, which err with what text, which give the answer
of their task, and how many bytes the replies have, beside what was recorded. Writes $OFFICE/report.md."""
import collections
import json
import os
import sys

from judge import error_kind, result_of, right
from mcp_client import Session

OFFICE = os.environ["OFFICE"]


def here(text):
    return text.replace("@FILES@", f"{OFFICE}/env/files").replace("@REPO@", f"{OFFICE}/env/repo").replace("@BOOKS@", f"{OFFICE}/env/books")


def verdict(task, reply, is_error):
    """`answer`, `no answer` (it ran, and showed something else) or `error`."""
    return "error" if is_error else "answer" if right(task, result_of(reply)) else "no answer"


if not os.path.exists(os.environ["RECORDS"]):
    sys.exit(f"no recorded programs: {os.environ['RECORDS']}")
with open(os.environ["RECORDS"]) as file:
    records = [json.loads(line) for line in file if line.strip()]
then, now, size, rows, errors = collections.Counter(), collections.Counter(), collections.Counter(), [], []
session = Session()
firsts = {"then": set(), "now": set()}
for record in records:
    task, name = record["task"], f"{record['solver']} {record['task']} {record['attempt']}"
    reply, is_error = session.eval(here(record["program"]), **record.get("extra", {}))
    was, isnow = verdict(task, here(record["reply"]), record["is_error"]), verdict(task, reply, is_error)
    then[was] += 1
    now[isnow] += 1
    size["then"] += len(here(record["reply"]).encode())
    size["now"] += len(reply.encode())
    for when, what in (("then", was), ("now", isnow)):
        if record["attempt"] == 1 and what == "answer":
            firsts[when].add(name)
    rows.append(f"| {name} | {was} | {isnow if isnow == was else f'**{isnow}**'} | {len(here(record['reply']).encode())} | {len(reply.encode())} |")
    if is_error or record["is_error"]:
        first = lambda text: text.strip().split("\n\n")[0].replace("\n", " ")[:240]
        was_text = first(record["reply"]) if record["is_error"] else "(ran)"
        now_text = first(reply).replace(OFFICE, "OFFICE") if is_error else "(runs)"
        errors.append(f"* {name}, {error_kind(reply if is_error else record['reply'])}\n  * then: `{was_text}`\n  * now: `{now_text}`")
session.close()

tasks = len({(record["solver"], record["task"]) for record in records})
lines = [
    f"{len(records)} programs for {tasks} tasks, run again.\n",
    "| | then | now |", "|---|---:|---:|",
    *(f"| programs: {what} | {then[what]} | {now[what]} |" for what in ("answer", "no answer", "error")),
    f"| tasks whose first program gives the answer | {len(firsts['then'])} | {len(firsts['now'])} |",
    f"| bytes of all replies | {size['then']} | {size['now']} |",
    "\n### Errors\n", *errors,
    "\n### Each program\n", "| solver, task, attempt | then | now | bytes then | bytes now |", "|---|---|---|---:|---:|", *rows,
]
with open(f"{OFFICE}/report.md", "w") as file:
    file.write("\n".join(lines) + "\n")
print("\n".join(lines[:8]))
print("\n".join(errors))
print(f"written: {OFFICE}/report.md")
