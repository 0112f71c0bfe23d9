"""A proxy that holds every request to the types of the official SDKs before the mock provider gets it."""

import datetime
import http.client
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock
from urllib.parse import unquote

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import botocore.loaders
import botocore.model
import botocore.validate
from anthropic.types import message_create_params
from google.genai import types as gemini
from openai.types.chat import completion_create_params
from pydantic import TypeAdapter

TYPES = {
    ("/v1/chat/completions", True): TypeAdapter(completion_create_params.CompletionCreateParamsStreaming),
    ("/v1/chat/completions", False): TypeAdapter(completion_create_params.CompletionCreateParamsNonStreaming),
    ("/v1/messages", True): TypeAdapter(message_create_params.MessageCreateParamsStreaming),
    ("/v1/messages", False): TypeAdapter(message_create_params.MessageCreateParamsNonStreaming),
}

GEMINI = {
    "contents": TypeAdapter(list[gemini.Content]),
    "systemInstruction": TypeAdapter(gemini.Content),
    "tools": TypeAdapter(list[gemini.Tool]),
    "generationConfig": TypeAdapter(gemini.GenerationConfig),
}
CONVERSE = botocore.model.ServiceModel(
    botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2")
).operation_model("Converse")
# What a request is signed with, beside the secret key.
ACCESS_KEY, SESSION_TOKEN, REGION = "AKIDINTEROP", "session/token+of==interop", "eu-central-1"


def gemini_problems(body):
    """What Google's SDK does not know in a body, or knows otherwise; its types refuse unknown keys themselves."""
    for key, value in body.items():
        if key not in GEMINI:
            yield f"unknown /{key}"
            continue
        try:
            GEMINI[key].validate_python(value)
        except Exception as error:
            yield f"/{key}: {error}"
    turns = body.get("contents", [])
    for before, after in zip(turns, turns[1:]):
        calls = [part["functionCall"] for part in before["parts"] if "functionCall" in part]
        results = [part["functionResponse"] for part in after["parts"] if "functionResponse" in part]
        if [(call["name"], call.get("id")) for call in calls] != [(r["name"], r.get("id")) for r in results]:
            yield f"calls {calls} have results {results}"


def bedrock_problems(path, host, headers, raw, body, key):
    """What the service's own model says of a body, and whether botocore signs it in the same way."""
    model = unquote(path.split("/")[2])
    report = botocore.validate.ParamValidator().validate({"modelId": model, **body}, CONVERSE.input_shape)
    if report.has_errors():
        yield report.generate_report()
    if headers["authorization"].startswith("Bearer "):
        if headers["authorization"] != f"Bearer {key}":
            yield "the token is not in its header"
        return
    credentials = botocore.credentials.Credentials(ACCESS_KEY, key, SESSION_TOKEN)
    request = botocore.awsrequest.AWSRequest(
        method="POST", url=f"http://{host}{path}", data=raw, headers={"Content-Type": headers["content-type"]}
    )
    now = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
    with mock.patch("botocore.auth.get_current_datetime", lambda: now):
        botocore.auth.SigV4Auth(credentials, "bedrock", REGION).add_auth(request)
    if headers["authorization"] != request.headers["Authorization"]:
        yield f"{headers['authorization']} is not {request.headers['Authorization']}"
    if headers["x-amz-security-token"] != SESSION_TOKEN:
        yield "the session token is not in its header"
    age = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) - now
    if abs(age) > datetime.timedelta(minutes=5):
        yield f"signed {age} ago"


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
    """Forwards to the mock on `port`; `problems` holds what was wrong, `seen` the bodies, `streamed` which were streams."""

    def __init__(self, port, key):
        self.problems, self.seen, self.streamed = [], [], []
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
        self.streamed.append(bool(body.get("stream")) or ":streamGenerateContent?alt=sse" in path)
        if path.startswith("/v1beta/models/"):
            self.problems += [f"{path}: {problem}" for problem in gemini_problems(body)]
            if headers["x-goog-api-key"] != key:
                self.problems.append(f"{path}: the key is not in its header")
            return
        if path.startswith("/model/"):
            found = bedrock_problems(path, headers["host"], headers, raw, body, key)
            self.problems += [f"{path}: {problem}" for problem in found]
            return
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
