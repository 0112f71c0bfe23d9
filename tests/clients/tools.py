"""Real agents that call the tools of a real server as tools (`--expose tools --expose-only`): one needs a sign-in, one a person's
approval, and both are in the audit log. Usage: tools.py PTC BIN WORK NODE PACKAGES [AGENT…]

The server is the official TypeScript SDK behind npm `oidc-provider` (`tests/interop/oauth`). It is signed in to by a person, and
the approval is given by `ptc runs allow`."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "interop" / "oauth"))

from agents import AGENTS, Agent, Place, run
from model import CLOSING, Model, Step, serving
from peers import Peer, Product, free_port
from servers import OnHttp

ptc, binaries, work = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
node, packages = sys.argv[4:6]
CLIENTS = ["claude", "codex", "gemini", "opencode"]
RUN = r"run_[A-Za-z0-9_-]{20,}"


def waiting(results: list[str]) -> dict:
    """The arguments of `lisp_resume` for the run that the last result names."""
    return {"run_id": re.search(RUN, results[-1])[0]} if re.search(RUN, results[-1]) else {"run_id": "none"}


def drive(agent: Agent) -> None:
    home = work / f"{agent.name}-tools"
    shutil.rmtree(home, ignore_errors=True)
    (home / "project").mkdir(parents=True)
    authority = Peer([node, f"{packages}/as.mjs"], TTL=600)
    notes = Peer([node, f"{packages}/resource.mjs"], ISSUER=authority.where["issuer"], OWN=json.dumps({"alice": ["archive"]}))
    product = Product(str(ptc), home / "ptc")
    auth = {"type": "oauth", "redirect": {"port": free_port()}, "scopes": ["mcp:read", "mcp:write"]}
    entry = {"transport": "mcp_http", "url": notes.where["url"], "allow_insecure_http": True, "auth": auth}
    product.configure({"notes": {**entry, "approve_tools": ["archive"], "approve_level": "out_of_band"}})
    # Callers over HTTP sign in each for themselves; the name of this one is that of a token without one.
    product.run("login", "notes", "--principal", "default")
    audit = home / "audit.jsonl"
    flags = ["--expose", "tools", "--expose-only", "--console", "--questions", "auto", "--audit-log", str(audit)]
    environment = {**product.environment, "PTC_UPSTREAMS": str(product.config)}
    server = OnHttp(ptc, home, [str(ptc), "start", *flags], environment)

    def allow() -> None:
        line = [str(ptc), "runs", "--port", str(server.port), "--token-file", str(home / "token")]
        runs = subprocess.run([*line, "--json"], capture_output=True, text=True, check=True, env=environment).stdout
        waits = [json.loads(run)["run_id"] for run in runs.splitlines() if json.loads(run)["status"] == "waiting"]
        assert len(waits) == 1, f"{agent.name}: one run waits: {runs}"
        subprocess.run([*line[:2], "allow", waits[0], *line[2:]], check=True, env=environment, capture_output=True)

    steps = [
        Step("notes__whoami", {}),
        Step("notes__archive", {"item": "letters"}),
        Step("lisp_resume", waiting),
    ]
    model = Model(steps, {2: allow}, home / "requests.log")
    try:
        with serving(model) as url:
            line, variables = agent.prepare(Place(home, server.server, url))
            run(agent.name, line, variables, home, binaries)
    finally:
        server.close()
        authority.stop()
        notes.stop()
    judge(agent, model, home, audit)


def judge(agent: Agent, model: Model, home: pathlib.Path, audit: pathlib.Path) -> None:
    said = (home / "output.log").read_text()
    results = "\n".join(result[:700] for result in model.results)

    def check(holds: bool, what: str) -> None:
        assert holds, f"{agent.name}: {what}\n{results}\n{said[-3000:]}"

    check(len(model.results) == 3, f"{len(model.results)} of 3 calls were answered")
    check("alice" in model.results[0], "the tool that needs a sign-in does not say who is signed in")
    check(re.search(RUN, model.results[1]) is not None, "the call that needs an approval does not say that its run waits")
    check("archive of letters" in model.results[2], "the approved call has no result")
    check(CLOSING in said, "it did not come to the end of the script")
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    text = audit.read_text()
    check("notes__whoami" in text and "notes__archive" in text, "the audit log does not name the tools")
    calls = {line["tool"]: line["outcome"] for line in lines if line["kind"] == "upstream_call"}
    check(calls == {"whoami": "ok", "archive": "ok"}, f"the audit log has not both calls: {calls}")
    verified = subprocess.run([str(ptc), "audit", "verify", str(audit)], capture_output=True, text=True)
    check(verified.returncode == 0, f"the audit log is not whole: {verified.stdout}{verified.stderr}")
    print(f"ok   {agent.name}: a signed-in call, an approved one, {len(lines)} audit lines", flush=True)


for agent in AGENTS:
    if agent.name in (sys.argv[6:] or CLIENTS):
        drive(agent)
