"""What the tests of signing in are made of: foreign processes that tell facts as JSON lines, and `ptc` with a state of its own."""
import atexit
import base64
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

PATIENCE = 60
HERE = pathlib.Path(__file__).resolve().parent


class Peer:
    """A process whose output is JSON lines; the first tells where it is."""

    def __init__(self, command, **environment):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env={**os.environ, **{name: str(value) for name, value in environment.items()}})
        # A test that fails leaves nobody behind.
        atexit.register(self.process.kill)
        self.lines, self.changed = [], threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()
        self.where = self.wait(lambda facts: "event" not in facts)

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                with self.changed:
                    self.lines.append(json.loads(line))
                    self.changed.notify_all()

    def wait(self, wanted):
        """The first line that is wanted, once it is there."""
        with self.changed:
            assert self.changed.wait_for(lambda: any(map(wanted, self.lines)), PATIENCE), f"never told: {self.lines}"
            return next(filter(wanted, self.lines))

    def told(self, **facts):
        """All lines so far that have these members."""
        with self.changed:
            return [line for line in self.lines if facts.items() <= line.items()]

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Product:
    """`ptc` with its own home, an upstreams file, and a person behind `xdg-open`."""

    def __init__(self, ptc, folder):
        self.ptc, self.folder = ptc, pathlib.Path(folder)
        self.config = self.folder / "upstreams.json"
        self.said = []
        commands = self.folder / "bin"
        commands.mkdir(parents=True)
        opener = commands / "xdg-open"
        opener.write_text(f"#!/bin/sh\nexec {sys.executable} {HERE / 'person.py'} \"$1\"\n")
        opener.chmod(0o755)
        self.environment = {"PATH": f"{commands}:{os.environ['PATH']}", "HOME": str(self.folder), "DISPLAY": ":0",
                            "XDG_STATE_HOME": str(self.folder / "state"), "PTC_UPSTREAMS": str(self.config)}
        for name in ("PYENV_ROOT", "PYENV_VERSION"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def configure(self, upstreams, credentials=None):
        self.config.write_text(json.dumps({"credentials": credentials or {}, "upstreams": upstreams}))
        self.config.chmod(0o600)

    def start(self, *arguments, **environment):
        return subprocess.Popen([self.ptc, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env={**self.environment, **environment})

    def run(self, *arguments, status=0, given=None, **environment):
        """Runs a command to its end; gives what it printed."""
        process = self.start(*arguments, **environment)
        out, err = process.communicate(given, timeout=PATIENCE)
        self.said += [out, err]
        assert process.returncode == status, f"{arguments}: status {process.returncode}, not {status}\n{out}{err}"
        self.last_error = err
        return out

    def auth(self):
        """What `ptc auth --json` tells, by name."""
        return {row["name"]: row for row in json.loads(self.run("auth", "--json"))["upstreams"]}

    def call(self, server, tool="whoami", **arguments):
        """The result of one call that a program makes, as JSON."""
        program = f'(tool/call {{:server "{server}" :tool "{tool}" :args {clojure(arguments)}}})'
        return json.loads(self.run("eval", "--program-timeout-ms", "30000", "--upstream-call-timeout-ms", "20000", "--jsonl",
                                   given=json.dumps({"id": 1, "program": program}) + "\n"))["json"]

    def secrets(self):
        """All tokens that are in the store now."""
        found = []
        for file in (self.folder / "state").rglob("token-*.json"):
            record = json.loads(file.read_text())
            found += strings_of(record, {"access_token", "refresh_token"})
        return found


def strings_of(record, names):
    """The texts under these names, however deep."""
    found = []
    for name, value in record.items() if isinstance(record, dict) else enumerate(record):
        if isinstance(value, str) and name in names:
            found.append(value)
        elif isinstance(value, (dict, list)):
            found += strings_of(value, names)
    return found


def clojure(arguments):
    return "{" + " ".join(f":{name} {json.dumps(value)}" for name, value in arguments.items()) + "}"


def spellings(secret):
    """A secret as it might hide in a text: raw, percent-encoded, in base64, escaped in JSON."""
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return {secret, urllib.parse.quote(secret, safe=""), encoded, json.dumps(secret)[1:-1]}


def until(what, ask):
    """Asks again until the answer is truthy."""
    patience = time.monotonic() + PATIENCE
    while not (answer := ask()):
        assert time.monotonic() < patience, f"never: {what}"
        time.sleep(0.05)
    return answer
