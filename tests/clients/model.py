"""A model that follows a script, behind the protocols of all providers at once, on loopback."""
import contextlib
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


class Model:
    """Calls the tool with each program in turn, one after the result of the one before, and then says [`CLOSING`]. What it
    answers depends on the request alone, so that a client may send one twice."""

    def __init__(self, programs: list[str], before: dict[int, Callable[[], None]], log: pathlib.Path):
        self.programs, self.before, self.log = programs, before, log
        # The tool's name and description as first seen, and the longest conversation.
        self.tool: tuple[str, str] | None = None
        self.results: list[str] = []
        self.lock = threading.Lock()

    def reply(self, turn: Turn):
        name = next((name for name in turn.tools if name.endswith("lisp_eval")), None)
        with self.lock:
            if len(turn.results) > len(self.results):
                self.results = turn.results
            done = len(turn.results)
            if name is None and SEARCH in turn.tools and not turn.searched:
                return Call(SEARCH, {"query": "lisp_eval"}, "search")
            # A request without the tool is the client's own: a title, a summary; or the tool has gone.
            if name is None or done >= len(self.programs):
                return Say(CLOSING)
            self.tool = self.tool or (name, turn.tools[name])
            self.before.pop(done, lambda: None)()
        return Call(name, {"program": self.programs[done]}, done)


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
