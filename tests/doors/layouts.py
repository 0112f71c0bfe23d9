"""What dist/build reads from binaries of other systems, on files made here."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "dist"))
from doors import elf, macho  # noqa: E402
from doors.fault import Fault  # noqa: E402
from doors.product import Product  # noqa: E402


def mach(machine: int, *commands: bytes) -> bytes:
    head = struct.pack("<IIIIIIII", 0xFEEDFACF, machine, 0, 2, len(commands), sum(map(len, commands)), 0, 0)
    return head + b"".join(commands)


def build_version(system: int, version: int) -> bytes:
    return struct.pack("<IIIIII", 0x32, 24, system, version, 0, 0)


other = struct.pack("<IIQ", 0x1B, 16, 7)
old = struct.pack("<IIII", 0x24, 16, 10 << 16 | 12 << 8, 0)
assert macho.read(mach(0x0100000C, other, build_version(1, 11 << 16 | 3 << 8))) == macho.MachO("arm64", (11, 0))
assert macho.read(mach(0x01000007, old, other)) == macho.MachO("x86_64", (10, 12))
for wrong in (b"\x7fELF", mach(0x0100000C, other), mach(0x0100000C, build_version(2, 17 << 16))):
    try:
        macho.read(wrong)
    except Fault:
        continue
    raise AssertionError(f"read {wrong!r}")

# The program that runs this is an ELF file: what binutils say of it is what is read.
if sys.platform == "linux":
    read = elf.read(pathlib.Path(sys.executable).resolve().read_bytes())
    assert any(name.startswith("libc.so") for name in read.needed), read
    assert (2, 2) < read.glibc < (3, 0), read

names = dict(licence="", repository="", author="", npm="", pypi="", image="", registry="")
for version, python in {"1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3rc1", "0.2.0-alpha.10": "0.2.0a10"}.items():
    assert Product(version=version, **names).python_version == python

real = names | dict(repository="https://github.com/owner/invalidator", image="ghcr.io/owner/ptc", registry="io.github.owner/ptc")
assert Product(version="1.0.0", **real).placeholders() == []
nobody = dict(repository="https://example.invalid/ptc", image="registry.invalid/ptc/ptc", registry="invalid.example/ptc")
assert Product(version="1.0.0", **(names | nobody)).placeholders() == ["repository", "image", "registry"]
print("ok   layouts")
