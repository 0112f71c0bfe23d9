#!/usr/bin/env python3
"""How long bytes from outside make a neighbour wait: a table, one row for each kind of input.

usage: foreign_bytes.py PTC [ROW…]       (`benches/neighbours --server` builds PTC and runs this)

The server has the first processor for itself, and so one worker. Another principal, on the other one, asks it for `(+ 1 2)`
each 5 ms while an input near its limit comes from a program, a client or an upstream; the row has the longest of those
waits, the server's peak memory, and what became of the input. Both have precedence where that may be had.
"""
import gc, gzip, http.client, json, os, resource, select, socket, socketserver, subprocess, sys, tempfile, threading, time
from http.server import BaseHTTPRequestHandler

ALICE, BOB = "a" * 40, "b" * 40
PERIOD = 0.005
# The processor of the server; all else takes the others, if there are any.
FIRST = min(os.sched_getaffinity(0))
OTHERS = os.sched_getaffinity(0) - {FIRST} or {FIRST}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "neighbours", "version": "1"}}


# ---------------------------------------------------------------- upstreams: this file, started as a child

def tools(kind):
    """The list of one kind of upstream."""
    plain = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "flood", "danger")]
    if kind == "wide":
        # One type of 300 kB that thousands of arguments refer to, and a circle that doubles at each level.
        circle = {"allOf": [{"$ref": "#/$defs/circle"}] * 20}
        names = {"p%d" % i: {"$ref": "#/$defs/long"} for i in range(6_000)}
        schema = {"type": "object", "properties": {**names, "c": {"$ref": "#/$defs/circle"}},
                  "required": list(names), "$defs": {"long": {"const": "x" * 300_000}, "circle": circle}}
        plain.append({"name": "wide", "inputSchema": schema, "outputSchema": schema})
    if kind == "many":
        plain += [{"name": "t%d" % i, "description": "a tool of number %d that lists things" % i, "inputSchema": {
            "type": "object", "properties": {"argument_%d_%d" % (i, j): {"type": "string"} for j in range(12)}}}
            for i in range(990)]
    return plain


def answer(kind, message):
    """The result of a request, and what is said before it."""
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        return {"protocolVersion": params.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": kind, "version": "1"}}
    if method == "server/discover" and kind == "asks":
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete",
                "serverInfo": {"name": kind, "version": "1"}, "ttlMs": 0, "cacheScope": "private"}
    if method == "tools/list":
        return {"tools": tools(kind)}
    if method == "tools/call":
        if kind == "asks":
            asked = {"k%d" % i: {"method": "roots/list"} for i in range(40_000)}
            return {"resultType": "input_required", "inputRequests": asked}
        if kind == "image":
            return {"content": [{"type": "image", "mimeType": "image/png", "data": "A" * 1_900_000}]}
        if kind == "rows":
            return {"content": [{"type": "text", "text": json.dumps([{"id": i, "name": "row"} for i in range(50_000)])}]}
        return {"content": [{"type": "text", "text": "done"}]}
    return None


def pipe(kind):
    """An upstream on pipes. The server's priority and processor are not for its children."""
    os.setpriority(os.PRIO_PROCESS, 0, 0)
    os.sched_setaffinity(0, set(range(os.cpu_count())) - {FIRST} or {FIRST})
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "tools/call" and kind == "noise":
            end = time.time() + 3
            while time.time() < end:
                sys.stderr.buffer.write(b"\n" * 65536)
                out.write(b"\n" * 65536 + b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n' * 500)
        if "id" in message and "method" in message:
            result = answer(kind, message)
            reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
            out.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}).encode() + b"\n")
            out.flush()


class Hostile(BaseHTTPRequestHandler):
    """An upstream over HTTP: its GET stream, or its answer to a call, comes as fast as it is read for 3 s."""
    protocol_version = "HTTP/1.1"
    kind = ""

    def log_message(self, *_):
        pass

    def begin(self, kind, **more):
        self.send_response(200)
        for name, value in {"Content-Type": kind, "Connection": "close", **more}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def flood(self, piece):
        end = time.time() + 3
        try:
            while time.time() < end:
                self.wfile.write(piece)
        except OSError:
            pass

    def do_GET(self):
        if self.kind != "stream":
            return self.send_error(405)
        self.begin("text/event-stream")
        told = b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'
        self.flood(told * 1000)
        self.close_connection = True

    def do_DELETE(self):
        self.send_response(204)
        self.end_headers()

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        # Neither a notification nor an answer has an answer.
        if "id" not in message or "method" not in message:
            self.send_response(202)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if message["method"] == "server/discover":
            return self.send_error(400)
        if message["method"] == "tools/call" and self.kind == "gzip":
            self.begin("application/json", Content_Encoding="gzip")
            self.flood(gzip.compress(b"") * 3000)
            self.close_connection = True
            return
        if message["method"] == "tools/call" and self.kind == "comments":
            self.begin("text/event-stream")
            self.flood(b": x\n" * 16384)
            self.close_connection = True
            return
        if message["method"] == "tools/call" and self.kind == "pings":
            self.begin("text/event-stream")
            self.flood(b'data: {"jsonrpc":"2.0","id":"p","method":"ping"}\n\n')
            self.close_connection = True
            return
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(self.kind, message)}).encode()
        self.send_response(200)
        for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(body))), ("Mcp-Session-Id", "s")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Served(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads = True, True


def web(kind):
    """An upstream over HTTP, in a thread of this process; its URL."""
    server = Served(("127.0.0.1", 0), type(kind, (Hostile,), {"kind": kind}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d/mcp" % server.server_address[1]


# ---------------------------------------------------------------- the server, and who asks it

def ask(connection, token, name, arguments):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                       "params": {"name": name, "arguments": arguments, "_meta": META}})
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name,
               "Authorization": "Bearer " + token}
    connection.request("POST", "/mcp", body, headers)
    return connection.getresponse().read()


class Server:
    def __init__(self, ptc, folder, upstreams, *flags):
        config, tokens = folder + "/upstreams.json", folder + "/tokens"
        with open(config, "w") as file:
            json.dump({"upstreams": upstreams}, file)
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write("alice:%s\nbob:%s\n" % (ALICE, BOB))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [ptc, "start", "--http", "--http-port", str(self.port), "--http-auth-token-file", tokens,
                   "--upstreams-config", config, "--no-list-cache", *flags]
        self.log = open(folder + "/stderr", "w+b")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log,
                                        env={"HOME": folder, "PATH": os.environ["PATH"]}, preexec_fn=alone)
        self.wait()

    def wait(self):
        """Until it is ready."""
        for _ in range(400):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
                connection.request("GET", "/ready")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.025)
        self.log.seek(0)
        raise SystemExit("the server did not start: %s" % self.log.read().decode(errors="replace")[-500:])

    def eval(self, program, token=ALICE, **arguments):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            return ask(connection, token, "lisp_eval", {"program": program, **arguments}).decode(errors="replace")
        finally:
            connection.close()

    def peak_mb(self):
        with open("/proc/%d/status" % self.process.pid) as status:
            return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))

    def end(self):
        self.process.kill()
        self.process.wait()


def alone():
    """The first processor, before all others there, and 3 GB of addresses."""
    os.sched_setaffinity(0, {FIRST})
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    take_precedence()


def take_precedence():
    """The highest priority: what others do on the same processor must not be in the waits."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    except PermissionError:
        print("no precedence: waits have what others on this processor take", file=sys.stderr)


class Neighbour:
    """Bob, who asks for `(+ 1 2)` each 5 ms, as a process of his own: what others on his processor do must not be in his waits."""

    def __init__(self, server):
        command = [sys.executable, "-B", os.path.abspath(__file__), "--neighbour", str(server.port)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def end(self):
        """His longest wait, in ms."""
        told, _ = self.process.communicate(timeout=60)
        return float(told)


def neighbour(port):
    """Until the input ends."""
    take_precedence()
    gc.disable()
    connection, worst = http.client.HTTPConnection("127.0.0.1", port, timeout=60), 0.0
    while not select.select([sys.stdin], [], [], PERIOD)[0]:
        began = time.perf_counter()
        ask(connection, BOB, "lisp_eval", {"program": "(+ 1 2)"})
        worst = max(worst, time.perf_counter() - began)
    print("%.3f" % (worst * 1e3))


def child(kind, **more):
    return {"transport": "mcp_stdio", "command": sys.executable, "args": ["-B", os.path.abspath(__file__), "--upstream", kind], **more}


def remote(kind):
    return {"transport": "mcp_http", "url": web(kind), "allow_insecure_http": True}


def call(tool, arguments="{}"):
    return '(tool/call {:server "u" :tool "%s" :args %s})' % (tool, arguments)


WIDE = "(vec (repeat 900000 []))"
ROWS = {
    "arguments of 3.6 MB, audited": (child("plain"), ["--audit-log", "audit"], call("echo", "{:k %s}" % WIDE), {}),
    "arguments of 3.6 MB, approved": (child("plain", approve_tools=["danger"]), [], call("danger", "{:k %s}" % WIDE), {}),
    "context of 3.6 MB of keys": (child("plain"), [], "(count data/x)", {"context": {"x": {"k%d" % i: i for i in range(200_000)}}}),
    "context of 3.6 MB of escapes": (child("plain"), [], "(count data/x)", {"context": {"x": "\n" * 1_800_000}}),
    "program of 64 KiB": (child("plain"), [], "(count [%s])" % ("(fn [x] x) " * 5_900), {}),
    "apropos of 32 words over 990 tools": (child("many"), [], '(apropos "%s")' % " ".join("tool arg%d" % i for i in range(16)), {}),
    "doc of one wide tool": (child("wide"), [], '(count (str (doc "u/wide") (meta "u/wide")))', {}),
    "nil for an argument of a circular type": (child("wide"), [], call("wide", "{:c nil}"), {}),
    "40 000 questions in one answer": (child("asks"), [], call("echo"), {}),
    "an image of 1.9 MB": (child("image"), [], call("echo"), {}),
    "a text of 1.6 MB that is JSON": (child("rows"), [], "(count (:value %s))" % call("echo"), {}),
    "noise on both pipes for 3 s": (child("noise"), [], call("flood"), {}),
    "a GET stream as fast as it is read": (remote("stream"), [], call("echo"), {}),
    "empty members of gzip": (remote("gzip"), [], call("echo"), {}),
    "comments as fast as they are read": (remote("comments"), [], call("echo"), {}),
    "pings during a call": (remote("pings"), [], call("echo"), {}),
    "format with a width of 90 000 000": (child("plain"), [], '(count (format "%-90000000s" "x"))', {}),
    "format with a precision of 90 000 000": (child("plain"), [], '(count (format "%.90000000f" 1.5))', {}),
}


def measured(ptc, upstream, flags, program, arguments):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(ptc, folder, {"u": upstream}, *(folder + "/audit" if flag == "audit" else flag for flag in flags))
        try:
            server.eval(call("echo") if "command" in upstream and "asks" not in upstream["args"] else "1")
            bob = Neighbour(server)
            time.sleep(0.2)
            began = time.perf_counter()
            ended = server.eval(program, **arguments)
            # What comes without a call goes on.
            time.sleep(max(0.0, 1.0 - (time.perf_counter() - began)))
            wait = bob.end()
            text = json.loads(ended.split("data: ")[-1] if ended.startswith(("event", "data", ":")) else ended)
            shown = json.dumps(text.get("result", text).get("content", text))
            return wait, server.peak_mb(), shown[:60].replace("|", "\\|").replace("\n", " ")
        finally:
            server.end()


def main():
    if sys.argv[1:2] == ["--upstream"]:
        return pipe(sys.argv[2])
    if sys.argv[1:2] == ["--neighbour"]:
        return neighbour(int(sys.argv[2]))
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ptc, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    os.sched_setaffinity(0, OTHERS)
    print("| Input | Neighbour's longest wait, ms | Peak of the server, MiB | What came of it |\n|---|---|---|---|")
    for name, row in ROWS.items():
        if not wanted or any(word in name for word in wanted):
            wait, peak, shown = measured(ptc, *row)
            print("| %s | %.1f | %d | `%s` |" % (name, wait, peak, shown), flush=True)


main()
