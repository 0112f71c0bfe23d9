"""The cases through the Python SDK, second generation, in both eras and by finding out which one it is.
Usage: py_v2.py URL | COMMAND ARGS...; TOKEN for a URL
"""
import asyncio
import os
import sys

import httpx2
from cases import run_cases
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


def transport():
    target, *args = sys.argv[1:]
    if target.startswith("http"):
        headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
        return streamable_http_client(target, http_client=httpx2.AsyncClient(headers=headers, timeout=60))
    return StdioServerParameters(command=target, args=args)


async def main():
    for mode, revision in (("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")):
        async with Client(transport(), mode=mode) as client:
            assert client.protocol_version == revision, (mode, client.protocol_version)
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "lisp_eval" in names, names

            async def call(name, arguments):
                result = await client.call_tool(name, arguments)
                return result.is_error, result.content[0].text

            await run_cases(call)


asyncio.run(main())
