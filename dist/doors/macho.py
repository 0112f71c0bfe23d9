"""What a Mach-O file of 64 bits needs of the system: the oldest macOS."""
import dataclasses
import struct

from .fault import Fault

MACHINES = {0x01000007: "x86_64", 0x0100000C: "arm64"}
VERSION_MIN_MACOSX, BUILD_VERSION = 0x24, 0x32
MACOS = 1


@dataclasses.dataclass(frozen=True)
class MachO:
    machine: str
    oldest: tuple[int, int]


def read(content: bytes) -> MachO:
    """Reads the load commands."""
    if content[:4] != b"\xcf\xfa\xed\xfe":
        raise Fault("not a little-endian Mach-O file of 64 bits")
    machine, _, _, commands = struct.unpack_from("<IIII", content, 4)
    at, oldest = 32, None
    for _ in range(commands):
        command, size = struct.unpack_from("<II", content, at)
        if command == VERSION_MIN_MACOSX:
            (oldest,) = struct.unpack_from("<I", content, at + 8)
        elif command == BUILD_VERSION:
            system, version = struct.unpack_from("<II", content, at + 8)
            oldest = version if system == MACOS else oldest
        at += size
    if oldest is None:
        raise Fault("the Mach-O file does not say which macOS it needs")
    major, minor = oldest >> 16, oldest >> 8 & 0xFF
    # Since macOS 11 wheels name the major version only.
    return MachO(MACHINES.get(machine, f"machine {machine:#x}"), (major, 0 if major >= 11 else minor))
