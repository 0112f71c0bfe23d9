"""Two MCP servers in one file, with nothing but Python: `shop` lists items, `desk` knows what is reserved."""
import json
import sys

which = sys.argv[1]
TOOLS = {
    "shop": {"name": "items", "description": "All items", "inputSchema": {"type": "object", "properties": {}}},
    "desk": {
        "name": "reserved",
        "description": "How many pieces of an item are reserved",
        "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
}
ITEMS = [{"name": "tea", "price": 3, "stock": 19}, {"name": "cup", "price": 12, "stock": 4}]


def answer(method, params):
    match method:
        case "initialize":
            info = {"name": which, "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": [TOOLS[which]]}
        case "tools/call":
            return {"content": [{"type": "text", "text": json.dumps({"items": ITEMS}) if which == "shop" else "1"}]}
        case "ping":
            return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params"))
        rest = {"error": {"code": -32601, "message": "unknown method"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **rest}), flush=True)
