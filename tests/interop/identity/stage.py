"""What the scripts here share: an issuer, servers and requests. Their arguments: PTC NODE WORK PYTHON"""
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

ptc, node, work, client_python = sys.argv[1:]
here = pathlib.Path(__file__).resolve().parent
work = pathlib.Path(work)
started = []
typescript, python = [node, str(work / "identity-client.mjs")], [client_python, str(here / "client.py")]


def begin(command, log, stdin=None, **variables):
    process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=open(work / log, "w"), text=True, env={**os.environ, **variables})
    started.append(process)
    return process


def end():
    for process in started:
        process.terminate()


def issuer(form, name=None):
    process = begin([node, str(work / "identity-provider.mjs")], f"identity-{name or form}.provider.log", FORMAT=form)
    return json.loads(process.stdout.readline())["issuer"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fetch(url, body=None, method=None, trust=None, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, data=body, headers=headers, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust))
    try:
        answer = opener.open(request, timeout=30)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read().decode()


def with_pages():
    """The flags of a server whose people sign in on its pages, too: without them callers with access tokens are not sent there."""
    client = work / "identity-pages-client"
    client.write_text("pages:pages-secret-0123456789")
    return ["--http-login-client", str(client)]


def server(name, of, *flags, port=None, url=None):
    port = port or free_port()
    url = url or f"http://127.0.0.1:{port}/mcp"
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


def sign_in(command, url, person, program="(+ 40 2)", **variables):
    """Signs in with a client, which runs a program; what it printed."""
    command = [*command, url, person, sys.executable, str(here / "walk.py"), program]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **variables})
    if said.returncode:
        raise SystemExit(f"{command[:2]}: {said.stdout}{said.stderr}")
    said = json.loads(said.stdout)
    assert said["scope"] == "mcp:read", said
    return said
