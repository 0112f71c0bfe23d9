#!/usr/bin/env python3
"""Writes what the running server tells a model to $OFFICE/solver/TOOL.md, and says how long it is."""
import json
import os
import sys

from mcp_client import Session

# What all six upstreams may cost a model before its first program, and where clients cut a description.
MOST_BYTES, MOST_DESCRIPTION = 3371, 2000

session = Session()
tools = session.request("tools/list")["tools"]
session.close()
text = "# What the MCP server sends\n\n## instructions\n\n" + (session.server.get("instructions") or "(none)") + "\n"
for tool in tools:
    schema = json.dumps(tool["inputSchema"], indent=1, ensure_ascii=False)
    text += f"\n## tool `{tool['name']}`\n\n### description\n\n{tool['description']}\n\n### input schema\n\n```json\n{schema}\n```\n"
with open(os.environ["OFFICE"] + "/solver/TOOL.md", "w") as file:
    file.write(text)
size = len(text.encode())
longest = max(len(tool["description"]) for tool in tools)
print(f"TOOL.md: {size} bytes of {MOST_BYTES}, {size // 4} tokens; longest description: {longest} characters of {MOST_DESCRIPTION}")
if size > MOST_BYTES or longest >= MOST_DESCRIPTION:
    sys.exit("what the server sends is over its budget")
