"""Runs programs through `ptc eval --jsonl` and compares their results. Usage: programs.py PTC UPSTREAMS-CONFIG PROGRAMS"""
import json
import subprocess
import sys

ptc, config, programs = sys.argv[1:]
cases = json.load(open(programs))
lines = "".join(json.dumps({"id": n, "program": case["program"]}) + "\n" for n, case in enumerate(cases))
command = [ptc, "eval", "--jsonl", "--upstreams-config", config, "--program-timeout-ms", "60000"]
command += ["--upstream-call-timeout-ms", "30000"]
ran = subprocess.run(command, input=lines, capture_output=True, text=True)
answers = [json.loads(line) for line in ran.stdout.splitlines()]
if len(answers) != len(cases):
    sys.exit(f"{len(cases)} programs, {len(answers)} answers: {ran.stderr[-2000:]}")
for case, answer in zip(cases, answers):
    if answer["result"] != case["result"]:
        sys.exit(f"{case['program']}\n  gave   {answer['result']} {answer['error']}\n  wanted {case['result']}")
print(f"{len(cases)} programs")
