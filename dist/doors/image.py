"""A container image as an OCI archive, made without an engine: the binary, the libraries it is linked to, CA roots.

What it starts, as whom and on which port is read from the last stage of deploy/Dockerfile, which builds the same image from the
source.
"""
import hashlib
import json
import pathlib
import re
import shlex
import subprocess

from .binaries import Binary
from .fault import Fault
from .files import gzipped, tar
from .product import DESCRIPTION, ROOT, Product

ROOTS = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
CREATED = "1980-01-01T00:00:00Z"
DIRECTORY = "application/vnd.oci.image"


def build(product: Product, binary: Binary, out: pathlib.Path) -> None:
    layer = tar(_files(binary))
    packed = gzipped(layer)
    config = _blob({
        "created": CREATED,
        "architecture": binary.platform.oci_architecture,
        "os": "linux",
        "config": {**_dockerfile(), "Labels": _labels(product)},
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        "history": [{"created": CREATED, "created_by": "dist/build"}],
    })
    manifest = _blob({
        "schemaVersion": 2,
        "mediaType": f"{DIRECTORY}.manifest.v1+json",
        "config": _descriptor(f"{DIRECTORY}.config.v1+json", config),
        "layers": [_descriptor(f"{DIRECTORY}.layer.v1.tar+gzip", packed)],
    })
    listed = {
        **_descriptor(f"{DIRECTORY}.manifest.v1+json", manifest),
        "annotations": {"org.opencontainers.image.ref.name": product.version},
    }
    index = {"schemaVersion": 2, "mediaType": f"{DIRECTORY}.index.v1+json", "manifests": [listed]}
    files = [("oci-layout", _blob({"imageLayoutVersion": "1.0.0"}), 0o644), ("index.json", _blob(index), 0o644)]
    files += [(f"blobs/{_digest(blob).replace(':', '/')}", blob, 0o644) for blob in (config, manifest, packed)]
    (out / f"ptc-{product.version}-{binary.platform.triple}.oci.tar").write_bytes(tar(files))


def _files(binary: Binary) -> list[tuple[str, bytes, int]]:
    if not ROOTS.exists():
        raise Fault(f"{ROOTS} is missing: install ca-certificates")
    linked = subprocess.run(["ldd", binary.path], capture_output=True, text=True, check=True).stdout
    libraries = sorted(set(re.findall(r"(/\S+) \(", linked)))
    files = [
        ("tmp/", b"", 0o1777),
        ("etc/passwd", b"ptc:x:10001:10001::/tmp:/ptc\n", 0o644),
        ("etc/group", b"ptc:x:10001:\n", 0o644),
        ("etc/ssl/certs/ca-certificates.crt", ROOTS.read_bytes(), 0o644),
        ("ptc", binary.path.read_bytes(), 0o755),
    ]
    return files + [(path.lstrip("/"), pathlib.Path(path).read_bytes(), 0o755) for path in libraries]


def _dockerfile() -> dict:
    """The settings of the last stage."""
    last = (ROOT / "deploy/Dockerfile").read_text().rpartition("\nFROM scratch\n")[2]
    settings: dict = {}
    for line in last.splitlines():
        word, _, rest = line.partition(" ")
        match word:
            case "ENV":
                settings["Env"] = shlex.split(rest)
            case "USER":
                settings["User"] = rest
            case "WORKDIR":
                settings["WorkingDir"] = rest
            case "EXPOSE":
                settings["ExposedPorts"] = {f"{rest}/tcp": {}}
            case "STOPSIGNAL":
                settings["StopSignal"] = rest
            case "ENTRYPOINT":
                settings["Entrypoint"] = json.loads(rest)
            case "CMD":
                settings["Cmd"] = json.loads(rest)
    return settings


def _labels(product: Product) -> dict:
    return {
        "org.opencontainers.image.title": "ptc",
        "org.opencontainers.image.description": DESCRIPTION,
        "org.opencontainers.image.version": product.version,
        "org.opencontainers.image.source": product.repository,
        "org.opencontainers.image.licenses": product.licence,
        # The registry looks for it to know whose image it is.
        "io.modelcontextprotocol.server.name": product.registry,
    }


def _blob(value) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def _digest(blob: bytes) -> str:
    return "sha256:" + hashlib.sha256(blob).hexdigest()


def _descriptor(kind: str, blob: bytes) -> dict:
    return {"mediaType": kind, "digest": _digest(blob), "size": len(blob)}
