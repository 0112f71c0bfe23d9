"""OpenAI responses: Codex."""
import json

from . import Call, Turn, events, text_of


def read(body: dict) -> Turn:
    tools = {}
    for tool in body.get("tools", []):
        # The tools of an MCP server come in a namespace.
        prefix = f"{tool['name']}." if tool["type"] == "namespace" else ""
        for one in tool.get("tools", [tool]):
            if "name" in one:
                tools[prefix + one["name"]] = one.get("description", "")
    outputs = [item for item in body.get("input", []) if item.get("type") == "function_call_output"]
    return Turn(tools, [text_of(item["output"]) for item in outputs])


def write(reply, path: str, body: dict) -> tuple[str, bytes]:
    if isinstance(reply, Call):
        namespace, _, name = reply.name.rpartition(".")
        item = {"type": "function_call", "id": f"fc_{reply.number}", "call_id": f"call_{reply.number}", "name": name}
        item |= {"arguments": json.dumps(reply.arguments), **({"namespace": namespace} if namespace else {})}
    else:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20, **details}
    return events(
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage, "output": [item]}},
        names=True,
    )
