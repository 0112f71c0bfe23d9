#!/usr/bin/env python3
"""fastmcp_peer.py UPSTREAMS PORT: FastMCP's code mode, with its own defaults, in front of the servers of an upstreams.json. The servers are started once: a
proxy that is given their configuration instead of a connected client starts all of them for each session, which takes half a minute here."""
import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.experimental.transforms.code_mode import CodeMode
from fastmcp.server import create_proxy

KEYS = {"command": "command", "args": "args", "env": "env", "cd": "cwd"}


async def main():
    with open(sys.argv[1]) as file:
        upstreams = json.load(file)["upstreams"]
    servers = {name: {KEYS[key]: value for key, value in upstream.items() if key in KEYS} for name, upstream in upstreams.items()}
    async with Client({"mcpServers": servers}) as connected:
        proxy = create_proxy(connected, name="office")
        proxy.add_transform(CodeMode())
        await proxy.run_http_async(host="127.0.0.1", port=int(sys.argv[2]), path="/mcp", json_response=True, show_banner=False)


asyncio.run(main())
