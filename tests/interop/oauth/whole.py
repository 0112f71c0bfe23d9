"""Signing in, as the whole product does it, against a real authorization server and a real protected server.
Usage: whole.py PTC NODE FOLDER-WITH-PACKAGES"""
import contextlib
import http.server
import json
import pathlib
import re
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from peers import Peer, Product, free_port, spellings, until
from person import visit

PTC, NODE, WORK = sys.argv[1:]
# Seconds that an access token lives here: a program that starts in time is over before that.
LIFE = 6
DOCUMENT = "https://ptc.example/oauth/client.json"
passed = 0


def ok(what):
    global passed
    passed += 1
    print(f"ok   {what}", flush=True)


def value(result):
    """What a call brought; a text of JSON is read."""
    assert result["ok"], result
    return json.loads(result["value"]) if isinstance(result["value"], str) else result["value"]


def refusal(result):
    assert not result["ok"] and result["reason"] == "auth_required", result
    return result["message"]


def signed_in(printed, name):
    lines = printed.splitlines()
    assert lines[0] == f"Sign in to {name} in your browser. If none opens, use this link:", printed
    assert lines[1].startswith("  http://127.0.0.1:"), printed
    expected = rf"Signed in to {name}\. Scopes: (.*)\. The access token lasts \d s and is renewed by itself\."
    matched = re.fullmatch(expected, lines[2])
    assert matched and len(lines) == 3, printed
    return set(matched[1].split())


class NoMetadata(http.server.BaseHTTPRequestHandler):
    """A protected server that publishes nothing."""

    def answer(self):
        self.send_response(401 if self.command == "POST" else 404)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def without_metadata():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), NoMetadata) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        server.shutdown()


@contextlib.contextmanager
def mock_server():
    """npm `oauth2-mock-server`, which says `localhost` whatever it is asked as."""
    port = free_port()
    command = [NODE, f"{WORK}/node_modules/oauth2-mock-server/dist/oauth2-mock-server.mjs", "-a", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until("the mock server listens", lambda: listens(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    redirect_port = free_port()
    documents = scratch / "documents.json"
    documents.write_text(json.dumps({DOCUMENT: {
        "client_id": DOCUMENT, "client_name": "ptc", "redirect_uris": [f"http://127.0.0.1:{redirect_port}/callback"],
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        "token_endpoint_auth_method": "none", "application_type": "native"}}))
    authority = Peer([NODE, f"{WORK}/as.mjs"], TTL=LIFE, DOCUMENTS=documents)
    issuer = authority.where["issuer"]
    notes = Peer([NODE, f"{WORK}/resource.mjs"], ISSUER=issuer)
    url = notes.where["url"]
    product = Product(PTC, scratch / "one")

    def entry(**auth):
        # One port for all, since registrations are for an address.
        return {"transport": "mcp_http", "url": url, "allow_insecure_http": True,
                "auth": {"type": "oauth", "redirect": {"port": redirect_port}, **auth}}

    product.configure({"notes": entry(), "others": entry()})

    # --- before anybody signs in ---------------------------------------------------------------------------------------
    checked = json.loads(product.run("check", "--json"))
    assert checked["ok"], checked
    for row in checked["upstreams"]:
        expected = {"ok": True, "state": "sign_in_needed", "next_step": f"ptc login {row['name']}"}
        assert expected.items() <= row.items(), row
    assert "sign in with: ptc login notes" in product.run("check")
    before = refusal(product.call("notes"))
    assert before == "not signed in to upstream 'notes'; a person must run: ptc login notes", before
    assert product.auth()["notes"]["state"] == "sign_in_needed"
    ok("without a sign-in, check, programs and auth say what to do")

    # --- a server that was started before anybody signed in --------------------------------------------------------------
    server = product.start("start", "--log-level", "error", "--upstream-call-timeout-ms", "20000", "--program-timeout-ms", "30000")

    def serve_eval(program):
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
        params = {"name": "lisp_eval", "arguments": {"program": program}, "_meta": meta}
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}) + "\n")
        server.stdin.flush()
        for line in server.stdout:
            message = json.loads(line)
            if message.get("id") == 1:
                return message["result"]["content"][0]["text"]
        raise SystemExit("the server ended")

    try:
        asked = '(let [r (tool/call {:server "notes" :tool "whoami" :args {}})] (or (:message r) (:value r)))'
        told = serve_eval(asked)
        assert before in told, told

        # --- in the browser -------------------------------------------------------------------------------------------
        scopes = signed_in(product.run("login", "notes"), "notes")
        assert scopes & {"mcp:read", "mcp:write"} == {"mcp:read"}, scopes
        assert len(authority.told(event="registered")) == 1
        assert value(product.call("notes"))["subject"] == "alice"
        ok("a person signs in with a browser, by a registration of our own, and a program calls the server")

        until("the server that ran already notices", lambda: "alice" in serve_eval(asked))
        ok("a server that was started before the sign-in notices it")
    finally:
        out, err = server.communicate(timeout=60)
        product.said += [out, err]

    row = product.auth()["notes"]
    assert (row["state"], row["issuer"], row["refreshable"], row["resource"]) == ("signed_in", issuer, True, url), row
    table = product.run("auth")
    assert re.match(r"server +issuer +scopes +expires +store +state\n", table) and "signed in" in table, table
    for file in (product.folder / "state").rglob("*"):
        mode = stat.S_IMODE(file.stat().st_mode)
        if "auth" in file.parts:
            assert mode == (0o700 if file.is_dir() else 0o600), (file, oct(mode))
    first = product.secrets()
    assert len(first) >= 2, first
    ok("auth tells who is signed in; the store is the owner's alone")

    # --- expiry and rotation -----------------------------------------------------------------------------------------------
    time.sleep(LIFE + 1)
    assert value(product.call("notes"))["subject"] == "alice"
    assert len(authority.told(event="granted", grant="refresh_token")) >= 1
    assert all(grant["resource"] == url for grant in authority.told(event="granted"))
    second = product.secrets()
    assert not set(first) & set(second), "both tokens are new"
    assert not authority.told(event="refused") and not authority.told(event="revoked")
    ok("an access token that has ended is renewed, and the refresh token with it")

    # --- more scope ----------------------------------------------------------------------------------------------------------
    more = refusal(product.call("notes", "add_note", text="one"))
    assert re.fullmatch(r"upstream 'notes' needs the scope \"[a-z: ]*mcp:write\" for this call; a person must run: ptc login notes", more), more
    scopes = signed_in(product.run("login", "notes"), "notes")
    assert scopes >= {"mcp:read", "mcp:write"}, scopes
    assert value(product.call("notes", "add_note", text="two")) in (1, "1")
    assert len(authority.told(event="registered")) == 1, "the registration is used again"
    ok("a call that needs more scope says so, and the next sign-in asks for all of it")

    # --- two accounts at one server ----------------------------------------------------------------------------------------
    signed_in(product.run("login", "others", PERSON="bob"), "others")
    assert value(product.call("others"))["subject"] == "bob"
    assert value(product.call("notes"))["subject"] == "alice"
    ok("two entries are two accounts at one server")

    # --- a person who declines, a browser that nobody uses -----------------------------------------------------------------
    product.run("login", "notes", status=1, DECLINES="1")
    assert "ptc: cannot sign in to notes: the authorization server answered: access_denied" in product.last_error, product.last_error
    assert value(product.call("notes"))["subject"] == "alice"
    process = product.start("login", "notes", "--json")
    opened = json.loads(process.stdout.readline())
    assert opened["event"] == "open", opened
    visit(opened["url"], declines=True)
    out, err = process.communicate(timeout=60)
    product.said += [out, err]
    failed = json.loads(out)
    assert process.returncode == 1 and (failed["event"], failed["code"]) == ("failed", "access_denied"), out + err
    ok("a sign-in that fails leaves the old tokens")

    # --- the whole address, pasted ---------------------------------------------------------------------------------------
    process = product.start("login", "notes", "--paste")
    said = [process.stdout.readline() for _ in range(2)]
    link = said[1].strip()
    redirect = urllib.parse.parse_qs(urllib.parse.urlparse(link).query)["redirect_uri"][0]
    address, _ = visit(link, stop=redirect)
    out, err = process.communicate(address + "\n", timeout=60)
    product.said += [*said, out, err]
    assert process.returncode == 0 and "Signed in to notes." in out, out + err
    ok("the address at which the browser ends can be pasted")

    # --- the sign-in ends at the server -----------------------------------------------------------------------------------
    client = product.auth()["notes"]["client_id"]
    for token in product.secrets():
        body = urllib.parse.urlencode({"token": token, "client_id": client}).encode()
        try:
            urllib.request.urlopen(f"{issuer}/token/revocation", body, timeout=30).close()
        except OSError:
            pass  # JWTs and the other entry's tokens cannot be revoked by this client.
    assert authority.told(event="revoked") or authority.told(event="refresh_token_destroyed")
    time.sleep(LIFE + 1)
    over = refusal(product.call("notes"))
    assert over == "the sign-in to upstream 'notes' has ended (invalid_grant); a person must run: ptc login notes", over
    refused = len(authority.told(event="refused"))
    assert refusal(product.call("notes")) and len(authority.told(event="refused")) == refused, "a refused token is not tried again"
    row = product.auth()["notes"]
    assert (row["state"], row["last_error"]["code"], row["next_step"]) == ("sign_in_needed", "invalid_grant", "ptc login notes"), row
    assert "sign in with: ptc login notes (invalid_grant, " in product.run("auth")
    signed_in(product.run("login", "notes"), "notes")
    assert value(product.call("notes"))["subject"] == "alice"
    ok("a sign-in that was revoked ends, says so, and is renewed by a person")

    # --- ways of being a client ----------------------------------------------------------------------------------------------
    product.configure(
        {
            "terminal": entry(client={"id": "terminal"}),
            "registered": entry(client={"id": "registered", "secret": "app"}, redirect={"host": "localhost", "port": 0}),
            "document": entry(client={"metadata_url": DOCUMENT}, redirect={"port": redirect_port}),
            "service": entry(client={"id": "service", "secret": "machine"}, grant="client_credentials", scopes=["mcp:read"]),
        },
        {"app": {"source": "env", "var": "APP_SECRET"}, "machine": {"source": "env", "var": "MACHINE_SECRET"}})
    product.environment |= {"APP_SECRET": "registered-secret-0123456789", "MACHINE_SECRET": "service-secret-0123456789"}

    process = product.start("login", "terminal", "--device", "--json")
    event = json.loads(process.stdout.readline())
    assert event["event"] == "device" and 0 < len(event["user_code"]) <= 32 and event["expires_in"] > 0, event
    visit(event.get("verification_uri_complete") or f"{event['verification_uri']}?user_code={event['user_code']}", login="carol")
    out, err = process.communicate(timeout=60)
    product.said += [out, err]
    assert process.returncode == 0 and json.loads(out)["event"] == "signed_in", out + err
    assert value(product.call("terminal"))["subject"] == "carol"
    ok("a code is entered on another machine")

    product.run("login", "registered")
    assert value(product.call("registered"))["client"] == "registered"
    ok("an application of one's own, with a secret in the body and localhost in its redirect")
    product.run("login", "document")
    assert value(product.call("document"))["client"] == DOCUMENT
    ok("a client ID metadata document")
    assert value(product.call("service"))["client"] == "service"
    assert len(authority.told(event="registered")) == 1, "none of them registered"
    ok("a client that acts for no person signs in by itself")

    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", redirect_port))
        taken.listen()
        product.run("login", "document", status=1)
        expected = f"cannot sign in to document: port {redirect_port} is in use; set auth.redirect.port or use --paste"
        assert expected in product.last_error, product.last_error
    product.run("login", "nobody", status=1)
    assert "no upstream 'nobody'" in product.last_error, product.last_error
    ok("a port that is taken, and an upstream that is not there, are told")

    # --- signing out -------------------------------------------------------------------------------------------------------------
    destroyed = len(authority.told(event="refresh_token_destroyed"))
    printed = product.run("logout", "registered")
    assert printed == "Signed out of registered; the server revoked the token.\n", printed
    assert len(authority.told(event="refresh_token_destroyed")) > destroyed
    assert product.auth()["registered"]["state"] == "sign_in_needed"
    assert refusal(product.call("registered")).startswith("not signed in to upstream 'registered'")
    ok("signing out revokes the token and forgets it")

    # --- an authorization server that says it is another one -----------------------------------------------------------------
    with without_metadata() as elsewhere, mock_server() as mock:
        product.configure({"mock": {**entry(issuer=mock), "url": elsewhere}})
        product.run("login", "mock", status=1)
    localhost = mock.replace("127.0.0.1", "localhost")
    expected = f'ptc: cannot sign in to mock: metadata for issuer "{mock}" says it is "{localhost}"'
    assert expected in product.last_error, product.last_error
    ok("metadata of another issuer are refused")

    # --- nothing that is secret was said ---------------------------------------------------------------------------------------
    said = "".join(product.said)
    for secret in {*first, *second, *product.secrets(), product.environment["APP_SECRET"], product.environment["MACHINE_SECRET"]}:
        for spelling in spellings(secret):
            assert spelling not in said, "a secret was printed"
    ok("no token and no secret was printed")
    assert not authority.told(event="server_error"), authority.told(event="server_error")
    notes.stop()
    authority.stop()
print(f"{passed} passed, 0 failed")
