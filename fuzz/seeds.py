"""Writes the seeds of a fuzz target, the same on every run. Usage: seeds.py TARGET FOLDER

Targets that read text start from the conformance programs and their contexts, targets that read messages from a few of
each kind, and targets with a generator from bytes that a hash makes.
"""

import hashlib
import json
import pathlib
import sys

TEXT = {"reader", "compile", "vm"}
NOISE = {"protocol", "roundtrip", "program", "suspend", "differential", "openapi", "config"}
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
    head = {"jsonrpc": bytes([1, 0, 9]), "openapi": bytes([0, 0]), "sse": bytes([3, 1, 4, 1, 5, 9])}.get(target, b"")
    yield from (head + text.encode() for text in MESSAGES.get(target, []))


folder = pathlib.Path(sys.argv[2])
for seed in seeds(sys.argv[1]):
    (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
