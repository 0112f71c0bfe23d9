"""Two people at one server with a policy: each sees other tools, signs in at an upstream for itself and sees what that lists to it, one
meets a quota and one a rule about arguments, and neither finds a trace of the other. Usage: people.py PTC NODE WORK PYTHON"""
import json
import re

from caller import Caller, protected
from stage import end, issuer, node, python, server, sign_in, typescript, with_pages, work

CALLS, PROGRAMS = 6, 60
# Each has an account of its own there, and the entry says otherwise.
NOTES = {"allow": ["*"], "deny": ["add_note"], "identity": "per_principal"}
POLICY = {"rules": [
    {"match": {"claim": {"groups": "support"}}, "limits": {"calls_per_minute": CALLS}, "upstreams": {"desk": {
        "allow": ["get_ticket", "create_ticket"], "args": {"create_ticket": {"queue": {"in": ["web", "app"]}}}}, "notes": NOTES}},
    {"match": {"claim": {"groups": "dev"}}, "limits": {"programs_per_minute": PROGRAMS}, "upstreams": {"builds": {
        "allow": ["get_build"], "list": ["deploy"]}, "notes": NOTES}},
]}


def leave_traces(caller):
    """Does a bit of everything; the ids that came of it, by what they are of."""
    marked = f'"{caller.mark}"'
    evaluated = caller.call("lisp_eval", program=marked)
    running = caller.call("lisp_eval", program=f"(do (println {marked}) (sleep-ms 2500) {marked})")["structuredContent"]
    session = caller.call("lisp_session_start", title=caller.mark)["structuredContent"]["session_id"]
    bound = caller.call("lisp_session_eval", session_id=session, program=f"(def kept {marked})")
    assert not bound["isError"], bound
    status, headers, _ = caller.modern("lisp_eval", {"program": marked})
    assert status == 200 and running["status"] == "running", (status, running)
    remembered = caller.call("lisp_debug", op="recent", limit=20)["structuredContent"]
    assert caller.mark in json.dumps(remembered), remembered
    return {"eval": evaluated["_meta"]["eval_id"], "eval of a session": bound["_meta"]["eval_id"], "run": running["run_id"], "session": session,
            "MCP session": caller.session, "HTTP request": headers["x-request-id"], "request": str(next(caller.numbers) - 1)}


def attempts(caller, ident):
    """Everything that one can try with an id: each tool, each method and each address that takes one."""
    for tool in caller.ask("tools/list")["result"]["tools"]:
        schema = tool["inputSchema"]
        takes = [name for name in schema["properties"] if name.endswith("_id")]
        for name in takes:
            rest = {"program": "kept"} if "program" in schema["properties"] else {}
            for more in [{"op": "get"}] if "op" in schema["properties"] else [{"view": view} for view in schema["properties"].get("view", {}).get("enum", [])] or [{}]:
                arguments = {name: ident, **rest, **more}
                yield f"{tool['name']} {arguments}", lambda: caller.ask("tools/call", name=tool["name"], arguments=arguments)
                yield f"{tool['name']} {arguments}, modern", lambda: caller.modern(tool["name"], arguments)
    for method in ["tasks/get", "tasks/cancel", "tasks/result", "tasks/update"]:
        yield method, lambda: caller.post({"method": method, "params": {"taskId": ident}}, session=caller.session)
    yield "cancelled", lambda: caller.post({"method": "notifications/cancelled", "params": {"requestId": int(ident) if ident.isdigit() else ident}}, session=caller.session)
    yield "POST", lambda: caller.post({"method": "tools/list"}, session=ident)
    for method in ["GET", "DELETE"]:
        yield method, lambda: caller.send(caller.url, None, method, Mcp_Session_Id=ident, Accept="text/event-stream")
    runs = f"{caller.base}/console/api/runs"
    for path in [f"/{ident}", f"/{ident}/questions/q1", f"?after={ident}"]:
        yield path, lambda: caller.send(runs + path)
    for path, body in [(f"/{ident}/cancel", b"{}"), (f"/{ident}/answers", b'{"answers": {"q1": {"action": "accept"}}}')]:
        yield path, lambda: caller.send(runs + path, body, Content_Type="application/json")


def plain(answer, ident):
    """What an answer says, without the id that was asked for and what differs in each answer."""
    text = json.dumps(answer).replace(ident, "ID")
    text = re.sub(r'"(x-request-id|date|content-length)": "[^"]*",? ?', "", text)
    return re.sub(r'(\\?"(?:id|now|eval_id|duration_ms|uptime_seconds|ts)\\?": ?)(\d+|\\?"[^"]*")', r"\1_", text)


def seek(seeker, found):
    """Tries each id of somebody else. It is answered as one that nobody has."""
    tried = 0
    for what, ident in found.items():
        absent = ident[:-3] + ("AAA" if not ident.isdigit() else "999")
        nobody = [(name, plain(ask(), absent)) for name, ask in attempts(seeker, absent)]
        for (name, ask), (_, other) in zip(attempts(seeker, ident), nobody, strict=True):
            answer = plain(ask(), ident)
            assert answer == other, f"the id of a {what} is told from one that nobody has by {name}:\n{answer}\n{other}"
            tried += 1
    for path in ["state", "catalog", "sign-ins", "runs", "runs?all=true", "runs?principal=*"]:
        seeker.send(f"{seeker.base}/console/api/{path}")
    for arguments in [{"op": "recent", "limit": 50}, {"op": "stats"}]:
        seeker.call("lisp_debug", **arguments)
    seeker.call("lisp_session_list")
    return tried


def desk(*tools):
    return {"transport": "mcp_stdio", "command": node, "args": [str(work / "identity-desk.mjs"), *tools]}


try:
    upstreams, policy = work / "identity-upstreams.json", work / "identity-policy.json"
    upstreams.write_text(json.dumps({"upstreams": {"desk": desk("get_ticket", "create_ticket", "delete_ticket"), "builds": desk("get_build", "deploy"), "notes": protected(OWN=json.dumps({"zq8ann": ["refund_zq8ann"], "zq8ben": ["audit_zq8ben"]}))}}))
    policy.write_text(json.dumps(POLICY))
    provider = issuer("jwt", "people")
    # All records of this test fit into the ring, which the callers share, so that the other's are still there when they are tried.
    url = server("people", provider, "--upstreams-config", str(upstreams), "--policy", str(policy), "--sessions", "--debug-tool",
                 "--debug-ring-size", "5000", "--console", "--long-runs", "--answer-within-ms", "500", *with_pages())

    # --- each sees what the rules show ---------------------------------------------------------------------------------
    ann = sign_in(typescript, url, "ann", '(str (map :name (tool/servers)) (dir "desk"))')
    ben = sign_in(python, url, "ben", '(str (map :name (tool/servers)) (dir "builds"))')
    for said, own in [(ann, ["desk", "get_ticket", "create_ticket"]), (ben, ["builds", "get_build", "deploy"])]:
        for place in ["text", "description"]:
            shown = {name for name in ["desk", "builds", "get_ticket", "create_ticket", "delete_ticket", "get_build", "deploy"] if name in said[place]}
            assert shown == set(own), (place, said[place])
    tokens = [ann["token"], ben["token"]]
    ann, ben = Caller(url, tokens[0], provider, "ann", 9001), Caller(url, tokens[1], provider, "ben", 5001)

    # --- rules about tools and arguments -------------------------------------------------------------------------------
    def create(caller, queue):
        return caller.eval(f'(tool/call {{:server "desk" :tool "create_ticket" :args {{:item "{caller.mark}" :queue "{queue}"}}}})')

    refused = create(ann, "ops")
    assert refused["message"] == "runtime_error: argument 'queue' of 'desk.create_ticket' is not allowed for this caller: \"ops\" is none of \"web\", \"app\"", refused
    assert ":ok true" in create(ann, "web")["result"]
    assert create(ben, "web")["message"] == "runtime_error: no upstream 'desk' configured\nConfigured upstreams: builds, notes"
    refused = ben.eval('(tool/call {:server "builds" :tool "deploy" :args {:item "x"}})')
    assert refused["message"] == "runtime_error: tool 'builds.deploy' is listed but not allowed for this caller; ask the operator", refused
    assert ":ok true" in ben.eval(f'(tool/call {{:server "builds" :tool "get_build" :args {{:item "{ben.mark}"}}}})')["result"]
    print("ok   two people see different tools, and one is refused by an argument")

    # --- an upstream that each signs in to -----------------------------------------------------------------------------
    for caller, own in [(ann, "refund_zq8ann"), (ben, "audit_zq8ben")]:
        # The program waits for its caller's own sign-in, and goes on with it.
        waiting = caller.eval('(:value (tool/call {:server "notes" :tool "whoami" :args {}}))')
        assert waiting["status"] == "waiting" and waiting["questions"][0]["open"] == f"{caller.base}/oauth/start?upstream=notes", waiting
        caller.sign_in("notes")
        said = caller.call("lisp_resume", run_id=waiting["run_id"], answers={"q1": {"action": "accept"}}, wait_ms=10000)["structuredContent"]
        assert said["status"] == "ok" and caller.account in said["result"], said
        shown = caller.eval('(str (dir "notes"))')["result"]
        assert own in shown and "whoami" in shown and "add_note" not in shown, shown
        said = caller.eval(f'(:value (tool/call {{:server "notes" :tool "{own}" :args {{:item "{caller.mark}"}}}}))')["result"]
        assert f"{own} of {caller.mark}" in said, said
        assert "expected :item" in caller.eval(f'(tool/call {{:server "notes" :tool "{own}" :args {{:itm 1}}}})')["message"]
    print("ok   two people sign in at an upstream, each for itself, and see lists of their own")

    # --- ids of the other ----------------------------------------------------------------------------------------------
    pairs = [(ben, ann, leave_traces(ann)), (ann, ben, leave_traces(ben))]
    tried = sum(seek(seeker, found) for seeker, _, found in pairs)
    for seeker, other, found in pairs:
        # What was tried has changed nothing.
        assert other.call("lisp_session_eval", session_id=found["session"], program="kept")["structuredContent"]["result"].endswith(f'"{other.mark}"')
        run = other.call("lisp_wait", run_id=found["run"], wait_ms=10000)["structuredContent"]
        assert run["status"] == "ok" and other.mark in run["result"], run
        other.send(f"{other.base}/console/api/runs")
        told = "".join(other.answers)
        assert other.mark in told and f"|{other.mark[3:]}" in told, "nothing of this caller is to be found at all"
    for seeker, other, _ in pairs:
        for answer in seeker.answers:
            for trace in other.traces:
                assert trace not in answer, f"{seeker.mark} reads {trace} in: {answer[max(answer.find(trace) - 300, 0):][:600]}"
    print(f"ok   {tried} attempts with ids of the other find nothing")

    # --- quotas --------------------------------------------------------------------------------------------------------
    many = ann.eval(f'(map (fn [_] (tool/call {{:server "desk" :tool "get_ticket" :args {{:item "1"}}}})) (range {CALLS + 2}))')["result"]
    assert ":ok true" in many and ":reason :rate_limited" in many and ":sent false" in many, many
    assert re.search(rf":message \"this caller may make {CALLS} upstream calls a minute; the next is free in \d+ s\"", many), many
    limit = rf"this caller may begin {PROGRAMS} programs a minute; the next is free in \d+ s"
    for _ in range(2 * PROGRAMS):
        status, headers, text = ben.modern("lisp_eval", {"program": "1"})
        if status != 200:
            break
    assert status == 429 and re.search(limit, text) and 1 <= int(headers["retry-after"]) <= 60, (status, headers, text)
    busy = ben.eval("1")
    assert busy["reason"] == "busy" and re.search(limit, busy["message"]), busy
    assert ann.eval("1")["status"] == "ok"
    print("ok   quotas of calls and of programs")
    log = (work / "identity-people.log").read_text()
    assert not any(token in log for token in tokens), "a token is in the log"
finally:
    end()
