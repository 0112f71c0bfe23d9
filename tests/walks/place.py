"""An MCP server that knows where it runs, and keeps notes."""
import json
import os
import sys

TEXT = {"type": "string"}
TOOLS = [
    {"name": "where", "description": "The folder that it runs in, its arguments and a variable", "inputSchema": {"type": "object", "properties": {}}},
    {
        "name": "echo",
        "description": "A text, so many times",
        "inputSchema": {"type": "object", "properties": {"text": TEXT, "times": {"type": "integer"}}, "required": ["text"]},
    },
    {
        "name": "note",
        "description": "Writes a note",
        "inputSchema": {"type": "object", "properties": {"content": TEXT, "path": TEXT}, "required": ["content", "path"]},
    },
]


def call(tool, arguments):
    match tool:
        case "where":
            return json.dumps({"folder": os.getcwd(), "args": sys.argv[1:], "key": os.environ.get("KEY")})
        case "echo":
            return arguments["text"] * arguments.get("times", 1)
        case "note":
            return f"wrote {len(arguments['content'])} characters"


def answer(method, params):
    match method:
        case "initialize":
            info = {"name": "place", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return {"content": [{"type": "text", "text": call(params["name"], params.get("arguments") or {})}]}
        case "ping":
            return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params"))
        rest = {"error": {"code": -32601, "message": "unknown method"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **rest}), flush=True)
