"""The official Python client signs in and runs a program. It knows the server's URL alone. Prints the program's text and the token.
Usage: client.py URL PERSON PYTHON WALK"""
import asyncio
import json
import subprocess
import sys
import urllib.parse

from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.auth import OAuthClientMetadata

url, person, python, walk = sys.argv[1:]
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
            result = await session.call_tool("lisp_eval", {"program": "(+ 40 2)"})
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(links[0]).query)
            print(json.dumps({"text": result.content[0].text, "token": storage.tokens.access_token, "scope": query["scope"][0]}))


asyncio.run(main())
