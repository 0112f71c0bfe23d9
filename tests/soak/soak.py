#!/usr/bin/env python3
"""Mixed load on `ptc start --http` for a given time: programs, sessions, upstream faults, cancellations, bad input.

usage: soak.py PTC SECONDS [--clients 16] [--report FILE] [--clock LIBFAKETIME]

Holds, and says so in one line of JSON: every request that was not cancelled has exactly one reply, and it is the
right one; what the process holds does not grow by more than 1 % in the second half of the time, neither under load nor
at rest (judged only from 300 seconds on: before that, caches and pools still fill); after the load no call is in
flight, no descriptor and no child is left that was not there before it, and the process does not use the processor.
Linux only, for it reads /proc.

A time limit is an answer that a busy machine may give to programs that compute for long or wait for an upstream:
those are counted by themselves, and at least half of the requests of each kind must do without (judged from twenty
requests on). Every other kind must have its value.

With --clock the server's wall clock jumps forwards and backwards by up to a day, twice a second: the argument is the
shared library of libfaketime (Debian's package `libfaketime`). Nothing else may change.
"""
import argparse, http.client, json, os, random, signal, socket, statistics, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


# Why an upstream call may fail here through nobody's fault: another client's `die`, or a machine that is too busy.
GONE, LATE = "upstream_unavailable", "timeout"


class Wrong(Exception):
    """A reply that is missing, double or not what it must be."""


class Limited(Exception):
    """A time limit, where one may be met."""


class Rest:
    """Lets all clients stop now and then, so that it can be seen what the server holds when nothing is asked of it."""

    def __init__(self):
        self.changed = threading.Condition()
        self.wanted, self.still = False, 0

    def here(self):
        """Called by a client that has nothing in flight; comes back when work may go on: whether it had to wait."""
        if not self.wanted:
            return False
        with self.changed:
            self.still += 1
            self.changed.notify_all()
            self.changed.wait_for(lambda: not self.wanted)
            self.still -= 1
            return True

    def begin(self, clients):
        with self.changed:
            self.wanted = True
            self.changed.wait_for(lambda: self.still >= sum(client.is_alive() for client in clients), 60)

    def end(self):
        with self.changed:
            self.wanted = False
            self.changed.notify_all()


class Client(threading.Thread):
    """One caller with connections of its own. What it does is drawn from a seed."""

    def __init__(self, port, number, until, rest):
        super().__init__(daemon=True)
        self.port, self.number, self.until, self.rest = port, number, until, rest
        self.random = random.Random(number)
        self.connection = None
        self.counts, self.limited = {}, {}
        self.wrong = []
        self.sessions = []

    def run(self):
        kinds = [self.small, self.data, self.upstream, self.many_upstream, self.faults, self.die, self.session,
                 self.long, self.hungry, self.cancel, self.bad_input, self.reconnect]
        weights = [30, 12, 12, 8, 8, 1, 14, 3, 3, 6, 6, 3]
        while time.monotonic() < self.until:
            if self.rest.here():
                self.reconnect()  # the server may have closed what was silent for so long
            kind = self.random.choices(kinds, weights)[0]
            try:
                kind()
            except Limited:
                self.limited[kind.__name__] = self.limited.get(kind.__name__, 0) + 1
            except Exception as error:  # every one is a finding; the load goes on
                self.wrong.append(f"{kind.__name__}: {type(error).__name__}: {error}"[:300])
                self.connection = None
            self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
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

    def value(self, program):
        """The JSON that a program answers with, if it does not meet its time limit."""
        text, failed = self.tool("lisp_eval", {"program": program})
        if failed and '"reason":"timeout"' in text:
            raise Limited
        result = json.loads(text)["result"] if not failed else text
        if not result.startswith("user=> "):
            raise Wrong(f"{program[:120]} gave {text[:120]}")
        return result.removeprefix("user=> ")

    def reasons(self, program, count, *expected):
        """Runs a program that answers with the outcome of each of `count` calls; `expected` and GONE are right."""
        outcomes = self.value(program).strip("[]").split(" ")
        if len(outcomes) != count or any(o not in (*expected, f":{GONE}", f":{LATE}") for o in outcomes):
            raise Wrong(f"{program[:120]} gave {outcomes}")
        if f":{LATE}" in outcomes:
            raise Limited

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
        call = f'(tool/call {{:server "soak" :tool "echo" :args {{:n {n}}}}})'
        self.reasons(f'(let [r {call}] [(if (:ok r) (get (:value r) "n") (:reason r))])', 1, str(n))

    def many_upstream(self):
        call = '(tool/call {:server "soak" :tool "slow" :args {:ms 20}})'
        self.reasons(f"(vec (pmap (fn [i] (let [r {call}] (if (:ok r) (:value r) (:reason r)))) (range 10)))", 10, '"late"')

    def faults(self):
        tool, outcome = self.random.choice([("fail", ":tool_error"), ("noise", ":ok"), ("bulk", ":response_too_large")])
        call = f'(tool/call {{:server "soak" :tool "{tool}" :args {{:bytes 3000000}}}})'
        self.reasons(f"(let [r {call}] [(if (:ok r) :ok (:reason r))])", 1, outcome)

    def die(self):
        call = '(tool/call {:server "soak" :tool "die"})'
        self.reasons(f"(let [r {call}] [(if (:ok r) :ok (:reason r))])", 1)

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
        value = self.value("(loop [i 0] (if (< i 1000000) (recur (inc i)) i))")
        if value != "1000000":
            raise Wrong(value)

    def hungry(self):
        text, failed = self.tool("lisp_eval", {"program": "(loop [v []] (recur (conj v (vec (range 100)))))"})
        if failed and '"reason":"timeout"' in text:
            raise Limited
        if not failed or '"reason":"memory_limit"' not in text:
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


def processor(pid):
    """Seconds of processor time that a process has used."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def growth(samples, blocks=8):
    """By how many percent the fourth quarter's mean lies above the third's, and the standard error of that.

    Neighbouring samples resemble each other, so the error is that of the means of some blocks.
    """
    half = samples[len(samples) // 2:]
    third, fourth = half[: len(half) // 2], half[len(half) // 2:]
    if len(third) < 2 or len(fourth) < 2:
        return 0.0, 0.0
    error = 0.0
    for quarter in (third, fourth):
        size = max(len(quarter) // blocks, 1)
        means = [statistics.fmean(quarter[n:n + size]) for n in range(0, len(quarter) - size + 1, size)]
        error += statistics.variance(means) / len(means)
    before = statistics.fmean(third)
    return 100 * (statistics.fmean(fourth) / before - 1), 100 * error ** 0.5 / before


def jumping(file, until, jumps):
    """Sets the clock of whoever reads `file` forwards and backwards, until `until`."""
    draw = random.Random(7)
    while time.monotonic() < until:
        with open(file + ".new", "w") as new:
            new.write(f"{draw.choice([0, 2, 60, 3600, 86400, -2, -60, -3600, -86400]):+d}")
        os.replace(file + ".new", file)
        jumps.append(time.monotonic())
        time.sleep(0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptc")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--report")
    parser.add_argument("--clock", metavar="LIBFAKETIME")
    options = parser.parse_args()

    folder = tempfile.mkdtemp(prefix="ptc-soak-")
    config = os.path.join(folder, "upstreams.json")
    with open(config, "w") as file:
        json.dump({"upstreams": {"soak": {"transport": "mcp_stdio", "command": sys.executable,
                                          "args": [os.path.join(HERE, "upstream.py")], "required": False}}}, file)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = open(os.path.join(folder, "stderr.log"), "w")
    environment, clock, jumps = dict(os.environ), os.path.join(folder, "clock"), []
    if options.clock:
        with open(clock, "w") as file:
            file.write("+0")
        # The monotonic clock is one that nobody can set, so it is left alone.
        environment |= {"LD_PRELOAD": options.clock, "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1",
                        "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    server = subprocess.Popen([options.ptc, "start", "--http", "--http-port", str(port), "--http-disable-auth", "--sessions",
                               "--debug-tool", "--upstreams-config", config, "--program-timeout-ms", "20000",
                               "--max-upstream-response-bytes", "2000000", "--log-level", "error"],
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
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
        rest = Rest()
        clients = [Client(port, n, start + options.seconds, rest) for n in range(options.clients)]
        for client in clients:
            client.start()
        if options.clock:
            threading.Thread(target=jumping, args=(clock, start + options.seconds + 3, jumps), daemon=True).start()
        samples, resting, next_rest = [], [], start + options.seconds / 20
        while any(client.is_alive() for client in clients):
            time.sleep(min(1.0, options.seconds / 50))
            if server.poll() is not None:
                raise SystemExit(f"the server ended with {server.returncode}: {open(log.name).read()[-2000:]}")
            samples.append(holds(server.pid)[0])
            if options.seconds >= 60 and next_rest < time.monotonic() < start + options.seconds:
                rest.begin(clients)
                time.sleep(0.5)
                resting.append(holds(server.pid)[0])
                rest.end()
                next_rest = time.monotonic() + options.seconds / 20
        # Idle connections of the clients are closed; the child is started again if it died last.
        for _ in range(100):
            after = holds(server.pid)
            if after[1] <= before[1] + 2 and after[2] <= before[2]:
                break
            time.sleep(0.1)
        used = processor(server.pid)
        time.sleep(2)
        idle = (processor(server.pid) - used) / 2
        server.send_signal(signal.SIGTERM)
        code = server.wait(30)
    finally:
        server.kill()

    def total(of):
        sums = {}
        for client in clients:
            for kind, n in of(client).items():
                sums[kind] = sums.get(kind, 0) + n
        return dict(sorted(sums.items()))

    counts, limited = total(lambda client: client.counts), total(lambda client: client.limited)
    wrong = [line for client in clients for line in client.wrong]
    grown = {"under_load": growth(samples), "at_rest": growth(resting)}
    report = {"seconds": options.seconds, "requests": sum(counts.values()), "by_kind": counts, "time_limits": limited,
              "wrong": len(wrong), "clock_jumps": len(jumps), "idle_processor_percent": round(100 * idle, 1),
              "resident_kib": {"before": before[0], "most": max(samples), "after": after[0]},
              "growth_in_second_half_percent": {name: [round(n, 2) for n in pair] for name, pair in grown.items()},
              "descriptors": [before[1], after[1]], "children": [before[2], after[2]], "exit_status": code}
    print(json.dumps(report))
    if options.report:
        with open(options.report, "w") as file:
            json.dump(report | {"samples": samples, "resting": resting, "wrong_replies": wrong}, file, indent=1)
    failed = [f"wrong replies: {wrong[:5]}"] if wrong else []
    failed += [f"most {kind} met a time limit" for kind, n in limited.items() if counts[kind] >= 20 and 2 * n > counts[kind]]
    if options.seconds >= 300:
        # Twice the standard error is what chance does.
        failed += [f"memory grows {name}" for name, (more, error) in grown.items() if more - 2 * error > 1]
    if after[1] > before[1] + 2:
        failed.append("descriptors are left")
    if after[2] > before[2]:
        failed.append("children are left")
    if idle > 0.2:
        failed.append("it uses the processor at rest")
    if code != 0:
        failed.append("it did not end in peace")
    for line in failed:
        print(f"FAIL {line}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
