"""A small client of a server on Streamable HTTP: one session, plain JSON answers."""
import json
import os
import urllib.request

URL = os.environ.get("PTC_URL", "http://127.0.0.1:7441/mcp")
REVISION = "2025-06-18"


class Session:
    def __init__(self):
        self.id = None
        self.sent = 0
        self.server = self.request(
            "initialize",
            {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "office", "version": "1"}},
        )
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method, params=None):
        """The result. A JSON-RPC error raises RuntimeError."""
        self.sent += 1
        answer = self._post({"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params or {}})
        if "error" in answer:
            raise RuntimeError(f"MCP error {answer['error'].get('code')}: {answer['error'].get('message')}")
        return answer["result"]

    def eval(self, program, **more):
        """What `lisp_eval` replies: the text, and whether it is an error."""
        try:
            result = self.request("tools/call", {"name": "lisp_eval", "arguments": {"program": program, **more}})
        except RuntimeError as error:
            return str(error), True
        text = "\n".join(block.get("text", json.dumps(block)) for block in result.get("content", []))
        return text, bool(result.get("isError"))

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
        with urllib.request.urlopen(urllib.request.Request(URL, body, headers, method=method), timeout=90) as answer:
            self.id = answer.headers.get("mcp-session-id") or self.id
            body = answer.read()
        return json.loads(body) if body.strip() else None
