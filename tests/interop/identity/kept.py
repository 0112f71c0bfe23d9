"""A model's run becomes a kept program: its draft is approved by an operator on the console, another person calls it as a tool under a
sign-in of its own, and a changed definition of the upstream makes it stale, with the reason. Usage: kept.py PTC NODE WORK PYTHON"""
import json
import os
import shutil
import subprocess
import tempfile
import time

from caller import Caller, protected
from stage import end, issuer, node, ptc, server, sign_in, typescript, with_pages, work

PROGRAM = """(let [who (tool/call {:server "notes" :tool "whoami" :args {}})
      ticket (tool/call {:server "desk" :tool "get_ticket" :args {:item data/item}})]
  {:person (get (:value who) "subject") :item (get (:value ticket) "item")})"""
TOOLS = ["desk/get_ticket", "notes/whoami"]
OUTPUT = {"type": "object", "properties": {"person": {"type": "string"}}, "required": ["person"]}


def at_the_console(person, path, body=None):
    """What a person is told there of drafts."""
    head = {"Content_Type": "application/json"} if body else {}
    status, _, text = person.send(f"{person.base}/console/api/drafts{path}", body and json.dumps(body).encode(), **head)
    return status, json.loads(text)


def until(what, holds):
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what}: {(work / 'identity-kept.log').read_text()[-3000:]}")
        time.sleep(0.2)


home = tempfile.mkdtemp(prefix="ptc-kept-")
os.environ["HOME"] = home
try:
    config, policy, programs = (os.path.join(home, name) for name in ("upstreams.json", "policy.json", "programs"))
    os.mkdir(programs)
    notes = protected()
    notes["auth"]["identity"] = "per_principal"

    desk = {"transport": "mcp_stdio", "command": node, "args": [str(work / "identity-desk.mjs"), "get_ticket"], "pin": "warn"}

    def configure(**variables):
        with open(config, "w") as file:
            json.dump({"upstreams": {"notes": notes, "desk": {**desk, "env": variables}}}, file)

    configure()
    subprocess.run([ptc, "pin", "desk", "--upstreams-config", config], check=True, capture_output=True)
    provider = issuer("jwt", "kept")
    with open(policy, "w") as file:
        may = [{"match": {"principal": f"{provider}|{person}"}, "upstreams": {"notes": {"allow": [tool]}, "desk": {"allow": ["*"]}}}
               for person, tool in (("ann", "whoami"), ("ben", "whoami"), ("cid", "add_note"))]
        json.dump({"rules": [*may, {"match": {"principal": f"{provider}|cid"}, "operator": True}]}, file)
    url = server("kept", provider, "--upstreams-config", config, "--programs", programs, "--program-drafts", "--console",
                 "--policy", policy, "--long-runs", "--response-profile", "structured", *with_pages())
    tokens = [sign_in(typescript, url, person)["token"] for person in ("ann", "ben", "cid")]
    ann, ben, cid = (Caller(url, token, provider, person, 1) for token, person in zip(tokens, ("ann", "ben", "cid")))
    ann.sign_in("notes")
    said = ann.call("lisp_eval", program=PROGRAM, context={"item": "t1"}, record=True)["structuredContent"]
    assert said["status"] == "ok" and "zq8ann" in said["result"], said
    kept = ann.call("lisp_keep", name="my-account", description="Says who is signed in at notes.", output=OUTPUT)["structuredContent"]
    assert (kept["status"], kept["tests"]) == ("ok", 1), kept
    shown = at_the_console(cid, "")[1]["drafts"]
    assert [draft["name"] for draft in shown] == ["my-account"], shown
    draft = {"name": "my-account", "principal": shown[0]["principal"]}
    status, shown = at_the_console(cid, "/show", draft)
    assert status == 200 and shown["tests"][0]["ok"] and shown["tools"] == TOOLS, shown
    assert at_the_console(ann, "/approve", {**draft, "digest": shown["digest"]})[0] == 403, "whose draft it is does not approve it"
    status, approved = at_the_console(cid, "/approve", {**draft, "digest": shown["digest"]})
    assert status == 200 and approved["revision"] == 1, approved
    print("ok   a model's run becomes a draft, and an operator approves it on the console")

    tools = {tool["name"]: tool for tool in ben.ask("tools/list")["result"]["tools"]}
    assert tools["my_account"]["outputSchema"]["anyOf"][0]["required"] == ["person"], tools
    assert "my_account" not in json.dumps(cid.ask("tools/list")), "who approves it may not call all that it calls"
    ben.sign_in("notes")
    said = ben.call("my_account", item="t2")
    assert said["structuredContent"] == {"person": "zq8ben", "item": "t2"}, said
    assert ann.call("my_account", item="t3")["structuredContent"] == {"person": "zq8ann", "item": "t3"}
    print("ok   another person calls it as a tool with a schema, under a sign-in of its own")

    configure(WORDING="Destroys")
    subprocess.run([ptc, "reload"], check=True, capture_output=True)
    until("it is stale", lambda: "my_account" not in json.dumps(ben.ask("tools/list")))
    log, why = (work / "identity-kept.log").read_text(), "the definition of desk/get_ticket has changed since it was approved"
    assert f"my-account is stale, and not served: {why}" in log and "+ Destroys get_ticket." in log, log[-3000:]
    diff = subprocess.run([ptc, "program", "diff", "--programs", programs, "--upstreams-config", config, "--live"], capture_output=True, text=True)
    assert diff.returncode == 1 and f"my-account: {why}" in diff.stdout and "+ Destroys get_ticket." in diff.stdout, diff
    print("ok   a changed definition makes it stale, and the diff says why")
finally:
    end()
    shutil.rmtree(home)
