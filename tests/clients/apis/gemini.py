"""Gemini generateContent: Gemini CLI."""
from . import Call, Turn, events, plain, text_of


def read(body: dict) -> Turn:
    declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
    parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
    responses = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    texts = [text_of(response.get("output") or response.get("error") or response) for response in responses]
    return Turn({one["name"]: one.get("description", "") for one in declared}, texts)


def write(reply, path: str, body: dict) -> tuple[str, bytes]:
    if ":countTokens" in path:
        return plain({"totalTokens": 10})
    call = isinstance(reply, Call)
    part = {"functionCall": {"name": reply.name, "args": reply.arguments}} if call else {"text": reply.text}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
    return events(answer) if ":streamGenerateContent" in path else plain(answer)
