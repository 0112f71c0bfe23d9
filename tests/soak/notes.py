"""A tool server for `waiting.py`: MCP over standard streams. Its tool `note` writes its number into a file, a line a call."""
import json, os, sys

NOTES = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def say(id, **what):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id, **what}) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if id is None or method is None:
        continue
    if method == "initialize":
        say(id, result={"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}})
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
        say(id, result={"tools": [{"name": "note", "inputSchema": schema}]})
    elif method == "tools/call":
        number = params["arguments"]["number"]
        os.write(NOTES, f"{number}\n".encode())
        say(id, result={"content": [{"type": "text", "text": str(number)}]})
    else:
        say(id, error={"code": -32601, "message": "Method not found"})
