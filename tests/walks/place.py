"""An MCP server that knows where it runs, keeps notes, and has a store of ten items, one of which is missing."""
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
    {
        "name": "get",
        "description": "An item",
        "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        "annotations": {"readOnlyHint": True},
    },
]
ITEMS = ["anvil", "bellows", "chisel", "drill", "easel", "file", None, "hammer", "iron", "jig"]


def call(tool, arguments):
    match tool:
        case "where":
            return json.dumps({"folder": os.getcwd(), "args": sys.argv[1:], "key": os.environ.get("KEY")})
        case "echo":
            return arguments["text"] * arguments.get("times", 1)
        case "note":
            return f"wrote {len(arguments['content'])} characters"
        case "get":
            name = dict(enumerate(ITEMS, 101)).get(arguments["id"])
            return json.dumps({"id": arguments["id"], "name": name}) if name else None


def answer(method, params):
    match method:
        case "initialize":
            info = {"name": "place", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            text = call(params["name"], params.get("arguments") or {})
            return {"content": [{"type": "text", "text": text or "it is unknown"}], "isError": text is None}
        case "ping":
            return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params"))
        rest = {"error": {"code": -32601, "message": "unknown method"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **rest}), flush=True)
