"""The binary in an archive, where cargo-binstall looks for it and people download it; and the checksums of all files."""
import hashlib
import pathlib
import tomllib

from .binaries import Binary
from .fault import Fault
from .files import gzipped, tar
from .product import LICENCES, ROOT, Product


def build(product: Product, binary: Binary, out: pathlib.Path) -> None:
    folder = f"ptc-{product.version}-{binary.platform.triple}"
    files = [(f"{folder}/ptc", binary.path.read_bytes(), 0o755)]
    files += [(f"{folder}/{name}", (ROOT / name).read_bytes(), 0o644) for name in ["README.md", *LICENCES]]
    _check_binstall(product, binary.platform.triple, folder)
    (out / f"{folder}.tar.gz").write_bytes(gzipped(tar(files)))


def _check_binstall(product: Product, triple: str, folder: str) -> None:
    """What server/Cargo.toml tells cargo-binstall must be where the archive will be."""
    package = tomllib.loads((ROOT / "server/Cargo.toml").read_text())["package"]
    binstall = package["metadata"]["binstall"]
    values = {"repo": product.repository, "version": product.version, "target": triple, "bin": "ptc", "binary-ext": ""}
    for key, wanted in {"pkg-url": product.download(f"{folder}.tar.gz"), "bin-dir": f"{folder}/ptc", "pkg-fmt": "tgz"}.items():
        found = binstall[key]
        for name, value in values.items():
            found = found.replace(f"{{ {name} }}", value)
        if found != wanted:
            raise Fault(f"metadata.binstall.{key} in server/Cargo.toml leads to {found}, not to {wanted}")


def sums(out: pathlib.Path) -> None:
    files = sorted(path for path in out.iterdir() if path.is_file())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / "SHA256SUMS").write_text("".join(lines))
