#!/usr/bin/env python3
"""score.py [SOLVER ...]: marks what solvers answered and wrote, prints the figures, writes score-SOLVER.md to $OFFICE."""
import collections
import glob
import json
import os
import re
import sys

from judge import EXPECTED, error_kind, right

OFFICE = os.environ["OFFICE"]
DISCOVERY = re.compile(r"\((?:dir|doc|apropos|meta|tool/servers|ns-publics|ns-name)\b")


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.strip()]


def figures(name, count):
    tasks = count["tasks"] or 1
    percent = lambda key: f"{100 * count[key] / tasks:.0f} %"
    print(f"{name}: {count['right']}/{count['tasks']} right, {percent('first')} with the first program, "
          f"{percent('clean')} without an error reply, {count['programs'] / tasks:.2f} programs a task "
          f"(of them discovery only {count['discovery'] / tasks:.2f}), {count['errors']} error replies, "
          f"{count['failed calls']} replies that show a failed call")


def mark(solver):
    """The counts of one solver; its report is written."""
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
        count["discovery"] += sum(bool(DISCOVERY.search(l["program"])) and "tool/" not in l["program"] for l in ran)
        count["failed calls"] += sum(not l["is_error"] and ":ok false" in l["reply"] for l in ran)
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
    figures(solver, count)
    for kind, times in kinds.most_common():
        print(f"    {times:4d} {kind}")
    return count


found = {os.path.basename(path)[:-6] for folder in ("log", "answers") for path in glob.glob(f"{OFFICE}/{folder}/*.jsonl")}
solvers = sys.argv[1:] or sorted(found)
total = sum((mark(solver) for solver in solvers), collections.Counter())
if len(solvers) > 1:
    figures("all", total)
