"""Makes the folder that docs/guide/recipes.md works on: texts, tables, a git repository with fixed dates, and a SQLite file. One that is
there already stays as it is. With a port, serves a few web pages then. Usage: fixtures.py FOLDER [PORT]"""
import http.server
import os
import pathlib
import sqlite3
import subprocess
import sys

TEXTS = {
    "notes/2026-01-12.md": "# Planning\n\nWe ship in March.\nTODO Ada: write the release notes\n",
    "notes/2026-01-19.md": "# Review\n\nThe cart is slow.\nTODO Ben: measure the cart\nTODO Ada: ask Chen for logs\n",
    "notes/2026-01-26.md": "# Planning\n\nThe logs have arrived.\n",
    "downloads/invoice.txt": "Invoice 1001: 120.00\n",
    "downloads/invoice (1).txt": "Invoice 1001: 120.00\n",
    "downloads/list.txt": "anvil\nbellows\n",
    "downloads/shopping.txt": "anvil\nbellows\n",
    "downloads/map.txt": "Turn left at the forge.\n",
    "site-old/index.html": "<h1>Shop</h1>\n",
    "site-old/style.css": "h1 { color: black }\n",
    "site-old/news.html": "<p>We open in May.</p>\n",
    "site-new/index.html": "<h1>Shop</h1>\n",
    "site-new/style.css": "h1 { color: navy }\n",
    "site-new/about.html": "<p>Two smiths and a cat.</p>\n",
    "orders.csv": "order,customer,item,amount\n1001,1,anvil,120.00\n1002,2,bellows,45.50\n1003,1,chisel,12.25\n"
                  "1004,3,anvil,120.00\n1005,2,drill,80.00\n1006,9,file,7.50\n",
    "events.jsonl": '{"at": "2026-01-12T09:00:00Z", "level": "error", "service": "mail", "ms": 120}\n'
                    '{"at": "2026-01-12T09:05:00Z", "level": "info", "service": "cart", "ms": 15}\n'
                    '{"at": "2026-01-12T09:07:00Z", "level": "error", "service": "cart", "ms": 940}\n'
                    '{"at": "2026-01-12T09:09:00Z", "level": "error", "service": "cart", "ms": 880}\n',
}

# When the notes were last changed, the second one last of all.
CHANGED = {"notes/2026-01-12.md": 1768212000, "notes/2026-01-19.md": 1769767200, "notes/2026-01-26.md": 1769421600}

COMMITS = [
    ("Ada", "2026-01-10T09:00:00Z", "add the cart", {"cart.py": "def total(rows):\n    return sum(rows)\n"}),
    ("Ben", "2026-01-14T10:00:00Z", "add mail", {"mail.py": "def send(to):\n    print(to)\n", "README": "A shop.\n"}),
    ("Ada", "2026-01-21T11:00:00Z", "round the total", {"cart.py": "def total(rows):\n    # to cents\n    return round(sum(rows), 2)\n"}),
    ("Chen", "2026-01-28T12:00:00Z", "describe the shop", {"README": "A shop of tools.\nRun cart.py.\n"}),
]

SQL = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, country TEXT);
INSERT INTO customers VALUES (1, 'Ada', 'UK'), (2, 'Ben', 'US'), (3, 'Chen', 'SG'), (4, 'Dana', 'UK');
CREATE TABLE stock (item TEXT, place TEXT, pieces INTEGER);
INSERT INTO stock VALUES ('anvil', 'north', 4), ('anvil', 'south', 2), ('bellows', 'north', 0), ('chisel', 'south', 31),
  ('drill', 'north', 7), ('drill', 'south', 5);
"""

PAGES = {
    "/prices.json": ("application/json", '{"anvil": 120, "drill": 80, "file": 7.5}'),
    "/journal.txt": ("text/plain", "".join(f"entry {n}: {['sold', 'bought', 'repaired'][n % 3]}\n" for n in range(1, 501))),
    "/busy.txt": ("text/plain", "ready\n"),
}


def make(folder):
    folder.mkdir(parents=True)
    for name, text in TEXTS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, seconds in CHANGED.items():
        os.utime(folder / name, (seconds, seconds))
    make_repository(folder / "repo")
    with sqlite3.connect(folder / "shop.db") as database:
        database.executescript(SQL)
    database.close()


def make_repository(folder):
    folder.mkdir()
    quiet = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, env=quiet, check=True)
    for author, date, subject, files in COMMITS:
        for name, text in files.items():
            (folder / name).write_text(text)
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
               for key, value in (("NAME", author), ("EMAIL", f"{author.lower()}@example.org"), ("DATE", date))}
        subprocess.run(["git", "add", "."], cwd=folder, env=quiet, check=True)
        subprocess.run(["git", "commit", "-q", "-m", subject], cwd=folder, env={**quiet, **who}, check=True)


def server(port):
    """Serves `PAGES`. `/busy.txt` refuses two requests of three, as busy services do."""
    asked = []

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            kind, text = PAGES.get(self.path, (None, ""))
            status = 200 if kind else 404
            if self.path == "/busy.txt":
                asked.append(self.path)
                status = 200 if len(asked) % 3 == 0 else 503
            self.send_response(status)
            self.send_header("content-type", kind or "text/plain")
            self.end_headers()
            self.wfile.write(text.encode() if status == 200 else b"")

        def log_message(self, *_):
            pass

    return http.server.ThreadingHTTPServer(("127.0.0.1", port), Pages)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    if not folder.exists():
        make(folder)
    if sys.argv[2:]:
        print(f"pages at http://127.0.0.1:{sys.argv[2]}", flush=True)
        server(int(sys.argv[2])).serve_forever()
