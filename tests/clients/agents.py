"""The agents: how each is configured with one MCP server, on pipes or on HTTP, and a model on loopback, and what it is known to do
when the server dies."""
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
from collections.abc import Callable

PROMPT = "Follow the script."
# Seconds for a whole script.
LIMIT = 180


@dataclasses.dataclass(frozen=True)
class Server:
    """One of the two: a command, or a URL with its token."""

    command: list[str] | None = None
    url: str = ""
    token: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def entry(self, url_key: str, **more) -> dict:
        """As most clients write it."""
        if self.command is None:
            return {url_key: self.url, "headers": self.headers, **more}
        return {"command": self.command[0], "args": self.command[1:]}


@dataclasses.dataclass(frozen=True)
class Place:
    """Where an agent runs: its home, the server, the model's URL."""

    home: pathlib.Path
    server: Server
    model: str

    def write(self, path: str, content) -> pathlib.Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return file


@dataclasses.dataclass(frozen=True)
class Agent:
    name: str
    # Gives the command line, after writing what it needs, and variables.
    prepare: Callable[[Place], tuple[list[str], dict[str, str]]]
    # The name of the client in `initialize` has this part, by which results are cut to size.
    client: str
    # Whether it hands on a long list of tools, in one description or another.
    takes_catalog: bool
    # What becomes of a call after the server was killed on pipes, and after it was killed and started anew on HTTP: "answered"
    # or "told".
    after_kill: str
    after_restart: str


def claude(place: Place):
    config = place.write("mcp.json", {"mcpServers": {"ptc": place.server.entry("url", type="http")}})
    command = ["claude", "-p", PROMPT, "--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__ptc"]
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1"}
    return command, {"ANTHROPIC_BASE_URL": place.model, "ANTHROPIC_API_KEY": "none", "MCP_TIMEOUT": "60000", **quiet}


def codex(place: Place):
    text = json.dumps
    server = place.server
    if server.command is None:
        reached = f'url = {text(server.url)}\nbearer_token_env_var = "SCRIPTED_TOKEN"'
    else:
        reached = f"command = {text(server.command[0])}\nargs = {text(server.command[1:])}"
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
{reached}
required = true
startup_timeout_sec = 60
tool_timeout_sec = 120
default_tools_approval_mode = "approve"
""",
    )
    return ["codex", "exec", "--skip-git-repo-check", PROMPT], {"SCRIPTED_KEY": "none", "SCRIPTED_TOKEN": server.token}


def gemini(place: Place):
    settings = {
        "mcpServers": {"ptc": {**place.server.entry("httpUrl"), "trust": True}},
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
    server = place.server
    if server.command is None:
        reached = {"type": "remote", "url": server.url, "headers": server.headers}
    else:
        reached = {"type": "local", "command": server.command}
    config = {
        "provider": {"loopback": provider},
        "model": "loopback/scripted",
        "small_model": "loopback/scripted",
        "mcp": {"ptc": {**reached, "enabled": True, "timeout": 60_000}},
        "autoupdate": False,
        "share": "disabled",
    }
    place.write(".config/opencode/opencode.json", config)
    env = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    return ["opencode", "run", PROMPT], env


def qwen(place: Place):
    settings = {
        "mcpServers": {"ptc": {**place.server.entry("httpUrl"), "trust": True}},
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    place.write(".qwen/settings.json", settings)
    env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": place.model + "/v1", "OPENAI_MODEL": "scripted"}
    return ["qwen", "-p", PROMPT], env


def cline(place: Place):
    provider = {"provider": "openai-compatible", "apiKey": "none", "model": "scripted", "baseUrl": place.model + "/v1"}
    stored = {"settings": provider, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    providers = {"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": {"openai-compatible": stored}}
    place.write(".cline/data/settings/providers.json", providers)
    entry = {**place.server.entry("url", type="streamableHttp"), "timeout": 120}
    place.write(".cline/data/settings/cline_mcp_settings.json", {"mcpServers": {"ptc": entry}})
    place.write(".cline/data/settings/global-settings.json", {"telemetryOptOut": True, "autoUpdateEnabled": False})
    # By default it leaves a daemon behind, which the next run would talk to.
    return ["cline", "--json", PROMPT], {"CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1"}


def copilot(place: Place):
    entry = place.server.entry("url", type="http")
    place.write(".copilot/mcp-config.json", {"mcpServers": {"ptc": {"type": "local", **entry, "tools": ["*"]}}})
    # A provider of one's own needs no account; without a network there is no update and no telemetry.
    provider = {"COPILOT_PROVIDER_BASE_URL": place.model + "/v1", "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "scripted"}
    return ["copilot", "-p", PROMPT, "--allow-tool", "ptc"], {**provider, "COPILOT_OFFLINE": "true"}


AGENTS = [
    Agent("claude", claude, "claude-code", True, "answered", "answered"),
    Agent("codex", codex, "codex", True, "told", "answered"),
    Agent("gemini", gemini, "gemini", True, "told", "answered"),
    Agent("opencode", opencode, "opencode", True, "told", "answered"),
    Agent("qwen", qwen, "qwen", False, "answered", "answered"),
    Agent("cline", cline, "cline", False, "told", "answered"),
    Agent("copilot", copilot, "copilot", False, "told", "answered"),
]


def run(name: str, line: list[str], variables: dict[str, str], home: pathlib.Path, binaries: pathlib.Path) -> None:
    """Runs an agent to the end of its script, with a home of its own; what it says goes to `output.log` there."""
    path = f"{binaries}:{os.environ['PATH']}"
    env = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", **variables}
    with (home / "output.log").open("w") as output:
        streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
        client = subprocess.Popen(line, cwd=home / "project", env=env, start_new_session=True, **streams)
        try:
            client.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(client.pid, signal.SIGKILL)
            raise AssertionError(f"{name} did not end in {LIMIT} s: {home}") from None
