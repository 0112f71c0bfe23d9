"""An upstream that takes its time, and has many tools besides."""
import json
import sys
import time

TOOL = {
    "name": "sleep",
    "description": "Answers after some seconds",
    "inputSchema": {"type": "object", "properties": {"seconds": {"type": "number"}}, "required": ["seconds"]},
}

# Together far more than a description may have that is cut.
OTHERS = [
    {"name": f"report_{number:03}", "description": f"Report number {number} of the company, by department and month",
     "inputSchema": {"type": "object", "properties": {"month": {"type": "string"}, "department": {"type": "string"}}}}
    for number in range(150)
]

for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "slow", "version": "1"}}
        case "tools/list":
            result = {"tools": [TOOL, *OTHERS]}
        case "tools/call":
            seconds = request["params"]["arguments"]["seconds"]
            time.sleep(seconds)
            result = {"content": [{"type": "text", "text": f"slept {seconds} seconds"}]}
        case _:
            result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
