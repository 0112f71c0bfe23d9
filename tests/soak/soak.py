#!/usr/bin/env python3
"""Mixed load on `ptc start --http` for a given time: programs, sessions, upstream faults, cancellations, bad input.

usage: soak.py PTC SECONDS [--clients 16] [--report FILE]

Holds, and says so in one line of JSON: every request that was not cancelled has exactly one reply, and it is the
right one; what the process holds in the second half of the time does not grow by more than 1 % (judged only from 300
seconds on: before that, caches and pools still fill); after the load no call is in flight, no descriptor and no child
is left that was not there before it. Linux only, for it reads /proc.
"""
import argparse, http.client, json, os, random, signal, socket, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Wrong(Exception):
    """A reply that is missing, double or not what it must be."""


class Client(threading.Thread):
    """One caller with connections of its own. What it does is drawn from a seed."""

    def __init__(self, port, number, until):
        super().__init__(daemon=True)
        self.port, self.number, self.until = port, number, until
        self.random = random.Random(number)
        self.connection = None
        self.counts = {}
        self.wrong = []
        self.sessions = []

    def run(self):
        kinds = [self.small, self.data, self.upstream, self.many_upstream, self.faults, self.die, self.session,
                 self.long, self.hungry, self.cancel, self.bad_input, self.reconnect]
        weights = [30, 12, 12, 8, 8, 1, 14, 3, 3, 6, 6, 3]
        while time.monotonic() < self.until:
            kind = self.random.choices(kinds, weights)[0]
            try:
                kind()
                self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
            except Exception as error:  # every one is a finding; the load goes on
                self.wrong.append(f"{kind.__name__}: {type(error).__name__}: {error}"[:300])
                self.connection = None
        for session in self.sessions:
            self.tool("lisp_session_close", {"session_id": session})
        if self.connection:
            self.connection.close()

    # --- requests ---

    def post(self, body, name):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name}
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        self.connection.request("POST", "/mcp", body, headers)
        response = self.connection.getresponse()
        return response.status, response.read()

    def tool(self, name, arguments):
        id = self.random.randrange(1 << 40)
        params = {"name": name, "arguments": arguments, "_meta": MODERN}
        status, body = self.post(json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}), name)
        reply = json.loads(body)
        if status != 200 or reply.get("id") != id:
            raise Wrong(f"{status} {body[:200]!r} for {id}")
        result = reply["result"]
        return result["content"][0]["text"], result.get("isError", False)

    def expect(self, program, answer, name="lisp_eval", **more):
        text, _ = self.tool(name, {"program": program, **more})
        if answer not in text:
            raise Wrong(f"{program[:120]} gave {text[:120]}")

    # --- what a caller does ---

    def small(self):
        a, b = self.random.randrange(1000), self.random.randrange(1000)
        self.expect(f"(+ {a} {b})", f"user=> {a + b}")

    def data(self):
        rows = [{"id": n, "price": self.random.randrange(100)} for n in range(self.random.randrange(1, 400))]
        total = sum(row["price"] for row in rows if row["price"] > 50)
        self.expect("(reduce + (map :price (filter (fn [r] (> (:price r) 50)) data/rows)))", f"user=> {total}", context={"rows": rows})

    def upstream(self):
        n = self.random.randrange(1 << 30)
        # The child may have died of another client's `die`: then its waiting calls fail, as data.
        program = f'(let [r (tool/call {{:server "soak" :tool "echo" :args {{:n {n}}}}})] (if (:ok r) (get (:value r) "n") (:reason r)))'
        text, failed = self.tool("lisp_eval", {"program": program})
        if failed or not (f"user=> {n}" in text or "user=> :upstream_unavailable" in text):
            raise Wrong(text[:200])

    def many_upstream(self):
        self.expect('(count (filter :ok (pmap (fn [i] (tool/call {:server "soak" :tool "slow" :args {:ms 20}})) (range 10))))', "user=> ")

    def faults(self):
        tool = self.random.choice(["fail", "noise", "bulk"])
        self.expect(f'(map? (tool/call {{:server "soak" :tool "{tool}" :args {{:bytes 3000000}}}}))', "user=> true")

    def die(self):
        self.expect('(:ok (tool/call {:server "soak" :tool "die"}))', "user=> ")

    def session(self):
        if len(self.sessions) < 4:
            text, failed = self.tool("lisp_session_start", {})
            if failed:
                raise Wrong(text)
            self.sessions.append(json.loads(text)["session_id"])
        id = self.random.choice(self.sessions)
        n = self.random.randrange(1000)
        self.expect(f"(def kept (vec (range {n}))) (count kept)", f"user=> {n}", "lisp_session_eval", session_id=id)
        self.expect("(count kept)", f"user=> {n}", "lisp_session_eval", session_id=id)
        if self.random.random() < 0.1:
            self.sessions.remove(id)
            self.tool("lisp_session_close", {"session_id": id})

    def long(self):
        # Large enough to be sliced many times while others run.
        self.expect("(loop [i 0] (if (< i 1000000) (recur (inc i)) i))", "user=> 1000000")

    def hungry(self):
        text, failed = self.tool("lisp_eval", {"program": "(loop [v []] (recur (conj v (vec (range 100)))))"})
        if not failed or not ("memory_limit" in text or "timeout" in text):
            raise Wrong(text[:200])

    def cancel(self):
        """Leaves while the program waits; nobody must miss it."""
        program = '(tool/call {:server "soak" :tool "slow" :args {:ms 400}})'
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                           "params": {"name": "lisp_eval", "arguments": {"program": program}, "_meta": MODERN}}).encode()
        with socket.create_connection(("127.0.0.1", self.port)) as leaving:
            leaving.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                            b"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
                            b"Mcp-Method: tools/call\r\nMcp-Name: lisp_eval\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            time.sleep(self.random.random() * 0.1)

    def bad_input(self):
        body = self.random.choice(["{", "[]", "[" * 5000, '{"jsonrpc":"2.0","id":1}', "x" * 100_000, '{"id":' + "9" * 5000 + "}", "\x00"])
        status, _ = self.post(body, "lisp_eval")
        if not 400 <= status < 500:
            raise Wrong(f"{status} for {body[:40]}")

    def reconnect(self):
        if self.connection:
            self.connection.close()
        self.connection = None


def holds(pid):
    """Resident kibibytes, open descriptors, children."""
    with open(f"/proc/{pid}/status") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    return resident, len(os.listdir(f"/proc/{pid}/fd")), len(children)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptc")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--report")
    options = parser.parse_args()

    folder = tempfile.mkdtemp(prefix="ptc-soak-")
    config = os.path.join(folder, "upstreams.json")
    with open(config, "w") as file:
        json.dump({"upstreams": {"soak": {"transport": "mcp_stdio", "command": sys.executable,
                                          "args": [os.path.join(HERE, "upstream.py")], "required": False}}}, file)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = open(os.path.join(folder, "stderr.log"), "w")
    server = subprocess.Popen([options.ptc, "start", "--http", "--http-port", str(port), "--http-disable-auth", "--sessions",
                               "--debug-tool", "--upstreams-config", config, "--program-timeout-ms", "20000",
                               "--max-upstream-response-bytes", "2000000", "--log-level", "error"],
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        time.sleep(0.5)
        before = holds(server.pid)
        start = time.monotonic()
        clients = [Client(port, n, start + options.seconds) for n in range(options.clients)]
        for client in clients:
            client.start()
        samples = []
        while any(client.is_alive() for client in clients):
            time.sleep(min(1.0, options.seconds / 50))
            if server.poll() is not None:
                raise SystemExit(f"the server ended with {server.returncode}: {open(log.name).read()[-2000:]}")
            samples.append(holds(server.pid)[0])
        # Idle connections of the clients are closed; the child is started again if it died last.
        for _ in range(100):
            after = holds(server.pid)
            if after[1] <= before[1] + 2 and after[2] <= before[2]:
                break
            time.sleep(0.1)
        half = samples[len(samples) // 2:]
        third, fourth = half[: len(half) // 2], half[len(half) // 2:]
        mean = lambda part: sum(part) / max(len(part), 1)
        growth = 100 * (mean(fourth) / mean(third) - 1) if third and fourth else 0.0
        server.send_signal(signal.SIGTERM)
        code = server.wait(30)
    finally:
        server.kill()
    counts = {}
    for client in clients:
        for kind, n in client.counts.items():
            counts[kind] = counts.get(kind, 0) + n
    wrong = [line for client in clients for line in client.wrong]
    report = {"seconds": options.seconds, "requests": sum(counts.values()), "by_kind": dict(sorted(counts.items())),
              "wrong": len(wrong), "resident_kib": {"before": before[0], "most": max(samples), "after": after[0]},
              "growth_in_second_half_percent": round(growth, 2), "descriptors": [before[1], after[1]],
              "children": [before[2], after[2]], "exit_status": code}
    print(json.dumps(report))
    if options.report:
        with open(options.report, "w") as file:
            json.dump(report, file, indent=1)
    failed = [f"wrong replies: {wrong[:5]}"] if wrong else []
    if options.seconds >= 300 and growth > 1:
        failed.append("memory grows")
    if after[1] > before[1] + 2:
        failed.append("descriptors are left")
    if after[2] > before[2]:
        failed.append("children are left")
    if code != 0:
        failed.append("it did not end in peace")
    for line in failed:
        print(f"FAIL {line}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
