"""A reverse proxy with TLS in front of `ptc`: nginx, whose certificate is signed by an authority of this test. Real clients sign in at the
proxy's address, and nothing that a client sends changes what the metadata says. `mcp-remote` signs in for a client that knows pipes alone,
and the Inspector comes with a token. Usage: proxy.py PTC NODE WORK PYTHON REMOTE INSPECTOR"""
import json
import os
import shutil
import ssl
import subprocess
import sys
import threading

# The arguments that the scripts share come first.
*shared, remote, inspector = sys.argv
sys.argv = shared
from stage import begin, end, fetch, free_port, here, issuer, node, python, server, sign_in, typescript, work  # noqa: E402

CLIENTS = 12
NGINX = """
daemon off;
master_process off;
pid {folder}/pid;
error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {folder}/server.pem;
    ssl_certificate_key {folder}/server.key;
    location / {{
      proxy_pass http://127.0.0.1:{behind};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_buffering off;
    }}
  }}
}}
"""


def certificates(folder):
    """An authority, and what it signs for localhost."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=interop",
            "-addext", "keyUsage=critical,keyCertSign")
    openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    (folder / "names").write_text("subjectAltName=DNS:localhost\nauthorityKeyIdentifier=keyid\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-out", "server.pem", "-extfile", "names")
    return folder / "ca.pem"


class Bridge:
    """`mcp-remote`, as a client that starts a command and speaks over its pipes uses it. Its browser is a person without one."""

    def __init__(self, url, person):
        home = work / "identity-remote"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        # The last that it tries is a program of this name; what it tries before looks at BROWSER, or is not there.
        browser = home / "x-www-browser"
        browser.write_text(f'#!/bin/sh\nPERSON={person} exec {sys.executable} {here.parent / "oauth" / "person.py"} "$1" > {home}/browser.log 2>&1\n')
        browser.chmod(0o755)
        variables = {"HOME": str(home), "MCP_REMOTE_CONFIG_DIR": str(home), "PATH": f"{home}:{os.environ['PATH']}", "NODE_EXTRA_CA_CERTS": str(authority),
                     "BROWSER": str(browser), "DISPLAY": "", "WAYLAND_DISPLAY": ""}
        self.process = begin([node, remote, url], "identity-remote.log", stdin=subprocess.PIPE, **variables)
        # A bridge that does not answer ends, and its log is shown.
        limit = threading.Timer(60, self.process.kill)
        limit.daemon = True
        limit.start()
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "x", "version": "0"})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.send({"id": method, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == method:
                return answer["result"]
        raise SystemExit(f"mcp-remote ended: {(work / 'identity-remote.log').read_text()}")


try:
    folder = work / "identity-proxy"
    folder.mkdir(exist_ok=True)
    authority = certificates(folder)
    port, behind = free_port(), free_port()
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, behind=behind))
    begin(["nginx", "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")], "identity-nginx.log")
    base, provider = f"https://localhost:{port}", issuer("jwt", "proxy")
    url = server("proxy", provider, port=behind, url=f"{base}/mcp")
    trust = ssl.create_default_context(cafile=authority)

    # --- what clients send changes nothing of what they are told ---------------------------------------------------------
    challenge = f'Bearer resource_metadata="{base}/.well-known/oauth-protected-resource/mcp", scope="mcp:read"'
    evil = "evil.example"
    forged = [{}, {"X_Forwarded_Host": evil}, {"X_Forwarded_Proto": "http", "X_Forwarded_Port": "80", "X_Forwarded_Prefix": "/evil"},
              {"X_Forwarded_For": "127.0.0.1", "X_Real_IP": evil}, {"Forwarded": f"host={evil};proto=http"},
              {"X_Original_URL": "/evil", "X_Rewrite_URL": "/evil"}, {"Host": evil}]
    for headers in forged:
        for path in ["/mcp", ""]:
            status, _, text = fetch(f"{base}/.well-known/oauth-protected-resource{path}", trust=trust, **headers)
            metadata = json.loads(text)
            assert (status, metadata["resource"], metadata["authorization_servers"]) == (200, url, [provider]), (headers, text)
            assert "evil" not in text, (headers, text)
        status, told, text = fetch(url, b"{}", trust=trust, Content_Type="application/json", **headers)
        # A name that is not that of the public URL is refused before anybody asks for a token.
        expected = (403, None) if "Host" in headers else (401, challenge)
        assert (status, told.get("www-authenticate")) == expected, (headers, status, told, text)
    print(f"ok   {len(forged)} kinds of forged headers change neither metadata nor challenge")

    # --- one address for all: clients begin without a token, which is no fault of theirs ---------------------------------
    for _ in range(CLIENTS):
        status, told, _ = fetch(url, b"{}", trust=trust, Content_Type="application/json")
        assert (status, told["www-authenticate"]) == (401, challenge), (status, told)
    ann = sign_in(typescript, url, "ann", NODE_EXTRA_CA_CERTS=str(authority))
    ben = sign_in(python, url, "ben", SSL_CERT_FILE=str(authority))
    assert "42" in ann["text"] and "42" in ben["text"], (ann, ben)
    print(f"ok   {CLIENTS} clients without a token, then sign-ins, behind a proxy")

    # --- clients that do not sign in themselves --------------------------------------------------------------------------
    bridge = Bridge(url, "cid")
    names = [tool["name"] for tool in bridge.ask("tools/list")["tools"]]
    result = bridge.ask("tools/call", name="lisp_eval", arguments={"program": "(+ 40 2)"})
    assert names == ["lisp_eval"] and "42" in result["content"][0]["text"], (names, result)
    print("ok   mcp-remote signs in for a client on a pipe")
    variables = {"TOKEN": ann["token"], "NODE_EXTRA_CA_CERTS": str(authority)}
    said = subprocess.run([sys.executable, str(here.parent / "clients" / "inspector.py"), node, inspector, url], capture_output=True, text=True, timeout=120, env={**os.environ, **variables})
    assert said.returncode == 0, said.stdout + said.stderr
    print(f"ok   Inspector with a token: {said.stdout.strip()}")
finally:
    end()
