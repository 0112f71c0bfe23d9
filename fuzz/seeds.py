"""Writes the seeds of a fuzz target, the same on every run. Usage: seeds.py TARGET FOLDER

Targets that read text start from the conformance programs and their contexts, targets that read messages from a few of
each kind, and targets with a generator from bytes that a hash makes.
"""

import hashlib
import json
import pathlib
import sys

TEXT = {"reader", "compile", "vm"}
NOISE = {"protocol", "roundtrip", "program", "suspend", "restore", "differential", "openapi", "config", "fetch_address", "token_machine", "session_blob"}
MESSAGES = {
    "jsonrpc": [
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":[1,2.5e3,null]}}}\n',
        '{"jsonrpc":"2.0","id":"7","result":{"content":[{"type":"text","text":"a\\u00e9\\"b"}]}}\r\n{"id":8}\n',
        '[{"id":1,"error":{"code":-32601,"message":"no"}},{"method":"notifications/x","params":{}}]\n',
        '{"result":{"text":"' + "a" * 700 + '"},"id":12}\n{"id":7.0,"error":null}\n',
    ],
    "protocol": [
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lisp_eval","arguments":{"program":"(+ 1 2)"}}}',
        '{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}',
        '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]',
    ],
    "sse": [
        "id: 7\nretry: 20\nevent: message\ndata: {\"id\":1}\ndata: two\n\n: comment\n\ndata\n\n",
        "\ufeffdata:a\r\n\r\ndata:  b\r\rid:\ndata: last",
    ],
    "openapi": [
        '{"openapi":"3.0.3","paths":{"/things/{id}":{"get":{"operationId":"op","parameters":[{"name":"id","in":"path",'
        '"required":true,"schema":{"type":"string"}}],"responses":{"200":{"content":{"application/json":{}}}}}}}}',
    ],
    "challenge": [
        'Bearer resource_metadata="https://h.example/.well-known/oauth-protected-resource", scope="a b"',
        'Basic realm="a, \\"b\\"", Negotiate YWJj==, bearer error=insufficient_scope, error_description="more"\nBearer scope = x',
        'Bearer resource_metadata=/meta,,scope="a",scope="b"',
    ],
    "metadata": [
        '{"resource":"https://h.example/mcp","authorization_servers":["https://a.example"]}\n{"issuer":"https://a.example","token_endpoint":'
        '"https://a.example/t","authorization_endpoint":"https://a.example/a","code_challenge_methods_supported":["S256"]}',
        '{"client_id":"c","client_secret":"s","client_secret_expires_at":0,"token_endpoint_auth_method":"client_secret_post"}',
        '{"error":"invalid_redirect_uri"}',
        '{"access_token":"t","token_type":"Bearer","expires_in":"3600","refresh_token":"r","scope":"a b"}',
        '{"device_code":"d","user_code":"WDJB-MJHT","verification_uri":"https://a.example/d","expires_in":900,"interval":5}',
    ],
    "callback": [
        "state=s&code=c&iss=https%3A%2F%2Fa.example",
        "code=c&st%61te=s+1&x=%zz",
        "error=access_denied&error_description=no&state=s",
    ],
    "fetch_address": [
        "https://0x7f.1/",
        "https://[::ffff:169.254.169.254]/latest",
        "https://METADATA.google.internal./",
        "http://127.0.0.1/",
    ],
    "config": [
        '{"credentials":{"token":{"source":"env","var":"FUZZ_TOKEN"}},"upstreams":{"a":{"transport":"mcp_http",'
        '"url":"https://h.example/mcp","auth":[{"scheme":"bearer","binding":"token"}]}}}',
    ],
}


def conformance():
    for line in open("tests/conformance/given.jsonl", encoding="utf-8"):
        yield json.loads(line)


def noise(count):
    """Some 32 to 1 024 bytes each, without the brace that would make text of them."""
    for seed in range(count):
        blocks = (hashlib.sha256(f"{seed}.{n}".encode()).digest() for n in range(1 + seed % 32))
        yield b"".join(blocks).replace(b"{", b"|")


def seeds(target):
    if target in TEXT:
        for case in conformance():
            steps = [case] if "program" in case else case["steps"]
            yield from (step["program"].encode() for step in steps)
    if target == "json":
        yield from (json.dumps(case["context"]).encode() for case in conformance() if "context" in case)
    if target in NOISE:
        yield from noise(256)
    # The first bytes of these targets are decisions: how the stream is cut, which base URL it is.
    # What documents are taken for is one, too, so that each is tried as each.
    heads = {
        "jsonrpc": [bytes([1, 0, 9])],
        "openapi": [bytes([0, 0])],
        "sse": [bytes([3, 1, 4, 1, 5, 9])],
        "metadata": [bytes([what, status, 0]) for what in range(4) for status in (0, 4)],
        "callback": [bytes([0, 0]), bytes([1, 0])],
        "fetch_address": [bytes([3])],
    }.get(target, [b""])
    yield from (head + text.encode() for head in heads for text in MESSAGES.get(target, []))


folder = pathlib.Path(sys.argv[2])
for seed in seeds(sys.argv[1]):
    (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
