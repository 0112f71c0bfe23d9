"""The files of deploy/ as they are, but for addresses and folders. Usage: deployed.py PTC DEPLOY"""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import kubernetes_validate
import yaml

ptc, deploy = Path(sys.argv[1]), Path(sys.argv[2])
TOKEN = "0123456789abcdef0123456789abcdef"
PASSWORD = "a-password-of-the-store"
# An MCP server with one tool, which gives back its arguments.
ECHO = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    result = {"initialize": lambda: {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}},
              "tools/list": lambda: {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
              "tools/call": lambda: {"content": [{"type": "text", "text": json.dumps(message["params"]["arguments"])}]}}.get(message["method"])
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result() if result else {}}), flush=True)
"""
CALL = '(+ 1 (get (:value (tool/call {:server "echo" :tool "echo" :args {:n 2}})) "n"))'


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def promtool(*arguments, given=None):
    done = subprocess.run(["promtool", *arguments], input=given, text=True, capture_output=True)
    said = done.stdout + done.stderr
    # A complaint about style ends with 3; one about the text itself with 1.
    assert done.returncode == 0, said
    return said


def queries():
    """The dashboard's expressions are PromQL."""
    board = json.loads((deploy / "grafana" / "ptc.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    assert len(asked) > 20, asked
    asked = [re.sub(r"\$__rate_interval", "5m", expression) for expression in asked]
    rules = {"groups": [{"name": "board", "rules": [{"record": f"board:{number}", "expr": expression} for number, expression in enumerate(asked)]}]}
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        yaml.safe_dump(rules, file)
        file.flush()
        promtool("check", "rules", file.name)


def manifests():
    """The arguments of the server in the manifests, which are those that Kubernetes knows."""
    found = list(yaml.safe_load_all((deploy / "kubernetes" / "ptc.yaml").read_text()))
    for manifest in found:
        # Without an unknown key, which the cluster would drop.
        kubernetes_validate.validate(manifest, "1.30", strict=True)
    server = next(one for one in found if one["kind"] == "Deployment" and one["metadata"]["name"] == "ptc")
    assert server["spec"]["replicas"] == 2
    [container] = server["spec"]["template"]["spec"]["containers"]
    paths = [container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
    grace = server["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert any(f"--http-shutdown-grace-ms={ms}" in container["args"] for ms in range(1000, grace * 1000, 1000)), container["args"]
    return container["args"], paths


def ask(port, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, body, {"authorization": f"Bearer {TOKEN}", **(headers or {})})
    response = connection.getresponse()
    return response.status, response.read().decode()


def evaluate(port, program):
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "lisp_eval", "arguments": {"program": program}, "_meta": meta}}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28",
               "mcp-method": "tools/call", "mcp-name": "lisp_eval"}
    return ask(port, "POST", "/mcp", json.dumps(body), headers)


def until(what, check, seconds=20):
    end = time.monotonic() + seconds
    while True:
        try:
            if check():
                return
        except OSError:
            pass
        assert time.monotonic() < end, what
        time.sleep(0.05)


class Place:
    """A folder with the store, the balancer and the replicas of the files."""

    def __init__(self, folder):
        self.folder, self.processes, self.log = folder, [], (folder / "log").open("w")
        for name, text in {"tokens": f"ci:{TOKEN}\n", "secret": "s" * 48 + "\n", "store-password": PASSWORD + "\n",
                           "upstreams.json": json.dumps({"upstreams": {"echo": {"transport": "mcp_stdio", "command": sys.executable, "args": ["-c", ECHO]}}})}.items():
            (folder / name).write_text(text)
        # As a cluster mounts them: behind a link, and for a group.
        (folder / "secret").rename(folder / "mounted-secret")
        (folder / "secret").symlink_to("mounted-secret")
        for name in ("mounted-secret", "store-password", "tokens"):
            (folder / name).chmod(0o440)
        self.store = free_port()
        self.begin(["redis-server", "--port", str(self.store), "--requirepass", PASSWORD, "--save", "", "--maxmemory-policy", "noeviction", "--dir", str(folder)])

    def begin(self, command, **more):
        # In a group of its own, so that nothing is left of it.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True, **more)
        self.processes.append(process)
        return process

    def replica(self, arguments):
        """A server with these arguments, at ports of this machine; its process and the two ports."""
        port, health = free_port(), free_port()
        changed = [re.sub(r"/etc/ptc/(?:config|secret)/|/run/secrets/|/etc/ptc/", f"{self.folder}/", one) for one in arguments]
        places = {"--http-host=0.0.0.0": "--http-host=127.0.0.1", "--health-listen=0.0.0.0:7333": f"--health-listen=127.0.0.1:{health}",
                  "--state-url=redis://store:6379": f"--state-url=redis://127.0.0.1:{self.store}"}
        changed = [places.get(one, one) for one in changed]
        assert sum(one != other for one, other in zip(changed, arguments)) >= 6, changed
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        process = self.begin([ptc, *changed, f"--http-port={port}"], env=environment)
        return process, port, health

    def balancer(self, ports):
        port, folder = free_port(), self.folder / "nginx"
        folder.mkdir()
        conf = (deploy / "nginx.conf").read_text()
        for name, behind in zip(("ptc-a", "ptc-b"), ports):
            conf = conf.replace(f"{name}:7332", f"127.0.0.1:{behind}")
        conf = conf.replace("listen 7332", f"listen 127.0.0.1:{port}")
        temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "nginx.conf").write_text(f"daemon off;\npid {folder}/pid;\nerror_log stderr crit;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{conf}}}\n")
        return self.begin(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]), port

    def take_out(self, balancer, port):
        """As topology.md says of an upgrade: the balancer knows it before the replica stops."""
        conf = self.folder / "nginx" / "nginx.conf"
        conf.write_text(conf.read_text().replace(f"127.0.0.1:{port};", f"127.0.0.1:{port} down;"))
        children = Path(f"/proc/{balancer.pid}/task/{balancer.pid}/children")
        before = set(children.read_text().split())
        balancer.send_signal(signal.SIGHUP)
        until("the balancer's new settings", lambda: before.isdisjoint(children.read_text().split()))

    def end(self):
        for process in reversed(self.processes):
            for sign in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                    os.killpg(process.pid, sign)
                    process.wait(timeout=20)


def main():
    queries()
    arguments, (startup, liveness, readiness) = manifests()
    composed = yaml.safe_load((deploy / "compose.yaml").read_text())
    with tempfile.TemporaryDirectory(prefix="ptc-deployed-") as folder:
        place = Place(Path(folder))
        try:
            first, port, health = place.replica(arguments)
            _, other, _ = place.replica(composed["services"]["ptc-b"]["command"])
            until("the replica of the manifests", lambda: all(ask(health, "GET", path)[0] == 200 for path in (startup, liveness, readiness)))
            until("the replica of the compose file", lambda: ask(other, "GET", "/ready")[0] == 200)
            balancer, at = place.balancer((port, other))
            until("the balancer", lambda: ask(at, "GET", "/ready")[0] == 200)
            for _ in range(4):
                status, said = evaluate(at, CALL)
                assert status == 200 and "user=> 3" in said, (status, said)
            # Both replicas have answered, and their metrics are as promtool likes them.
            for one in (port, other):
                status, metrics = ask(one, "GET", "/metrics")
                assert status == 200 and 'ptc_evals_total{tool="lisp_eval",outcome="ok"} 2' in metrics, metrics[:2000]
                promtool("check", "metrics", given=metrics)
            # One is taken out and stopped while calls come: none fails.
            failed, answered, stop = [], [], threading.Event()

            def call():
                while not stop.is_set():
                    status, said = evaluate(at, "(reduce + (range 2000))")
                    (answered if status == 200 and "1999000" in said else failed).append((status, said))

            def more_answers():
                """Waits until calls that begin now have been answered."""
                enough = len(answered) + 50
                until("answers", lambda: failed or len(answered) >= enough)

            callers = [threading.Thread(target=call) for _ in range(4)]
            for caller in callers:
                caller.start()
            more_answers()
            place.take_out(balancer, port)
            first.send_signal(signal.SIGTERM)
            assert first.wait(timeout=20) == 0
            more_answers()
            stop.set()
            for caller in callers:
                caller.join()
            assert not failed, failed[:3]
            status, said = evaluate(at, CALL)
            assert status == 200 and "user=> 3" in said, (status, said)
        except BaseException:
            print((Path(folder) / "log").read_text()[-4000:], file=sys.stderr)
            raise
        finally:
            place.end()
    print("deploy/: alerts, dashboard, manifests, compose file and balancer are good")


main()
