#!/usr/bin/env python3
"""draw.py PTC: makes the pictures of README.md, demo.svg and overview.svg, from what `ptc demo` prints."""
import pathlib
import re
import subprocess
import sys
from xml.sax.saxutils import escape

HERE = pathlib.Path(__file__).parent
COLUMNS, ROWS, LINE, CHAR = 100, 26, 18, 7.8
# Seconds: between two lines, at the end of a task, and at the end of all.
STEP, PAUSE, REST = 0.09, 2.2, 4.0
DARK, TEXT, DIM, GREEN, BLUE = "#0d1117", "#e6edf3", "#8b949e", "#7ee787", "#79c0ff"


def demo(ptc):
    """The lines that the demo prints, cut at the width of the picture."""
    printed = subprocess.run([ptc, "demo"], capture_output=True, text=True, check=True).stdout
    lines = ["$ ptc demo", ""] + printed.rstrip().splitlines()
    return [line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…" for line in lines]


def color(line):
    if line.startswith("$") or re.match(r"\d\. ", line):
        return TEXT
    if line.startswith("  bytes") or line.startswith("  answer"):
        return GREEN
    return BLUE if line.startswith("    (") or line.startswith("     ") else DIM


def animated(lines):
    """A terminal in which the lines appear and scroll, again and again; all at once where motion is not wanted."""
    times, now = [], 0.3
    for line in lines:
        times.append(now)
        now += PAUSE if line.startswith("  bytes") else STEP
    total = now + REST
    width, height = int(COLUMNS * CHAR + 32), ROWS * LINE + 56
    part = lambda seconds: f"{100 * seconds / total:.2f}%"
    frames, scroll, rows = [], ["0%{transform:translateY(0)}"], []
    for number, (line, time) in enumerate(zip(lines, times)):
        frames.append(f"@keyframes l{number}{{0%,{part(time)}{{opacity:0}}{part(time + 0.01)},100%{{opacity:1}}}}")
        hidden = max(0, number + 1 - ROWS) * LINE
        if hidden:
            scroll.append(f"{part(time)}{{transform:translateY(-{hidden}px)}}")
        weight = ' font-weight="600"' if re.match(r"\d\. |\$", line) else ""
        rows.append(
            f'<text x="0" y="{(number + 1) * LINE}" fill="{color(line)}"{weight} '
            f'style="animation:l{number} {total:.1f}s linear infinite">{escape(line)}</text>'
        )
    last = max(0, len(lines) - ROWS) * LINE
    scroll.append(f"100%{{transform:translateY(-{last}px)}}")
    style = "".join(frames) + f"@keyframes s{{{''.join(scroll)}}}"
    style += f".s{{animation:s {total:.1f}s steps(1) infinite}}text{{white-space:pre}}"
    style += f"@media(prefers-reduced-motion){{.s{{animation:none;transform:translateY(-{last}px)}}text{{animation:none!important}}}}"
    dots = "".join(f'<circle cx="{18 + 18 * i}" cy="18" r="5" fill="{c}"/>' for i, c in enumerate(("#ff5f56", "#ffbd2e", "#27c93f")))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="ptc demo in a terminal" '
        f'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13">\n<style>{style}</style>\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="{DARK}"/>{dots}\n'
        f'<svg x="16" y="36" width="{width - 32}" height="{ROWS * LINE + 6}"><g class="s">\n' + "\n".join(rows) + "\n</g></svg>\n</svg>\n"
    )


def overview(lines):
    """The agent, ptc and its servers, with the calls and bytes on both sides."""
    spent = [tuple(map(int, re.findall(r"(\d+) fetched, (\d+) returned", line)[0])) for line in lines if line.startswith("  bytes")]
    calls = sum(int(line.split()[1]) for line in lines if line.startswith("  calls"))
    fetched, returned = (sum(side) for side in zip(*spent))
    number = lambda n: f"{n:,}".replace(",", " ")
    box = lambda x, y, w, h, title, below: (
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="8" fill="none" stroke="#57606a" stroke-width="1.5"/>'
        f'<text x="{x + w / 2}" y="{y + h / 2 + (0 if below else 5)}" text-anchor="middle" font-weight="600">{title}</text>'
        + (f'<text x="{x + w / 2}" y="{y + h / 2 + 18}" text-anchor="middle" font-size="12" fill="#57606a">{below}</text>' if below else "")
    )
    arrow = lambda x1, y1, x2, y2: f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#57606a" stroke-width="1.5" marker-start="url(#a)" marker-end="url(#a)"/>'
    label = lambda x, y, first, second: (
        f'<text x="{x}" y="{y}" text-anchor="middle" font-size="13">{first}</text>'
        f'<text x="{x}" y="{y + 17}" text-anchor="middle" font-size="13" font-weight="600" fill="#1a7f37">{second}</text>'
    )
    servers = "".join(box(620, 20 + 60 * i, 150, 40, name, "") + arrow(448, 100, 612, 40 + 60 * i) for i, name in enumerate(("files", "GitHub", "store")))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 790 210" role="img" '
        'aria-label="An agent sends one program to ptc, which calls the tools of all servers" '
        'font-family="system-ui,sans-serif" font-size="15" fill="#24292f">\n'
        '<rect width="790" height="210" rx="8" fill="#f6f8fa"/>'
        '<marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
        '<path d="M0 0L8 4L0 8z" fill="#57606a"/></marker>\n'
        + box(20, 70, 130, 60, "agent", "any MCP client") + box(310, 70, 130, 60, "ptc", "runs the program")
        + arrow(158, 100, 302, 100) + label(230, 62, f"{len(spent)} programs", f"{number(returned)} bytes")
        + servers + label(512, 168, f"{calls} tool calls", f"{number(fetched)} bytes") + "\n</svg>\n"
    )


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = demo(sys.argv[1])
    (HERE / "demo.svg").write_text(animated(lines))
    (HERE / "overview.svg").write_text(overview(lines))


if __name__ == "__main__":
    main()
