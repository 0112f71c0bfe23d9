"""`ptc start` as the agents meet it: on pipes, where they start it, and on HTTP, where we do. Either can be killed."""
import json
import os
import pathlib
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time

from agents import Server

here = pathlib.Path(__file__).resolve().parent
LIMITS = ["--upstream-call-timeout-ms", "60000", "--program-timeout-ms", "60000"]


def _start(ptc: pathlib.Path, home: pathlib.Path) -> list[str]:
    upstreams = home / "upstreams.json"
    slow = {"transport": "mcp_stdio", "command": sys.executable, "args": [str(here / "slow.py")]}
    upstreams.write_text(json.dumps({"upstreams": {"slow": slow}}))
    return [str(ptc), "start", "--upstreams-config", str(upstreams), *LIMITS]


class OnPipes:
    """Leaves its process id in one file, and what it is told in another."""

    name = "pipes"

    def __init__(self, ptc: pathlib.Path, home: pathlib.Path):
        self.home = home
        pids, told = (shlex.quote(str(home / name)) for name in ("pids", "told.jsonl"))
        start = shlex.join(_start(ptc, home))
        self.server = Server(["/bin/bash", "-c", f"echo $$ >> {pids}; exec {start} < <(exec tee -a {told})"])

    def kill(self) -> None:
        os.kill(int((self.home / "pids").read_text().split()[-1]), signal.SIGKILL)
        # The client must see that the pipe has ended before it calls.
        time.sleep(1)

    def client_names(self) -> set[str]:
        """As said in `initialize`, or, since 2026-07-28, with each request."""
        told = [json.loads(line) for line in (self.home / "told.jsonl").read_text().splitlines()]
        said = [message.get("params", {}) for message in told]
        infos = [params.get("clientInfo") or params.get("_meta", {}).get("io.modelcontextprotocol/clientInfo") for params in said]
        return {info["name"] for info in infos if info}

    def close(self) -> None:
        pass


class OnHttp:
    """Started anew at the same port after it was killed."""

    name = "HTTP"

    def __init__(self, ptc: pathlib.Path, home: pathlib.Path, start: list[str] | None = None, env: dict[str, str] | None = None):
        """`start` is the command instead of the usual one, `env` its environment."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        token, self.env = secrets.token_hex(32), env
        (home / "token").write_text(token)
        (home / "token").chmod(0o600)
        self.command = [*(start or _start(ptc, home)), "--http", "--http-port", str(self.port), "--http-auth-token-file", str(home / "token")]
        self.log = (home / "server.log").open("w")
        self.server = Server(url=f"http://127.0.0.1:{self.port}/mcp", token=token)
        self._begin()

    def _begin(self) -> None:
        self.process = subprocess.Popen(self.command, env=self.env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError(f"the server does not listen: {(self.log.name)}")

    def kill(self) -> None:
        self.close()
        self._begin()

    def client_names(self) -> set[str]:
        return set()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
