"""Runs each agent with the scripted model, on pipes and on HTTP, and says what it did. Usage: drive.py PTC BIN WORK [AGENT…]"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import threading

from agents import AGENTS, Agent, Place, run
from model import CLOSING, Model, Step, serving
from servers import OnHttp, OnPipes

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
# The last tool of the list, with what it takes.
LAST = "report_149"


def description(command: list[str], client: str) -> str:
    """The tool's description as the server gives it to a client of that name."""
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}
    requests = [
        {"id": 1, "method": "initialize", "params": info},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests)
    # The list may wait for the servers behind it, and what still waits at the end of the input has no answer.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        overdue = threading.Timer(60, server.kill)
        overdue.daemon = True
        overdue.start()
        server.stdin.write(text)
        server.stdin.flush()
        answers = map(json.loads, server.stdout)
        tools = next((answer["result"]["tools"] for answer in answers if answer.get("id") == 2), None)
        server.stdin.close()
        status = server.wait()
        overdue.cancel()
    assert status == 0 and tools, f"{command} ended with {status}, and listed {tools}"
    return tools[0]["description"]


def drive(agent: Agent, transport) -> None:
    home = work / f"{agent.name}-{transport.name}"
    shutil.rmtree(home, ignore_errors=True)
    (home / "project").mkdir(parents=True)
    expected = description(OnPipes(ptc, home).server.command, agent.client)
    (home / "told.jsonl").unlink()
    server = transport(ptc, home)
    steps = [Step("lisp_eval", {"program": program}) for program in PROGRAMS]
    model = Model(steps, {KILLED_BEFORE: server.kill}, home / "requests.log")
    try:
        with serving(model) as url:
            line, variables = agent.prepare(Place(home, server.server, url))
            run(agent.name, line, variables, home, binaries)
        judge(agent, model, expected, server, home)
    finally:
        server.close()


def judge(agent: Agent, model: Model, expected: str, server, home: pathlib.Path) -> None:
    said = (home / "output.log").read_text()

    def check(holds: bool, what: str) -> None:
        seen = "\n".join(result[:500] for result in model.results)
        assert holds, f"{agent.name} on {server.name}: {what}\n{seen}\n{said[-3000:]}"

    check(model.tool is not None, "the tool is not there")
    name, described = model.tool
    check(expected.strip() in described, f"the description is not whole: {len(described)} of {len(expected)} characters")
    listed = LAST in (home / "requests.log").read_text()
    check(listed == agent.takes_catalog, f"its model {'sees' if listed else 'does not see'} the last tool of the list")
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
    known = agent.after_kill if server.name == OnPipes.name else agent.after_restart
    survived = "answered" if "55" in after else "told"
    check(survived == known, f"after the server died: {survived}, not {known}: {after[:300]}")
    check(CLOSING in said, "it did not come to the end of the script")
    names = server.client_names()
    check(names or server.name != OnPipes.name, "it does not say what it is called")
    check(all(agent.client in name.lower() for name in names), f"it calls itself {names}")
    as_whom = "".join(f" as {name}" for name in names)
    print(f"ok   {agent.name} on {server.name}{as_whom}: {name}; {cut[1]} characters whole; server dead: {survived}", flush=True)


for agent in AGENTS:
    if agent.name in sys.argv[4:] or not sys.argv[4:]:
        for transport in (OnPipes, OnHttp):
            drive(agent, transport)
