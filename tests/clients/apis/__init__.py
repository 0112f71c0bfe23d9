"""The protocols of model providers, as far as a model needs them that calls one tool at a time and says one sentence.

Each module has `read(body)`, which gives the [`Turn`] that a request shows, and `write(reply, path, body)`, which gives the content
type and the bytes of the answer.
"""
import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Turn:
    """What the model sees."""

    # Names as the client gives them to the model; descriptions.
    tools: dict[str, str]
    # Of the calls so far, in order.
    results: list[str]
    # Whether it has searched for the tool, where clients keep tools behind a search.
    searched: bool = False


@dataclasses.dataclass(frozen=True)
class Call:
    name: str
    arguments: dict
    # In the script, or "search".
    number: int | str


@dataclasses.dataclass(frozen=True)
class Say:
    text: str


def text_of(content) -> str:
    """The text of a content: text itself, blocks with text, or whatever else as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(block, dict) and "text" in block for block in content):
        return "\n".join(block["text"] for block in content)
    return json.dumps(content, ensure_ascii=False)


def events(*data: dict, names: bool = False, end: str = "") -> tuple[str, bytes]:
    """Server-sent events; with `names`, each is called as its `type`."""
    lines = [(f"event: {one['type']}\n" if names else "") + f"data: {json.dumps(one)}\n\n" for one in data]
    return "text/event-stream", ("".join(lines) + end).encode()


def plain(value: dict) -> tuple[str, bytes]:
    return "application/json", json.dumps(value).encode()
