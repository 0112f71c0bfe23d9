"""npm: a package with a small launcher, and a package for each platform that holds its binary."""
import pathlib
import shutil
import subprocess

from .binaries import Binary
from .fault import Fault
from .files import as_json
from .product import DESCRIPTION, LICENCES, ROOT, Product
from .platforms import PLATFORMS, Platform


def build(product: Product, found: list[Binary], out: pathlib.Path) -> None:
    for binary in found:
        _platform_package(product, binary, out)
    _main_package(product, out)


def name(product: Product, platform: Platform) -> str:
    return f"{product.npm}-{platform.npm_suffix}"


def _common(product: Product) -> dict:
    return {
        "version": product.version,
        "description": DESCRIPTION,
        "license": product.licence,
        "author": product.author,
        "repository": {"type": "git", "url": f"git+{product.repository}.git"},
        "homepage": product.repository,
    }


def _platform_package(product: Product, binary: Binary, out: pathlib.Path) -> None:
    platform = binary.platform
    manifest = {
        "name": name(product, platform),
        **_common(product),
        "os": [platform.system],
        "cpu": [platform.npm_cpu],
        **({"libc": ["glibc"]} if platform.system == "linux" else {}),
        # The binary is looked up by its path.
        "preferUnplugged": True,
    }
    page = f"The binary of `{product.npm}` for {platform.triple}. Install that package.\n"
    _pack(manifest, page, {"bin/ptc": (binary.path, 0o755)}, out)


def _main_package(product: Product, out: pathlib.Path) -> None:
    manifest = {
        "name": product.npm,
        **_common(product),
        "mcpName": product.registry,
        "keywords": ["mcp", "model-context-protocol", "clojure"],
        "bin": {"ptc": "bin/ptc.cjs"},
        "engines": {"node": ">=18"},
        # All of them, whichever are built here: npm installs the one that fits.
        "optionalDependencies": {name(product, platform): product.version for platform in PLATFORMS.values()},
    }
    _pack(manifest, product.page(), {"bin/ptc.cjs": (ROOT / "dist/npm/ptc.cjs", 0o755)}, out)


def _pack(manifest: dict, page: str, files: dict[str, tuple[pathlib.Path, int]], out: pathlib.Path) -> None:
    folder = out / "npm" / manifest["name"]
    manifest = {**manifest, "files": [*files, *LICENCES]}
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(as_json(manifest))
    (folder / "README.md").write_text(page)
    for licence in LICENCES:
        shutil.copyfile(ROOT / licence, folder / licence)
    for place, (source, mode) in files.items():
        (folder / place).parent.mkdir(exist_ok=True)
        shutil.copyfile(source, folder / place)
        (folder / place).chmod(mode)
    packed = subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", out, folder], capture_output=True, text=True, check=False
    )
    if packed.returncode != 0:
        raise Fault(f"npm pack refused {manifest['name']}: {packed.stderr.strip()}")
