"""The platforms, under the names that each registry has for them."""
import dataclasses

from .fault import Fault


@dataclasses.dataclass(frozen=True)
class Platform:
    """Where a binary runs."""

    triple: str
    # As npm and MCPB say it.
    system: str
    npm_cpu: str
    # As OCI says it.
    oci_architecture: str
    # As wheels say it.
    wheel_machine: str

    @property
    def npm_suffix(self) -> str:
        return f"{self.system}-{self.npm_cpu}"


PLATFORMS = {
    platform.triple: platform
    for platform in (
        Platform("x86_64-unknown-linux-gnu", "linux", "x64", "amd64", "x86_64"),
        Platform("aarch64-unknown-linux-gnu", "linux", "arm64", "arm64", "aarch64"),
        Platform("x86_64-apple-darwin", "darwin", "x64", "amd64", "x86_64"),
        Platform("aarch64-apple-darwin", "darwin", "arm64", "arm64", "arm64"),
    )
}


def platform(triple: str) -> Platform:
    if triple not in PLATFORMS:
        raise Fault(f"{triple} is not one of {', '.join(PLATFORMS)}")
    return PLATFORMS[triple]
