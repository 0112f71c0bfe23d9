"""Binaries, and the oldest system that each one runs on: read from the file, not promised."""
import dataclasses
import pathlib
import subprocess

from . import elf, macho
from .fault import Fault
from .platforms import Platform, platform

# What every Linux with glibc has, by PEP 600.
SYSTEM_LIBRARIES = ("libc.so.", "libm.so.", "libdl.so.", "librt.so.", "libpthread.so.", "libgcc_s.so.", "ld-linux")


def this_platform() -> str:
    told = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[1] for line in told.splitlines() if line.startswith("host:"))


@dataclasses.dataclass(frozen=True)
class Binary:
    platform: Platform
    path: pathlib.Path
    # glibc on Linux, macOS on a Mac.
    oldest: tuple[int, int]

    @staticmethod
    def read(triple: str, path: pathlib.Path) -> "Binary":
        where = platform(triple)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise Fault(f"{path} cannot be read ({error.strerror}): cargo build --release -p ptc-server") from error
        if where.system == "linux":
            read = elf.read(content)
            if read.machine != where.wheel_machine:
                raise Fault(f"{path} is for {read.machine}, not for {triple}")
            foreign = [name for name in read.needed if not name.startswith(SYSTEM_LIBRARIES)]
            if foreign:
                raise Fault(f"{path} needs {', '.join(foreign)}, which not every system has")
            # Nothing older was tried, and nobody runs it.
            oldest = max(read.glibc, (2, 17))
        else:
            read = macho.read(content)
            if read.machine != where.wheel_machine:
                raise Fault(f"{path} is for {read.machine}, not for {triple}")
            oldest = read.oldest
        return Binary(where, path, oldest)

    @property
    def wheel_tag(self) -> str:
        major, minor = self.oldest
        system = "manylinux" if self.platform.system == "linux" else "macosx"
        return f"{system}_{major}_{minor}_{self.platform.wheel_machine}"
