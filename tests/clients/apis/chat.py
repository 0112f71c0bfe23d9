"""OpenAI chat completions: Cline, Copilot CLI, opencode, Qwen Code."""
import json

from . import Call, Turn, events, plain, text_of


def read(body: dict) -> Turn:
    functions = [tool["function"] for tool in body.get("tools", [])]
    answers = {
        message["tool_call_id"]: text_of(message["content"])
        for message in body.get("messages", [])
        if message["role"] == "tool"
    }
    searched = answers.pop("call_search", None) is not None
    tools = {function["name"]: function.get("description", "") for function in functions}
    return Turn(tools, list(answers.values()), searched)


def write(reply, path: str, body: dict) -> tuple[str, bytes]:
    if isinstance(reply, Call):
        function = {"name": reply.name, "arguments": json.dumps(reply.arguments)}
        call = {"index": 0, "id": f"call_{reply.number}", "type": "function", "function": function}
        message, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    else:
        message, reason = {"role": "assistant", "content": reply.text}, "stop"
    head = {"id": "c1", "created": 1, "model": body.get("model", "")}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return plain({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
    chunk = {**head, "object": "chat.completion.chunk"}
    return events(
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
        end="data: [DONE]\n\n",
    )
