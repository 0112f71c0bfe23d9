"""Root file systems of Debian that have only node, or only Python, and the test of a minute in each: three commands lead from the
servers that Claude Desktop starts to a right answer over them. The container image is read by others' tools and run as well.
Usage: bare.py DIST WORK"""
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import time

from loopback_registry import serving

SECONDS = 60
CHROOT = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin")
here = pathlib.Path(__file__).resolve().parent
dist, work = (pathlib.Path(path).resolve() for path in sys.argv[1:3])

# 19 pieces of tea at 3 and 4 cups at 12, of which one each is reserved: 54 and 36.
PROGRAM = """
(let [items (tool/call! {:server "shop" :tool "items" :args {}})
      free (fn [{:keys [name stock]}] (- stock (tool/call! {:server "desk" :tool "reserved" :args {:name name}})))]
  (reduce + (map (fn [item] (* (get item :price) (free item))) (get items :items))))
"""
ANSWER = "90"


def sh(*command, **more) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def root_file_system(name: str, *packages: str) -> pathlib.Path:
    """A new Debian with these packages; what debootstrap downloads is kept."""
    place = work / f"root-{name}"
    shutil.rmtree(place, ignore_errors=True)
    cache = work / "debs"
    cache.mkdir(exist_ok=True)
    include = ",".join(("ca-certificates", *packages))
    sh("debootstrap", "--variant=minbase", f"--include={include}", f"--cache-dir={cache}", "bookworm", place)
    return place


@contextlib.contextmanager
def proc(place: pathlib.Path):
    """The file system of processes, which every machine and container has."""
    (place / "proc").mkdir(exist_ok=True)
    sh("mount", "-t", "proc", "proc", place / "proc")
    try:
        yield
    finally:
        sh("umount", place / "proc")


def inside(place: pathlib.Path, command: str) -> str:
    env = {"HOME": "/home/me", "PATH": "/home/me/ptc/bin:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    told = sh(CHROOT, place, "/bin/sh", "-euc", f"cd /home/me\n{command}", env=env, timeout=SECONDS)
    return told


def minute(place: pathlib.Path, interpreter: str, server: str, install: str) -> None:
    """The three commands, timed together."""
    home = place / "home/me"
    (home / ".config/Claude").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(here / "servers" / server, home / server)
    servers = {name: {"command": interpreter, "args": [f"/home/me/{server}", name]} for name in ("shop", "desk")}
    (home / ".config/Claude/claude_desktop_config.json").write_text(json.dumps({"mcpServers": servers}))
    begin = time.monotonic()
    inside(place, install)
    told = inside(place, "ptc import --from claude-desktop --write")
    (home / "program.clj").write_text(PROGRAM)
    answer = inside(place, "ptc eval --upstreams-config .config/ptc/upstreams.json program.clj").strip()
    took = time.monotonic() - begin
    assert answer == ANSWER, f"{answer!r}, not {ANSWER}; import told: {told}"
    assert took < SECONDS, f"{took:.1f} s"
    assert "3 of 3 answers right" in inside(place, "ptc demo")
    print(f"ok   only {interpreter}: a right answer over two servers after {took:.1f} s and three commands")


def only_node() -> None:
    place = root_file_system("node")
    for source in (pathlib.Path(shutil.which("node")), pathlib.Path(sh("npm", "root", "-g").strip()) / "npm"):
        source = source.resolve()
        target = place / ("usr/bin/node" if source.is_file() else "usr/lib/node_modules/npm")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target) if source.is_file() else shutil.copytree(source, target, symlinks=True)
    (place / "usr/bin/node").chmod(0o755)
    (place / "usr/bin/npm").symlink_to("../lib/node_modules/npm/bin/npm-cli.js")
    assert not (place / "usr/bin/python3").exists()
    name = next((dist / "npm").glob("*/bin/ptc.cjs")).parents[1].name
    with serving(dist) as (registry, _), proc(place):
        minute(place, "node", "shop.cjs", f"npm install -g --no-audit --no-fund --registry {registry} {name}")


def only_python() -> None:
    place = root_file_system("python", "python3", "python3-venv")
    assert not (place / "usr/bin/node").exists()
    (wheel,) = dist.glob("*.whl")
    (place / "home/me").mkdir(parents=True)
    shutil.copyfile(wheel, place / "home/me" / wheel.name)
    with proc(place):
        minute(place, "python3", "shop.py", f"python3 -m venv ptc && ptc/bin/pip install --quiet --no-index ./{wheel.name}")


def image() -> None:
    (path,) = dist.glob("*.oci.tar")
    told = json.loads(sh("skopeo", "inspect", "--config", f"oci-archive:{path}"))
    assert told["config"]["Entrypoint"] == ["/ptc"] and told["config"]["User"] == "10001:10001", told
    layout, place = work / "image", work / "image-root"
    for folder in (layout, place):
        shutil.rmtree(folder, ignore_errors=True)
    layout.mkdir()
    sh("tar", "xf", path, "-C", layout)
    (entry,) = json.loads((layout / "index.json").read_text())["manifests"]
    version = entry["annotations"]["org.opencontainers.image.ref.name"]
    sh("umoci", "unpack", "--image", f"{layout}:{version}", place)
    command = [CHROOT, "--userspec=10001:10001", place / "rootfs", "/ptc"]
    with proc(place / "rootfs"):
        assert version in sh(*command, "version", env={})
        assert "3 of 3 answers right" in sh(*command, "demo", env={"HOME": "/tmp"})
    print("ok   image: read by skopeo, unpacked by umoci, run as its user")


image()
only_node()
only_python()
