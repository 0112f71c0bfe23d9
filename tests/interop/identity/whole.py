"""Two people sign in to `ptc` with real clients by a real issuer, with JWTs and with opaque tokens; the issuer's key is replaced, and a
token is revoked. Usage: whole.py PTC NODE WORK PYTHON"""
import base64
import json
import subprocess
import sys
import time
import urllib.parse

from stage import end, fetch, here, issuer, python, server, sign_in, typescript, work


def token_of(command, url, person):
    said = sign_in(command, url, person)
    assert "42" in said["text"], said
    return said["token"]


def knock(url, token):
    """The status of a request with this token, and its challenge."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}}).encode()
    status, headers, _ = fetch(url, body, Authorization=f"Bearer {token}", Content_Type="application/json", Accept="application/json, text/event-stream")
    return status, headers.get("www-authenticate", "")


def until(what, url, token, wanted):
    deadline = time.monotonic() + 90
    while knock(url, token)[0] != wanted:
        if time.monotonic() > deadline:
            raise SystemExit(f"{what}: {knock(url, token)}")
        time.sleep(1)


def claims(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


try:
    by_key, by_question = issuer("jwt"), issuer("opaque")
    (work / "identity-client").write_text("resource:resource-secret-0123456789\n")
    signed = server("jwt", by_key)
    opaque = server("opaque", by_question, "--introspection-client", str(work / "identity-client"))
    ann, ben = token_of(typescript, signed, "ann"), token_of(python, signed, "ben")
    for token, person, group in [(ann, "ann", "support"), (ben, "ben", "dev")]:
        found = claims(token)
        assert (found["iss"], found["sub"], found["aud"], found["groups"]) == (by_key, person, signed, [group]), found
    print("ok   JWTs, TypeScript and Python clients")
    cid, dan = token_of(typescript, opaque, "cid"), token_of(python, opaque, "dan")
    assert cid.count(".") != 2, cid
    print("ok   opaque tokens, TypeScript and Python clients")
    # Neither server takes the tokens of the other.
    assert knock(opaque, ann)[0] == 401 and "another issuer" in knock(opaque, ann)[1]
    assert knock(signed, cid)[0] == 401 and "cannot be verified" in knock(signed, cid)[1]
    # The key is replaced, and a token is revoked.
    assert fetch(f"{by_key}/rotate", b"")[0] == 200
    proof = base64.b64encode(b"resource:resource-secret-0123456789").decode()
    # Whoever has a public client's token may revoke it with that client's id alone; the resource asks what became of it.
    said = json.loads(fetch(f"{by_question}/token/introspection", urllib.parse.urlencode({"token": cid}).encode(), Authorization=f"Basic {proof}")[2])
    revoked = fetch(f"{by_question}/token/revocation", urllib.parse.urlencode({"token": cid, "client_id": said["client_id"]}).encode())
    assert revoked[0] == 200, revoked
    # Its sign-in ends with a token by the new key. The server learns that key within a minute of the last fetch.
    deadline = time.monotonic() + 90
    while True:
        said = subprocess.run([*typescript, signed, "eve", sys.executable, str(here / "walk.py")], capture_output=True, text=True, timeout=120)
        if said.returncode == 0:
            break
        assert time.monotonic() < deadline, said.stderr
        time.sleep(5)
    print("ok   a new key")
    until("the revoked token", opaque, cid, 401)
    assert knock(opaque, dan)[0] == 200
    print("ok   a revoked token")
    for log in ["identity-jwt.log", "identity-opaque.log"]:
        text = (work / log).read_text()
        assert not any(token in text for token in [ann, ben, cid, dan]), "a token is in the log"
finally:
    end()
