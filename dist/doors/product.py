"""What all packages say about the product."""
import dataclasses
import pathlib
import re
import tomllib

from .fault import Fault

ROOT = pathlib.Path(__file__).resolve().parents[2]
DESCRIPTION = "An MCP server that runs one small program instead of many tool calls"
LICENCES = ["LICENSE-MIT", "LICENSE-APACHE"]


@dataclasses.dataclass(frozen=True)
class Product:
    """Version and licence from Cargo.toml, names from names.toml."""

    version: str
    licence: str
    repository: str
    author: str
    npm: str
    pypi: str
    image: str
    registry: str

    @staticmethod
    def read() -> "Product":
        workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
        names = tomllib.loads((ROOT / "dist/names.toml").read_text())
        if names["repository"] != workspace["repository"]:
            raise Fault(f"repository is {names['repository']} in dist/names.toml and {workspace['repository']} in Cargo.toml")
        return Product(version=workspace["version"], licence=workspace["license"], **names)

    def placeholders(self) -> list[str]:
        """The names that nobody can have: dist/names.toml is not filled in."""
        fields = ("repository", "image", "registry")
        return [field for field in fields if re.search(r"(^|[./])invalid([./]|$)", getattr(self, field))]

    @property
    def python_version(self) -> str:
        """The version as PEP 440 writes it: 1.2.0-rc.1 is 1.2.0rc1."""
        release, _, rest = self.version.partition("-")
        if not rest:
            return release
        found = re.fullmatch(r"(alpha|beta|rc)\.?(\d+)", rest)
        if not found:
            raise Fault(f"version {self.version} has no form that PyPI takes; write -alpha.N, -beta.N or -rc.N")
        return release + {"alpha": "a", "beta": "b", "rc": "rc"}[found[1]] + found[2]

    def download(self, name: str) -> str:
        """Where a file of this release will be."""
        return f"{self.repository}/releases/download/v{self.version}/{name}"

    def page(self) -> str:
        """What package pages show. The registry looks for the last line to know whose package it is."""
        return (ROOT / "dist/page.md").read_text() + f"\n<!-- mcp-name: {self.registry} -->\n"
