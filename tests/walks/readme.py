"""What README.md says to type, and a terminal to type it in."""
import fcntl
import os
import pathlib
import pty
import re
import select
import shlex
import subprocess
import termios
import time

TEXT = (pathlib.Path(__file__).resolve().parents[2] / "README.md").read_text()

# Commands that a walk typed, as README.md has them.
walked = set()


def section(heading):
    """The text below a heading."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"README.md has no section {heading!r}"
    return found[1]


def blocks(text, language=""):
    """The blocks of a text in a language; those of commands have none."""
    return [block for name, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if name == language]


def commands(heading):
    """The lines of a section's blocks of commands."""
    lines = [line for block in blocks(section(heading)) for line in block.replace("\\\n", " ").splitlines() if line.strip()]
    assert lines, f"README.md, {heading!r}, has no commands"
    return lines


def inline(heading):
    """The commands in a section's prose."""
    prose = re.sub(r"^```.*?^```$", "", section(heading), flags=re.MULTILINE | re.DOTALL)
    return [span for span in re.findall(r"`([^`\n]+)`", prose) if command(span).startswith("ptc ")]


def command(line):
    """A line without its comment; from a checkout, cargo starts ptc."""
    bare = re.sub(r"\s+# .*$", "", line).strip()
    return re.sub(r"^cargo run --release -- ", "ptc ", bare)


def forgotten():
    """The commands of README.md that start ptc and that no walk typed."""
    lines = [line for block in blocks(TEXT) for line in block.replace("\\\n", " ").splitlines()]
    headings = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    every = [command(line) for line in lines] + [command(span) for heading in headings for span in inline(heading)]
    return [line for line in dict.fromkeys(every) if re.search(r"(^|[;&|] *)ptc ", line) and line not in walked]


class Terminal:
    """A shell at a terminal of its own, in a person's home, where `ptc` is on the PATH."""

    PATIENCE = 60

    def __init__(self, home, ptc, env=None):
        tools = home.path / "bin"
        tools.mkdir(exist_ok=True)
        if not (tools / "ptc").exists():
            (tools / "ptc").symlink_to(ptc)
        self.master, slave = pty.openpty()
        modes = termios.tcgetattr(slave)
        modes[1] &= ~termios.OPOST
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        plain = {"PATH": f"{tools}:{home.env['PATH']}", "PS1": "", "PS2": "", "TERM": "dumb"}
        self.shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "--noediting", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=home.path,
            env={**home.env, **plain, **(env or {})}, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # What runs in front is interrupted, and what a failed walk has left in the background is ended.
        os.write(self.master, b"\x03")
        os.write(self.master, b"kill $(jobs -p) 2> /dev/null; wait; exit\n")
        try:
            self.shell.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.shell.kill()
        os.close(self.master)

    def read_until(self, pattern, line):
        shown, deadline = "", time.monotonic() + self.PATIENCE
        while not (found := re.search(pattern, shown)):
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.master], [], [], left)[0], f"{line}: no {pattern!r} in\n{shown}"
            shown += os.read(self.master, 65536).decode(errors="replace")
        return shown[: found.start()], found, shown[found.end():]

    def type(self, line, *answers, code=0):
        """Types a line of README.md, and an answer after each text that comes; gives what was shown."""
        typed = command(line) if line.startswith("cargo ") else line
        os.write(self.master, f"eval {shlex.quote(typed)}; printf '\\n@%d@\\n' $?\n".encode())
        said = ""
        for text, answer in answers:
            before, _, _ = self.read_until(re.escape(text), line)
            said += before + text
            os.write(self.master, f"{answer}\n".encode())
        before, found, _ = self.read_until(r"\n@(\d+)@\n", line)
        said += before
        assert code is None or int(found[1]) == code, f"{line}: exit {found[1]}\n{said}"
        walked.add(command(line))
        return said
