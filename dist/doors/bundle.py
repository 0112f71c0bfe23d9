"""MCPB: a bundle that Claude Desktop and others install by a double click."""
import pathlib

from .binaries import Binary
from .files import as_json, zipped
from .product import DESCRIPTION, LICENCES, ROOT, Product


def build(product: Product, binary: Binary, out: pathlib.Path) -> pathlib.Path:
    """The bundle of one platform: a manifest tells systems apart, not processors."""
    files = [
        ("manifest.json", as_json(_manifest(product, binary.platform.system)).encode(), 0o644),
        ("server/ptc", binary.path.read_bytes(), 0o755),
    ]
    files += [(licence, (ROOT / licence).read_bytes(), 0o644) for licence in LICENCES]
    path = out / f"ptc-{product.version}-{binary.platform.triple}.mcpb"
    path.write_bytes(zipped(files))
    return path


def _manifest(product: Product, system: str) -> dict:
    return {
        "manifest_version": "0.3",
        "name": "ptc",
        "display_name": "ptc",
        "version": product.version,
        "description": DESCRIPTION,
        "long_description": (ROOT / "dist/page.md").read_text(),
        "author": {"name": product.author, "url": product.repository},
        "repository": {"type": "git", "url": f"{product.repository}.git"},
        "homepage": product.repository,
        "license": product.licence,
        "keywords": ["mcp", "programs", "upstreams"],
        "server": {
            "type": "binary",
            "entry_point": "server/ptc",
            "mcp_config": {
                "command": "${__dirname}/server/ptc",
                "args": ["start"],
                # Empty unless the user chose a file: then it is the default one, if that exists.
                "env": {"PTC_UPSTREAMS": "${user_config.upstreams}"},
            },
        },
        "tools": [{"name": "lisp_eval", "description": "Runs one program that may call the tools of all upstreams."}],
        "tools_generated": True,
        "user_config": {
            "upstreams": {
                "type": "file",
                "title": "Upstreams file",
                "description": "The servers that programs may call. Without one: ~/.config/ptc/upstreams.json, which `ptc import` writes.",
                "required": False,
                "default": "",
            }
        },
        "compatibility": {"platforms": [system]},
    }
