#!/usr/bin/env python3
"""Many programs that wait for people, on a server that is killed (`kill -9`) while they do and started again.

usage: waiting.py PTC [--programs 10000] [--principals 4] [--callers 8] [--store dir|redis] [--travel]

Each program asks for a region, calls a tool of an upstream once it has it, and gives its number and the region. Without --travel its
run is kept (`lisp_eval` answers `waiting`) and answered with `lisp_resume`; with it the program is in the state of its client, and
nothing of it is on the server. The store is a folder of one server (`--state-dir`), or a `redis-server` of two replicas, of which the
first is killed: what one began the other one goes on with.

Holds, and says so in one line of JSON: every program that waited has its own answer after the restart; its tool was called once, also
when the same answer is sent again; nobody reaches another principal's run. Reported: milliseconds for each program (the first tenth, the
last tenth: they stay level), memory of the servers. Linux only, for it reads /proc.
"""
import argparse, collections, http.client, json, os, queue, secrets, signal, socket, statistics, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "2026-07-28"
SCHEMA = '{"type" "object" "properties" {"region" {"type" "string" "enum" ["eu" "us" "ap"]}} "required" ["region"]}'
REGIONS = ["eu", "us", "ap"]


# One text for all, so that the memory of a server is that of what waits, and not of the programs that it remembers.
PROGRAM = f"""(let [answer (ask {{:message (str "Which region for " data/number "?") :schema {SCHEMA}}})]
  [(:value (tool/call {{:server "notes" :tool "note" :args {{:number data/number}}}})) (get (:value answer) "region")])"""


def arguments(number):
    return {"program": PROGRAM, "context": {"number": number}}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def resident(pid):
    """MiB."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


class Server:
    """One `ptc start --http`, which can be killed and started again."""

    def __init__(self, ptc, port, arguments, log):
        self.ptc, self.port, self.arguments, self.log = ptc, port, arguments, log
        self.process = None

    def start(self):
        self.process = subprocess.Popen([self.ptc, "start", "--http", "--http-port", str(self.port), *self.arguments],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        for _ in range(1200):
            if self.process.poll() is not None:
                raise SystemExit(f"the server ended with {self.process.returncode}; see {self.log.name}")
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/ready")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise SystemExit("the server does not start")

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


class Caller:
    """The connections of one caller, one to each server."""

    def __init__(self, ports):
        self.ports, self.connections, self.sent = ports, {}, 0

    def call(self, place, token, name, arguments, elicits=False, **more):
        """What a tool answers: the result, or the error."""
        self.sent += 1
        shows = {"elicitation": {"form": {}}} if elicits else {}
        meta = {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": shows}
        params = {"name": name, "arguments": arguments, "_meta": meta, **more}
        body = json.dumps({"jsonrpc": "2.0", "id": self.sent, "method": "tools/call", "params": params})
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": f"Bearer {token}",
                   "MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": name}
        port = self.ports[place % len(self.ports)]
        if port not in self.connections:
            self.connections[port] = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        connection = self.connections[port]
        try:
            connection.request("POST", "/mcp", body, headers)
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        reply = json.loads(answer)
        return reply.get("result", reply)


class Waiting:
    """What is known of the programs."""

    def __init__(self, options, ports, tokens):
        self.options, self.ports, self.tokens = options, ports, tokens
        self.kept = {}  # number -> what its client has
        self.wrong = []
        self.times = {}

    def token(self, number):
        return self.tokens[number % len(self.tokens)]

    def begin(self, caller, number):
        result = caller.call(number, self.token(number), "lisp_eval", arguments(number), self.options.travel)
        if self.options.travel:
            self.kept[number] = (result["requestState"], next(iter(result["inputRequests"])))
        else:
            waiting = result["structuredContent"]
            assert waiting["status"] == "waiting", result
            self.kept[number] = (waiting["run_id"], waiting["questions"][0]["id"])

    def answer(self, caller, number, place):
        handle, question = self.kept[number]
        answers = {question: {"action": "accept", "content": {"region": REGIONS[number % 3]}}}
        if self.options.travel:
            return caller.call(place, self.token(number), "lisp_eval", arguments(number), True,
                               requestState=handle, inputResponses=answers)
        return caller.call(place, self.token(number), "lisp_resume", {"run_id": handle, "answers": answers})

    def finish(self, caller, number):
        # At the other replica, where there is one.
        result = self.answer(caller, number, number + 1)
        self.check(number, result)
        if number % 50 == 0:
            # Once more: the same outcome, and no second call of the tool.
            self.check(number, self.answer(caller, number, number))
            if not self.options.travel:
                stranger = self.tokens[(number + 1) % len(self.tokens)]
                foreign = caller.call(number, stranger, "lisp_resume", {"run_id": self.kept[number][0]})
                if "run not found" not in json.dumps(foreign):
                    self.wrong.append(f"{number}: a stranger is answered {json.dumps(foreign)[:200]}")

    def check(self, number, result):
        wanted = f'user=> [{number} "{REGIONS[number % 3]}"]'
        shown = (result.get("structuredContent") or {}).get("result")
        if shown != wanted:
            self.wrong.append(f"{number}: {json.dumps(result)[:300]}")

    def all(self, what, work):
        """Has every program worked on by some callers; how long each took is kept."""
        numbers, took = queue.SimpleQueue(), {}
        for number in range(self.options.programs):
            numbers.put(number)

        def work_on():
            caller = Caller(self.ports)
            while True:
                try:
                    number = numbers.get_nowait()
                except queue.Empty:
                    return
                began = time.monotonic()
                try:
                    work(caller, number)
                except Exception as error:
                    self.wrong.append(f"{number}: {what}: {type(error).__name__}: {error}"[:400])
                took[number] = time.monotonic() - began

        began = time.monotonic()
        threads = [threading.Thread(target=work_on) for _ in range(self.options.callers)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        tenth = max(self.options.programs // 10, 1)
        ordered = [took[number] * 1000 for number in sorted(took)]
        self.times[what] = {"seconds": round(time.monotonic() - began, 1),
                            "first_ms": round(statistics.median(ordered[:tenth]), 2), "last_ms": round(statistics.median(ordered[-tenth:]), 2)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ptc")
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--principals", type=int, default=4)
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--store", choices=["dir", "redis"], default="dir")
    parser.add_argument("--travel", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(options, folder)


def run(options, folder):
    path = lambda name: os.path.join(folder, name)
    tokens = [secrets.token_hex(32) for _ in range(options.principals)]
    with open(path("tokens"), "w") as file:
        os.fchmod(file.fileno(), 0o600)
        file.writelines(f"person{number}:{token}\n" for number, token in enumerate(tokens))
    with open(path("secret"), "w") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(secrets.token_hex(32) + "\n")
    notes = {"transport": "mcp_stdio", "command": sys.executable, "args": [os.path.join(HERE, "notes.py"), path("notes")]}
    with open(path("upstreams.json"), "w") as file:
        json.dump({"upstreams": {"notes": notes}}, file)
    many = str(options.programs * 2)
    shared = ["--http-auth-token-file", path("tokens"), "--upstreams-config", path("upstreams.json"), "--questions", "auto",
              "--response-profile", "structured", "--max-runs", many, "--max-runs-per-owner", many, "--waiting-ttl-ms", "3600000", "--run-ttl-ms", "3600000",
              "--request-state-ttl-ms", "3600000", "--log-level", "warn"]
    redis, ports = None, [free_port()]
    if options.store == "redis":
        at = free_port()
        redis = subprocess.Popen(["redis-server", "--port", str(at), "--save", "", "--appendonly", "no", "--dir", folder],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shared += ["--state-url", f"redis://127.0.0.1:{at}/", "--state-secret-file", path("secret")]
        ports.append(free_port())
    else:
        shared += ["--state-dir", path("state")]
    log = open(path("log"), "w+")
    servers = [Server(options.ptc, port, shared, log) for port in ports]
    try:
        [server.start() for server in servers]
        memory = lambda: [round(resident(server.process.pid), 1) for server in servers]
        waiting = Waiting(options, ports, tokens)
        at_rest = memory()
        waiting.all("begin", waiting.begin)
        with_all = memory()
        servers[0].kill()
        servers[0].start()
        after = memory()
        if not waiting.wrong:
            waiting.all("finish", waiting.finish)
        called = collections.Counter(open(path("notes")).read().split()) if os.path.exists(path("notes")) else {}
        numbers = [str(number) for number in range(options.programs)]
        report = {
            "programs": options.programs, "store": options.store, "travel": options.travel, **waiting.times,
            "lost": sum(number not in called for number in numbers), "doubled": sum(count > 1 for count in called.values()),
            "wrong": len(waiting.wrong), "mib_at_rest": at_rest, "mib_with_all": with_all, "mib_after_restart": after,
        }
        if options.travel:
            sizes = sorted(len(state) for state, _ in waiting.kept.values())
            report["state_characters"] = [sizes[0], sizes[-1]] if sizes else []
        elif options.store == "dir":
            report["mib_of_file"] = round(os.path.getsize(path("state/state.redb")) / (1 << 20), 1)
        print(json.dumps(report))
        if waiting.wrong or report["lost"] or report["doubled"]:
            log.seek(0)
            print("\n".join(waiting.wrong[:10]), log.read()[-3000:], sep="\n", file=sys.stderr)
            raise SystemExit(1)
    finally:
        for server in servers:
            server.kill()
        if redis:
            redis.kill()
            redis.wait()


main()
