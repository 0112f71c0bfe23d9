"""What the suite's own exit code leaves open. Usage: verdict.py REVISION RESULTS EXPECTED

Every message was held against the schema of the revision, and none broke it; every listed check was reached and failed;
scenarios that the suite does not score, but that this server can pass, pass; and so do those of questions, whole.
"""
import json
import pathlib
import re
import sys

UNSCORED = {
    "2025-11-25": ["server-session-lifecycle", "server-sse-polling"],
    "2026-07-28": ["http-header-validation"]
    + [
        "tasks-" + name
        for name in (
            "lifecycle capability-negotiation dispatch-and-envelope wire-fields request-headers mrtr-composition mrtr-input "
            "required-task-error request-state-removal"
        ).split()
    ],
}
# Scenarios of questions to clients (waiting.md 11): all that they check passes, without a warning.
ASKED = {
    "2025-11-25": ["tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"],
    "2026-07-28": [
        "input-required-result-" + name
        for name in (
            "basic-elicitation basic-sampling basic-list-roots request-state multiple-input-requests multi-round missing-input-response "
            "non-tool-request result-type unsupported-methods tampered-state capability-check ignore-extra-params validate-input"
        ).split()
    ],
}

revision, results, expected = sys.argv[1:]
checks = {}
for file in pathlib.Path(results).glob("server-*/checks.json"):
    scenario = re.fullmatch(r"server-(.*?)-\d{4}-\d\d-\d\dT[\d-]+Z", file.parent.name)[1]
    checks[scenario] = json.loads(file.read_text())

faults = []
messages = 0
for scenario, done in sorted(checks.items()):
    for check in done:
        if check["id"] == "wire-schema-valid":
            messages += check.get("details", {}).get("messagesValidated", 0)
            if check["status"] != "SUCCESS":
                faults.append(f"{scenario}: {json.dumps(check)}")
for scenario in UNSCORED[revision]:
    for check in checks[scenario]:
        if check["status"] in ("FAILURE", "WARNING"):
            faults.append(f"{scenario}:{check['id']} fails: {check.get('errorMessage')}")
for scenario in ASKED[revision]:
    done = [check for check in checks.get(scenario, []) if check["id"] != "wire-schema-valid"]
    if not done:
        faults.append(f"{scenario} was not run")
    for check in done:
        if check["status"] not in ("SUCCESS", "INFO"):
            faults.append(f"{scenario}:{check['id']} is {check['status']}: {check.get('errorMessage')}")
listed = re.findall(r"^  - (\S+)", pathlib.Path(expected).read_text(), re.M)
for entry in listed:
    scenario, _, check_id = entry.partition(":")
    reached = [check["status"] for check in checks.get(scenario, []) if check["id"] == check_id]
    if not any(status in ("FAILURE", "WARNING") for status in reached):
        faults.append(f"{entry} is listed as failing and was {reached or 'not reached'}")
if messages == 0:
    faults.append("no message was held against the schema")
if faults:
    print("\n".join(faults))
    sys.exit(f"FAIL conformance {revision}")
passed = sum(check["status"] == "SUCCESS" for done in checks.values() for check in done)
print(f"ok   conformance {revision}: {passed} checks pass, {messages} messages fit the schema, {len(listed)} known gaps")
