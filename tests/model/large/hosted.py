#!/usr/bin/env python3
"""hosted.py NAME DATA: an imitation of a hosted server on stdio, standard library only. `servers/NAME.py` declares its tools.

An argument is one line, `name type description`: `owner s! Login of the owner`, `state open|closed|all=open Which ones`, `limit i<=100=20 Page size`.
Types: s text, i integer, n number, b boolean, d date, o object, s[] i[] o[] lists; `!` required, `<=` a maximum in the schema, `=` a default.
A tool that writes checks its arguments, answers as real ones do, and changes nothing, so that every task keeps its answer."""
import collections
import importlib.util
import json
import os
import re
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {"s": "string", "i": "integer", "n": "number", "b": "boolean", "o": "object", "d": "string"}


class Bad(Exception):
    """A call that failed: its text is the result, with isError."""


class Text(str):
    """A result that is a text, whatever it holds."""


class Structured:
    """A result that is sent as structured content too."""
    def __init__(self, value):
        self.value = value


def argument(line):
    """The name, the schema, and whether it is required."""
    name, kind, description = line.split(" ", 2)
    found = re.fullmatch(r"([\w|]+)(\[\])?(!)?(?:<=(\d+))?(?:=(.*))?", kind)
    base, many, required, most, default = found.groups()
    schema = {"type": "string", "enum": base.split("|")} if base not in KINDS else {"type": KINDS[base]}
    if base == "d":
        schema["format"] = "date"
    if base == "o":
        schema["additionalProperties"] = True
    if many:
        schema = {"type": "array", "items": schema}
    if most:
        schema |= {"minimum": 1, "maximum": int(most)}
    if default is not None:
        schema["default"] = {"i": int, "n": float, "b": lambda text: text == "true"}.get(base, str)(default)
    return name, schema | {"description": description}, bool(required)


class Server:
    """The tools of a server. `closed`: unknown arguments are refused. `indent`: of JSON texts. `page`: tools a page of tools/list. `slower`: what a call
    gets that came too fast."""
    def __init__(self, title, instructions=None, closed=False, indent=None, page=None, slower="429 Too Many Requests. Retry after 1 s."):
        self.title, self.instructions, self.closed, self.indent, self.page, self.slower = title, instructions, closed, indent, page, slower
        self.tools, self.handlers = [], {}

    def tool(self, name, description, *lines, reads=True, out=None, slow=0.0, rate=None):
        """Declares a tool; `reads` None leaves annotations out; `rate` is calls and seconds."""
        schema = {"type": "object", "properties": {}, "required": []}
        for line in lines:
            key, value, required = argument(line)
            schema["properties"][key] = value
            if required:
                schema["required"].append(key)
        if self.closed:
            schema["additionalProperties"] = False
        tool = {"name": name, "description": description, "inputSchema": schema}
        if out:
            tool["outputSchema"] = out
        if reads is not None:
            tool["annotations"] = {"readOnlyHint": reads} | ({} if reads else {"destructiveHint": name.split("_")[0] in ("delete", "remove", "cancel", "void", "archive")})
        self.tools.append(tool)

        def keep(handler):
            self.handlers[name] = (handler, schema, slow, rate, collections.deque())
            return handler
        return keep

    def write(self, name, description, *lines, reply=None, reads=False):
        """Declares a tool that would change something."""
        self.tool(name, description, *lines, reads=reads)(lambda a: reply(a) if reply else {"ok": True, **{k: v for k, v in a.items() if isinstance(v, str)}})

    def call(self, name, arguments):
        handler, schema, slow, rate, calls = self.handlers[name]
        arguments = {key: value for key, value in arguments.items() if value is not None}
        for key in schema["required"]:
            if key not in arguments:
                raise Bad(f"missing required parameter: {key}")
        for key, value in list(arguments.items()):
            wanted = schema["properties"].get(key)
            if wanted is None:
                if self.closed:
                    raise Bad(f"unrecognized parameter '{key}'; expected one of: {', '.join(schema['properties'])}")
                continue
            check(key, wanted, value)
        if rate:
            now = time.monotonic()
            while calls and calls[0] < now - rate[1]:
                calls.popleft()
            if len(calls) >= rate[0]:
                raise Bad(self.slower)
            calls.append(now)
        time.sleep(slow)
        defaults = {key: value["default"] for key, value in schema["properties"].items() if "default" in value}
        return handler(defaults | arguments)

    def result(self, name, arguments):
        try:
            value = self.call(name, arguments)
        except Bad as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        except (LookupError, ValueError, TypeError, AttributeError):
            # What the handler did not expect: a cursor that it never gave, a date that is none.
            return {"content": [{"type": "text", "text": "400 Bad Request: the arguments could not be read"}], "isError": True}
        plain = value.value if isinstance(value, Structured) else value
        text = plain if isinstance(plain, Text) else json.dumps(plain, indent=self.indent, ensure_ascii=False)
        result = {"content": [{"type": "text", "text": text}]}
        return result | {"structuredContent": plain} if isinstance(value, Structured) else result

    def answer(self, method, params):
        """The result of a request; LookupError for what there is not."""
        if method == "initialize":
            result = {"protocolVersion": params.get("protocolVersion", "2025-06-18"), "capabilities": {"tools": {}}, "serverInfo": {"name": self.title, "version": "2.4.0"}}
            return result | ({"instructions": self.instructions} if self.instructions else {})
        if method == "ping":
            return {}
        if method == "tools/list":
            first = int(params.get("cursor") or 0)
            last = first + (self.page or len(self.tools))
            return {"tools": self.tools[first:last]} | ({"nextCursor": str(last)} if last < len(self.tools) else {})
        if method == "tools/call" and params.get("name") in self.handlers:
            return self.result(params["name"], params.get("arguments") or {})
        raise LookupError(method)


def check(key, schema, value):
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list}
    if not isinstance(value, kinds[schema["type"]]) or isinstance(value, bool) and schema["type"] != "boolean":
        raise Bad(f"invalid type for '{key}': expected {schema['type']}, got {json.dumps(value)}")
    if "enum" in schema and value not in schema["enum"]:
        raise Bad(f"invalid value for '{key}': {json.dumps(value)}; one of {', '.join(schema['enum'])}")
    if "maximum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        raise Bad(f"'{key}' must be between {schema['minimum']} and {schema['maximum']}, got {value}")
    if schema["type"] == "array":
        for item in value:
            check(key, schema["items"], item)


def one(items, key, value, what):
    """The item whose `key` has the value, or an error as a server words it."""
    for item in items:
        if item[key] == value:
            return item
    raise Bad(f"{what} not found: {value}")


def markdown(columns, rows):
    return Text("\n".join(["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns), *("| " + " | ".join("" if c is None else str(c) for c in row) + " |" for row in rows)]))


def csv(columns, rows):
    quote = lambda c: '"' + str(c).replace('"', '""') + '"' if c is not None and re.search(r'[",\n]', str(c)) else "" if c is None else str(c)
    return "\n".join([",".join(columns), *(",".join(map(quote, row)) for row in rows)]) + "\n"


def json_lines(items):
    return Text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items))


def serve(server):
    lock = threading.Lock()

    def send(message):
        with lock:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    def run(message):
        head = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            send(head | {"result": server.answer(message["method"], message.get("params") or {})})
        except LookupError as error:
            send(head | {"error": {"code": -32601, "message": f"not found: {error}"}})

    for line in sys.stdin:
        message = json.loads(line) if line.strip() else {}
        if "id" in message and "method" in message:
            threading.Thread(target=run, args=(message,), daemon=True).start()


def load(name, data):
    """The server that `servers/NAME.py` declares."""
    sys.modules.setdefault("hosted", sys.modules[__name__])
    spec = importlib.util.spec_from_file_location(name, f"{HERE}/servers/{name}.py")
    module = importlib.util.module_from_spec(spec)
    module.__dict__["DATA"] = data
    spec.loader.exec_module(module)
    return module.server


if __name__ == "__main__":
    with open(sys.argv[2]) as file:
        serve(load(sys.argv[1], json.load(file)))
