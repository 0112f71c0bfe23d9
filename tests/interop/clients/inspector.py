"""The MCP Inspector's command line, in both eras and by finding out which one it is: the list of tools without a
complaint about its schemas, and a call. Usage: inspector.py NODE INSPECTOR URL | COMMAND ARGS...; TOKEN for a URL
"""
import json
import os
import subprocess
import sys
import tempfile

node, inspector, target, *args = sys.argv[1:]
if target.startswith("http"):
    server = ["--server-url", target, "--transport", "http", "--header", f"Authorization: Bearer {os.environ['TOKEN']}"]
else:
    server = ["--", target, *args]


def inspect(home, *options):
    command = [node, inspector, "--cli", *options, *server]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HOME": home}, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{options} ended with {done.returncode}: {done.stdout} {done.stderr[-2000:]}")
    return json.loads(done.stdout)


# It keeps files in the home folder.
with tempfile.TemporaryDirectory() as home:
    for era in ("legacy", "auto", "modern"):
        listed = inspect(home, "--protocol-era", era, "--method", "tools/list", "--strict")
        names = [tool["name"] for tool in listed["tools"]]
        assert names[0] == "lisp_eval", names
        called = inspect(home, "--protocol-era", era, "--tool-arg", "program=(+ 1 2)", "--tool-name", "lisp_eval",
                         "--method", "tools/call")
        assert called["content"][0]["text"] == "user=> 3" and not called.get("isError"), called
print(f"{len(names)} tools listed and called in 3 ways")
