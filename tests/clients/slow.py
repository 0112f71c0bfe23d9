"""An upstream that takes its time."""
import json
import sys
import time

TOOL = {
    "name": "sleep",
    "description": "Answers after some seconds",
    "inputSchema": {"type": "object", "properties": {"seconds": {"type": "number"}}, "required": ["seconds"]},
}

for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "slow", "version": "1"}}
        case "tools/list":
            result = {"tools": [TOOL]}
        case "tools/call":
            seconds = request["params"]["arguments"]["seconds"]
            time.sleep(seconds)
            result = {"content": [{"type": "text", "text": f"slept {seconds} seconds"}]}
        case _:
            result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
