"""The servers of the seed's examples, made with the Python SDK, which wraps what a tool returns under `result`."""
try:
    from mcp.server.mcpserver import MCPServer
except ImportError:  # before version 2 of the SDK
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("examples")


@server.tool()
def list_prs(state: str, limit: int) -> list[dict]:
    """Lists pull requests."""
    files = {1: ["src/a.rs"], 2: ["docs/b.md"], 3: ["docs/b.md", "src/c.rs"], 4: []}
    return [{"number": number, "state": state, "files": names} for number, names in files.items()][:limit]


@server.tool()
def get(id: int) -> dict:
    """Gives one item."""
    if id == 105:
        raise ValueError(f"no item {id}")
    return {"id": id, "name": f"item {id}"}


@server.tool()
def tags() -> list[str]:
    """Gives all tags."""
    return ["new", "sold"]


server.run()
