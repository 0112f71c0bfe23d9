#!/usr/bin/env python3
"""score.py [SOLVER ...]: marks what solvers answered and wrote, prints the figures as a table, writes score-SOLVER.md to $OFFICE."""
import collections
import glob
import json
import os
import re
import sys

from judge import EXPECTED, EXPECTED_FILE, error_kind, right

OFFICE = os.environ["OFFICE"]
DISCOVERY = re.compile(r"\((?:dir|doc|apropos|meta|tool/servers|ns-publics|ns-name)\b")


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.strip()]


COLUMNS = ["solver", "right", "first program right", "no error reply", "programs or calls a task", "of them only looked", "bytes up front"]


def row(name, count):
    """The figures of a solver as a line of a table."""
    tasks = count["tasks"] or 1
    percent = lambda key: f"{100 * count[key] / tasks:.0f} %"
    cells = [name, f"{count['right']} of {count['tasks']}", percent("first"), percent("clean"), f"{count['programs'] / tasks:.2f}", f"{count['discovery'] / tasks:.2f}", up_front()]
    return "| " + " | ".join(cells) + " |"


def up_front():
    """What the office's server sends before the first program."""
    found = lines(f"{OFFICE}/up-front.json")
    return str(found[0]["bytes"]) if found else "not served yet"


def direct():
    """The line of direct calls, for an office that has one."""
    path = os.path.join(os.path.dirname(EXPECTED_FILE), "direct-large.json")
    if not EXPECTED_FILE.endswith("-large.json"):
        return []
    with open(path) as file:
        told = json.load(file)
    figures = told["tasks"].values()
    calls, size = (sum(figure[key] for figure in figures) for key in ("calls", "bytes"))
    return [f"| direct calls, a minimal sequence | | | | {calls / len(figures):.1f} calls, {size} bytes of results | | {told['up_front']['bytes']} |"]


def only_looked(line):
    """Whether a call could not have answered: a program of `doc` and the like, or a peer's tool of discovery."""
    if "tool" in line:
        return line["tool"] in ("search", "get_schema")
    return bool(DISCOVERY.search(line["program"])) and "tool/" not in line["program"]


def mark(solver):
    """The counts of one solver, and its kinds of errors; its report is written."""
    answers = {line["task"]: line["answer"] for line in lines(f"{OFFICE}/answers/{solver}.jsonl")}
    programs = collections.defaultdict(list)
    for line in lines(f"{OFFICE}/log/{solver}.jsonl"):
        programs[line["task"]].append(line)
    count, kinds, report = collections.Counter(), collections.Counter(), [f"# Solver {solver}\n"]
    for task in (task for task in EXPECTED if task in programs or task in answers):
        ran = programs[task]
        errors = [line for line in ran if line["is_error"]]
        good = task in answers and right(task, answers[task])
        verdict = "right" if good else "WRONG" if task in answers else "NO ANSWER"
        count["tasks"] += 1
        count["right"] += good
        count["first"] += good and len(ran) == 1 and not errors
        count["clean"] += good and not errors
        count["programs"] += len(ran)
        count["errors"] += len(errors)
        count["discovery"] += sum(only_looked(line) for line in ran)
        kinds.update(error_kind(line["reply"]) for line in errors)
        report.append(f"\n## {task}: {verdict}, {len(ran)} programs, {len(errors)} errors\n")
        if not good:
            wanted = json.dumps(EXPECTED[task]["answer"], ensure_ascii=False)
            report.append(f"wanted `{wanted}`\n\ngot `{answers.get(task)}`\n")
        # A first program that was right teaches nothing.
        for line in ran if len(ran) > 1 or not good else []:
            report.append(f"```clojure\n{line['program'].strip()}\n```\n\n```\n{line['reply'][:3000]}\n```\n")
    with open(f"{OFFICE}/score-{solver}.md", "w") as file:
        file.write("\n".join(report) + "\n")
    return count, kinds


found = {os.path.basename(path)[:-6] for folder in ("log", "answers") for path in glob.glob(f"{OFFICE}/{folder}/*.jsonl")}
solvers = sys.argv[1:] or sorted(found)
marked = {solver: mark(solver) for solver in solvers}
table = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|", *(row(solver, count) for solver, (count, _) in marked.items())]
if len(marked) > 1:
    table.append(row("mean", sum((count for count, _ in marked.values()), collections.Counter())))
print("\n".join(table + direct()))
for solver, (count, kinds) in marked.items():
    print(f"\n{solver}: {count['errors']} error replies" + "".join(f"\n    {times:4d} {kind}" for kind, times in kinds.most_common()))
