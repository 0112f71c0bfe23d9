#!/usr/bin/env python3
"""Sessions on two replicas behind a plain TCP balancer, of which one is killed (`kill -9`) at any moment and started again, for a given time.

usage: replicas.py REPLICATED SECONDS [--clients 8] [--kill-ms 10000]

REPLICATED is the program of that name of `cargo build -p ptc-tests --bins`; PTC_TEST_REPLICA names the server that it runs.
Half of the callers speak the handshake era, half the modern one. Each has sessions in which it counts up, and evaluates programs
without a session in between. Holds, and says so in one line of JSON: no session is lost; each counter is what was answered, plus at
most what had no answer because its server was killed; every other answer is the right one; a session that a killed server had taken
is free again once its lease is over.
"""
import argparse, http.client, json, os, random, re, signal, socket, subprocess, sys, tempfile, threading, time

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
# A lease lasts the time of a program (one second) and five seconds more.
LEASE = 6


class Caller(threading.Thread):
    """One caller, with a connection for each request, as a client has behind a balancer whose servers die."""

    def __init__(self, port, number, until):
        super().__init__(daemon=True)
        self.port, self.number, self.until = port, number, until
        self.random = random.Random(number)
        self.conversation = None
        self.counters = {}  # session -> [answered, perhaps]
        self.requests, self.lost, self.busy, self.longest_busy = 0, 0, 0, 0.0
        self.busy_since, self.wrong = {}, []

    def post(self, message, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", "/mcp", json.dumps(message), {"Content-Type": "application/json", **headers})
            response = connection.getresponse()
            return response.status, response.getheader("mcp-session-id"), response.read()
        finally:
            connection.close()

    def begin(self):
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
        status, self.conversation, body = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}, {})
        assert status == 200 and self.conversation, (status, body)

    def tool(self, name, arguments):
        """The text of an answer; None if there is none because the server was killed."""
        params = {"name": name, "arguments": arguments}
        headers = {"Mcp-Session-Id": self.conversation}
        if self.number % 2:
            params["_meta"] = MODERN
            headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name}
        self.requests += 1
        try:
            status, _, body = self.post({"jsonrpc": "2.0", "id": self.requests, "method": "tools/call", "params": params}, headers)
        except (OSError, http.client.HTTPException):
            self.lost += 1
            return None
        reply = json.loads(body)
        assert status == 200 and reply["id"] == self.requests, (status, body[:200])
        return reply["result"]["content"][0]["text"]

    def run(self):
        try:
            if self.number % 2 == 0:
                self.begin()
            while time.monotonic() < self.until:
                self.step()
            self.settle()
        except Exception as error:
            self.wrong.append(f"{type(error).__name__}: {error}"[:300])

    def step(self):
        if len(self.counters) < 4:
            text = self.tool("lisp_session_start", {})
            if text is not None:
                self.counters[json.loads(text)["session_id"]] = [0, 0, False]
            return
        if self.random.random() < 0.3:
            a, b = self.random.randrange(1000), self.random.randrange(1000)
            text = self.tool("lisp_eval", {"program": f"(+ {a} {b})"})
            assert text in (None, f"user=> {a + b}"), text
            return
        session = self.random.choice(list(self.counters))
        counter = self.counters[session]
        program = "(def n (inc n)) n" if counter[2] else "(def n 0) n"
        text = self.eval(session, program)
        if text is None:
            counter[1] += counter[2]
        elif text:
            counter[0] += counter[2]
            counter[2] = True
            found = int(re.match(r"user=> (\d+)", text)[1])
            assert counter[0] <= found <= counter[0] + counter[1], (text, counter)

    def eval(self, session, program):
        """The text of a value; empty while the session belongs to a killed server; None without an answer."""
        text = self.tool("lisp_session_eval", {"session_id": session, "program": program})
        if text is None:
            self.busy_since.pop(session, None)  # the server that was killed with this one had it
            return None
        if "already running" in text:
            self.busy += 1
            waited = time.monotonic() - self.busy_since.setdefault(session, time.monotonic())
            self.longest_busy = max(self.longest_busy, waited)
            assert waited < LEASE + 2, f"not free after {waited} s"
            time.sleep(0.05)
            return ""
        self.busy_since.pop(session, None)
        assert text.startswith("user=> ") and "[not stored" not in text, text
        return text

    def settle(self):
        """What every session has at last."""
        for session, (answered, perhaps, is_defined) in self.counters.items():
            text = None
            while is_defined and not text:
                text = self.eval(session, "n")
            if is_defined:
                found = int(re.match(r"user=> (\d+)", text)[1])
                assert answered <= found <= answered + perhaps, f"{found} of {answered} and perhaps {perhaps}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replicated")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--kill-ms", type=int, default=10_000)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="ptc-soak-")
    kills = os.path.join(folder, "kills")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | {"PTC_TEST_KILL_MS": str(options.kill_ms), "PTC_TEST_KILL_LOG": kills, "PTC_TEST_KILL_ANYTIME": "1"}
    server = subprocess.Popen([options.replicated, "start", "--http", "--http-port", str(port), "--http-disable-auth", "--sessions",
                               "--log-level", "error"], stdin=subprocess.DEVNULL, env=environment)
    try:
        for _ in range(600):
            try:
                with socket.create_connection(("127.0.0.1", port), 5) as probe:
                    probe.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    if b" 200 " in probe.recv(100):
                        break
            except OSError:
                time.sleep(0.05)
        until = time.monotonic() + options.seconds
        callers = [Caller(port, number, until) for number in range(options.clients)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert server.poll() is None, "the replicas ended"
        server.send_signal(signal.SIGTERM)
        code = server.wait(60)
    finally:
        server.kill()
    counters = [counter for caller in callers for counter in caller.counters.values()]
    with open(kills) as log:
        killed = sum(1 for _ in log)
    wrong = [line for caller in callers for line in caller.wrong]
    report = {"seconds": options.seconds, "killed": killed, "requests": sum(caller.requests for caller in callers),
              "sessions": len(counters), "counted": sum(counter[0] for counter in counters),
              "without_answer": sum(caller.lost for caller in callers), "told_busy": sum(caller.busy for caller in callers),
              "longest_busy_s": round(max(caller.longest_busy for caller in callers), 1), "wrong": wrong, "exit_status": code}
    print(json.dumps(report))
    sys.exit(1 if wrong or code != 0 or killed == 0 else 0)


if __name__ == "__main__":
    main()
