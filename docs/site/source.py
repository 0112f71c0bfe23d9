"""Makes the source of the site from pages.txt. Usage: source.py ROOT BOOK GRAMMAR…

BOOK/src gets the pages at their paths in the repository, with SUMMARY.md and the images. Links between pages stay; a link to
another file of the repository leads to the repository, or becomes plain text if Cargo.toml names none that exists.
"""
import os
import pathlib
import re
import shutil
import sys
import tomllib

ROOT, BOOK = map(pathlib.Path, sys.argv[1:3])
GRAMMARS = set(sys.argv[3:])
HERE = pathlib.Path(__file__).resolve().parent

# Each page that matches is in pages.txt.
PAGES = [
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
    "docs/*.md", "docs/guide/*.md", "docs/spec/*.md", "docs/decisions/*.md",
]

FENCE = re.compile(r"^(```+)(\w*).*?\n.*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
# A code span, in which nothing is a link, or a link or an image; none of them reaches over an empty line.
GAP = r"(?:(?!\n\s*\n)[^\[\]`])"
SPAN = r"(?P<ticks>`+)(?!`)(?:(?!\n\s*\n).)*?(?<!`)(?P=ticks)(?!`)"
LINK = re.compile(rf"{SPAN}|(?P<image>!?)\[(?P<text>(?:{GAP}|`[^`]*`)*)\]\((?P<target>[^()\s]+)\)", re.DOTALL)

faults = []


def listed():
    """The lines of pages.txt: parts as `## …`, and paths."""
    lines = [line.strip() for line in (HERE / "pages.txt").read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("# ")]


def repository():
    """Where other files can be read; `None` if Cargo.toml names no such place. Hosts in `.invalid` do not exist (RFC 2606)."""
    url = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"].get("repository")
    return None if url is None or re.match(r"https?://[^/]*\.invalid(/|$)", url) else url.rstrip("/")


def place(page):
    """The path of a page in the source of the site."""
    return re.sub(r"(^|/)README\.md$", r"\1index.md", page)


def relative(target, page):
    return pathlib.PurePath(os.path.relpath(target, pathlib.PurePath(page).parent)).as_posix()


def rewritten(page, pages, url, images):
    """The text of a page with the links that it has on the site."""
    text = (ROOT / page).read_text()

    def link(found):
        target = found["target"]
        if target is None or re.match(r"[a-z]+:", target) or target.startswith("#"):
            return found[0]
        path, mark, anchor = target.partition("#")
        path = os.path.normpath((pathlib.PurePath(page).parent / path).as_posix())
        if not (ROOT / path).exists():
            faults.append(f"{page}: {target} leads nowhere")
            return found[0]
        if found["image"]:
            images.add(path)
            return found[0]
        if path in pages:
            return f"[{found['text']}]({relative(place(path), place(page))}{mark}{anchor})"
        if url is None:
            return found["text"]
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"[{found['text']}]({url}/{kind}/HEAD/{path}{mark}{anchor})"

    done, parts = 0, []
    for fence in FENCE.finditer(text):
        if fence[2] and fence[2] not in GRAMMARS:
            faults.append(f"{page}: no grammar for a block of {fence[2]}; docs/site/build has the list")
        parts += [LINK.sub(link, text[done:fence.start()]), fence[0]]
        done = fence.end()
    return "".join(parts) + LINK.sub(link, text[done:])


def title(page):
    """The heading of a page; a page of the specification says that it is one, since search results show no more than this."""
    heading = re.search(r"^# (.+)$", (ROOT / page).read_text(), re.MULTILINE)[1]
    return f"{heading} (specification)" if page.startswith("docs/spec/") else heading


def main():
    lines = listed()
    pages = [line for line in lines if not line.startswith("## ")]
    there = {path.relative_to(ROOT).as_posix() for pattern in PAGES for path in ROOT.glob(pattern)}
    faults.extend(f"docs/site/pages.txt lacks {page}" for page in sorted(there - set(pages)))
    gone = [page for page in pages if not (ROOT / page).is_file()]
    faults.extend(f"docs/site/pages.txt has {page}, which does not exist" for page in gone)
    twice = sorted({page for page in pages if pages.count(page) > 1})
    faults.extend(f"docs/site/pages.txt has {page} twice" for page in twice)
    if faults:
        sys.exit("\n".join(faults))

    shutil.rmtree(BOOK, ignore_errors=True)
    source, url, images = BOOK / "src", repository(), set()
    for page in pages:
        path = source / place(page)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rewritten(page, set(pages), url, images))
    for image in images:
        path = source / image
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / image, path)
    if faults:
        sys.exit("\n".join(faults))

    # The front page stands before the parts.
    front, *rest = lines
    summary = [f"[{title(front)}]({place(front)})"]
    for line in rest:
        summary.append(f"\n# {line[3:]}\n" if line.startswith("## ") else f"- [{title(line)}]({place(line)})")
    (source / "SUMMARY.md").write_text("\n".join(summary) + "\n")
    book = (HERE / "book.toml").read_text()
    if url is not None:
        book = book.replace("[output.html]\n", f'[output.html]\ngit-repository-url = "{url}"\n')
    (BOOK / "book.toml").write_text(book)
    shutil.copy(HERE / "site.css", BOOK)
    print(f"{len(pages)} pages, {len(images)} images; files of the repository " + (f"are at {url}" if url else "are plain text"))


main()
