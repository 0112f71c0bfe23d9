"""What an ELF file of 64 bits needs of the system: libraries, and versions of glibc."""
import dataclasses
import re
import struct

from .fault import Fault

MACHINES = {62: "x86_64", 183: "aarch64"}
DYNAMIC, VERSIONS_NEEDED = 6, 0x6FFFFFFE
NEEDED = 1


@dataclasses.dataclass(frozen=True)
class Elf:
    machine: str
    needed: list[str]
    glibc: tuple[int, int]


def read(content: bytes) -> Elf:
    """Reads the section headers, which stripping leaves in place."""
    if content[:6] != b"\x7fELF\x02\x01":
        raise Fault("not a little-endian ELF file of 64 bits")
    machine = struct.unpack_from("<H", content, 18)[0]
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    # Of each section: kind, offset, length, the section of its texts, number of entries.
    sections = []
    for at in range(table, table + size * count, size):
        _, kind, _, _, offset, length, link, info = struct.unpack_from("<IIQQQQII", content, at)
        sections.append((kind, offset, length, link, info))
    needed, versions = [], [(0, 0)]
    for kind, offset, length, link, info in sections:
        text = lambda at, start=sections[link][1]: content[start + at : content.index(b"\0", start + at)].decode()
        if kind == DYNAMIC:
            entries = struct.iter_unpack("<QQ", content[offset : offset + length])
            needed += [text(value) for tag, value in entries if tag == NEEDED]
        if kind == VERSIONS_NEEDED:
            for name in _versions(content, offset, info, text):
                if found := re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", name):
                    versions.append((int(found[1]), int(found[2])))
    return Elf(MACHINES.get(machine, f"machine {machine}"), needed, max(versions))


def _versions(content: bytes, at: int, libraries: int, text):
    """The versions that a section of `Elf64_Verneed` names: one record a library, with a chain of names each."""
    for _ in range(libraries):
        _, names, _, first, following = struct.unpack_from("<HHIII", content, at)
        name_at = at + first
        for _ in range(names):
            _, _, _, name, step = struct.unpack_from("<IHHII", content, name_at)
            yield text(name)
            name_at += step
        at += following
