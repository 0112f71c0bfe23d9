"""A program moves nine of ten files of a real filesystem server after one answer has approved all nine moves at once; the server process is
killed while the program waits, and another one finishes it. The answer comes through the client first, and then from an operator who reads
the page of the console in a browser. Usage: approved.py PTC FILESYSTEM-SERVER FOLDER"""
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

ptc, files, folder = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
CALLER = "caller-0123456789abcdef0123456789abcdef"
OPERATOR = "eve-0123456789abcdef0123456789abcdef"
MOVED = [f"report-{n}.txt" for n in range(1, 10)]


def must(holds, what, seen):
    if not holds:
        sys.exit(f"{what}: {json.dumps(seen)[:3000]}")


class Office:
    """A folder of ten files, the servers that serve it one after another, and what they keep."""

    def __init__(self, name, level, flags):
        self.folder = os.path.join(folder, name)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.old, self.new = os.path.join(self.folder, "box", "old"), os.path.join(self.folder, "box", "new")
        self.state, self.audit = os.path.join(self.folder, "state"), os.path.join(self.folder, "audit.jsonl")
        for path in self.old, self.new, self.state:
            os.makedirs(path, mode=0o700)
        for file in MOVED + ["keep.txt"]:
            self.write(f"box/old/{file}", file)
        box = os.path.join(self.folder, "box")
        config = self.write("upstreams.json", json.dumps({"upstreams": {"fs": {
            "transport": "mcp_stdio", "command": "node", "args": [files, box], "handshake_timeout_ms": 60000,
            "approve_tools": ["move_*"], "approve_level": level}}}))
        self.flags = ["--http-auth-token-file", self.write("callers", f"caller:{CALLER}\n"), "--upstreams-config", config,
                      "--sessions", "--state-dir", self.state, "--audit-log", self.audit, "--program-timeout-ms", "60000",
                      "--upstream-call-timeout-ms", "30000", *flags(self)]
        self.start()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(text)
        return path

    def start(self):
        for _ in range(5):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            log = open(os.path.join(self.folder, "server.log"), "a")
            self.server = subprocess.Popen([ptc, "start", "--http", "--http-port", str(port), *self.flags], stderr=log)
            self.base = f"http://127.0.0.1:{port}"
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"{self.base}/ready", timeout=5).read()
                    return
                except (urllib.error.URLError, OSError):
                    if self.server.poll() is not None:
                        break
                    time.sleep(0.1)
            self.server.kill()
            self.server.wait()
        sys.exit("the server did not start: see server.log in " + self.folder)

    def stop(self, how):
        self.server.send_signal(how)
        self.server.wait()

    def kill(self):
        """Kills the server once its first call is in the audit log: a thread of its own writes it, and what it has not written is lost."""
        for _ in range(600):
            if '"upstream_call"' in open(self.audit).read():
                return self.stop(signal.SIGKILL)
            time.sleep(0.1)
        sys.exit("no call in the audit log of " + self.folder)

    def program(self):
        return f"""
(let [listed (:value (tool/call {{:server "fs" :tool "list_directory" :args {{:path "{self.old}"}}}}))
      names (filter (fn [name] (re-find #"^report" name)) (re-seq #"[a-z0-9-]+\\.txt" (str listed)))]
  (frequencies (pmap (fn [name] (:ok (tool/call {{:server "fs" :tool "move_file"
                                                   :args {{:source (str "{self.old}/" name) :destination (str "{self.new}/" name)}}}}))) names)))
"""

    def call(self, tool, arguments, shows, more=None):
        """One call by a client of 2026-07-28 with the capabilities `shows`: the result."""
        revision = "2026-07-28"
        meta = {"io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientInfo": {"name": "interop", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": shows}
        params = {"name": tool, "arguments": arguments, "_meta": meta, **(more or {})}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"Authorization": f"Bearer {CALLER}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "MCP-Protocol-Version": revision, "Mcp-Method": "tools/call", "Mcp-Name": tool}
        asked = urllib.request.Request(self.base + "/mcp", json.dumps(message).encode(), headers)
        with urllib.request.urlopen(asked, timeout=120) as answer:
            text = answer.read().decode()
        if answer.headers.get_content_type() == "text/event-stream":
            text = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
        return json.loads(text)["result"]

    def names_all(self, text):
        """Whether a question names each of the nine moves once, and nothing else."""
        return all(text.count(f"{self.old}/{name}") == 1 and text.count(f"{self.new}/{name}") == 1 for name in MOVED) and "keep.txt" not in text

    def has_moved_nothing(self):
        must(sorted(os.listdir(self.old)) == sorted(MOVED + ["keep.txt"]), "nothing is moved before", os.listdir(self.old))

    def has_moved_nine(self, done):
        must("{true 9}" in done["content"][0]["text"] and not done.get("isError"), "it has moved all", done)
        seen = [os.listdir(self.old), os.listdir(self.new)]
        must(sorted(seen[1]) == sorted(MOVED) and seen[0] == ["keep.txt"], "nine of ten", seen)

    def audited(self, channel, who):
        """The audit log names who allowed each move, and has no arguments."""
        text = open(self.audit).read()
        lines = [json.loads(line) for line in text.splitlines()]
        must([line["kind"] for line in lines].count("upstream_call") == 10, "ten calls in all", lines)
        moves = {line["arguments_digest"]: line for line in lines if line["kind"] == "upstream_call" and line["tool"] == "move_file"}
        answers = [line for line in lines if line["kind"] == "answer"]
        for name in MOVED:
            arguments = {"source": f"{self.old}/{name}", "destination": f"{self.new}/{name}"}
            # Of the bytes as they are sent: maps have their keys in order.
            sent = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
            digest = "v2:" + hashlib.sha256(sent.encode()).hexdigest()
            by = moves[digest]["by"]
            must(by == {"channel": channel, "name": who} and moves[digest]["outcome"] == "ok", "who allowed each move", moves[digest])
            told = [line for line in answers if digest in line["arguments_digests"]]
            must(len(told) == 1 and told[0]["decision"] == "allow" and told[0]["by"] == by, "an answer allows each move", answers)
        must(self.old not in text, "no arguments in the audit log", lines)
        return lines


def through_the_client():
    office = Office("client", "client", lambda office: [])
    program = {"program": office.program()}
    forms = {"elicitation": {"form": {}}}
    try:
        waiting = office.call("lisp_eval", program, forms)
        must(waiting.get("resultType") == "input_required" and len(waiting["inputRequests"]) == 1, "it waits for one answer", waiting)
        (question, request), = waiting["inputRequests"].items()
        page = request["params"]["message"]
        must(page.startswith("Allow 9 call(s) of move_file at fs?") and office.names_all(page), "that of an approval of all nine", page)
        office.has_moved_nothing()

        office.kill()
        office.start()

        allow = {question: {"action": "accept", "content": {"decision": "allow"}}}
        answered = {"requestState": waiting["requestState"], "inputResponses": allow}
        done = office.call("lisp_eval", program, forms, answered)
        office.has_moved_nine(done)
        # Whoever sends the same again gets the same, and nothing is done twice.
        again = office.call("lisp_eval", program, forms, answered)
        must(again["content"] == done["content"], "the same again", again)
    finally:
        office.stop(signal.SIGTERM)
    office.audited("client", "caller")


def on_the_console():
    office = Office("console", "out_of_band", lambda office: [
        "--console", "--http-operator-token-file", office.write("operators", f"eve:{OPERATOR}\n")])

    def page(run, what):
        """What an operator sees of the run in a browser, who then does `what`: `looks` or presses `Allow`."""
        picture = os.path.join(office.folder, f"page-{what}.png")
        asked = [office.base, run, what, picture]
        done = subprocess.run(["node", os.path.join(HERE, "..", "approving.mjs"), *asked], env={**os.environ, "TOKEN": OPERATOR},
                              stdout=subprocess.PIPE, text=True, timeout=120)
        must(done.returncode == 0, "the page can be used", done.stdout)
        return done.stdout

    try:
        waiting = office.call("lisp_eval", {"program": office.program()}, {})["content"][0]["text"]
        must(waiting.startswith("waiting: 1 answer is needed") and "q1 is answered on the console" in waiting, "it waits for the console", waiting)
        run = re.search(r"run_[\w-]{24}", waiting)[0]
        shown = page(run, "looks")
        must("Allow 9 call(s) of move_file at fs?" in shown and office.names_all(shown), "one page names all nine", shown)
        # The model cannot allow what only the console may.
        allow = {"q1": {"action": "accept", "content": {"decision": "allow"}}}
        still = office.call("lisp_resume", {"run_id": run, "answers": allow, "wait_ms": 0}, {})["content"][0]["text"]
        must("q1 cannot be answered here" in still, "the model's word is not enough", still)
        office.has_moved_nothing()

        office.kill()
        office.start()

        shown = page(run, "Allow")
        must(office.names_all(shown), "another server shows the same page", shown)
        office.has_moved_nine(office.call("lisp_resume", {"run_id": run, "wait_ms": 30000}, {}))
    finally:
        office.stop(signal.SIGTERM)
    lines = office.audited("console", "eve")
    # One id joins what both processes did of it.
    whole = [line for line in lines if line.get("run_id") == run]
    must([line["status"] for line in whole if line["kind"] == "run"] == ["waiting", "running", "done"], "the run's own lines", whole)
    must(len([line for line in whole if line["kind"] == "upstream_call"]) == 10, "all calls are the run's", lines)
    must(len([line for line in whole if line["kind"] in ("question", "answer")]) == 10, "and the question with its answers", lines)


through_the_client()
on_the_console()
print("nine of ten files moved by another process after one approval: through the client, and on the console's page")
