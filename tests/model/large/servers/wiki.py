"""A wiki: pages in Markdown, results as text and tables, `start`, `limit`, `size` and `_links.next`."""
from hosted import Server, Text, markdown, one

server = Server("wiki", indent=1)
data = DATA  # noqa: F821
SPACES = {"ENG": "Engineering", "OPS": "Operations", "SALES": "Sales", "HR": "People"}
PAGE_ID = "page_id s! Id of the page"


def head(p):
    return {"id": p["id"], "type": "page", "title": p["title"], "space": {"key": p["space"]}, "version": {"number": p["version"], "when": p["updated"], "by": p["author"]}, "metadata": {"labels": p["labels"]}}


@server.tool("wiki_search", "Full-text search in titles and bodies. A Markdown table of at most 25 pages, best first; it has no further pages.", "query s! Text to find, as one phrase", "space ENG|OPS|SALES|HR Only this space", "limit i=10 Rows, 25 at most", slow=.2)
def _(a):
    q = a["query"].lower()
    found = [p for p in data["pages"] if a.get("space") in (None, p["space"]) and (q in p["title"].lower() or q in p["body"].lower())]
    found.sort(key=lambda p: q not in p["title"].lower())
    return markdown(["Id", "Title", "Space", "Updated"], [[p["id"], p["title"], p["space"], p["updated"]] for p in found[:max(1, min(a["limit"], 25))]])


@server.tool("wiki_list_pages", "Pages of a space in order of creation, without bodies. _links.next is there if there is a further page.", "space ENG|OPS|SALES|HR! Key of the space", "label s Only pages with this label", "start i=0 How many to leave out", "limit i=10 Pages to return; reduced to 20 if larger")
def _(a):
    found = [p for p in data["pages"] if p["space"] == a["space"] and (not a.get("label") or a["label"] in p["labels"])]
    size = max(1, min(a["limit"], 20))
    shown = found[a["start"]:a["start"] + size]
    more = {"next": f"/rest/api/content?spaceKey={a['space']}&start={a['start'] + size}&limit={size}"} if a["start"] + size < len(found) else {}
    return {"results": [head(p) for p in shown], "start": a["start"], "limit": size, "size": len(shown), "_links": {"base": "https://wiki.acme.example", **more}}


@server.tool("wiki_get_page", "A page in Markdown, with its head as a comment.", PAGE_ID, slow=.03)
def _(a):
    p = one(data["pages"], "id", a["page_id"], "Page")
    return Text(f"<!-- {p['title']} | space {p['space']} | version {p['version']} | updated {p['updated']} -->\n{p['body']}")


@server.tool("wiki_get_page_by_title", "A page in Markdown, found by its exact title.", "space ENG|OPS|SALES|HR! Key of the space", "title s! Title")
def _(a):
    return Text(one([p for p in data["pages"] if p["space"] == a["space"]], "title", a["title"], "Page")["body"])


@server.tool("wiki_page_history", "Version, author and time of the last change of a page.", PAGE_ID)
def _(a):
    return head(one(data["pages"], "id", a["page_id"], "Page"))["version"]


@server.tool("wiki_list_spaces", "Spaces of the wiki.")
def _(a):
    return {"results": [{"key": k, "name": n, "pages": sum(p["space"] == k for p in data["pages"])} for k, n in SPACES.items()]}


@server.tool("wiki_list_labels", "Labels, with the number of pages that have them.")
def _(a):
    labels = sorted({label for p in data["pages"] for label in p["labels"]})
    return Text("\n".join(f"{label}: {sum(label in p['labels'] for p in data['pages'])}" for label in labels))


@server.tool("wiki_list_comments", "Comments below a page.", PAGE_ID)
def _(a):
    one(data["pages"], "id", a["page_id"], "Page")
    return {"results": [], "size": 0}


@server.tool("wiki_list_attachments", "Files that are attached to a page.", PAGE_ID)
def _(a):
    one(data["pages"], "id", a["page_id"], "Page")
    return {"results": [], "size": 0, "_links": {"base": "https://wiki.acme.example"}}


@server.tool("wiki_recent_changes", "Pages that changed last, newest first: one line each with time, id and title.", "limit i=10 Lines, 25 at most")
def _(a):
    newest = sorted(data["pages"], key=lambda p: p["updated"], reverse=True)
    return Text("".join(f"{p['updated']}  {p['id']}  {p['title']}\n" for p in newest[:max(1, min(a["limit"], 25))]))


SPACE, TITLE, BODY = "space ENG|OPS|SALES|HR! Key of the space", "title s! Title", "body s! Markdown"
server.write("wiki_create_page", "Creates a page.", SPACE, TITLE, BODY, "parent_id s Id of the page above")
server.write("wiki_update_page", "Replaces the body of a page; a new version is made.", PAGE_ID, BODY, "version i! Version that the change is based on")
server.write("delete_wiki_page", "Moves a page to the trash.", PAGE_ID)
server.write("wiki_add_comment", "Comments on a page.", PAGE_ID, BODY)
server.write("wiki_add_label", "Labels a page.", PAGE_ID, "label s! Label")
server.write("wiki_move_page", "Moves a page below another one.", PAGE_ID, "parent_id s! Id of the page above")
server.write("wiki_create_space", "Creates a space.", "key s! Key", "name s! Name")
