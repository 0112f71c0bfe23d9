"""A small client of a server on Streamable HTTP: one session, plain JSON answers."""
import json
import os
import urllib.request

REVISION = "2025-06-18"
# The names and versions with which real clients introduce themselves.
CLIENTS = {"claude-code": "2.1.197", "codex-mcp-client": "0.169.0", "gemini-cli-mcp-client": "0.61.0", "opencode": "1.18.33"}


def served():
    """Where the server of this office listens: what PTC_URL says, or the file that `office start` writes beside the solver's folder."""
    beside = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "url")
    if "PTC_URL" not in os.environ and os.path.exists(beside):
        with open(beside) as file:
            return file.read().strip()
    return os.environ.get("PTC_URL", "http://127.0.0.1:7441/mcp")


class Session:
    def __init__(self, client=None, version=None):
        """Introduces itself as OFFICE_CLIENT, by default Claude Code: what a server tells depends on its client."""
        client = client or os.environ.get("OFFICE_CLIENT") or "claude-code"
        self.id, self.sent, self.url = None, 0, served()
        info = {"name": client, "version": version or CLIENTS.get(client, "1")}
        self.server = self.request("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": info})
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method, params=None):
        """The result. A JSON-RPC error raises RuntimeError."""
        self.sent += 1
        answer = self._post({"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params or {}})
        if "error" in answer:
            raise RuntimeError(f"MCP error {answer['error'].get('code')}: {answer['error'].get('message')}")
        return answer["result"]

    def call(self, tool, arguments):
        """What a tool replies: the text, and whether it is an error."""
        try:
            result = self.request("tools/call", {"name": tool, "arguments": arguments})
        except RuntimeError as error:
            return str(error), True
        text = "\n".join(block.get("text", json.dumps(block)) for block in result.get("content", []))
        return text, bool(result.get("isError"))

    def eval(self, program, **more):
        """What `lisp_eval` replies."""
        return self.call("lisp_eval", {"program": program, **more})

    def close(self):
        try:
            self._post(None, "DELETE")
        except OSError:
            pass

    def _post(self, message, method="POST"):
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if self.id:
            headers |= {"mcp-session-id": self.id, "mcp-protocol-version": REVISION}
        body = json.dumps(message).encode() if message else None
        with urllib.request.urlopen(urllib.request.Request(self.url, body, headers, method=method), timeout=150) as answer:
            self.id = answer.headers.get("mcp-session-id") or self.id
            body = answer.read()
        return json.loads(body) if body.strip() else None
