"""Runs every case with a function that calls a tool, and complains of the first difference."""
import json
import os
import sys


async def run_cases(call):
    with open(os.environ["CASES"], encoding="utf-8") as file:
        cases = json.load(file)
    for case in cases:
        arguments = {"program": case["program"]}
        if "context" in case:
            arguments["context"] = case["context"]
        is_error, got = await call("lisp_eval", arguments)
        right = bool(is_error) == case.get("error", False) and case.get("text", got) == got and case.get("contains", "") in got
        if not right:
            print(f"{case['program']}\n  gave {got!r}, error {is_error}")
            sys.exit(1)
    print(f"{len(cases)} cases")
