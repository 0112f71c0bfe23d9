"""A proxy that holds every request to the types of the official SDKs before the mock provider gets it."""

import http.client
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from anthropic.types import message_create_params
from openai.types.chat import completion_create_params
from pydantic import TypeAdapter

TYPES = {
    ("/v1/chat/completions", True): TypeAdapter(completion_create_params.CompletionCreateParamsStreaming),
    ("/v1/chat/completions", False): TypeAdapter(completion_create_params.CompletionCreateParamsNonStreaming),
    ("/v1/messages", True): TypeAdapter(message_create_params.MessageCreateParamsStreaming),
    ("/v1/messages", False): TypeAdapter(message_create_params.MessageCreateParamsNonStreaming),
}


def plain(value):
    """Lazy iterables of the SDKs' types as lists."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, Iterator)) or type(value).__name__ == "ValidatorIterator":
        return [plain(item) for item in value]
    return value


def unknown(sent, known, path=""):
    """Places of what was sent and the types do not know: keys that validation dropped."""
    if isinstance(sent, dict) and isinstance(known, dict):
        for key, value in sent.items():
            if key not in known:
                yield f"{path}/{key}"
            else:
                yield from unknown(value, known[key], f"{path}/{key}")
    elif isinstance(sent, list) and isinstance(known, list):
        for number, (one, other) in enumerate(zip(sent, known, strict=True)):
            yield from unknown(one, other, f"{path}/{number}")


class Server(ThreadingHTTPServer):
    """A client that has its answer may go without goodbye."""

    def handle_error(self, request, address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, address)


class Checker:
    """Forwards to the mock on `port`; `problems` holds what was wrong, `seen` the bodies."""

    def __init__(self, port, key):
        self.problems, self.seen = [], []
        checker = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                raw = self.rfile.read(int(self.headers["content-length"]))
                checker.check(self.path, self.headers, raw, key)
                upstream = http.client.HTTPConnection("127.0.0.1", port)
                headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "content-length")}
                upstream.request("POST", self.path, raw, headers)
                answer = upstream.getresponse()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "content-length", "connection", "date", "server"):
                        self.send_header(name, value)
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                while piece := answer.read1(65536):
                    self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                self.wfile.write(b"0\r\n\r\n")

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def check(self, path, headers, raw, key):
        body = json.loads(raw)
        self.seen.append(body)
        try:
            known = plain(TYPES[path, bool(body.get("stream"))].validate_python(body))
            self.problems += [f"{path}: unknown {place}" for place in unknown(body, known)]
        except Exception as error:  # whatever the types say is the finding
            self.problems.append(f"{path}: {error}")
        given = headers["authorization"] if "chat" in path else headers["x-api-key"]
        wanted = f"Bearer {key}" if "chat" in path else key
        if given != wanted:
            self.problems.append(f"{path}: the key is not in its header")
        if "messages" in path and headers["anthropic-version"] != "2023-06-01":
            self.problems.append(f"{path}: no version")
