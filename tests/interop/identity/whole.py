"""Two people sign in to `ptc` with real clients by a real issuer, with JWTs and with opaque tokens; the issuer's key is replaced, and a
token is revoked. Usage: whole.py PTC NODE WORK PYTHON"""
import base64
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

ptc, node, work, client_python = sys.argv[1:]
here = pathlib.Path(__file__).resolve().parent
work = pathlib.Path(work)
started = []


def begin(command, log, **variables):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=open(work / log, "w"), text=True, env={**os.environ, **variables})
    started.append(process)
    return process


def issuer(form):
    process = begin([node, str(work / "identity-provider.mjs")], f"identity-{form}.provider.log", FORMAT=form)
    return json.loads(process.stdout.readline())["issuer"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fetch(url, body=None, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, data=body, headers=headers)
    try:
        answer = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, dict(answer.headers), answer.read().decode()


def server(name, of, *flags):
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    command = [ptc, "start", "--http", "--http-port", str(port), "--public-url", url, "--issuer", of, "--required-scope", "mcp:read", *flags]
    begin(command, f"identity-{name}.log")
    for _ in range(600):
        try:
            if fetch(f"http://127.0.0.1:{port}/ready")[0] == 200:
                return url
        except OSError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"the server did not start: {(work / f'identity-{name}.log').read_text()}")


def sign_in(command, url, person):
    said = subprocess.run([*command, url, person, sys.executable, str(here / "walk.py")], capture_output=True, text=True, timeout=120)
    if said.returncode:
        raise SystemExit(f"{command[-1]}: {said.stdout}{said.stderr}")
    said = json.loads(said.stdout)
    assert "42" in said["text"] and said["scope"] == "mcp:read", said
    return said["token"]


def knock(url, token):
    """The status of a request with this token, and its challenge."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}}).encode()
    status, headers, _ = fetch(url, body, Authorization=f"Bearer {token}", Content_Type="application/json", Accept="application/json, text/event-stream")
    return status, headers.get("www-authenticate", headers.get("WWW-Authenticate", ""))


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
    typescript, python = [node, str(work / "identity-client.mjs")], [client_python, str(here / "client.py")]
    by_key, by_question = issuer("jwt"), issuer("opaque")
    (work / "identity-client").write_text("resource:resource-secret-0123456789\n")
    signed = server("jwt", by_key)
    opaque = server("opaque", by_question, "--introspection-client", str(work / "identity-client"))
    ann, ben = sign_in(typescript, signed, "ann"), sign_in(python, signed, "ben")
    for token, person, group in [(ann, "ann", "support"), (ben, "ben", "dev")]:
        found = claims(token)
        assert (found["iss"], found["sub"], found["aud"], found["groups"]) == (by_key, person, signed, [group]), found
    print("ok   JWTs, TypeScript and Python clients")
    cid, dan = sign_in(typescript, opaque, "cid"), sign_in(python, opaque, "dan")
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
    for process in started:
        process.terminate()
