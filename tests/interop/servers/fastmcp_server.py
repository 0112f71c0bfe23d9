"""A server made with fastmcp: typed tools, a resource and a prompt."""
from fastmcp import FastMCP

server = FastMCP("counter", instructions="Counts words.")


@server.tool
def count_words(text: str) -> dict[str, int]:
    """Counts the words of a text."""
    return {word: text.split().count(word) for word in sorted(set(text.split()))}


@server.tool
def longest(words: list[str]) -> str:
    """Gives the longest word."""
    return max(words, key=len)


@server.resource("words://all")
def words() -> str:
    """All words."""
    return "alpha beta"


server.run(transport="stdio", show_banner=False)
