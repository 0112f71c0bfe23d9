"""Which checks of exposed tools pass. Usage: exposed.py REVISION RESULTS EXPECTED

EXPECTED has lines `REVISION SCENARIO:CHECK reason`. Each check that fails must have one, and each that has one must fail.
"""
import json
import pathlib
import re
import sys

# Scenarios of what this server does not expose here.
OTHERS = ("resources-", "prompts-", "completion-", "sep-2164-", "caching", "tasks-")
# Scenarios that must have been run, of each revision.
TOOLS = "list call-simple-text call-image call-audio call-embedded-resource call-mixed-content call-error call-with-progress".split()
RUN = {
    "2025-11-25": ["tools-call-with-logging", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"],
    "2026-07-28": ["server-stateless", "http-header-validation", "http-custom-header-server-validation"],
}

revision, results, expected = sys.argv[1:]
lines = [line.split() for line in pathlib.Path(expected).read_text().splitlines() if not line.startswith("#")]
listed = {line[1] for line in lines if line[0] == revision}
assert all(len(line) > 2 for line in lines), "each line has a reason"
passed, failed, run = 0, {}, set()
for file in pathlib.Path(results).glob("server-*/checks.json"):
    scenario = re.fullmatch(r"server-(.*?)-\d{4}-\d\d-\d\dT[\d-]+Z", file.parent.name)[1]
    if scenario.startswith(OTHERS):
        continue
    run.add(scenario)
    for check in json.loads(file.read_text()):
        passed += check["status"] == "SUCCESS"
        if check["status"] in ("FAILURE", "WARNING"):
            failed[f"{scenario}:{check['id']}"] = check.get("errorMessage") or json.dumps(check.get("details"))
faults = [f"{check} fails: {why}" for check, why in sorted(failed.items()) if check not in listed]
faults += [f"{check} is listed as failing and passes" for check in sorted(listed - failed.keys())]
wanted = ["tools-" + name for name in TOOLS] + ["json-schema-2020-12"] + RUN[revision]
faults += [f"{scenario} was not run" for scenario in wanted if scenario not in run]
if faults:
    print("\n".join(faults))
    sys.exit(f"FAIL conformance of exposed tools {revision}")
print(f"ok   conformance of exposed tools {revision}: {passed} checks pass, {len(listed)} known gaps")
