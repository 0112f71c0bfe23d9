"""What a collector gets of a server. Usage: otel.py PTC"""
import contextlib
import http.client
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

ptc = Path(sys.argv[1])
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
SECRET = "key-0123456789abcdef"
BAGGAGE = "user=ann-of-the-baggage"
ARGUMENT = "an-argument-that-stays-here"
RESULT = "a-result-that-stays-here"
# An MCP server over a pipe. It gives back what it was sent beside the arguments; `fails` fails.
PIPE = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    params = message.get("params", {})
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("seen", "fails")]}
    elif message["method"] == "tools/call":
        seen = {"meta": params.get("_meta", {}), "said": "RESULT"}
        result = {"content": [{"type": "text", "text": json.dumps(seen)}], "isError": params["name"] == "fails"}
    else:
        result = {}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
""".replace("RESULT", RESULT)
PROGRAM = (
    f'(let [a (tool/call {{:server "pipe" :tool "seen" :args {{:x "{ARGUMENT}"}}}}) '
    f'b (tool/call {{:server "web" :tool "seen" :args {{}}}}) '
    f'c (tool/call {{:server "pipe" :tool "fails" :args {{}}}})] '
    "[(:value a) (:value b) (:reason c)])"
)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", kind="application/json"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        return self.rfile.read(int(self.headers["content-length"]))


class Serving:
    """A server in this process."""

    def __init__(self, handle):
        class Own(Handler):
            def do_POST(self):
                handle(self)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Own)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Collector(Serving):
    """Takes spans and metrics, after it has refused so many requests."""

    def __init__(self, refusals=0):
        self.spans, self.metrics, self.resources, self.raw, self.heads = [], {}, [], b"", []
        self.refusals = refusals
        super().__init__(self.handle)

    def handle(self, request):
        body = request.body()
        self.heads.append((request.path, dict(request.headers)))
        if self.refusals:
            self.refusals -= 1
            return request.reply(503)
        self.raw += body
        assert request.headers["content-type"] == "application/x-protobuf", request.headers
        if request.path.endswith("/v1/traces"):
            for group in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append({item.key: item.value.string_value for item in group.resource.attributes})
                for scope in group.scope_spans:
                    assert scope.scope.name == "ptc", scope
                    self.spans.extend(scope.spans)
        else:
            assert request.path.endswith("/v1/metrics"), request.path
            for group in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for metric in group.scope_metrics[0].metrics:
                    self.metrics[metric.name] = metric
        request.reply(200, b"", "application/x-protobuf")


class Web(Serving):
    """An MCP server over HTTP that gives back the headers and `_meta` of a call."""

    def __init__(self):
        super().__init__(self.handle)

    def handle(self, request):
        message = json.loads(request.body())
        params = message.get("params", {})
        if "id" not in message:
            return request.reply(202)
        if message["method"] == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}}
        elif message["method"] == "tools/list":
            result = {"tools": [{"name": "seen", "inputSchema": {"type": "object"}}]}
        elif message["method"] == "tools/call":
            seen = {"meta": params.get("_meta", {}), "headers": {name.lower(): value for name, value in request.headers.items()}}
            result = {"content": [{"type": "text", "text": json.dumps(seen)}]}
        else:
            return request.reply(404)
        request.reply(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())


def attributes(span):
    return {item.key: item.value.string_value or item.value.int_value for item in span.attributes}


def check_trace(collector, parent, transport):
    """The spans of one call of PROGRAM, all of one trace."""
    spans = [span for span in collector.spans if span.trace_id.hex() == TRACE]
    by_name = {(span.name, attributes(span).get("ptc.upstream")): span for span in spans}
    assert set(by_name) == {
        ("tools/call lisp_eval", None), ("run", None), ("compile", None),
        ("tools/call seen", "pipe"), ("tools/call seen", "web"), ("tools/call fails", "pipe"),
    }, sorted(by_name)
    assert len({span.span_id for span in spans}) == len(spans)
    server, run = by_name["tools/call lisp_eval", None], by_name["run", None]
    assert (server.kind, run.kind) == (Span.SPAN_KIND_SERVER, Span.SPAN_KIND_INTERNAL)
    assert server.parent_span_id.hex() == parent and run.parent_span_id == server.span_id
    facts = attributes(server)
    assert facts["mcp.method.name"] == "tools/call" and facts["gen_ai.tool.name"] == "lisp_eval", facts
    assert facts["gen_ai.operation.name"] == "execute_tool" and facts["network.transport"] == transport, facts
    assert facts["jsonrpc.request.id"] == "7" and facts["ptc.eval_id"].startswith("ev_"), facts
    assert server.status.code == Status.STATUS_CODE_UNSET and server.trace_state == "rojo=1", server
    for (name, upstream), span in by_name.items():
        assert span.start_time_unix_nano <= span.end_time_unix_nano <= time.time_ns(), span
        assert span.start_time_unix_nano >= server.start_time_unix_nano - 1_000_000, span
        if upstream is None:
            continue
        assert span.kind == Span.SPAN_KIND_CLIENT and span.parent_span_id == run.span_id, span
        assert attributes(span)["network.transport"] == ("pipe" if upstream == "pipe" else "tcp"), span
    failed = by_name["tools/call fails", "pipe"]
    assert failed.status.code == Status.STATUS_CODE_ERROR and attributes(failed)["error.type"] == "tool_error", failed
    return by_name


def check_upstreams(said, by_name):
    """What the upstreams were sent: their own span as parent, the state, and no baggage."""
    pipe, web = said
    for seen, upstream in ((pipe["meta"], "pipe"), (web["meta"], "web"), (web["headers"], "web")):
        span = by_name["tools/call seen", upstream]
        assert seen.get("traceparent") == f"00-{TRACE}-{span.span_id.hex()}-01", (seen, span)
        assert seen.get("tracestate") == "rojo=1" and "baggage" not in seen, seen


def config(folder, web):
    path = Path(folder) / "upstreams.json"
    path.write_text(json.dumps({"upstreams": {
        "pipe": {"transport": "mcp_stdio", "command": sys.executable, "args": ["-c", PIPE]},
        "web": {"transport": "mcp_http", "url": f"{web.url}/mcp", "allow_insecure_http": True},
    }}))
    return path


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PTC_", "OTEL_"))}
    return {**kept, **more}


def call(meta=None):
    params = {"name": "lisp_eval", "arguments": {"program": PROGRAM}, **({"_meta": meta} if meta else {})}
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}


def value(reply):
    text = reply["result"]["content"][0]["text"]
    assert not reply["result"].get("isError"), text
    # Two maps and a word: the maps are what the upstreams saw.
    return text


INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}


def over_a_pipe(folder, web, collector, meta, flags=(), program=None, **more):
    """Runs a call; returns the reply, and the log."""
    started = [str(ptc), "start", "--upstreams-config", str(config(folder, web)), *flags]
    server = subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment(**more))
    def send(message):
        server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
    send(INITIALIZE)
    assert server.stdout.readline(), server.stderr.read()
    send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    asked = call(meta)
    if program:
        asked["params"]["arguments"]["program"] = program
    send(asked)
    reply = json.loads(server.stdout.readline())
    began = time.monotonic()
    server.stdin.close()
    log = server.stderr.read()
    assert server.wait(30) == 0
    assert time.monotonic() - began < 10, "a server ends within its grace"
    return reply, [json.loads(line) for line in log.splitlines() if line.startswith("{")]


# As JSON text, so that it can be read.
AS_JSON = f"(json/generate-string {PROGRAM})"


def said(reply):
    text = value(reply).removeprefix("user=> ")
    found = json.loads(text)
    found = json.loads(found) if isinstance(found, str) else found
    seen = [json.loads(item) if isinstance(item, str) else item for item in found[:2]]
    assert found[2] == "tool_error", found
    return seen


def pipe(folder):
    web, collector = Web(), Collector(refusals=1)
    meta = {"traceparent": TRACEPARENT, "tracestate": "rojo=1", "baggage": BAGGAGE}
    reply, log = over_a_pipe(
        folder, web, collector, meta, ["--log-level", "debug"], program=AS_JSON, OTEL_EXPORTER_OTLP_ENDPOINT=f"{collector.url}/base/",
        OTEL_EXPORTER_OTLP_HEADERS=f"x-key={SECRET}", OTEL_SERVICE_NAME="gateway", OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=test%20one",
        OTEL_BSP_SCHEDULE_DELAY="100",
    )
    check_upstreams(said(reply), check_trace(collector, PARENT, "pipe"))
    assert {path for path, _ in collector.heads} == {"/base/v1/traces", "/base/v1/metrics"}, collector.heads
    assert all(head["x-key"] == SECRET for _, head in collector.heads)
    resource = collector.resources[0]
    assert resource["service.name"] == "gateway" and resource["deployment.environment.name"] == "test one", resource
    assert resource["service.version"] and resource["service.instance.id"], resource
    calls = {(item.attributes[0].value.string_value, item.attributes[1].value.string_value): item.as_int
             for item in collector.metrics["ptc_upstream_calls"].sum.data_points}
    assert calls["pipe", "ok"] == 1 and calls["pipe", "tool_error"] == 1 and calls["web", "ok"] == 1, calls
    assert collector.metrics["ptc_upstream_calls"].sum.is_monotonic
    duration = collector.metrics["ptc_eval_duration_seconds"]
    assert duration.unit == "s" and duration.histogram.data_points[0].count == 1, duration
    for text in (SECRET, BAGGAGE, ARGUMENT, RESULT, "json/generate-string"):
        assert text.encode() not in collector.raw, text
        assert text not in json.dumps(log), text
    named = [line for line in log if line.get("trace_id") == TRACE]
    events = {line["event"] for line in named}
    assert {"tools_call_start", "tools_call_stop"} <= events, events
    assert all("rpc_id" in line for line in named if line["event"].startswith("tools_call")), named


def without_export(folder):
    """The context goes through, and the log names the trace."""
    meta = {"traceparent": TRACEPARENT, "tracestate": "rojo=1", "baggage": BAGGAGE}
    reply, log = over_a_pipe(folder, Web(), None, meta, program=AS_JSON)
    pipe, web = said(reply)
    for seen in (pipe["meta"], web["meta"], web["headers"]):
        assert (seen["traceparent"], seen["tracestate"]) == (TRACEPARENT, "rojo=1") and "baggage" not in seen, seen
    assert TRACE in {line.get("trace_id") for line in log}
    reply, log = over_a_pipe(folder, Web(), None, {"traceparent": TRACEPARENT.upper()}, program=AS_JSON)
    pipe, web = said(reply)
    assert "traceparent" not in pipe["meta"] and "traceparent" not in web["headers"], (pipe, web)
    assert not any("trace_id" in line for line in log), log


def dead(folder):
    """Nobody listens: calls are answered, one line says so, and the end comes in time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reply, log = over_a_pipe(folder, Web(), None, None, [f"--otlp-endpoint=http://127.0.0.1:{port}"], program=AS_JSON,
                             OTEL_BSP_SCHEDULE_DELAY="50")
    said(reply)
    failed = [line for line in log if line["event"] == "otlp_export_failed"]
    assert len(failed) == 1, log


def over_http(folder):
    web, collector = Web(), Collector()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    headers_file = Path(folder) / "headers"
    headers_file.write_text(f"x-key: {SECRET}\n")
    headers_file.chmod(0o600)
    started = [str(ptc), "start", "--http", f"--http-port={port}", "--http-disable-auth", "--http-metrics",
               f"--otlp-endpoint={collector.url}", f"--otlp-headers-file={headers_file}", "--upstreams-config", str(config(folder, web))]
    server = subprocess.Popen(started, stderr=subprocess.PIPE, text=True, env=environment(OTEL_BSP_SCHEDULE_DELAY="100"))
    log = []
    threading.Thread(target=lambda: log.extend(server.stderr), daemon=True).start()

    def post(message, **headers):
        for _ in range(200):
            with contextlib.suppress(ConnectionRefusedError):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                connection.request("POST", "/mcp", json.dumps(message), {
                    "content-type": "application/json", "accept": "application/json, text/event-stream", **headers})
                response = connection.getresponse()
                return response, response.read().decode()
            time.sleep(0.05)
        raise AssertionError("the server does not listen")

    response, _ = post(INITIALIZE)
    session = {"mcp-session-id": response.headers["mcp-session-id"]} if response.headers["mcp-session-id"] else {}
    post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
    asked = call()
    asked["params"]["arguments"]["program"] = AS_JSON
    response, text = post(asked, traceparent=TRACEPARENT, tracestate="rojo=1", baggage=BAGGAGE, **session)
    if text.startswith(("event", "data", ":", "id")):
        text = [line[5:] for line in text.splitlines() if line.startswith("data:") and '"id":7' in line][0]
    reply = json.loads(text)
    deadline = time.monotonic() + 30
    while not any(span.name.startswith("tools/call lisp") for span in collector.spans):
        assert time.monotonic() < deadline, "".join(log)
        time.sleep(0.05)
    check_upstreams(said(reply), check_trace(collector, PARENT, "tcp"))
    # What is in `_meta` wins.
    other = TRACEPARENT.replace("4bf9", "5bf9")
    asked["params"]["_meta"] = {"traceparent": other}
    _, text = post(asked, traceparent=TRACEPARENT, **session)
    assert other[3:35] in text and TRACE not in text, text
    server.terminate()
    assert server.wait(30) == 0
    names = set(collector.metrics)
    assert {"ptc_http_requests_in_progress", "ptc_upstream_up", "ptc_otlp_spans", "process_resident_memory_bytes"} <= names, names
    assert SECRET not in "".join(log)


for step in (pipe, without_export, dead, over_http):
    with tempfile.TemporaryDirectory() as folder:
        step(folder)
    print(f"{step.__name__}: passed")
print("4 passed, 0 failed")
