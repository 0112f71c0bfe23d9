"""Each package, installed and run as users do on a machine like this one. Usage: trial.py DIST WORK"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import zipfile

from loopback_registry import serving

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "trial", "version": "1"}},
}
dist, work = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
scratch = work / "trial"
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
# No upstreams of whoever runs this.
ENV = {**{name: value for name, value in os.environ.items() if not name.startswith("PTC_")}, "HOME": str(scratch), "XDG_CONFIG_HOME": ""}


def run(*command, code=0, **more) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=ENV, timeout=120, **more)
    assert done.returncode == code, f"{command}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
    return done.stdout if code == 0 else done.stderr


def demo(*command, **more) -> None:
    told = run(*command, "demo", **more)
    assert "3 of 3 answers right" in told, told


def serves(*command, env=None, then=None) -> int:
    """Starts a server, has it greet us, and ends it by closing its input or by the signal `then`. Gives its exit code."""
    server = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**ENV, **(env or {})})
    server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    assert answer["result"]["serverInfo"]["name"] == "ptc_lisp", answer
    if then is None:
        server.stdin.close()
    else:
        server.send_signal(then)
    code = server.wait(timeout=20)
    assert code >= 0, f"{command}: a launcher that dies of a signal leaves its binary alone: {code}"
    # Nobody holds the pipe any more: the binary behind a launcher has ended too.
    assert server.stdout.read() == b""
    return code


def npm() -> None:
    package = json.loads(next((dist / "npm").glob("*/bin/ptc.cjs")).parents[1].joinpath("package.json").read_text())
    name, version = package["name"], package["version"]
    place = scratch / "npm"
    place.mkdir()
    (place / "package.json").write_text('{"private": true}')
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    with serving(dist) as (registry, asked):
        run("npm", "install", name, *quiet, "--registry", registry, cwd=place)
        there = {path.name for path in (place / "node_modules").iterdir() if path.name.startswith(name)}
        assert len(there) == 2 and name in there, f"the launcher and the binary of this platform: {there}"
        demo("npx", "--offline", "ptc", cwd=place)
        launcher = place / "node_modules/.bin/ptc"
        assert version in run(launcher, "version")
        assert serves(launcher, "start") == 0
        assert serves(launcher) == 0, "the bare command is the server"
        for number in (signal.SIGTERM, signal.SIGINT):
            assert serves(launcher, "start", then=number) == 0, "a signal is passed on"
        run(launcher, "eval", "-e", "(nope)", code=1)
        told = run(launcher, "--no-such-flag", code=2)
        assert "--no-such-flag" in told, told
        run("npm", "install", name, *quiet, "--registry", registry, "--omit=optional", "--no-save", cwd=place)
        binary = there - {name}
        told = run(launcher, "version", code=1)
        assert binary.pop() in told and "--omit=optional" in told, told
    # From the files, without a registry.
    place = scratch / "npm-files"
    place.mkdir()
    (place / "package.json").write_text('{"private": true}')
    files = [dist / f"{name}-{version}.tgz", *dist.glob(f"{name}-*-*-{version}.tgz")]
    run("npm", "install", *files, *quiet, "--offline", cwd=place)
    demo("npx", "--offline", "ptc", cwd=place)
    print("ok   npm: from a registry, from files, signals, a missing binary")


def wheel() -> None:
    (path,) = dist.glob("*.whl")
    uvx = work / "py/bin/uvx"
    demo(uvx, "--offline", "--from", path, "ptc")
    name = path.name.split("-")[0].replace("_", "-")
    told = run(uvx, "--offline", "--from", path, "ptc", "init", "--client", "cursor", "--dry-run")
    assert '"uvx"' in told and f'"{name}"' in told, f"the cache of uvx goes, and with it what clients start: {told}"
    assert serves(uvx, "--offline", "--from", path, name) == 0, "the package's own name starts the server"
    tag = path.stem.rpartition("-")[2]
    told = " ".join(run(work / "py/bin/auditwheel", "show", path).split())
    assert f'platform tag to "{tag}"' in told or f'platform tag: "{tag}"' in told, f"{tag}: {told}"
    print(f"ok   wheel: uvx, {tag}")


def bundle() -> None:
    (path,) = dist.glob("*.mcpb")
    tool, place = work / "node_modules/.bin/mcpb", scratch / "bundle"
    run(tool, "unpack", path, place)
    told = run(tool, "validate", place / "manifest.json")
    assert "passes" in told, told
    script = (
        "import {getMcpConfigForManifest as get} from '@anthropic-ai/mcpb'; import fs from 'fs';"
        "const [folder, chosen] = process.argv.slice(1); const manifest = JSON.parse(fs.readFileSync(folder + '/manifest.json'));"
        "const more = {extensionPath: folder, systemDirs: {}, pathSeparator: '/', userConfig: JSON.parse(chosen)};"
        "console.log(JSON.stringify(await get({manifest, ...more})));"
    )

    def entry(chosen: dict) -> dict:
        return json.loads(run("node", "--input-type=module", "-e", script, place, json.dumps(chosen), cwd=work))

    unset = entry({})
    assert serves(unset["command"], *unset["args"], env=unset["env"]) == 0
    assert entry({"upstreams": "/some/file"})["env"] == {"PTC_UPSTREAMS": "/some/file"}
    print("ok   bundle: valid, unpacked, started as its manifest says")


def archive() -> None:
    (path,) = dist.glob("*.tar.gz")
    run("tar", "xzf", path, "-C", scratch)
    demo(scratch / path.name.removesuffix(".tar.gz") / "ptc")
    run("sha256sum", "--quiet", "--check", "SHA256SUMS", cwd=dist)
    for path in [*dist.glob("*.whl"), *dist.glob("*.mcpb")]:
        assert zipfile.ZipFile(path).testzip() is None
    print("ok   archive, checksums")


for trial in (npm, wheel, bundle, archive):
    trial()
