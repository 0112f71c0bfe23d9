"""The walks. Usage: walk.py PTC [WALK…]"""
import atexit
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request

import readme

PTC = sys.argv[1]
HERE = pathlib.Path(__file__).resolve().parent
SERVER = str(HERE / "place.py")
FIXTURES = HERE.parent.parent / "transport/src/http/fixtures"


class Home:
    """A person's home, with nothing in it."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="ptc-walk-")).resolve()
        atexit.register(shutil.rmtree, self.path, ignore_errors=True)
        keep = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        self.env = {**keep, "HOME": str(self.path)}
        self.through = []

    def file(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text, indent=2))
        return path

    def run(self, *args, cwd=None, code=0, given="", env=None):
        """Runs ptc, and gives what it wrote to standard output and standard error."""
        done = subprocess.run(
            [*self.through, PTC, *map(str, args)], cwd=cwd or self.path, input=given, capture_output=True, text=True, timeout=30,
            env={**self.env, **(env or {})},
        )
        told = f"ptc {' '.join(map(str, args))}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert code is None or done.returncode == code, told
        return done.stdout, done.stderr

    def upstreams(self):
        return json.loads((self.path / ".config/ptc/upstreams.json").read_text())


def has(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in\n{text}"


def server(*args, **more):
    return {"command": sys.executable, "args": [SERVER, *args], **more}


class Client:
    """An MCP client with the entry that `ptc init` wrote for it."""

    def __init__(self, home, entry):
        self.number = 0
        self.process = subprocess.Popen(
            [entry["command"], *entry["args"]], cwd="/", env=home.env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self):
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "walk", "version": "1"}})
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(timeout=20) == 0

    def ask(self, method, params):
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        messages = iter(lambda: json.loads(self.process.stdout.readline()), None)
        return next(message for message in messages if message.get("id") == self.number)["result"]

    def program(self, text):
        return self.ask("tools/call", {"name": "lisp_eval", "arguments": {"program": text}})


def newcomer():
    newcomer_of_the_readme()
    home = Home()
    # Nothing is there yet: each command says what to do.
    for args in (["check"], ["tools"], ["call", "a/b"], ["eval", "-e", "(tool/servers)"], ["eval", "-e", "(tool/call 'a/b {})"]):
        _, err = home.run(*args, code=1)
        has(err, "no upstreams are configured: ptc import, ptc add, or --upstreams-config FILE")
    out, _ = home.run("import", "--dry-run")
    has(out, "No servers were found", "ptc add NAME")
    out, _ = home.run("doctor", code=1)
    has(out, "no upstreams are configured", "→ ptc import")

    # What clients have: most of it good, some of it odd.
    cursor = home.file(".cursor/mcp.json", {"mcpServers": {
        "place": server("home"),
        "words": {"command": f"{sys.executable} {SERVER} words"},
        "tilde": {"command": "~/bin/srv"},
        "short": {"url": "https://h.invalid/", "headers": {"Authorization": "Bearer abc"}},
        "lan": {"url": "http://192.168.1.5:3000/mcp"},
        "oauthy": {"url": "https://h.invalid/2", "auth": {"CLIENT_ID": "x", "CLIENT_SECRET": "y"}},
        "asks": {"command": "x", "env": {"K": "${input:k}"}},
    }})
    before = cursor.read_text()
    home.file(".gemini/settings.json", {"mcpServers": {"keyed": server("gemini", env={"KEY": "$WALK_KEY"})}})
    project = home.path / "work"
    home.file("work/.mcp.json", {"mcpServers": {"local": {"command": sys.executable, "args": ["./run.py"]}}})
    shutil.copy(SERVER, project / "run.py")
    dry, _ = home.run("import", "--dry-run", cwd=project)
    has(dry, "To add 5 upstreams (4 are left out, see !): ptc import --write")
    out, _ = home.run("import", "--write", cwd=project)
    assert out.split("\n\n")[0] == dry.split("\n\n")[0], f"{dry}\n---\n{out}"
    has(out, "added 5 upstreams (4 are left out, see !)")
    entries = home.upstreams()["upstreams"]
    assert entries["local"]["cd"] == str(project) and entries["words"]["args"] == [SERVER, "words"], entries
    assert entries["keyed"]["env"] == {"KEY": "${WALK_KEY}"}, entries
    out, _ = home.run("import", "--write", cwd=project)
    has(out, "Nothing to add")

    # From anywhere, each server is where it belongs.
    out, _ = home.run("call", "local/where", cwd="/")
    assert json.loads(out)["folder"] == str(project), out
    out, _ = home.run("call", "keyed/where", cwd="/", env={"WALK_KEY": "a secret of the walk"})
    has(out, '"key":')
    out, _ = home.run("add", "here", "--", sys.executable, "run.py", "./docs", cwd=project)
    has(out, str(project))
    out, _ = home.run("call", "here/where", cwd="/")
    assert json.loads(out) == {"folder": str(project), "args": ["./docs"], "key": None}, out
    _, err = home.run("add", "a/b", "--", "true", code=1)
    has(err, "cannot stand before a tool's")

    # What one command prints another one takes.
    out, _ = home.run("tools", "place", cwd="/")
    has(out, "place/echo", "place/where")
    out, _ = home.run("tools", "place/echo", cwd="/")
    has(out, "times", "Required args: :text")
    out, _ = home.run("call", "place/echo", "text=ab", "times=2", cwd="/")
    assert out.strip() == "abab", out
    _, err = home.run("call", "place/echo", "txt=ab", code=1)
    has(err, "ptc tools place/echo")

    # The client starts ptc, and gives up what ptc reaches; then back.
    _, err = home.run("init", "--client", "claude", code=1)
    has(err, "did you mean claude-desktop or claude-code?")
    out, _ = home.run("init", "--client", "cursor", "--move")
    has(out, "without place, words, which ptc reaches", "WALK_KEY", "Cursor keeps")
    kept = json.loads(cursor.read_text())["mcpServers"]
    assert set(kept) == {"ptc", "tilde", "short", "lan", "oauthy", "asks"}, kept
    entry = kept["ptc"]
    with Client(home, entry) as client:
        answer = client.program("(get (tool/call! 'local/where {}) \"folder\")")
    has(json.dumps(answer), str(project))
    undo = re.search(r"To undo that: cp (\S+) (\S+)", out)
    shutil.copy(undo.group(1), undo.group(2))
    assert cursor.read_text() == before

    # And what is wrong is told, with what to type.
    out, _ = home.run("doctor", "--json", code=1)
    found = json.loads(out)
    steps = [finding["next_step"] for finding in found["findings"] if not finding["ok"]]
    assert all(steps) and any("ptc init --client" in step for step in steps), out
    assert any("srv" in finding["message"] for finding in found["findings"] if not finding["ok"]), out


def newcomer_of_the_readme():
    """What README.md says to type, in its order: the demo, a server for the agent, the program, and programs without a server."""
    home = Home()
    cursor = {"mcpServers": {"place": server("home"), "store": server("store")}}
    home.file(".cursor/mcp.json", cursor)
    told = {
        "ptc demo": ["3 of 3 answers right"],
        "ptc import": ["+ place", "+ store", "added 2 upstreams"],
        "ptc check": ["place ok", "store ok"],
        "ptc init --client codex": ["Codex starts ptc now"],
        "ptc doctor": ["client Codex    starts ptc", "Nothing is wrong here"],
        "ptc repl": ["3"],
        "ptc eval -e '(+ 1 2)'": ["3"],
    }
    asked = {"ptc import": [("[Y/n]", "y")], "ptc repl": [("user=>", "(+ 1 2)"), ("user=>", ":quit")]}

    def typed(line, terminal):
        command = readme.command(line)
        assert command in told, f"README.md has a new command, and the walk no check of what it says: {command}"
        said = terminal.type(line, *asked.get(command, []))
        has(said, *told[command])
        return said

    with readme.Terminal(home, PTC, {"PTC_HTTP_PORT": str(free_port())}) as terminal:
        [demo] = [typed(line, terminal) for line in readme.commands("Try it")]
        rows = re.findall(r"^\|.*calls?, ([\d ]+) bytes.*1 program, ([\d ]+) bytes \|$", readme.section("What a program looks like"), re.MULTILINE)
        assert len(rows) == 3, rows
        for fetched, returned in rows:
            has(demo, f"{fetched.replace(' ', '')} fetched, {returned.replace(' ', '')} returned")
        for line in readme.commands("Put it in front of your agent"):
            typed(line, terminal)

    # The client sees one tool that lists what programs can call, and the program has the value that stands below it.
    entry = tomllib.loads((home.path / ".codex/config.toml").read_text())["mcp_servers"]["ptc"]
    [block] = readme.blocks(readme.section("What a program looks like"), "clojure")
    program, value = re.fullmatch(r"(.*\n);; (user=> .*)\n", block, re.DOTALL).groups()
    with Client(home, entry) as client:
        [tool] = client.ask("tools/list", {})["tools"]
        assert tool["name"] == "lisp_eval", tool
        has(json.dumps(tool), "store", "get", "place", "echo")
        [content] = client.program(program)["content"]
        assert content["text"] == value, content
        has(readme.section("What a program looks like"), f"the model reads {len(value.encode())} bytes")

    with readme.Terminal(Home(), PTC) as terminal:
        for line in readme.inline("What a program looks like"):
            typed(line, terminal)


def developer():
    home = Home()
    home.file(".config/ptc/upstreams.json", {"upstreams": {"place": {"transport": "mcp_stdio", **server("dev")}}})
    out, _ = home.run("eval", "-e", "(->> (range 10) (map inc) (reduce +))")
    assert out == "55\n", out
    out, _ = home.run("eval", "-e", "(count (tool/servers))")
    assert out == "1\n", out
    out, _ = home.run("repl", given="(tool/call! 'place/echo {:text \"x\" :times 3})\n:tools\n")
    has(out, "xxx", "place/note")
    other = home.file("other.json", {"upstreams": {"else": {"transport": "mcp_stdio", **server("else")}}})
    out, _ = home.run("eval", "-e", "(get (first (tool/servers)) \"name\")", env={"PTC_UPSTREAMS": str(other)})
    has(out, "else")
    _, err = home.run("eval", "--no-upstreams", "-e", "(tool/servers)", code=1)
    has(err, "no upstreams are configured")
    # JSON Lines are for programs: nobody's file is read unless it is named.
    line = json.dumps({"id": 1, "program": "(tool/servers)"}) + "\n"
    out, _ = home.run("eval", "--jsonl", given=line)
    assert not json.loads(out)["ok"], out
    out, _ = home.run("eval", "--jsonl", "--upstreams-config", other, given=line)
    assert json.loads(out)["ok"], out
    # Nothing is started for a program that calls nothing, and a broken file is in nobody's way.
    home.file(".config/ptc/upstreams.json", "{")
    out, err = home.run("eval", "-e", "(+ 1 2)")
    assert out == "3\n", out
    has(err, "upstreams are left out")
    _, err = home.run("tools", code=1)
    has(err, "upstreams.json")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(what, condition):
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"never: {what}")


class Started:
    """A server on HTTP, until the end of the block."""

    def __init__(self, home, *flags, env=None):
        self.home, self.port = home, free_port()
        self.log = open(home.path / "server.log", "w")
        self.process = subprocess.Popen(
            [*home.through, PTC, "start", "--http", "--http-port", str(self.port), *map(str, flags)], cwd="/", env={**home.env, **(env or {})},
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=20)


def fetch(url, headers={}, body=None):
    """The status and the text of an answer over HTTP."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body and json.dumps(body).encode(), headers), timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()


def evaluation(url, headers, program):
    """A call of `lisp_eval` over HTTP, as a client of 2026-07-28 makes it."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "lisp_eval", "arguments": {"program": program},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "walk", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }}
    headers = {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "lisp_eval", **headers,
    }
    return fetch(url, headers, body)


def operator_of_the_readme():
    """What README.md says to type under "Share it", at one terminal and in its order."""
    home = Home()
    entry = {"transport": "mcp_stdio", **server("shared"), "approve_tools": ["note"]}
    home.file(".config/ptc/upstreams.json", {"upstreams": {"place": entry}})
    # On a port that is free, in place of the default one.
    port = free_port()
    prose = readme.section("Share it").replace("7332", str(port))
    console = re.search(r"`(http://[^`]*/console)`", prose)[1]
    client = json.loads(re.search(r"`({\"url\".*})`", prose)[1])

    def answers():
        return home.run("health", "--port", port, code=None)[0]

    with readme.Terminal(home, PTC, {"PTC_HTTP_PORT": str(port)}) as terminal:
        token, start, health, runs, stop = readme.commands("Share it")
        terminal.type(token)
        assert (home.path / "tokens").stat().st_mode & 0o077 == 0, "others can read the tokens"
        terminal.type(start)
        until("the server answers", answers)
        has(terminal.type(health), re.search(r"# (.*)$", health)[1])
        has(terminal.type(runs), "no program runs or waits")

        # A client with the entry of the page, whose program waits for a person.
        url, headers = client["url"], client["headers"]
        assert evaluation(url, headers, "(+ 1 2)")[0] == 401
        headers["Authorization"] = headers["Authorization"].replace("TOKEN", (home.path / "tokens").read_text().strip().removeprefix("ada:"))
        status, text = evaluation(url, headers, "(tool/call! 'place/echo {:text \"x\" :times 3})")
        assert status == 200 and "xxx" in text, text
        status, text = evaluation(url, headers, "(tool/call! 'place/note {:content \"c\" :path \"/tmp/a\"})")
        assert status == 200 and "waiting" in text, text
        has(terminal.type(runs), "waiting", "place")

        status, text = fetch(console)
        assert status == 200 and "<html" in text, text
        status, text = fetch(url.removesuffix("/mcp") + "/metrics")
        has(text, 'ptc_http_requests_total{route="mcp",status="2xx"} 2', 'ptc_upstream_up{server="place"} 1')

        terminal.type(stop)
        until("the server ends", lambda: not answers())
    has((home.path / "ptc.log").read_text(), '"event":"exit"')


def operator():
    operator_of_the_readme()
    home = Home()
    token = "of-the-operator-and-long-enough-for-it"
    tokens = home.file("tokens", f"ada:{token}\n")
    tokens.chmod(0o600)
    entry = {"transport": "mcp_stdio", **server("ops"), "approve_tools": ["note"]}
    home.file(".config/ptc/upstreams.json", {"upstreams": {"place": entry}})
    env = {"PTC_HTTP_AUTH_TOKEN": token}

    _, err = home.run("health", "--port", free_port(), code=1)
    has(err, "is ptc start --http running there?")
    with Started(home, "--http-auth-token-file", tokens, "--console", "--http-port-typo", env={}) as wrong:
        assert wrong.process.wait(timeout=20) == 2
    with Started(home, "--http-auth-token-file", tokens, "--console", "--response-profile", "structured") as ptc:
        here = ["--port", ptc.port]
        until("it is well", lambda: home.run("health", *here, code=None)[0])
        out, _ = home.run("doctor", "--json", code=None, env={"PTC_HTTP_PORT": str(ptc.port)})
        has(out, "a ptc server is well there")

        def call(program):
            headers = {"Authorization": f"Bearer {token}"}
            status, text = evaluation(f"http://127.0.0.1:{ptc.port}/mcp", headers, program)
            assert status == 200, text
            return json.loads(text)

        def waiting():
            out, _ = home.run("runs", "--json", *here, env=env)
            runs = [json.loads(line) for line in out.splitlines()]
            return [run for run in runs if run["status"] == "waiting"]

        long = "line\n" * 60
        note = lambda path: f"(tool/call! 'place/note {{:content {json.dumps(long)} :path {json.dumps(path)}}})"
        call(note("/tmp/a"))
        [run] = until("a run waits", waiting)
        out, _ = home.run("runs", "show", run["run_id"], *here, env=env)
        assert out.index("path: ") < out.index("content: ("), f"short values first:\n{out}"
        assert len(out.splitlines()) < 40, f"long ones folded:\n{out}"
        out, _ = home.run("runs", "allow", run["run_id"], *here, env=env)
        has(out, "answered; the program goes on")
        _, err = home.run("runs", "allow", run["run_id"], *here, code=1, env=env)
        call(note("/tmp/b"))
        [run] = until("another waits", waiting)
        home.run("runs", "refuse", run["run_id"], "q1", *here, env=env)
        call("(ask {:message \"Where?\" :schema {:type \"object\" :properties {:region {:type \"string\"} :n {:type \"integer\"}} :required [\"region\"]}})")
        [run] = until("a question waits", waiting)
        _, err = home.run("runs", "answer", run["run_id"], *here, code=1, env=env)
        has(err, "region=…")
        out, _ = home.run("runs", "answer", run["run_id"], "region=eu", "n=2", *here, env=env)
        has(out, "answered")

    # With a certificate: the image's health check knows it by the variables of the server.
    certificate = {"PTC_HTTP_TLS_CERT": str(FIXTURES / "localhost.cert.pem"), "PTC_HTTP_TLS_KEY": str(FIXTURES / "localhost.key.pem")}
    with Started(home, "--http-auth-token-file", tokens, env=certificate) as ptc:
        until("it is well over TLS", lambda: home.run("health", "--port", ptc.port, code=None, env=certificate)[0])
        _, err = home.run("health", "--port", ptc.port, code=1)
        has(err, "if it speaks TLS")
        ca = ["--ca-file", certificate["PTC_HTTP_TLS_CERT"]]
        url = f"https://localhost:{ptc.port}"
        home.run("health", "--url", url, *ca)
        out, _ = home.run("repl", "--connect", url, *ca, "-e", "(+ 1 2)", env=env)
        has(out, "3")
        out, _ = home.run("repl", "--connect", url, "-e", "(+ 1 2)", env={**env, "PTC_CA_FILE": ca[1]})
        has(out, "3")

    # A variable that is misspelt, and a trace folder that is none.
    with Started(home, "--http-auth-token-file", tokens, "--trace-dir", tokens) as ptc:
        assert ptc.process.wait(timeout=20) == 1
    has((home.path / "server.log").read_text(), "--trace-dir")
    with Started(home, "--http-auth-token-file", tokens, env={"PTC_HTTP_PORTT": "1"}) as ptc:
        until("it is well", lambda: home.run("health", "--port", ptc.port, code=None)[0])
    has((home.path / "server.log").read_text(), "did you mean PTC_HTTP_PORT?")


def sealed():
    """A command that runs another one where nothing can be written and the system tells nothing of its processes."""
    seal = 'mount -t tmpfs none /proc && mount -o remount,bind,ro / && exec "$@"'
    mine = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", "--mount", *mine, "sh", "-c", seal, "sh"]


def container():
    """Neither a home nor a place to write: each command works, or says one sentence. Then without `/proc` and with a read-only root."""
    for through in ([], sealed()):
        in_container(through)


def in_container(through):
    home = Home()
    bare = Home()
    bare.env = {"PATH": home.env["PATH"]}
    bare.through = through
    upstreams = home.file("u.json", {"upstreams": {"place": {"transport": "mcp_stdio", **server("box")}}})
    named = ["--upstreams-config", upstreams]
    for args in (["eval", "-e", "(+ 1 2)"], ["tools", *named], ["call", "place/where", *named], ["check", *named], ["version"]):
        bare.run(*args, cwd="/")
    for args in (["import", "--dry-run"], ["init"], ["add", "a", "--", "true"], ["remove", "a"], ["doctor"], ["auth"], ["login", "a"], ["state", "ls"]):
        out, err = bare.run(*args, cwd="/", code=None)
        assert "panicked" not in err and len(err.splitlines()) <= 2, (args, err)
    with Started(bare, "--http-disable-auth", *named) as ptc:
        until("it is well", lambda: bare.run("health", "--port", ptc.port, cwd="/", code=None)[0])


# How each shell says what stands behind `ptc ev` and `ptc eval --js` once it has read the script in FILE.
SHELLS = {
    "bash": """source FILE; for words in "ev" "eval --js"; do COMP_WORDS=(ptc $words); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        COMPREPLY=(); _ptc ptc "${COMP_WORDS[COMP_CWORD]}" ""; echo "${COMPREPLY[@]}"; done""",
    # The words of zsh's own completion are seen in its editor alone: that the script is read, and is the one for ptc, is seen here.
    "zsh": """autoload -U compinit; compinit -u -D; source FILE; [ "$_comps[ptc]" = _ptc ] && whence -f _ptc _ptc_commands""",
    "fish": """source FILE; complete -C 'ptc ev'; complete -C 'ptc eval --js'""",
}


def terminal():
    """Completions in the shells that are there, manual pages, and values for scripts."""
    home = Home()
    required = os.environ.get("PTC_TEST_SHELLS") == "required"
    for shell, ask in SHELLS.items():
        script, _ = home.run("completions", shell)
        path = home.file(f"completions.{shell}", script)
        if shutil.which(shell) is None:
            assert not required, f"there is no {shell}"
            continue
        said = subprocess.run(
            [shell, "-c", ask.replace("FILE", str(path))], capture_output=True, text=True, timeout=30, env=home.env, check=True,
        )
        assert not said.stderr, said.stderr
        has(said.stdout, "eval", "--json", "--jsonl")
    home.run("man", "--dir", home.path / "man1")
    pages = {page.name for page in (home.path / "man1").iterdir()}
    has(home.run("man")[0], ".TH ptc 1", "ptc\\-eval(1)")
    assert {"ptc.1", "ptc-eval.1", "ptc-start.1", "ptc-state-ls.1"} <= pages and "ptc-demo-upstream.1" not in pages, pages
    if shutil.which("man"):
        shown = subprocess.run(
            ["man", "-l", home.path / "man1/ptc-eval.1"], capture_output=True, text=True, timeout=30, env=home.env, check=True,
        )
        has(shown.stdout, "--json", "Print the value as one line of JSON")

    # The value alone, for scripts.
    out, err = home.run("eval", "--json", "-e", '(do (println "printed") {:a [1 nil "x"]})')
    assert (json.loads(out), err) == ({"a": [1, None, "x"]}, "printed\n"), (out, err)
    _, err = home.run("eval", "--json", "-e", "(fn [] 1)", code=1)
    has(err, "the value has no JSON form")
    out, err = home.run("repl", given="(foo)\n(+ 1 2)\nexit\n(+ 3 4)\n", code=1)
    assert out == "3\n", out


walks = {walk.__name__: walk for walk in (newcomer, developer, operator, terminal, container)}
for name in sys.argv[2:] or walks:
    begun = time.monotonic()
    walks[name]()
    print(f"{name}: well ({time.monotonic() - begun:.1f} s)", flush=True)

# All of them together go through README.md.
if not sys.argv[2:]:
    assert not readme.forgotten(), f"no walk types what README.md says: {readme.forgotten()}"
