"""Runs the programs of the recipes one after the other in one folder, with the upstreams file of the page, and compares prints and
values with the page. All go through one `ptc eval --jsonl`, and the first one through `ptc eval FILE` as well.
Usage: recipes.py PTC PAGE INTEROP-WORK"""
import json
import pathlib
import shutil
import subprocess
import sys
import threading

import fixtures

PTC, PAGE, INTEROP = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
# Where the page has its folder and its pages.
FOLDER, PORT = "/home/me/recipes", 8808
RECIPES, LONGEST, WIDEST = 20, 12, 96
FLAGS = ["--program-timeout-ms", "60000", "--upstream-call-timeout-ms", "30000"]
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


def renamed(text, names):
    for old, new in names:
        text = text.replace(old, new)
    return text


def run_all(config, programs):
    """What each program prints and gives, one after the other in one process: lines, the last of which is the value or the error."""
    requests = "".join(json.dumps({"id": at, "program": program}) + "\n" for at, program in enumerate(programs))
    command = [PTC, "eval", "--jsonl", *FLAGS, "--upstreams-config", str(config)]
    ran = subprocess.run(command, input=requests, capture_output=True, text=True)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    if len(answers) != len(programs):
        sys.exit(f"{len(programs)} programs, {len(answers)} answers: {ran.stderr[-2000:]}")
    return [[*"\n".join(answer["prints"]).splitlines(), answer["result"] if answer["ok"] else answer["error"]["message"]]
            for answer in answers]


def run_file(config, program):
    """The same of one program in a file, as readers run it."""
    file = INTEROP / "recipes/recipe.clj"
    file.write_text(program)
    command = [PTC, "eval", *FLAGS, "--upstreams-config", str(config), str(file)]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return (ran.stdout + ran.stderr).splitlines()


def main():
    page = PAGE.read_text()
    box = INTEROP / "recipes/box"
    shutil.rmtree(box, ignore_errors=True)
    fixtures.make(box)
    web = fixtures.server(0)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    names = [(FOLDER, str(box)), (f"127.0.0.1:{PORT}", f"127.0.0.1:{web.server_address[1]}")]
    names_back = [(here, there) for there, here in names]

    (_, lines), = blocks(page, "json")
    entries = json.loads(renamed("\n".join(lines), names))["upstreams"]
    config = INTEROP / "recipes/upstreams.json"
    config.write_text(json.dumps({"upstreams": {name: installed(entry) for name, entry in entries.items()}}))

    recipes = blocks(page, "clojure")
    programs = [[line for line in lines if not line.startswith((";=>", ";>>"))] for _, lines in recipes]
    texts = [renamed("\n".join(program), names) for program in programs]
    failed = 0
    runs = [(recipe, program, got, "") for recipe, program, got in zip(recipes, programs, run_all(config, texts))]
    runs.append((recipes[0], programs[0], run_file(config, texts[0]), " in a file"))
    for (number, lines), program, got, where in runs:
        wanted = [line[4:] for line in lines if line.startswith(";>>")]
        # A long value goes on in further lines.
        wanted.append(" ".join(line[4:].strip() for line in lines if line.startswith(";=>")))
        got = [renamed(line, names_back) for line in got]
        faults = [f"a line of {len(line)} columns" for line in lines if len(line) > WIDEST]
        if sum(map(bool, program)) > LONGEST:
            faults.append(f"more than {LONGEST} lines of program")
        if got != wanted:
            faults.append("\n  ".join([f"gave{where}", *got, "wanted", *wanted]))
        for fault in faults:
            print(f"FAIL {PAGE.name}:{number}: {fault}")
        failed += bool(faults)
    if len(recipes) != RECIPES:
        sys.exit(f"FAIL {PAGE.name}: {len(recipes)} recipes, not {RECIPES}")
    print(f"{len(runs)} runs of {RECIPES} recipes, {failed} failed")
    sys.exit(1 if failed else 0)


main()
