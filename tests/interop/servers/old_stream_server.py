"""A server of HTTP+SSE, 2024-11-05, by the Python SDK's SseServerTransport. Usage: old_stream_server.py PORT"""
import sys

from mcp.server.fastmcp import FastMCP

server = FastMCP("words", host="127.0.0.1", port=int(sys.argv[1]))


@server.tool()
def count_words(text: str) -> dict[str, int]:
    """Counts each word."""
    words = text.split()
    return {word: words.count(word) for word in words}


@server.tool()
def longest(words: list[str]) -> str:
    """The longest of the words."""
    return max(words, key=len)


server.run(transport="sse")
