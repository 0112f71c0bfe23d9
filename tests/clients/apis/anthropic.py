"""Anthropic messages: Claude Code."""
import json

from . import Call, Turn, events, plain, text_of


def read(body: dict) -> Turn:
    tools = {tool["name"]: tool.get("description", "") for tool in body.get("tools", [])}
    blocks = [block for message in body.get("messages", []) if isinstance(message["content"], list) for block in message["content"]]
    return Turn(tools, [text_of(block.get("content", "")) for block in blocks if block["type"] == "tool_result"])


def write(reply, path: str, body: dict) -> tuple[str, bytes]:
    usage = {"input_tokens": 10, "output_tokens": 10}
    if path.endswith("/count_tokens"):
        return plain({"input_tokens": 10})
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", ""), "usage": usage}
    if isinstance(reply, Call):
        block = {"type": "tool_use", "id": f"toolu_{reply.number}", "name": reply.name, "input": reply.arguments}
        reason = "tool_use"
    else:
        block, reason = {"type": "text", "text": reply.text}, "end_turn"
    if not body.get("stream"):
        return plain({**message, "content": [block], "stop_reason": reason, "stop_sequence": None})
    if isinstance(reply, Call):
        opened, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}
    else:
        opened, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": reply.text}
    return events(
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": opened},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
        names=True,
    )
