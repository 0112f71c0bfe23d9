"""A tool server for the soak: MCP over standard streams, with good and bad days.

Tools: `echo` answers with its arguments, `slow` after `ms` milliseconds, `bulk` with `bytes` bytes, `fail` with an
error, `noise` after lines that are no JSON, `die` not at all.
"""
import json, sys, threading, time

lock = threading.Lock()


def say(message):
    with lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def text(id, text, failed=False):
    say({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}], "isError": failed}})


def later(id, milliseconds):
    time.sleep(milliseconds / 1000)
    text(id, '"late"')


TOOLS = ["echo", "slow", "bulk", "fail", "noise", "die"]
for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if id is None or method is None:
        continue
    arguments = params.get("arguments") or {}
    if method == "initialize":
        say({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
             "serverInfo": {"name": "soak", "version": "1"}}})
    elif method == "tools/list":
        say({"jsonrpc": "2.0", "id": id, "result": {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in TOOLS]}})
    elif method == "tools/call":
        match params["name"]:
            case "echo": text(id, json.dumps(arguments))
            case "slow": threading.Thread(target=later, args=(id, arguments.get("ms", 50)), daemon=True).start()
            case "bulk": text(id, "x" * arguments.get("bytes", 1000))
            case "fail": text(id, "it did not work", failed=True)
            case "noise":
                with lock:
                    sys.stdout.write("this is a log line\n{\"half\": \n")
                text(id, json.dumps(arguments))
            case "die": sys.exit(3)
    else:
        say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
