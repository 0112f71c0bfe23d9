#!/usr/bin/env python3
"""tool_md.py [--client NAME]: writes what the running server tells a model to $OFFICE/solver/TOOL.md, as that client passes it on, and says how long it is.
With $MOST_BYTES, what is sent up front may not be longer."""
import copy
import json
import os
import sys

from mcp_client import Session

# What clients do to descriptions of tools, to instructions, and to descriptions of parameters: docs/journal and tests/clients measure them.
CUT = {"claude-code": 2048}
WITHOUT_PARAMETERS = ("codex-mcp-client",)


def passed_on(client, server, tools):
    """The instructions and the tools as this client hands them to its model."""
    cut = CUT.get(client)
    shown = [{key: tool[key] for key in ("name", "description", "inputSchema") if key in tool} for tool in copy.deepcopy(tools)]
    for tool in shown:
        tool["description"] = (tool.get("description") or "")[:cut]
        if client in WITHOUT_PARAMETERS:
            for value in tool["inputSchema"].get("properties", {}).values():
                value.pop("description", None)
    return (server.get("instructions") or "")[:cut], shown


def all_tools(session):
    found, cursor = [], {}
    while True:
        page = session.request("tools/list", cursor)
        found += page["tools"]
        if not page.get("nextCursor"):
            return found
        cursor = {"cursor": page["nextCursor"]}


def written(instructions, tools):
    """Descriptions of parameters that have lines stand in full behind the schema, so that they can be read."""
    text = "# What the MCP server sends\n\n## instructions\n\n" + (instructions or "(none)") + "\n"
    for tool in tools:
        schema, long = copy.deepcopy(tool["inputSchema"]), {}
        for name, value in schema.get("properties", {}).items():
            if "\n" in value.get("description", ""):
                long[name], value["description"] = value["description"], "(see below)"
        text += f"\n## tool `{tool['name']}`\n\n### description\n\n{tool['description']}\n\n### input schema\n\n```json\n{json.dumps(schema, indent=1, ensure_ascii=False)}\n```\n"
        text += "".join(f"\n### description of `{name}`\n\n{description}\n" for name, description in long.items())
    return text


def main():
    options = sys.argv[1:]
    client = options[options.index("--client") + 1] if "--client" in options else "claude-code"
    session = Session(client)
    instructions, tools = passed_on(client, session.server, all_tools(session))
    session.close()
    with open(os.environ["OFFICE"] + "/solver/TOOL.md", "w") as file:
        file.write(written(instructions, tools))
    size = len((json.dumps(tools, ensure_ascii=False, separators=(",", ":")) + instructions).encode())
    with open(os.environ["OFFICE"] + "/up-front.json", "w") as file:
        json.dump({"client": client, "bytes": size}, file)
    most = os.environ.get("MOST_BYTES")
    print(f"TOOL.md for {client}: {size} bytes up front{f' of {most}' if most else ''}, {size // 4} tokens; longest description: {max(len(tool['description']) for tool in tools)} characters")
    if most and size > int(most):
        sys.exit("what the server sends is over its budget")


if __name__ == "__main__":
    main()
