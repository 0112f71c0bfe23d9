"""A program moves nine of ten files of a real filesystem server after one answer has approved all nine moves at once; the server process is
killed while the program waits, and another one finishes it. Usage: approved.py PTC FILESYSTEM-SERVER FOLDER"""
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

ptc, files, folder = sys.argv[1:]
CALLER = "caller-0123456789abcdef0123456789abcdef"
MOVED = [f"report-{n}.txt" for n in range(1, 10)]


def fresh(name):
    path = os.path.join(folder, name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path, mode=0o700)
    return path


box, state = fresh("box"), fresh("state")
old, new = os.path.join(box, "old"), os.path.join(box, "new")
os.makedirs(old)
os.makedirs(new)
for name in MOVED + ["keep.txt"]:
    with open(os.path.join(old, name), "w") as file:
        file.write(name)
audit = os.path.join(folder, "audit.jsonl")
if os.path.exists(audit):
    os.remove(audit)
config = os.path.join(folder, "upstreams.json")
with open(config, "w") as file:
    json.dump({"upstreams": {"fs": {
        "transport": "mcp_stdio", "command": "node", "args": [files, box], "handshake_timeout_ms": 60000,
        "approve_tools": ["move_*"]}}}, file)


def start():
    for _ in range(5):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        log = open(os.path.join(folder, "server.log"), "a")
        server = subprocess.Popen(
            [ptc, "start", "--http", "--http-port", str(port), "--http-auth-token", CALLER, "--upstreams-config", config,
             "--sessions", "--state-dir", state, "--audit-log", audit, "--program-timeout-ms", "60000",
             "--upstream-call-timeout-ms", "30000"], stderr=log)
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5).read()
                return server, f"http://127.0.0.1:{port}"
            except (urllib.error.URLError, OSError):
                if server.poll() is not None:
                    break
                time.sleep(0.1)
        server.kill()
        server.wait()
    sys.exit("the server did not start: see server.log in " + folder)


def call(base, program, more=None):
    """One call of lisp_eval by a client of 2026-07-28 that shows forms: the result."""
    revision = "2026-07-28"
    meta = {"io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientInfo": {"name": "interop", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    params = {"name": "lisp_eval", "arguments": {"program": program}, "_meta": meta, **(more or {})}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Authorization": f"Bearer {CALLER}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": revision, "Mcp-Method": "tools/call", "Mcp-Name": "lisp_eval"}
    asked = urllib.request.Request(base + "/mcp", json.dumps(message).encode(), headers)
    with urllib.request.urlopen(asked, timeout=120) as answer:
        text = answer.read().decode()
    if answer.headers.get_content_type() == "text/event-stream":
        text = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
    return json.loads(text)["result"]


def must(holds, what, seen):
    if not holds:
        sys.exit(f"{what}: {json.dumps(seen)[:3000]}")


program = f"""
(let [listed (:value (tool/call {{:server "fs" :tool "list_directory" :args {{:path "{old}"}}}}))
      names (filter (fn [name] (re-find #"^report" name)) (re-seq #"[a-z0-9-]+\\.txt" (str listed)))]
  (frequencies (pmap (fn [name] (:ok (tool/call {{:server "fs" :tool "move_file"
                                                   :args {{:source (str "{old}/" name) :destination (str "{new}/" name)}}}}))) names)))
"""
server, base = start()
try:
    waiting = call(base, program)
    must(waiting.get("resultType") == "input_required" and len(waiting["inputRequests"]) == 1, "it waits for one answer", waiting)
    (question, request), = waiting["inputRequests"].items()
    page = request["params"]["message"]
    must(page.startswith("Allow 9 call(s) of move_file at fs?"), "that of an approval", page)
    must(all(page.count(f"{old}/{name}") == 1 for name in MOVED) and "keep.txt" not in page, "which names all nine", page)
    must(sorted(os.listdir(old)) == sorted(MOVED + ["keep.txt"]), "nothing is moved before", os.listdir(old))

    server.send_signal(signal.SIGKILL)
    server.wait()
    server, base = start()

    allow = {question: {"action": "accept", "content": {"decision": "allow"}}}
    answered = {"requestState": waiting["requestState"], "inputResponses": allow}
    done = call(base, program, answered)
    must("{true 9}" in done["content"][0]["text"] and not done.get("isError"), "it has moved all", done)
    must(sorted(os.listdir(new)) == sorted(MOVED) and os.listdir(old) == ["keep.txt"], "nine of ten", [os.listdir(old), os.listdir(new)])
    # Whoever sends the same again gets the same, and nothing is done twice.
    again = call(base, program, answered)
    must(again["content"] == done["content"], "the same again", again)
finally:
    server.send_signal(signal.SIGTERM)
    server.wait()

lines = [json.loads(line) for line in open(audit)]
kinds = [line["kind"] for line in lines]
must(kinds.count("upstream_call") == 10, "ten calls in all", lines)
moves = {line["arguments_digest"]: line for line in lines if line["kind"] == "upstream_call" and line["tool"] == "move_file"}
answers = [line for line in lines if line["kind"] == "answer"]
for name in MOVED:
    arguments = {"source": f"{old}/{name}", "destination": f"{new}/{name}"}
    digest = hashlib.sha256(json.dumps(arguments, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    by = moves[digest]["by"]
    must(by["channel"] == "client" and by["name"] and moves[digest]["outcome"] == "ok", "who allowed each move", moves[digest])
    told = [line for line in answers if digest in line["arguments_digests"]]
    must(len(told) == 1 and told[0]["decision"] == "allow" and told[0]["by"] == by, "an answer allows each move", answers)
must(box not in open(audit).read(), "no arguments in the audit log", lines)
print("nine of ten files moved by another process after one approval")
