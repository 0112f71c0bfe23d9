"""A registry on loopback that has the npm packages of one folder and nothing else: what `npm install NAME` meets once they are
published."""
import base64
import contextlib
import hashlib
import http.server
import json
import pathlib
import tarfile
import threading


def _package(path: pathlib.Path, base: str) -> dict:
    with tarfile.open(path) as archive:
        manifest = json.load(archive.extractfile("package/package.json"))
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    manifest["dist"] = {"tarball": f"{base}/-/{path.name}", "integrity": integrity}
    return manifest


@contextlib.contextmanager
def serving(folder: pathlib.Path):
    """Gives the registry's URL, and the names that it was asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            base = f"http://127.0.0.1:{self.server.server_port}"
            packages = {p["name"]: p for p in (_package(path, base) for path in folder.glob("*.tgz"))}
            if self.path.startswith("/-/"):
                body, kind = (folder / self.path.removeprefix("/-/")).read_bytes(), "application/octet-stream"
            elif (name := self.path[1:].replace("%2f", "/")) in packages:
                asked.append(name)
                manifest = packages[name]
                version = manifest["version"]
                body = json.dumps({"name": name, "dist-tags": {"latest": version}, "versions": {version: manifest}}).encode()
                kind = "application/json"
            else:
                asked.append(name)
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        server.shutdown()
