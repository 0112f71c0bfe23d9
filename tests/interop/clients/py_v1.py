"""The cases through the Python SDK, first generation, over stdio. Usage: py_v1.py COMMAND ARGS..."""
import asyncio
import sys

from cases import run_cases
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    command, *args = sys.argv[1:]
    async with stdio_client(StdioServerParameters(command=command, args=args)) as (reader, writer):
        async with ClientSession(reader, writer) as session:
            await session.initialize()
            names = [tool.name for tool in (await session.list_tools()).tools]
            assert "lisp_eval" in names, names

            async def call(name, arguments):
                result = await session.call_tool(name, arguments)
                return result.isError, result.content[0].text

            await run_cases(call)


asyncio.run(main())
