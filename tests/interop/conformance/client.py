"""The client under test: `ptc eval` with the suite's server as its upstream. It asks for all that the server has, and calls
each tool: as the scenario's context says, else with arguments of the required types. Where servers ask, somebody at a terminal takes
all defaults. Usage: client.py PTC URL"""
import json
import os
import pty
import select
import subprocess
import sys
import tempfile

ptc, url = sys.argv[1], sys.argv[2]
modern = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-11-25") >= "2026"
calls = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")).get("toolCalls")
entry = {"transport": "mcp_http", "url": url, "allow_insecure_http": True, "protocol": "modern" if modern else "handshake"}

SAMPLES = """
(defn sample [schema]
  (case (get schema "type")
    "number" 5 "integer" 5 "boolean" true "array" [] "object" {} "text"))
(defn named [lines] (map (fn [line] (first (split line #" - "))) lines))
(defn given [tool]
  (let [schema (:input_schema (meta (str "s/" tool)))]
    (into {} (map (fn [name] [name (sample (get-in schema ["properties" name]))]) (get schema "required" [])))))
"""
ALL = """
(doseq [r (or (resource/list {:server "s"}) [])] (resource/read {:server "s" :uri (:uri r)}))
(doseq [p (or (prompt/list {:server "s"}) [])]
  (prompt/get {:server "s" :name (:name p) :args (into {} (map (fn [a] [(:name a) "text"]) (:arguments p)))}))
(doseq [tool (named (dir "s"))] (println tool (tool/call {:server "s" :tool tool :args (given tool)})))
"""
# The schema of the one tool goes back to the server through the other, whose argument is called `schema`.
ROUND_TRIP = """
(let [tools (named (dir "s"))
      takes (fn [tool] (contains? (get (:input_schema (meta (str "s/" tool))) "properties" {}) "schema"))
      echo (first (filter takes tools)) other (first (remove takes tools))]
  (println (tool/call {:server "s" :tool echo :args {:schema (:input_schema (meta (str "s/" other)))}})))
"""
# A call waits for its person while others are made.
AT_ONCE = """
(doseq [r (pmap (fn [tool] (tool/call {:server "s" :tool tool :args (given tool)})) (named (dir "s")))] (println r))
"""


def at_terminal(command):
    """The exit status of a command that runs at a terminal. Whoever sits there answers each question of a form with an empty line."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(command[0], command)
    while True:
        try:
            ready, _, _ = select.select([terminal], [], [], 0.2)
            if ready:
                shown = os.read(terminal, 65536)
                if not shown:
                    break
                os.write(2, shown)
            else:
                os.write(terminal, b"\r")
        except OSError:
            # The other end is closed: the command has ended.
            break
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
asks = scenario.startswith(("elicitation-", "sep-2322-"))
if calls:
    text = json.dumps(json.dumps(calls))
    program = f'(doseq [c (json/parse-string {text})] (println (tool/call {{:server "s" :tool (get c "name") :args (get c "arguments")}})))'
elif scenario == "json-schema-2020-12-preservation":
    program = SAMPLES + ROUND_TRIP
elif asks:
    program = SAMPLES + AT_ONCE
else:
    program = SAMPLES + ALL
with tempfile.TemporaryDirectory() as folder:
    config = os.path.join(folder, "upstreams.json")
    json.dump({"upstreams": {"s": entry}}, open(config, "w"))
    limits = ["--program-timeout-ms", "20000", "--upstream-call-timeout-ms", "15000", "--max-tool-calls", "200"]
    command = [ptc, "eval", "--upstreams-config", config, *limits, "-e", program]
    sys.exit(at_terminal(command) if asks else subprocess.run(command).returncode)
