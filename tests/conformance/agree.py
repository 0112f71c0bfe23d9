#!/usr/bin/env python3
"""Checks that the Rust runner and compare.py judge alike, case by case.

usage: agree.py FAILURES.jsonl VERDICTS.txt

FAILURES is what `compare.py --failures` writes without `--known`; VERDICTS what the test `conformance` leaves in
`target/tmp/conformance-verdicts.txt`: a line `id level` for each case that is not right in full, where the level is
`value` or `full`, whichever failed first.
"""
import json, sys


def main():
    ours, theirs = sys.argv[2], sys.argv[1]
    with open(theirs, encoding="utf-8") as lines:
        theirs = {f"{case['id']} {case['level']}" for case in map(json.loads, lines)}
    with open(ours, encoding="utf-8") as lines:
        ours = {line.strip() for line in lines}
    for only, name in ((theirs - ours, "compare.py"), (ours - theirs, "the Rust runner")):
        for line in sorted(only):
            print(f"failed only by {name}: {line}")
    print(f"{len(ours & theirs)} verdicts alike, {len(ours ^ theirs)} different")
    return 1 if ours ^ theirs else 0


if __name__ == "__main__":
    sys.exit(main())
