"""Runs each agent once with the scripted model and says what it did. Usage: drive.py PTC BIN WORK [AGENT…]"""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

from agents import AGENTS, Agent, Place
from model import CLOSING, Model, serving

here = pathlib.Path(__file__).resolve().parent
ptc, binaries, work = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
SLOW = 20
# More than any client hands to its model whole, in characters.
LONG = 100_000
PROGRAMS = [
    "(+ 40 2)",
    '(parse-long "x" 1 2 3)',
    f'(tool/call! {{:server "slow" :tool "sleep" :args {{:seconds {SLOW}}}}})',
    f'(apply str (repeat {LONG // 10} "0123456789"))',
    "(+ 50 5)",
]
KILLED_BEFORE = 4
LIMIT = 180


def description(server: list[str]) -> str:
    """The tool's description as the server gives it."""
    requests = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "drive", "version": "1"}}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests)
    done = subprocess.run(server, input=text, capture_output=True, text=True, check=True, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    (tools,) = (answer["result"]["tools"] for answer in answers if answer.get("id") == 2)
    return tools[0]["description"]


def server(home: pathlib.Path) -> list[str]:
    """The command of the server: it leaves its process id, and what it is told."""
    upstreams = home / "upstreams.json"
    upstreams.write_text(json.dumps({"upstreams": {"slow": {"transport": "mcp_stdio", "command": sys.executable, "args": [str(here / "slow.py")]}}}))
    limits = ["--upstream-call-timeout-ms", "60000", "--program-timeout-ms", "60000"]
    start = shlex.join([str(ptc), "start", "--upstreams-config", str(upstreams), *limits])
    pids, told = (shlex.quote(str(home / name)) for name in ("pids", "told.jsonl"))
    return ["/bin/bash", "-c", f"echo $$ >> {pids}; exec {start} < <(exec tee -a {told})"]


def kill(home: pathlib.Path) -> None:
    pid = int((home / "pids").read_text().split()[-1])
    os.kill(pid, signal.SIGKILL)
    # The client must see that the pipe has ended before it calls.
    time.sleep(1)


def drive(agent: Agent) -> None:
    home = work / agent.name
    shutil.rmtree(home, ignore_errors=True)
    (home / "project").mkdir(parents=True)
    command = server(home)
    expected = description(command)
    (home / "told.jsonl").unlink()
    model = Model(PROGRAMS, {KILLED_BEFORE: lambda: kill(home)}, home / "requests.log")
    with serving(model) as url:
        line, variables = agent.prepare(Place(home, command, url))
        env = {"HOME": str(home), "PATH": f"{binaries}:{os.environ['PATH']}", "LANG": "C.UTF-8", "TERM": "dumb", **variables}
        with (home / "output.log").open("w") as output:
            client = subprocess.Popen(line, cwd=home / "project", env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
            try:
                client.wait(LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(client.pid, signal.SIGKILL)
                raise AssertionError(f"{agent.name} did not end in {LIMIT} s") from None
    judge(agent, model, expected, home)


def judge(agent: Agent, model: Model, expected: str, home: pathlib.Path) -> None:
    def check(holds: bool, what: str) -> None:
        assert holds, f"{agent.name}: {what}\n{json.dumps(model.results, indent=1)}\n{(home / 'output.log').read_text()[-3000:]}"

    check(model.tool is not None, "the tool is not there")
    name, described = model.tool
    check(expected.strip() in described, f"the description is not whole: {len(described)} of {len(expected)} characters\n{described}")
    check(len(model.results) >= KILLED_BEFORE, "not all programs were answered")
    plain, failing, slow, long = model.results[:KILLED_BEFORE]
    check("42" in plain, "the first answer is missing")
    check("parse-long" in failing, "the failure does not say what failed")
    check(f"slept {SLOW} seconds" in slow, "the slow program was not answered")
    cut = re.search(rf";; cut: (\d+) of {LONG} characters shown", long)
    check(cut is not None, f"the note behind a cut is cut: {long[-300:]}")
    whole = max(map(len, re.findall(r"\d+", long)))
    check(whole >= int(cut[1]), f"of the {cut[1]} characters that we sent, {whole} came in one piece")
    after = model.results[KILLED_BEFORE] if len(model.results) > KILLED_BEFORE else "the tool is gone"
    survived = "started again" if "55" in after else "told"
    check(survived == agent.after_kill, f"after a kill: {survived}, not {agent.after_kill}")
    check(CLOSING in (home / "output.log").read_text(), "it did not come to the end of the script")
    told = [json.loads(line) for line in (home / "told.jsonl").read_text().splitlines()]
    infos = {message["params"]["clientInfo"]["name"] for message in told if message.get("method") == "initialize"}
    check(any(agent.client in info.lower() for info in infos), f"it calls itself {infos}")
    print(f"ok   {agent.name}: {name}, as {', '.join(sorted(infos))}; {cut[1]} characters whole; after a kill: {survived} ({after[:60]!r})", flush=True)


for agent in AGENTS:
    if agent.name in sys.argv[4:] or not sys.argv[4:]:
        drive(agent)
