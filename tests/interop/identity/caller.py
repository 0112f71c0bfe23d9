"""A person who calls with a token, and a server at which each signs in for itself."""
import hashlib
import itertools
import json
import pathlib
import sys

from stage import begin, fetch, node, work

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oauth"))
import person as visitor  # noqa: E402


class Caller:
    """One who calls with a token, within an MCP session of its own and without one."""

    def __init__(self, url, token, provider, person, first):
        self.url, self.base, self.token, self.numbers = url, url.removesuffix("/mcp"), token, itertools.count(first)
        # What the programs of this person have in them, and how the person is called: nobody else is to read it.
        self.mark, self.answers = f"zq7{person}", []
        name = f"{provider}|{person}"
        # And how it is called at the upstream with sign-ins, whose own tool has that in its name.
        self.account = f"zq8{person}"
        self.traces = [self.mark, self.account, f"|{person}", hashlib.sha256(name.encode()).hexdigest()[:16]]
        status, headers, _ = self.post({"method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}})
        assert status == 200, status
        self.session = headers.get("mcp-session-id")
        self.post({"method": "notifications/initialized"}, session=self.session)

    def send(self, url, body=None, method=None, **headers):
        status, headers, text = fetch(url, body, method, Authorization=f"Bearer {self.token}", **headers)
        self.answers.append(json.dumps(headers) + text)
        return status, headers, text

    def post(self, message, session=None, **headers):
        if not message["method"].startswith("notifications/"):
            message = {"id": next(self.numbers), **message}
        if session:
            headers["Mcp_Session_Id"] = session
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return self.send(self.url, body, Content_Type="application/json", Accept="application/json, text/event-stream", **headers)

    def ask(self, method, session=None, **params):
        status, _, text = self.post({"method": method, "params": params}, session=session or self.session)
        assert status == 200, (status, text)
        data = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:") and '"id"' in line]
        return json.loads(data[-1] if data else text)

    def call(self, tool, **arguments):
        return self.ask("tools/call", name=tool, arguments=arguments)["result"]

    def eval(self, program):
        return self.call("lisp_eval", program=program)["structuredContent"]

    def sign_in(self, upstream):
        """Signs in at an upstream on the page of the server."""
        status, headers, text = self.send(f"{self.base}/oauth/start?upstream={upstream}", b"", Origin=self.base)
        assert status == 200, (status, text)
        back, _ = visitor.visit(json.loads(text)["url"], self.account, stop=f"{self.base}/oauth/callback")
        status, _, text = fetch(back, Cookie=headers["set-cookie"].split(";")[0])
        assert status == 200 and "Signed in. You can close this window." in text, (status, text)

    def modern(self, tool, arguments):
        """A call of the revision without sessions."""
        params = {"name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}
        headers = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": tool}
        return self.post({"method": "tools/call", "params": params}, **headers)


def protected(**variables):
    """The entry of a protected server with an authorization server of its own."""
    protecting = json.loads(begin([node, str(work / "as.mjs")], "identity-as.log", TTL="300").stdout.readline())["issuer"]
    resource = begin([node, str(work / "resource.mjs")], "identity-resource.log", ISSUER=protecting, **variables)
    url = json.loads(resource.stdout.readline())["url"]
    return {"transport": "mcp_http", "url": url, "allow_insecure_http": True, "auth": {"type": "oauth", "identity": "shared"}}
