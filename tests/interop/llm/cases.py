"""`ptc agent` against a mock provider that others wrote, every request held to the official SDKs' types.

Usage: cases.py PTC LLMOCK UPSTREAMS
"""

import base64
import json
import os
import pty
import select
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from checker import ACCESS_KEY, SESSION_TOKEN, Checker

PTC, LLMOCK, UPSTREAMS = sys.argv[1:4]
FIXTURES = Path(__file__).parent / "fixtures"
KEY = "sk-interop-very-secret"
PATIENCE = 60
GENERATE = "/v1beta/models/m:generateContent"
CONVERSE = "/model/m/converse"
HOME = tempfile.mkdtemp()
ENV = {"PATH": os.environ["PATH"], "HOME": HOME, "TERM": "xterm", "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY,
       "GEMINI_API_KEY": KEY, "AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": KEY,
       "AWS_SESSION_TOKEN": SESSION_TOKEN, "OLLAMA_API_KEY": KEY, "OPENAI_COMPAT_API_KEY": KEY}
MODELS = {"openai": "openai:gpt-4.1-mini", "anthropic": "anthropic:claude-haiku-4-5", "gemini": "gemini:gemini-3-flash",
          "bedrock": "bedrock:eu-central-1/amazon.nova-lite-v1:0",
          "ollama": "ollama:llama3.2:3b", "compat": "openai-compat:BASE/v1|my/model:7b"}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
passed = 0


def require(truth, message):
    if not truth:
        sys.exit(f"FAIL {message}")


def done(name):
    global passed
    passed += 1
    print(f"ok   {name}")


class Mock:
    """A mock provider with these fixtures and flags."""

    def __init__(self, fixtures, *flags):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        files = [flag for name in fixtures for flag in ("-f", str(FIXTURES / name))]
        command = ["node", LLMOCK, "-h", "127.0.0.1", "-p", str(self.port), "--strict", "--log-level", "silent"]
        self.process = subprocess.Popen([*command, *files, *flags], env=ENV, stdout=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while socket.socket().connect_ex(("127.0.0.1", self.port)) != 0:
            require(time.monotonic() < end and self.process.poll() is None, "the mock does not start")
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def model(wire, base):
    if "BASE" in MODELS[wire]:
        return ["agent", "--model", MODELS[wire].replace("BASE", base)]
    return ["agent", "--model", MODELS[wire], "--base-url", base]


def ask(wire, base, *arguments):
    """One question through pipes."""
    command = [PTC, *model(wire, base), *arguments]
    ran = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    require(KEY not in ran.stdout + ran.stderr, f"the key shows: {ran}")
    return ran


def answer(wire, base, expected, *arguments):
    ran = ask(wire, base, *arguments)
    require(ran.returncode == 0 and ran.stdout == expected, f"{wire} {arguments}: {ran}")
    return ran


class Terminal:
    """`ptc agent` on a terminal of its own."""

    def __init__(self, *arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(PTC, [PTC, *arguments], ENV)
        self.text = ""

    def until(self, wanted):
        """Reads until `wanted` was shown, or until the end where it is None; gives all text."""
        end = time.monotonic() + PATIENCE
        while wanted is None or wanted not in self.text:
            require(time.monotonic() < end, f"{wanted!r} never came: {self.text!r}")
            if not select.select([self.fd], [], [], 1)[0]:
                continue
            try:
                piece = os.read(self.fd, 65536)
            except OSError:
                piece = b""
            if not piece:
                require(wanted is None, f"ended without {wanted!r}: {self.text!r}")
                break
            self.text += piece.decode(errors="replace")
        return self.text

    def type(self, text):
        self.text = ""
        os.write(self.fd, text.encode())

    def status(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def conversations(wire):
    with Mock(["conversations.json"], "--validate-on-load") as mock:
        checker = Checker(mock.port, KEY)
        base, files = checker.base, ["--upstreams-config", UPSTREAMS]
        answer(wire, base, "Hello, \x1b[31mworld\x1b[0m, in several pieces.\n", "say hello")
        done(f"{wire}: text")
        ran = answer(wire, base, "The sum is 10.\n", *files, "add up the file")
        require(ran.stderr.count("→  fake/echo") == 5 and "=  10" in ran.stderr, f"{wire}: {ran.stderr}")
        done(f"{wire}: a program over an upstream")
        answer(wire, base, "It said hi and ho.\n", *files, "--native", "fake", "echo natively")
        done(f"{wire}: two native calls in one turn")
        answer(wire, base, "Refused, both of them.\n", "call it wrongly")
        done(f"{wire}: refused calls are paired")
        require(not any(checker.streamed), f"{wire}: streamed without a terminal")
        picture = Path(HOME) / "dot.png"
        picture.write_bytes(base64.b64decode(PNG))
        answer(wire, base, "Hello, \x1b[31mworld\x1b[0m, in several pieces.\n", "--image", str(picture), "say hello")
        require(PNG in json.dumps(checker.seen[-1]), f"{wire}: the image is not sent")
        done(f"{wire}: an image")

        pipes = len(checker.seen)
        shown = Terminal(*model(wire, base), "say hello")
        text = shown.until(None)
        require("Hello, \\u001b[31mworld" in text and "\x1b[31m" not in text, f"{wire}: {text!r}")
        require(shown.status() == 0 and checker.streamed[pipes] == (wire != "bedrock"), f"{wire}: not streamed")
        done(f"{wire}: streamed to a terminal, escapes as text")

        answer(wire, base, "The key that I was given is [REDACTED], is it?\n", "tell the key")
        shown = Terminal(*model(wire, base), "tell the key")
        text = shown.until(None)
        require("The key that I was given is [REDACTED], is it?" in text, f"{wire}: {text!r}")
        require(shown.status() == 0, f"{wire}: {text!r}")
        done(f"{wire}: a key in pieces does not show")

        chat = Terminal(*model(wire, base), *files)
        chat.until("> ")
        chat.type("add up the file\r")
        text = chat.until("The sum is 10.")
        require("fake/echo" in text and "λ" in text, f"{wire}: {text!r}")
        chat.type("say hello\r")
        chat.until("several pieces.")
        require("The sum is 10." in str(checker.seen[-1]), f"{wire}: the chat forgets")
        chat.type("/usage\r")
        chat.until("tokens in")
        chat.type("/quit\r")
        chat.until(None)
        require(chat.status() == 0, f"{wire}: the chat ends badly")
        done(f"{wire}: a chat at a terminal")
        require(not checker.problems, f"{wire}: " + "\n".join(checker.problems))
        done(f"{wire}: {len(checker.seen)} requests as the official SDK types them")


def typed(wire):
    kind = "text" if wire in ("openai", "gemini", "ollama", "compat") else "tool"
    with Mock([f"typed-{kind}.json"], "--validate-on-load") as mock:
        checker = Checker(mock.port, KEY)
        arguments = ["--mode", "text", "--signature", "{total :int}", "count them"]
        answer(wire, checker.base, '{"total":3}\n', *arguments)
        body = checker.seen[0]
        held = body.get("response_format") or body.get("tool_choice") or body.get("toolConfig", {}).get("toolChoice")
        held = held or body.get("generationConfig", {}).get("responseJsonSchema")
        require(held, f"{wire}: the answer is not held to the schema: {body}")
        require(not checker.problems, f"{wire}: " + "\n".join(checker.problems))
        done(f"{wire}: a structured answer")


def faults(wire):
    for flag, text in [
        ("--chaos-drop", "status 500"),
        ("--chaos-malformed", "the answer is not JSON"),
        ("--chaos-disconnect", "connection closed"),
        ("--chaos-ratelimit", "status 429"),
    ]:
        with Mock(["conversations.json"], flag, "1") as mock:
            ran = ask(wire, f"http://127.0.0.1:{mock.port}", "--attempts", "1", "say hello")
            wrong = f"{wire} {flag}: {ran}"
            require(ran.returncode == 1 and not ran.stdout and ran.stderr.startswith("ptc: llm_error: "), wrong)
            require(text in ran.stderr, wrong)
        done(f"{wire}: {flag[8:]}")


def checks():
    """The checker finds what it is there to find."""
    message = {"role": "user", "content": "hi"}
    headers = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "anthropic-version": "2023-06-01",
               "x-goog-api-key": KEY, "host": "h"}
    for path, body, found in [
        ("/v1/chat/completions", {"model": "m", "messages": [message]}, None),
        ("/v1/chat/completions", {"model": "m", "messages": [message], "bogus": 1}, "unknown /bogus"),
        ("/v1/chat/completions", {"model": "m", "messages": [{**message, "bogus": 1}]}, "unknown /messages/0/bogus"),
        ("/v1/chat/completions", {"model": "m", "messages": [{"role": "tool", "content": "x"}]}, "tool_call_id"),
        ("/v1/messages", {"model": "m", "max_tokens": 1, "messages": [message]}, None),
        ("/v1/messages", {"model": "m", "messages": [message]}, "max_tokens"),
        ("/v1/messages", {"model": "m", "max_tokens": 1, "messages": [{"role": "tool", "content": "x"}]}, "role"),
        (GENERATE, {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}, None),
        (GENERATE, {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "bogus": 1}, "unknown /bogus"),
        (GENERATE, {"contents": [{"role": "user", "parts": [{"bogus": "hi"}]}]}, "bogus"),
        (GENERATE, {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "t"}}]},
                                 {"role": "user", "parts": [{"text": "hi"}]}]}, "have results"),
        (CONVERSE, {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}, None),
        (CONVERSE, {"messages": [{"role": "user", "content": [{"bogus": "hi"}]}]}, "bogus"),
        (CONVERSE, {"messages": [{"role": "user"}]}, "content"),
    ]:
        checker = Checker(0, KEY)
        checker.check(path, headers, json.dumps(body).encode(), KEY)
        problems = " ".join(checker.problems)
        require(problems == "" if found is None else found in problems, f"{body}: {problems!r}")
    done("the checker tells right requests from wrong ones")


def token():
    """An API key of Bedrock in place of the signature."""
    with Mock(["conversations.json"]) as mock:
        checker = Checker(mock.port, KEY)
        ENV["AWS_BEARER_TOKEN_BEDROCK"] = KEY
        answer("bedrock", checker.base, "Hello, \x1b[31mworld\x1b[0m, in several pieces.\n", "say hello")
        del ENV["AWS_BEARER_TOKEN_BEDROCK"]
        require(not checker.problems, "\n".join(checker.problems))
        done("bedrock: a token")
        # The mock fails on a cache point among the tools; the service's own model knows it.
        name = "bedrock:eu-central-1/anthropic.claude-3-haiku-20240307-v1:0"
        command = [PTC, "agent", "--model", name, "--base-url", checker.base, "--attempts", "1", "say hello"]
        subprocess.run(command, env=ENV, capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        require(json.dumps(checker.seen[-1]).count("cachePoint") == 3, f"no cache points: {checker.seen[-1]}")
        require(not checker.problems, "\n".join(checker.problems))
        done("bedrock: cache points, as the service's own model has them")


checks()
token()
for wire in MODELS:
    conversations(wire)
    typed(wire)
    faults(wire)
print(f"{passed} passed, 0 failed")
