"""PyPI: a wheel with the binary among its scripts, as the binary distribution format (PyPA) describes it."""
import base64
import hashlib
import pathlib

from .binaries import Binary
from .files import zipped
from .product import DESCRIPTION, LICENCES, ROOT, Product

# `uvx NAME` runs the script that is called as the package is.
ALIAS = '#!/bin/sh\nexec "$(dirname "$0")/ptc" "$@"\n'


def build(product: Product, binary: Binary, out: pathlib.Path) -> None:
    name = product.pypi.replace("-", "_")
    version = product.python_version
    info = f"{name}-{version}.dist-info"
    scripts = f"{name}-{version}.data/scripts"
    tag = f"py3-none-{binary.wheel_tag}"
    files = [(f"{scripts}/ptc", binary.path.read_bytes(), 0o755)]
    if product.pypi != "ptc":
        files.append((f"{scripts}/{product.pypi}", ALIAS.encode(), 0o755))
    files += [
        (f"{info}/METADATA", _metadata(product).encode(), 0o644),
        (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: ptc dist/build\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644),
    ]
    files += [(f"{info}/licenses/{licence}", (ROOT / licence).read_bytes(), 0o644) for licence in LICENCES]
    record = "".join(f"{place},{_digest(content)},{len(content)}\n" for place, content, _ in files)
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), 0o644))
    (out / f"{name}-{version}-{tag}.whl").write_bytes(zipped(files))


def _digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _metadata(product: Product) -> str:
    head = [
        "Metadata-Version: 2.4",
        f"Name: {product.pypi}",
        f"Version: {product.python_version}",
        f"Summary: {DESCRIPTION}",
        f"Author: {product.author}",
        f"License-Expression: {product.licence}",
        *(f"License-File: {licence}" for licence in LICENCES),
        f"Project-URL: Repository, {product.repository}",
        "Keywords: mcp,model-context-protocol,clojure",
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(head) + "\n\n" + product.page()
