"""Foreign servers behind `ptc start`, one after the other: each lists its tools, answers two calls, is killed, and answers
again. All are tried; the failures are told at the end. Usage: servers.py PTC WORK INTEROP-WORK"""
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PTC, WORK, SHARED = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
HERE = pathlib.Path(__file__).parent
PATIENCE = 90


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        found = self.path == "/page.txt"
        self.send_response(200 if found else 404)
        self.send_header("content-type", "text/plain")
        self.end_headers()
        if found:
            self.wfile.write(b"alpha beta gamma")

    def do_POST(self):
        """A model that says how many messages it was shown, and the last of them."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = f"{len(asked['messages'])} messages: {asked['messages'][-1]['content']}"
        choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}).encode())

    def log_message(self, *_):
        pass


def call(tool, arguments):
    return f"(tool/call 's/{tool} (json/parse-string {json.dumps(json.dumps(arguments))}))"


def servers(box, port):
    """Name, command, tools it must list, two calls each with a pattern of the answer. A server that needs a browser or a
    cluster has no calls: it is listed, killed and listed again."""
    module = lambda name, path: ["node", str(WORK / "node_modules" / name / path)]
    python = lambda venv, name: [str(venv / "bin" / name)]
    official = lambda name: module(f"@modelcontextprotocol/server-{name}", "dist/index.js")
    notes, book = str(box / "notes.txt"), str(box / "book.xlsx")
    url = f"http://127.0.0.1:{port}/page.txt"
    thought = {"thought": "one", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 2}
    entity = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]}
    return [
        ("everything", official("everything") + ["stdio"], ["echo", "get-sum"],
         [(call("echo", {"message": "hi"}), "hi"), (call("get-sum", {"a": 2, "b": 3}), "5")]),
        ("filesystem", official("filesystem") + [str(box)], ["read_text_file", "list_directory"],
         [(call("read_text_file", {"path": notes}), "alpha"), (call("list_directory", {"path": str(box)}), "notes.txt")]),
        ("memory", ["env", f"MEMORY_FILE_PATH={box / 'memory.jsonl'}"] + official("memory"), ["create_entities", "read_graph"],
         [(call("create_entities", entity), "Ada"), (call("read_graph", {}), "entities")]),
        ("sequential-thinking", official("sequential-thinking"), ["sequentialthinking"],
         [(call("sequentialthinking", thought), "thoughtHistoryLength"), (call("sequentialthinking", thought), "2")]),
        ("desktop-commander", module("@wonderwhy-er/desktop-commander", "dist/index.js"), ["read_file", "list_directory"],
         [(call("read_file", {"path": notes}), "alpha"), (call("list_directory", {"path": str(box)}), "notes.txt")]),
        ("playwright", module("@playwright/mcp", "cli.js"), ["browser_navigate", "browser_snapshot"], []),
        ("chrome-devtools", [str(WORK / "node_modules/.bin/chrome-devtools-mcp")], ["navigate_page", "take_screenshot"], []),
        ("kubernetes", module("mcp-server-kubernetes", "dist/index.js"), ["kubectl_get"], []),
        ("git", python(SHARED / "upstreams/tools", "mcp-server-git") + ["--repository", str(box / "repo")], ["git_log", "git_status"],
         [(call("git_log", {"repo_path": str(box / "repo")}), "the only commit"),
          (call("git_status", {"repo_path": str(box / "repo")}), "nothing to commit")]),
        ("time", python(SHARED / "upstreams/tools", "mcp-server-time") + ["--local-timezone", "UTC"], ["get_current_time", "convert_time"],
         [(call("get_current_time", {"timezone": "UTC"}), "UTC"),
          (call("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}), "21:00")]),
        ("sqlite", python(SHARED / "upstreams/sql", "mcp-server-sqlite") + ["--db-path", str(box / "data.db")], ["read_query", "create_table"],
         [(call("create_table", {"query": "CREATE TABLE IF NOT EXISTS t (n INTEGER)"}), "success"), (call("read_query", {"query": "SELECT 40 + 2 AS n"}), "42")]),
        ("fetch", python(WORK / "mcp2", "mcp-server-fetch") + ["--ignore-robots-txt", "--allow-private-ips"], ["fetch"],
         [(call("fetch", {"url": url}), "alpha beta"), (call("fetch", {"url": url, "start_index": 6}), "beta")]),
        ("excel", python(WORK / "mcp2", "excel-mcp-server") + ["stdio"], ["create_workbook", "write_range"],
         [(call("create_workbook", {"path": book, "overwrite": True}), "ok true"),
          (call("describe_workbook", {"path": book}), "[Ss]heet")]),
        ("motherduck", python(WORK / "mcp2", "mcp-server-motherduck") + ["--db-path", ":memory:", "--read-write"], ["execute_query"],
         [(call("execute_query", {"sql": "SELECT 40 + 2 AS n"}), "42"), (call("execute_query", {"sql": "SELECT upper('a') AS n"}), "A")]),
        ("Python SDK 1", python(SHARED / "py1", "python") + [str(HERE.parent / "upstreams/examples.py")], ["get", "tags"],
         [(call("get", {"id": 7}), "item 7"), (call("tags", {}), "sold")]),
        ("Python SDK 2", python(SHARED / "py2", "python") + [str(HERE.parent / "upstreams/examples.py")], ["get", "tags"],
         [(call("get", {"id": 7}), "item 7"), (call("tags", {}), "sold")]),
        ("TypeScript SDK 2", ["node", str(WORK / "ts_v2_server.mjs")], ["price", "greet"],
         [(call("price", {"item": "pear"}), "40"), (call("greet", {"name": "Ada"}), "Hello, Ada")]),
        ("rmcp", [str(SHARED / "rmcp/debug/server")], ["add_up", "greet"],
         [(call("add_up", {"numbers": [1, 2, 39]}), '"total" 42'), (call("greet", {"name": "Ada"}), "Hello, Ada")]),
        ("fastmcp", python(WORK / "fastmcp", "python") + [str(HERE / "fastmcp_server.py")], ["count_words", "longest"],
         [(call("count_words", {"text": "a b a"}), '"a" 2'), ('(resource/read {:server "s" :uri "words://all"})', "alpha beta")]),
    ]


class Server:
    """`ptc start` with one upstream, `s`."""

    def __init__(self, command, folder, keys={}, flags=()):
        config = pathlib.Path(folder) / "upstreams.json"
        child = {"transport": "mcp_stdio", "command": command[0], "args": command[1:], "cwd": str(folder)} if command else {}
        entry = {**child, **keys}
        config.write_text(json.dumps({"upstreams": {"s": entry}}))
        flags = [*flags, "--upstreams-config", str(config), "--program-timeout-ms", "60000", "--upstream-call-timeout-ms", "30000"]
        self.log = open(pathlib.Path(folder) / "log", "w+")
        self.process = subprocess.Popen([PTC, "start", "--log-level", "error", *flags], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.id = 0
        # What came between requests and their answers.
        self.heard = []
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "interop", "version": "1"}})

    def ask(self, method, params):
        self.id += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        try:
            for answer in self.process.stdout:
                answer = json.loads(answer)
                if answer.get("id") == self.id:
                    return answer
                self.heard.append(answer)
        finally:
            timer.cancel()
        self.log.seek(0)
        raise AssertionError(f"no answer to {method}: {self.log.read()[-600:]}")

    def eval(self, program, meta={}):
        params = {"name": "lisp_eval", "arguments": {"program": program}, "_meta": meta}
        answer = self.ask("tools/call", params)
        return answer["result"]["content"][0]["text"]

    def kill_upstream(self):
        """Kills all that it started; the guard of the child's group is told by the kernel."""
        children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        killed = 0
        for line in children.stdout.splitlines():
            pid, _, args = line.strip().partition(" ")
            if os.path.realpath(args.split()[0]) != os.path.realpath(PTC):
                os.kill(int(pid), signal.SIGKILL)
                killed += 1
        assert killed, f"nothing to kill: {children.stdout}"

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("it does not end with its client")


def listed(server, tools):
    lines = server.eval('(map (fn [l] (first (split l #" "))) (dir "s" {:limit 200}))')
    missing = [tool for tool in tools if f'"{tool}"' not in lines]
    assert not missing and '"' in lines, f"lists {lines[:300]}, not {missing}"


def answers(server, calls, patience=0):
    for program, pattern in calls:
        until = time.monotonic() + patience
        while True:
            text = server.eval(program)
            if re.search(pattern, text) and ":ok true" in text:
                break
            if time.monotonic() > until:
                raise AssertionError(f"{program} gave {text[:400]}, not {pattern}")
            time.sleep(0.2)


def try_server(command, tools, calls):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(command, folder)
        try:
            listed(server, tools)
            answers(server, calls)
            server.kill_upstream()
            # It rests for a moment after a crash.
            answers(server, calls[-1:], patience=PATIENCE)
            listed(server, tools)
        finally:
            server.end()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Listening:
    """A server on a port of its own."""

    def __init__(self, command, port, folder):
        self.log = open(pathlib.Path(folder) / "server.log", "w+")
        self.process = subprocess.Popen([*command, str(port)], stdout=self.log, stderr=self.log, cwd=folder)
        until = time.monotonic() + PATIENCE
        while socket.socket().connect_ex(("127.0.0.1", port)):
            self.log.seek(0)
            assert self.process.poll() is None and time.monotonic() < until, f"it does not listen: {self.log.read()[-600:]}"
            time.sleep(0.1)

    def kill(self):
        self.process.kill()
        self.process.wait()


def try_old_stream(command, transport, tools, calls):
    """A server of HTTP+SSE, 2024-11-05: named as such, or found where a POST is refused."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        listening = Listening(command, port, folder)
        try:
            url = f"http://127.0.0.1:{port}/sse"
            server = Server(None, folder, {"transport": transport, "url": url, "allow_insecure_http": True})
            try:
                listed(server, tools)
                answers(server, calls)
                listening.kill()
                assert ":ok false" in server.eval(calls[0][0])
                listening = Listening(command, port, folder)
                answers(server, calls, patience=PATIENCE)
                listed(server, tools)
            finally:
                server.end()
        finally:
            listening.kill()


def try_what_is_said_unasked(command):
    """Roots, progress, log messages and updates of resources, of the server that has them all."""
    with tempfile.TemporaryDirectory() as folder:
        keys = {"roots": [folder], "log_level": "debug"}
        server = Server(command, folder, keys, ["--expose", "resources"])

        def told(method):
            return [note["params"] for note in server.heard if note.get("method") == f"notifications/{method}"]

        try:
            answers(server, [(call("get-roots-list", {}), f"file://{folder}")], patience=PATIENCE)
            server.eval(call("trigger-long-running-operation", {"duration": 2, "steps": 2}), {"progressToken": "p"})
            reports = [report["message"] for report in told("progress")]
            assert "s.trigger-long-running-operation 50 %" in reports, reports
            server.ask("logging/setLevel", {"level": "debug"})
            uri = server.ask("resources/list", {})["result"]["resources"][0]["uri"]
            server.ask("resources/subscribe", {"uri": uri})
            for tool in ("toggle-simulated-logging", "toggle-subscriber-updates"):
                answers(server, [(call(tool, {}), "Started")])
            # Its messages and updates come every five seconds.
            until = time.monotonic() + PATIENCE
            while not (told("message") and told("resources/updated")):
                assert time.monotonic() < until, server.heard
                server.eval(call("trigger-long-running-operation", {"duration": 1, "steps": 1}))
            assert told("message")[0]["logger"] == "s" and told("resources/updated")[0]["uri"] == uri, server.heard
        finally:
            server.end()


def try_elicitation(command):
    """What it asks people, by forms with every kind of field and by pages in both of its ways, is answered by `lisp_resume`."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(command, folder, {}, ["--questions", "auto"])

        def asked(tool, arguments):
            """The run of a program that waits, and what is asked."""
            until = time.monotonic() + PATIENCE
            while True:
                text = server.eval(call(tool, arguments))
                if text.startswith("waiting: 1 answer is needed"):
                    return re.search(r"run_[\w-]{24}", text)[0], text
                assert time.monotonic() < until, text
                time.sleep(0.2)

        def answered(run, question, answer):
            arguments = {"run_id": run, "answers": {question: answer}, "wait_ms": 30000}
            return server.ask("tools/call", {"name": "lisp_resume", "arguments": arguments})["result"]["content"][0]["text"]

        try:
            form = {"name": "Ada", "check": True, "email": "ada@example.org", "homepage": "https://example.org", "birthdate": "1815-12-10",
                    "integer": 7, "number": 2.5, "untitledSingleSelectEnum": "Ross", "untitledMultipleSelectEnum": ["Piano", "Bass"],
                    "titledSingleSelectEnum": "hero-2", "titledMultipleSelectEnum": ["fish-3"], "legacyTitledEnum": "pet-4"}
            run, text = asked("trigger-elicitation-request", {})
            assert "s asks: Please provide inputs for the following fields:" in text, text
            text = answered(run, "q1", {"action": "accept", "content": {**form, "integer": 700}})
            assert "q1" in text and "does not fit" in text, text
            text = answered(run, "q1", {"action": "accept", "content": form})
            assert "Favorite Integer: 7" in text and "1815-12-10" in text and "fish-3" in text, text
            run, _ = asked("trigger-elicitation-request", {})
            text = answered(run, "q1", {"action": "decline"})
            assert "User declined" in text, text
            page = {"url": "https://example.org/form", "elicitationId": "e"}
            run, text = asked("trigger-url-elicitation", page)
            assert page["url"] in text, text
            text = answered(run, "q1", {"action": "accept"})
            assert "User completed the URL elicitation flow" in text, text
            # The page of the error comes first, then that of the request.
            run, text = asked("trigger-url-elicitation", {**page, "errorPath": True})
            assert "https://modelcontextprotocol.io" in text, text
            text = answered(run, "q1", {"action": "accept"})
            assert text.startswith("waiting: 1 answer is needed") and page["url"] in text, text
            text = answered(run, "q2", {"action": "accept"})
            assert "User completed the URL elicitation flow" in text, text
        finally:
            server.end()


def try_sampling(command, port):
    """It asks a model only where it is told that there is one, and the model sees what it was sent (waiting.md 3.7)."""
    asks = [(call("trigger-sampling-request", {"prompt": "how many?", "maxTokens": 20}), "2 messages: Resource trigger-sampling-request context: how many")]
    model = ["--sampling-model", f"openai-compat:http://127.0.0.1:{port}|m"]
    for allowed in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(command, folder, {"sampling": allowed}, model)
            try:
                if allowed:
                    answers(server, asks, patience=PATIENCE)
                else:
                    listed(server, ["echo"])
                    assert "trigger-sampling-request" not in server.eval('(dir "s" {:limit 200})')
            finally:
                server.end()


def main():
    page = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    keep = tempfile.TemporaryDirectory(dir=WORK)
    box = pathlib.Path(keep.name)
    (box / "notes.txt").write_text("alpha\nbeta\n")
    (box / "repo").mkdir()
    git = ["git", "-C", str(box / "repo"), "-c", "user.name=interop", "-c", "user.email=interop@example.invalid"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "the only commit"], check=True)
    all_servers = servers(box, page.server_address[1])
    wanted = os.environ.get("SERVERS", "").split(",") if os.environ.get("SERVERS") else None
    failures, passed = [], 0
    for name, command, tools, calls in all_servers:
        if wanted and name not in wanted:
            continue
        began = time.monotonic()
        try:
            try_server(command, tools, calls)
            what = "listed, called, killed, called again" if calls else "listed, killed, listed again"
            passed += 1
            print(f"ok   {name}: {what} ({time.monotonic() - began:.1f} s)", flush=True)
        except (AssertionError, OSError, KeyError, ValueError) as error:
            failures.append(name)
            print(f"FAIL {name}: {type(error).__name__} {error}", flush=True)
    if not wanted or "everything" in wanted:
        try:
            try_what_is_said_unasked(all_servers[0][1])
            print("ok   everything: roots, progress, log messages and updates of resources", flush=True)
        except (AssertionError, OSError, KeyError, ValueError) as error:
            failures.append("unasked")
            print(f"FAIL everything, unasked: {type(error).__name__} {error}", flush=True)
        try:
            try_elicitation(all_servers[0][1])
            print("ok   everything: people answer what it asks, by forms and by pages", flush=True)
        except (AssertionError, OSError, KeyError, ValueError, TypeError) as error:
            failures.append("elicitation")
            print(f"FAIL everything, elicitation: {type(error).__name__} {error}", flush=True)
        try:
            try_sampling(all_servers[0][1], page.server_address[1])
            print("ok   everything: a model answers what it asks, where it may", flush=True)
        except (AssertionError, OSError, KeyError, ValueError) as error:
            failures.append("sampling")
            print(f"FAIL everything, sampling: {type(error).__name__} {error}", flush=True)
    calls = [(call("count_words", {"text": "a b a"}), '"a" 2'), (call("longest", {"words": ["a", "abc"]}), "abc")]
    old = [str(SHARED / "py1/bin/python"), str(HERE / "old_stream_server.py")]
    for transport in ("mcp_sse", "mcp_http"):
        name = f"Python SDK 1, HTTP+SSE by {transport}"
        if wanted and "sse" not in wanted:
            continue
        try:
            try_old_stream(old, transport, ["count_words", "longest"], calls)
            passed += 1
            print(f"ok   {name}: listed, called, killed, called again", flush=True)
        except (AssertionError, OSError, KeyError, ValueError) as error:
            failures.append(name)
            print(f"FAIL {name}: {type(error).__name__} {error}", flush=True)
    print(f"{passed} servers passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
