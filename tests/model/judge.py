"""Whether an answer is right, and what an error reply is about."""
import ast
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED_FILE = os.environ.get("EXPECTED") or HERE + "/expected.json"
with open(EXPECTED_FILE) as file:
    EXPECTED = json.load(file)


class Symbol(str):
    """A word that is no value of its own, so the answer is meant as it stands."""


def first_value(text):
    """The first EDN value of a text, and what follows it."""
    tokens = list(re.finditer(r'"(?:\\.|[^"\\])*"|#\{|[\[\](){}]|[^\s,\[\](){}"]+', text))
    at = 0

    def value():
        nonlocal at
        token = tokens[at][0]
        at += 1
        if token in ("[", "(", "#{", "{"):
            end, items = {"[": "]", "(": ")"}.get(token, "}"), []
            while tokens[at][0] != end:
                items.append(value())
            at += 1
            if token == "{":
                return {str(key): item for key, item in zip(items[::2], items[1::2])}
            return sorted(items, key=str) if token == "#{" else items
        if token[0] == '"':
            return json.loads(token, strict=False)
        if token[0] == ":":
            return token[1:]
        words = {"nil": None, "null": None, "true": True, "false": False}
        if token in words:
            return words[token]
        try:
            return float(token) if re.search(r"[.eE]", token) else int(token)
        except ValueError:
            return Symbol(token)

    found = value()
    return found, text[tokens[at - 1].end():]


def parse(text):
    """An answer as a model wrote it: its text, and the value that it spells, if it spells one."""
    text = text.strip()
    fenced = re.fullmatch(r"```\w*\n(.*?)\n?```", text, re.S)
    text = re.sub(r"^user=>\s*", "", fenced[1].strip() if fenced else text)
    try:
        return text, json.loads(text, strict=False)
    except ValueError:
        pass
    try:
        # Only where a text in single quotes begins: in Python, two texts in double quotes beside each other are one.
        if re.search(r"[\[({,:]\s*'", text):
            return text, ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    try:
        value, rest = first_value(text)
        return text, value if not rest.strip() else None
    except (ValueError, IndexError):
        return text, None


def result_of(reply):
    """The final value in the reply of a program, as an answer: behind `user=>`, without prints and notes."""
    found = re.search(r"^user=>[ \n]?(.*)", reply, re.S | re.M)
    if not found:
        return reply
    rest = found[1]
    fenced = re.match(r"\s*(`{3,})\w*\n(.*?)\n\1", rest, re.S)
    if fenced:
        return fenced[2]
    try:
        _, behind = first_value(rest)
        return rest[: len(rest) - len(behind)]
    except (ValueError, IndexError):
        return rest


def number(value):
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return value
    try:
        return float(str(value).replace(",", "").replace("_", "").strip())
    except ValueError:
        return None


def same(wanted, got):
    """Whether two values are equal as an examiner sees it: not by spelling of keys, numbers or lists."""
    if wanted is None:
        return got is None or str(got) in ("nil", "null", "None")
    if isinstance(wanted, (int, float)):
        n = number(got)
        return n is not None and abs(n - wanted) < (0.0101 if isinstance(wanted, float) else 1e-6)
    if isinstance(wanted, str):
        plain = str(got).strip().strip("`\"'") == wanted.strip()
        return plain or (number(wanted) is not None and number(got) == number(wanted))
    if isinstance(got, (tuple, set)):
        got = list(got) if isinstance(got, tuple) else sorted(got, key=str)
    if isinstance(wanted, list):
        if isinstance(got, dict):
            got = [[key, value] for key, value in got.items()]
        if isinstance(got, str):
            got = [item.strip().strip("\"'") for item in re.split(r"[,\n]", got) if item.strip()]
        return isinstance(got, list) and len(wanted) == len(got) and all(map(same, wanted, got))
    if isinstance(got, list) and all(isinstance(item, list) and len(item) == 2 for item in got):
        got = {str(key): value for key, value in got}
    if not isinstance(got, dict):
        return False
    wanted, got = ({str(k).lstrip(":").replace("-", "_"): v for k, v in d.items()} for d in (wanted, got))
    got = {key: value for key, value in got.items() if key in wanted or value != 0}
    return wanted.keys() == got.keys() and all(same(wanted[key], got[key]) for key in wanted)


def right(task, answer):
    """Whether this is the answer of the task."""
    wanted = EXPECTED[task]
    text, value = parse(answer)
    if wanted["kind"] == "text":
        if isinstance(value, list) and all(isinstance(line, str) for line in value):
            text = "\n".join(value)
        elif isinstance(value, str) and not isinstance(value, Symbol):
            text = value
        if "\n" not in text and "\\n" in text:
            text = text.replace("\\n", "\n")
        clean = lambda s: [re.sub(r"\s+", " ", line).strip() for line in s.splitlines() if line.strip()]
        return clean(text) == clean(wanted["answer"])
    if value is None or isinstance(value, Symbol):
        value = text
    return same(wanted["answer"], value) or (isinstance(value, str) and same(wanted["answer"], text))


def error_kind(reply):
    """What an error reply is about: `parse_error`, `runtime_error/type_error`, `runtime_error/undefined variable`."""
    # Prints come first, in the form of the first builds or in that of later ones.
    reply = re.sub(r"\A\s*(?:<prints>(?s:.*)<result>\s*|prints \(\d+ lines?\):\n(?:\|.*\n)*)", "", reply)
    found = re.match(r"\s*(?:user=> )?([A-Za-z_]+(?: error)?):?\s*(.*)", reply)
    if not found:
        return reply.strip()[:40] or "(empty)"
    if not found[2]:
        return found[1]
    reason = re.match(r"([a-z]+_[a-z_]+)\b", found[2])
    detail = reason[1] if reason else " ".join(re.findall(r"[A-Za-z_']+", found[2])[:2]).lower()
    return f"{found[1]}/{detail}"
