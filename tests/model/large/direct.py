#!/usr/bin/env python3
"""direct.py MODEL-FOLDER [TASK ...]: answers the tasks of the large office by direct calls to its servers, as few as a careful client without programs
could make, and compares the answers with those computed from the data. Counts calls and the bytes of their results against `direct-large.json`;
with --write that file is written. `solve.py` has the sequences."""
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
import judge  # noqa: E402
import solve  # noqa: E402

OFFICE = os.environ["OFFICE"]
TOO_FAST = re.compile(r"429|rate.?limit", re.I)


class Upstream:
    """A server on stdio, spoken to in turn."""
    def __init__(self, entry):
        self.process = subprocess.Popen([entry["command"], *entry.get("args", [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        cwd=entry.get("cd"), env=os.environ | entry.get("env", {}))
        self.sent = 0
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "direct", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.sent += 1
        self.send({"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params})
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == self.sent and "method" not in message:
                return message["result"]

    def tools(self):
        found, cursor = [], None
        while True:
            page = self.request("tools/list", {"cursor": cursor} if cursor else {})
            found += page["tools"]
            cursor = page.get("nextCursor")
            if not cursor:
                return found


class Direct:
    """Calls tools and counts."""
    def __init__(self, upstreams):
        self.upstreams, self.calls, self.bytes = upstreams, 0, 0

    def text(self, tool, **arguments):
        """The text of a call of `server/tool`. A refusal for rate is waited for and not counted."""
        server, name = tool.split("/")
        for _ in range(5):
            result = self.upstreams[server].request("tools/call", {"name": name, "arguments": arguments})
            text = "".join(block.get("text", "") for block in result["content"])
            if not (result.get("isError") and TOO_FAST.search(text)):
                break
            time.sleep(1)
        if result.get("isError"):
            raise RuntimeError(f"{tool} {arguments}: {text[:300]}")
        self.calls += 1
        self.bytes += len(text.encode())
        return text

    def json(self, tool, **arguments):
        return json.loads(self.text(tool, **arguments))


def main():
    folder, names = sys.argv[1], [a for a in sys.argv[2:] if not a.startswith("-")]
    with open(f"{OFFICE}/upstreams.json") as file:
        upstreams = {name: Upstream(entry) for name, entry in json.load(file)["upstreams"].items()}
    tools = {name: upstream.tools() for name, upstream in upstreams.items()}
    shown = len(json.dumps(sum(tools.values(), []), ensure_ascii=False, separators=(",", ":")).encode())
    print(f"{len(tools)} servers, {sum(map(len, tools.values()))} tools, {shown} bytes of tools/list")
    solve.REPO, solve.BOOKS, solve.FILES = (f"{OFFICE}/env/{part}" for part in ("repo", "books", "files"))
    figures, wrong = {}, []
    for task in judge.EXPECTED:
        if names and task not in names:
            continue
        direct = Direct(upstreams)
        answer = getattr(solve, task)(direct)
        right = judge.right(task, answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
        figures[task] = {"calls": direct.calls, "bytes": direct.bytes}
        print(f"{task} {'right' if right else 'WRONG'} {direct.calls} calls, {direct.bytes} bytes")
        if not right:
            wrong.append(task)
            print(f"   wanted {json.dumps(judge.EXPECTED[task]['answer'], ensure_ascii=False)[:400]}\n   got    {json.dumps(answer, ensure_ascii=False)[:400]}")
    for upstream in upstreams.values():
        upstream.process.stdin.close()
        upstream.process.terminate()
        upstream.process.wait()
    calls, size = (sum(figure[key] for figure in figures.values()) for key in ("calls", "bytes"))
    print(f"{len(figures) - len(wrong)} of {len(figures)} right, {calls / len(figures):.1f} calls a task, {size} bytes of results")
    if wrong:
        sys.exit("the servers do not give the expected answers")
    path, stated = f"{folder}/direct-large.json", {"up_front": {"tools": sum(map(len, tools.values())), "bytes": shown}, "tasks": figures}
    if "--write" in sys.argv:
        with open(path, "w") as file:
            file.write(re.sub(r"\{\s+\"calls\": (\d+),\s+\"bytes\": (\d+)\s+\}", r'{"calls": \1, "bytes": \2}', json.dumps(stated, indent=1)) + "\n")
    with open(path) as file:
        told = json.load(file)["tasks"]
    # Bytes may differ a little: results of workbooks name the folder.
    if any(told[task]["calls"] != figure["calls"] or abs(told[task]["bytes"] - figure["bytes"]) > .05 * told[task]["bytes"] for task, figure in figures.items()):
        sys.exit("calls or bytes are not those of direct-large.json: direct.py --write")


if __name__ == "__main__":
    main()
