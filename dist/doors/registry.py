"""The MCP registry: server.json, which says where the packages are."""
import hashlib
import pathlib
import re

from .fault import Fault
from .files import as_json
from .product import DESCRIPTION, Product

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
UPSTREAMS = {
    "name": "PTC_UPSTREAMS",
    "description": "The file of the servers that programs may call; by default ~/.config/ptc/upstreams.json",
    "format": "filepath",
    "isRequired": False,
}


def build(product: Product, bundles: list[pathlib.Path], out: pathlib.Path) -> None:
    local = {"transport": {"type": "stdio"}, "environmentVariables": [UPSTREAMS]}
    packages = [
        {"registryType": "npm", "identifier": product.npm, "version": product.version, "runtimeHint": "npx", **local},
        {"registryType": "pypi", "identifier": product.pypi, "version": product.python_version, "runtimeHint": "uvx", **local},
        {
            "registryType": "oci",
            "identifier": f"{product.image}:{product.version}",
            "runtimeHint": "docker",
            "transport": {"type": "stdio"},
            # The image itself starts on HTTP.
            "packageArguments": [{"type": "positional", "value": "start"}],
        },
    ]
    for bundle in bundles:
        digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
        packages.append({"registryType": "mcpb", "identifier": product.download(bundle.name), "fileSha256": digest, "transport": {"type": "stdio"}})
    server = {
        "$schema": SCHEMA,
        "name": product.registry,
        "title": "ptc",
        "description": DESCRIPTION,
        "version": product.version,
        "repository": {"url": product.repository, "source": _forge(product.repository)},
        "packages": packages,
    }
    _check(server)
    (out / "server.json").write_text(as_json(server))


def _forge(repository: str) -> str:
    host = re.sub(r"^\w+://([^/]+).*", r"\1", repository)
    return host.split(".")[-2]


def _check(server: dict) -> None:
    """What the schema asks of the texts that come from names.toml and Cargo.toml."""
    if not re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]{1,}", server["name"]) or len(server["name"]) > 200:
        raise Fault(f"registry = {server['name']!r} in dist/names.toml is not NAMESPACE/NAME, such as io.github.owner/ptc")
    if len(server["description"]) > 100:
        raise Fault("the description is longer than the registry's 100 characters")
