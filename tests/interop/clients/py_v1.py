"""The cases through the Python SDK, first generation. Usage: py_v1.py URL | COMMAND ARGS...; TOKEN for a URL"""
import asyncio
import os
import sys

from cases import run_cases
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


def transport():
    target, *args = sys.argv[1:]
    if target.startswith("http"):
        return streamablehttp_client(target, headers={"Authorization": f"Bearer {os.environ['TOKEN']}"})
    return stdio_client(StdioServerParameters(command=target, args=args))


async def main():
    async with transport() as (reader, writer, *_):
        async with ClientSession(reader, writer) as session:
            await session.initialize()
            names = [tool.name for tool in (await session.list_tools()).tools]
            assert "lisp_eval" in names, names

            async def call(name, arguments):
                result = await session.call_tool(name, arguments)
                return result.isError, result.content[0].text

            await run_cases(call)


asyncio.run(main())
