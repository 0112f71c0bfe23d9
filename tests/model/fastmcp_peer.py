#!/usr/bin/env python3
"""fastmcp_peer.py UPSTREAMS PORT: FastMCP's code mode, as it is out of the box, in front of the servers of an upstreams.json."""
import json
import sys

from fastmcp.experimental.transforms.code_mode import CodeMode
from fastmcp.server import create_proxy

with open(sys.argv[1]) as file:
    upstreams = json.load(file)["upstreams"]
servers = {name: {key: value for key, value in (("command", u["command"]), ("args", u["args"]), ("env", u.get("env")), ("cwd", u.get("cd"))) if value} for name, u in upstreams.items()}
proxy = create_proxy({"mcpServers": servers}, name="office")
proxy.add_transform(CodeMode())
proxy.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), path="/mcp", json_response=True, show_banner=False)
