"""Follows each link of a built site inside the site. Links to other hosts are not fetched. Usage: check.py SITE"""
import html.parser
import os
import pathlib
import re
import sys
import urllib.parse

SITE = pathlib.Path(sys.argv[1]).resolve()


class Page(html.parser.HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag, name) == ("a", "name"):
                self.anchors.add(value)
            elif name in ("href", "src", "data") and value:
                self.links.append((self.getpos()[0], value))


pages = {path: Page(path) for path in sorted(SITE.rglob("*.html"))}
faults, followed = [], 0
for path, page in pages.items():
    for line, link in page.links:
        # With a scheme, or the host of another site.
        if re.match(r"([a-z][a-z0-9+.-]*:|//)", link, re.IGNORECASE):
            continue
        followed += 1
        target, _, anchor = link.partition("#")
        target = urllib.parse.unquote(target.partition("?")[0])
        found = path if not target else pathlib.Path(os.path.normpath(path.parent / target))
        inside = found.is_relative_to(SITE)
        if inside and found.is_dir():
            found = found / "index.html"
        if not inside or not found.is_file():
            faults.append(f"{path.relative_to(SITE)}:{line}: {link} leads nowhere")
        elif anchor and found in pages and urllib.parse.unquote(anchor) not in pages[found].anchors:
            faults.append(f"{path.relative_to(SITE)}:{line}: {link} has no such anchor")
# A site of which nothing was read is none.
if len(pages) < 30 or followed < 500:
    faults.append(f"only {len(pages)} pages with {followed} links")
if faults:
    sys.exit("\n".join(faults))
print(f"{len(pages)} pages with {followed} links inside the site: each leads somewhere")
