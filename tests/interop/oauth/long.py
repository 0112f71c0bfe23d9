"""Five minutes in which three processes use one sign-in whose access tokens live two seconds and whose refresh tokens rotate, with
reuse detection: one refresh token that is sent twice would end the sign-in. Usage: long.py PTC NODE FOLDER-WITH-PACKAGES
SECONDS in the environment is the time, 300 by default."""
import json
import os
import pathlib
import sys
import tempfile
import threading
import time

from peers import Peer, Product

PTC, NODE, WORK = sys.argv[1:]
LIFE, PROCESSES = 2, 3
SECONDS = int(os.environ.get("SECONDS", "300"))

with tempfile.TemporaryDirectory() as scratch:
    authority = Peer([NODE, f"{WORK}/as.mjs"], TTL=LIFE)
    notes = Peer([NODE, f"{WORK}/resource.mjs"], ISSUER=authority.where["issuer"])
    product = Product(PTC, pathlib.Path(scratch) / "one")
    product.configure({"notes": {"transport": "mcp_http", "url": notes.where["url"], "allow_insecure_http": True, "auth": {"type": "oauth", "redirect": {"port": 0}}}})
    product.run("login", "notes")

    program = '(map (fn [r] (or (:message r) true)) (pmap (fn [_] (tool/call {:server "notes" :tool "whoami" :args {}})) (range 3)))'
    end = time.monotonic() + SECONDS
    counts, faults = [0] * PROCESSES, []

    def use(number):
        """Programs of three calls at once, one after another, in one process."""
        process = product.start("eval", "--jsonl", "--program-timeout-ms", "60000", "--upstream-call-timeout-ms", "30000")
        while time.monotonic() < end and not faults:
            process.stdin.write(json.dumps({"id": counts[number], "program": program}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if json.loads(line or "{}").get("json") != [True] * 3:
                faults.append(f"process {number}: {line}")
            counts[number] += 1
            # All three come at the same moment again and again, when the token has just ended.
            time.sleep(0.5)
        _, err = process.communicate(timeout=60)
        if process.returncode or err:
            faults.append(f"process {number} ended with {process.returncode}: {err}")

    threads = [threading.Thread(target=use, args=(number,)) for number in range(PROCESSES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refreshes = len(authority.told(event="granted", grant="refresh_token"))
    faults += [f"the authorization server refused: {refused}" for refused in authority.told(event="refused")]
    if authority.told(event="revoked"):
        faults.append("the sign-in was ended by a refresh token that was sent twice")
    # Each token is used until it has ended, or nearly so, and all processes together renew it once. Ends are whole seconds.
    most = SECONDS / ((LIFE - 1) * 0.8) + PROCESSES
    if not SECONDS / (LIFE * 3) <= refreshes <= most:
        faults.append(f"{refreshes} refreshes, expected up to {most:.0f}")
    notes.stop()
    authority.stop()
    if faults:
        sys.exit("\n".join(["FAIL", *faults[:10]]))
    print(f"ok   {sum(counts)} programs of three calls in {PROCESSES} processes, {refreshes} refreshes, none refused")
    print("1 passed, 0 failed")
