"""`--state-key keyring` with a real keyring: GNOME's, on a session bus of its own.
Usage: dbus-run-session -- python3 keyring.py PTC NODE FOLDER-WITH-PACKAGES"""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from peers import Peer, Product, until

PTC, NODE, WORK = sys.argv[1:]
LOCKED = "--state-key keyring: the keyring does not open (secret-tool: it is locked); unlock it, or use --state-key-file"

with tempfile.TemporaryDirectory() as scratch:
    authority = Peer([NODE, f"{WORK}/as.mjs"], TTL=60)
    notes = Peer([NODE, f"{WORK}/resource.mjs"], ISSUER=authority.where["issuer"])
    product = Product(PTC, pathlib.Path(scratch) / "one")
    product.configure({"notes": {"transport": "mcp_http", "url": notes.where["url"], "allow_insecure_http": True, "auth": {"type": "oauth", "redirect": {"port": 0}}}})
    daemons = []
    bus = {"DBUS_SESSION_BUS_ADDRESS": os.environ["DBUS_SESSION_BUS_ADDRESS"], "XDG_RUNTIME_DIR": scratch, "HOME": str(product.folder)}

    def daemon(*arguments, password):
        command = ["gnome-keyring-daemon", "--daemonize", "--components=secrets", *arguments]
        told = subprocess.run(command, input=password, text=True, env={**product.environment, **bus}, capture_output=True, check=True).stdout
        daemons.extend(int(line.removeprefix("GNOME_KEYRING_PID=")) for line in told.splitlines() if line.startswith("GNOME_KEYRING_PID="))

    try:
        daemon("--unlock", password="of the login")
        # The daemon answers before its keyring is there.
        store = ["secret-tool", "store", "--label=probe", "ptc-test", "probe"]
        until("the keyring is open", lambda: subprocess.run(store, input="x", text=True, env={**os.environ, **bus}, capture_output=True).returncode == 0)
        product.environment |= bus | {"PTC_STATE_KEY": "keyring"}
        product.run("login", "notes")
        records = list((product.folder / "state").rglob("*.json"))
        assert len(records) == 3 and all('"sealed"' in record.read_text() for record in records), records
        assert product.call("notes")["ok"]
        row = product.auth()["notes"]
        assert (row["state"], row["store"]) == ("signed_in", "sealed"), row
        print("ok   sign-ins are sealed with a key that the keyring keeps, and other processes open them")
        # A keyring that nobody has unlocked since.
        daemon("--replace", password="")
        product.run("auth", status=1)
        assert LOCKED in product.last_error, product.last_error
        assert product.environment.pop("PTC_STATE_KEY") and product.auth()["notes"]["last_error"]["code"] == "sealed_with_another_key"
        print("ok   a locked keyring ends the start, and nothing is made in its place")
    finally:
        for process in daemons:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
        notes.stop()
        authority.stop()
print("2 passed, 0 failed")
