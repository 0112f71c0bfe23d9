#!/usr/bin/env python3
"""The workloads on CPython, on Monty if `pydantic_monty` is installed, and on Clojure if there is a `clojure`.

Prints lines as the Rust program beside it does.

Every program is a module text whose last line is its answer, compiled before the clock starts (tiny and long ones: inside).
Monty runs in a process of its own and takes text: its times contain compiling and the way there and back, some hundred
microseconds, which is noise for all but the last two rows.
"""

import contextlib
import importlib.metadata
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROUNDS, ROUND_NS = int(os.environ.get("PEERS_ROUNDS", "15")), 4_000_000

TEXT = "[" + ",".join(
    f'{{"id":{i},"name":"name {i}","region":"r{i % 7}","total":{i % 1000}.25,"active":true}}' for i in range(1000)
) + "]"

SUMS = '{"r0":71106.75,"r1":71249.75,"r2":71392.75,"r3":71535.75,"r4":71678.75,"r5":71821.75,"r6":70964.5}'

LONG = "def f0(x):\n    return x if x > 0 else 0\n" + "".join(
    f"def f{n}(x):\n    y = f{n - 1}(x) + {n}\n    return y if y > 0 else -y\n" for n in range(1, 59)
) + "f58(1)"

# Name, answer, program.
WORKLOADS = [
    ("fib(25) by recursion", "75025", "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(25)"),
    ("a loop that sums a million", "499999500000",
     "def work():\n    i = 0\n    total = 0\n    while i < 1000000:\n        total += i\n        i += 1\n    return total\nwork()"),
    ("reduce with a closure over a million", "499999500000",
     "def reduce(f, acc, n):\n    for x in range(n):\n        acc = f(acc, x)\n    return acc\n"
     "reduce(lambda acc, x: acc + x, 0, 1000000)"),
    ("filter, group, sum, sort 10 000 records", "3 535569",
     "def work():\n"
     "    rows = [{'id': i, 'region': i % 7, 'total': (i * 31) % 1000} for i in range(10000)]\n"
     "    groups = {}\n"
     "    for r in [r for r in rows if r['total'] > 500]:\n"
     "        k = r['region']\n"
     "        if k not in groups:\n"
     "            groups[k] = []\n"
     "        groups[k].append(r)\n"
     "    sums = [(sum([r['total'] for r in g]), k) for k, g in groups.items()]\n"
     "    best = sorted(sums, reverse=True)[0]\n"
     "    return str(best[1]) + ' ' + str(best[0])\n"
     "work()"),
    ("word count over 20 000 strings", "997",
     "def work():\n"
     "    words = ['word' + str((i * 7919) % 997) for i in range(20000)]\n"
     "    counts = {}\n"
     "    for w in words:\n"
     "        counts[w] = counts.get(w, 0) + 1\n"
     "    return len(counts)\n"
     "work()"),
    ("sort of 50 000", "25009", "sorted([(i * 7919) % 50021 for i in range(50000)])[25000]"),
    ("JSON in, pipeline, JSON out", SUMS,
     "import json\n"
     "sums = {}\n"
     "for r in [r for r in json.loads(TEXT) if r['active']]:\n"
     "    sums[r['region']] = sums.get(r['region'], 0) + r['total']\n"
     "json.dumps(dict(sorted(sums.items())), separators=(',', ':'))"),
    ("a report of 5 000 lines", "94263",
     "len('\\n'.join(['line ' + str(i) + ': ' + str(i * i) for i in range(5000)]))"),
    ("regex extraction over 2 000 lines", "1999000",
     "import re\n"
     "lines = ['2026-01-' + str(i % 28) + ' ERROR code=' + str(i) for i in range(2000)]\n"
     "sum([int(re.search(r'code=(\\d+)', l).group(1)) for l in lines])"),
]
TEXTS = [("compile and run a tiny program", "3", "1 + 2"), ("compile and run 60 lines", "1712", LONG)]


def split(program):
    """A module without its last line, and that line as an expression."""
    *before, last = program.split("\n")
    return "\n".join(before), last


def cpython(program, compiled):
    before, last = split(program)

    def build():
        return compile(before, "work", "exec"), compile(last, "work", "eval")

    code = build()

    def run():
        names = {"TEXT": TEXT}
        body, answer = code if compiled else build()
        exec(body, names)
        return str(eval(answer, names))

    return run


def monty(program, session):
    return lambda: str(session.feed_run(program, inputs={"TEXT": TEXT} if "TEXT" in program else None))


def measure(name, answer, engines):
    entries = []
    for engine, run in engines:
        assert run() == answer, f"{name} on {engine}: {run()}"
        start = time.perf_counter_ns()
        run()
        repeats = min(10_000, max(1, ROUND_NS // max(1, time.perf_counter_ns() - start)))
        entries.append((engine, run, repeats, []))
    for _ in range(ROUNDS):
        for _, run, repeats, times in entries:
            start = time.perf_counter_ns()
            for _ in range(repeats):
                run()
            times.append((time.perf_counter_ns() - start) // repeats)
    for engine, _, _, times in entries:
        print(f"{name}\t{engine}\t{int(statistics.median(times))}\t{min(times)}", flush=True)


def main():
    python = f"CPython {sys.version_info.major}.{sys.version_info.minor}"
    assert json.loads(TEXT)
    with contextlib.ExitStack() as stack:
        session = None
        try:
            import pydantic_monty

            version = importlib.metadata.version("pydantic-monty")
            session = stack.enter_context(stack.enter_context(pydantic_monty.Monty()).checkout())
        except ImportError:
            print("pydantic_monty is not installed: no Monty", file=sys.stderr)
        for name, answer, program in WORKLOADS + TEXTS:
            engines = [(python, cpython(program, (name, answer, program) in WORKLOADS))]
            if session is not None:
                run = monty(program, session)
                try:
                    run()
                except pydantic_monty.MontyError as error:
                    print(f"{name}: Monty refuses: {error}", file=sys.stderr)
                else:
                    engines.append((f"Monty {version}", run))
            measure(name, answer, engines)
    if shutil.which("clojure"):
        script = pathlib.Path(__file__).with_suffix(".clj")
        subprocess.run(["clojure", script], env=dict(os.environ, PEERS_ROUNDS=str(ROUNDS)), check=True)
    else:
        print("there is no clojure here: no Clojure", file=sys.stderr)


main()
