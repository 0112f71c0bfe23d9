"""A model that follows a script, behind the protocols of all providers at once, on loopback."""
import contextlib
import dataclasses
import gzip
import http.server
import json
import pathlib
import threading
from collections.abc import Callable

from apis import Call, Say, Turn, anthropic, chat, gemini, responses

# The tool with which a client has tools looked up that it does not send along.
SEARCH = "tool_search"
CLOSING = "The script has come to its end."


@dataclasses.dataclass(frozen=True)
class Step:
    """A call: how the name of its tool ends, and its arguments, or what makes them of the results so far."""

    tool: str
    arguments: dict | Callable[[list[str]], dict]

    def given(self, results: list[str]) -> dict:
        return self.arguments if isinstance(self.arguments, dict) else self.arguments(results)


class Model:
    """Makes the calls in turn, one after the result of the one before, and then says [`CLOSING`]. What it
    answers depends on the request alone, so that a client may send one twice."""

    def __init__(self, steps: list[Step], before: dict[int, Callable[[], None]], log: pathlib.Path):
        self.steps, self.before, self.log = steps, before, log
        # The first tool's name and description as first seen, and the longest conversation.
        self.tool: tuple[str, str] | None = None
        self.results: list[str] = []
        self.lock = threading.Lock()

    def reply(self, turn: Turn):
        done = len(turn.results)
        with self.lock:
            if done > len(self.results):
                self.results = turn.results
            if done >= len(self.steps):
                return Say(CLOSING)
            step = self.steps[done]
            name = next((name for name in turn.tools if name.endswith(step.tool)), None)
            if name is None and SEARCH in turn.tools and not turn.searched:
                return Call(SEARCH, {"query": step.tool}, "search")
            # A request without the tool is the client's own: a title, a summary; or the tool has gone.
            if name is None:
                return Say(CLOSING)
            self.tool = self.tool or (name, turn.tools[name])
            self.before.pop(done, lambda: None)()
            arguments = step.given(turn.results)
        return Call(name, arguments, done)


def _api(path: str):
    for part, module in {"/messages": anthropic, "/responses": responses, ":": gemini, "/chat/completions": chat}.items():
        if part in path:
            return module
    return None


@contextlib.contextmanager
def serving(model: Model):
    """Gives the URL without a path."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
            if self.headers.get("content-encoding") == "gzip":
                data = gzip.decompress(data)
            path = self.path.partition("?")[0]
            with model.log.open("a") as log:
                log.write(f"{self.command} {self.path}\n{data.decode(errors='replace')}\n")
            api = _api(path)
            if api is None:
                return self.answer(404, *("application/json", b'{"error": {"message": "not here"}}'))
            body = json.loads(data or b"{}")
            self.answer(200, *api.write(model.reply(api.read(body)), path, body))

        def do_GET(self):
            with model.log.open("a") as log:
                log.write(f"GET {self.path}\n")
            self.answer(404, "application/json", b'{"error": {"message": "not here"}}')

        do_HEAD = do_GET

        def answer(self, status: int, kind: str, body: bytes):
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
