"""The agents: how each is configured with one MCP server and a model on loopback, and what it is known to do."""
import dataclasses
import json
import pathlib
from collections.abc import Callable

PROMPT = "Follow the script."


@dataclasses.dataclass(frozen=True)
class Place:
    """Where an agent runs: its home, the command of the server, the model's URL."""

    home: pathlib.Path
    server: list[str]
    model: str

    def write(self, path: str, content) -> pathlib.Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return file

    @property
    def entry(self) -> dict:
        return {"command": self.server[0], "args": self.server[1:]}


@dataclasses.dataclass(frozen=True)
class Agent:
    name: str
    # Gives the command line, after writing what it needs, and variables.
    prepare: Callable[[Place], tuple[list[str], dict[str, str]]]
    # The name of the client in `initialize` has this part, by which results are cut to size.
    client: str
    # What becomes of a call after the server was killed: "started again" or "told".
    after_kill: str


def claude(place: Place):
    config = place.write("mcp.json", {"mcpServers": {"ptc": place.entry}})
    command = ["claude", "-p", PROMPT, "--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__ptc"]
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1"}
    return command, {"ANTHROPIC_BASE_URL": place.model, "ANTHROPIC_API_KEY": "none", "MCP_TIMEOUT": "60000", **quiet}


def codex(place: Place):
    text = json.dumps
    place.write(
        ".codex/config.toml",
        f"""model = "scripted"
model_provider = "loopback"
[model_providers.loopback]
name = "loopback"
base_url = {text(place.model + "/v1")}
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[mcp_servers.ptc]
command = {text(place.server[0])}
args = {text(place.server[1:])}
required = true
startup_timeout_sec = 60
tool_timeout_sec = 120
default_tools_approval_mode = "approve"
""",
    )
    return ["codex", "exec", "--skip-git-repo-check", PROMPT], {"SCRIPTED_KEY": "none"}


def gemini(place: Place):
    settings = {
        "mcpServers": {"ptc": {**place.entry, "trust": True}},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    place.write(".gemini/settings.json", settings)
    env = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": place.model, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return ["gemini", "-m", "gemini-2.5-flash", "-p", PROMPT], env


def opencode(place: Place):
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": place.model + "/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "scripted", "tool_call": True}},
    }
    config = {
        "provider": {"loopback": provider},
        "model": "loopback/scripted",
        "small_model": "loopback/scripted",
        "mcp": {"ptc": {"type": "local", "command": place.server, "enabled": True, "timeout": 60_000}},
        "autoupdate": False,
        "share": "disabled",
    }
    place.write(".config/opencode/opencode.json", config)
    env = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    return ["opencode", "run", PROMPT], env


def qwen(place: Place):
    settings = {
        "mcpServers": {"ptc": {**place.entry, "trust": True}},
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    place.write(".qwen/settings.json", settings)
    env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": place.model + "/v1", "OPENAI_MODEL": "scripted"}
    return ["qwen", "-p", PROMPT], env


AGENTS = [
    Agent("claude", claude, "claude", "started again"),
    Agent("codex", codex, "codex", "told"),
    Agent("gemini", gemini, "gemini", "told"),
    Agent("opencode", opencode, "opencode", "told"),
    Agent("qwen", qwen, "qwen", "started again"),
]
