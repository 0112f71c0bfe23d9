"""Runs each program of the recipes by `ptc eval FILE`, one after the other in one folder, with the upstreams file of the page, and
compares prints and value with the page. Usage: recipes.py PTC PAGE INTEROP-WORK"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import fixtures

PTC, PAGE, INTEROP = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
# Where the page has its folder and its pages.
FOLDER, PORT = "/home/me/recipes", 8808
LONGEST, WIDEST = 12, 96
MODULES = INTEROP / "upstreams/node_modules"
INSTALLED = {
    "@modelcontextprotocol/server-filesystem": ["node", str(MODULES / "@modelcontextprotocol/server-filesystem/dist/index.js")],
    "@modelcontextprotocol/server-memory": ["node", str(MODULES / "@modelcontextprotocol/server-memory/dist/index.js")],
    "mcp-server-sqlite": [str(INTEROP / "upstreams/sql/bin/mcp-server-sqlite")],
    "mcp-server-git": [str(INTEROP / "upstreams/tools/bin/mcp-server-git")],
    "mcp-server-time": [str(INTEROP / "upstreams/tools/bin/mcp-server-time")],
    "mcp-server-fetch": [str(INTEROP / "servers/mcp2/bin/mcp-server-fetch")],
}


def blocks(page, language):
    """The blocks of a page in one language: each the number of its first line, and its lines."""
    found, inside = [], None
    for number, line in enumerate(page.splitlines(), 1):
        if inside is None and line == f"```{language}":
            inside = (number + 1, [])
        elif inside and line == "```":
            found.append(inside)
            inside = None
        elif inside:
            inside[1].append(line)
    return found


def installed(entry):
    """An entry of the page with the command that is installed here for `npx` or `uvx`."""
    at = next(at for at, argument in enumerate(entry["args"]) if argument in INSTALLED)
    command = INSTALLED[entry["args"][at]]
    return {**entry, "command": command[0], "args": [*command[1:], *entry["args"][at + 1:]]}


def run(config, program, here, there):
    """What a program prints and gives, a line each; `there` are the page's names for what is called otherwise here."""
    for mine, pages in zip(here, there):
        program = program.replace(pages, mine)
    file = INTEROP / "recipes/recipe.clj"
    file.write_text(program)
    command = [PTC, "eval", "--upstreams-config", str(config), "--program-timeout-ms", "60000", "--upstream-call-timeout-ms", "30000"]
    ran = subprocess.run([*command, str(file)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    text = ran.stdout if ran.returncode == 0 else ran.stdout + ran.stderr
    for mine, pages in zip(here, there):
        text = text.replace(mine, pages)
    return text.splitlines()


def main():
    page = PAGE.read_text()
    box = INTEROP / "recipes/box"
    shutil.rmtree(box, ignore_errors=True)
    fixtures.make(box)
    web = fixtures.server(0)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    here, there = [str(box), f"127.0.0.1:{web.server_address[1]}"], [FOLDER, f"127.0.0.1:{PORT}"]

    (_, lines), = blocks(page, "json")
    entries = json.loads("\n".join(lines).replace(FOLDER, str(box)))["upstreams"]
    config = INTEROP / "recipes/upstreams.json"
    config.write_text(json.dumps({"upstreams": {name: installed(entry) for name, entry in entries.items()}}))

    recipes, failed = blocks(page, "clojure"), 0
    for number, lines in recipes:
        program = [line for line in lines if not re.match(r";(=>|>>)", line)]
        faults = [f"{len(program)} lines, more than {LONGEST}"] if sum(map(bool, program)) > LONGEST else []
        faults += [f"a line of {len(line)} columns" for line in lines if len(line) > WIDEST]
        wanted = [line[4:] for line in lines if line.startswith(";>>")]
        # A long value goes on in further lines.
        value = " ".join(line[4:].strip() for line in lines if line.startswith(";=>"))
        wanted.append(value)
        got = run(config, "\n".join(program), here, there)
        if got != wanted:
            faults.append("\n  ".join(["gave", *got, "wanted", *wanted]))
        for fault in faults:
            print(f"FAIL {PAGE.name}:{number}: {fault}")
        failed += bool(faults)
    print(f"{len(recipes) - failed} recipes passed, {failed} failed")
    sys.exit(1 if failed or not recipes else 0)


main()
