"""The cases through the Python SDK, second generation, over stdio, in both eras. Usage: py_v2.py COMMAND ARGS..."""
import asyncio
import sys

from cases import run_cases
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters


async def main():
    command, *args = sys.argv[1:]
    for mode in ("legacy", "2026-07-28"):
        async with Client(StdioServerParameters(command=command, args=args), mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "lisp_eval" in names, names

            async def call(name, arguments):
                result = await client.call_tool(name, arguments)
                return result.is_error, result.content[0].text

            await run_cases(call)


asyncio.run(main())
