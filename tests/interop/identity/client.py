"""The official Python client signs in and runs a program. It knows the server's URL alone. Prints the program's text, what the
server says of its tool, and the token. Usage: client.py URL PERSON PYTHON WALK [PROGRAM]"""
import asyncio
import json
import subprocess
import sys
import urllib.parse

from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.auth import OAuthClientMetadata

url, person, python, walk, *programs = sys.argv[1:]
program = programs[0] if programs else "(+ 40 2)"
callback = "http://127.0.0.1:33999/callback"


class Storage:
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def main():
    storage, links = Storage(), []

    async def redirect(link):
        links.append(link)

    async def returned():
        command = [python, walk, links[-1], person, callback]
        back = await asyncio.to_thread(subprocess.check_output, command, text=True)
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(back.strip()).query)
        return query["code"][0], query["state"][0]

    metadata = OAuthClientMetadata(client_name="interop", redirect_uris=[callback], grant_types=["authorization_code", "refresh_token"],
                                   response_types=["code"], token_endpoint_auth_method="none")
    auth = OAuthClientProvider(server_url=url, client_metadata=metadata, storage=storage, redirect_handler=redirect, callback_handler=returned)
    async with streamablehttp_client(url, auth=auth) as (reader, writer, *_):
        async with ClientSession(reader, writer) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            result = await session.call_tool("lisp_eval", {"program": program})
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(links[0]).query)
            said = {"text": result.content[0].text, "description": tools[0].description, "token": storage.tokens.access_token, "scope": query["scope"][0]}
            print(json.dumps(said))


asyncio.run(main())
