#!/usr/bin/env python3
"""record.py SOLVER=LETTER ...: adds what solvers wrote to the recorded programs, under the letter; folders of the office become @FILES@, @REPO@ and @BOOKS@."""
import json
import os
import sys

OFFICE = os.environ["OFFICE"]
PARTS = {"files": "@FILES@", "repo": "@REPO@", "books": "@BOOKS@"}

for pair in sys.argv[1:]:
    solver, letter = pair.split("=")
    with open(f"{OFFICE}/log/{solver}.jsonl") as log, open(os.environ["RECORDS"], "a") as records:
        for line in log:
            for part, name in PARTS.items():
                line = line.replace(f"{OFFICE}/env/{part}", name)
            record = json.loads(line)
            kept = {key: value for key, value in record.items() if key != "at"} | {"solver": letter}
            records.write(json.dumps(kept, ensure_ascii=False) + "\n")
