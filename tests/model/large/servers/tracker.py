"""An issue tracker with pull requests and workflow runs, as code hosts have them. Three ways of paging; a page of pull requests tells nothing of the next."""
from hosted import Bad, Server, Structured, Text, markdown, one

server = Server("tracker", "Issue keys look like WEB-123. Users are named by login, not by e-mail address.", indent=2, page=20,
                slower="You have exceeded a secondary rate limit. Please wait 1 second before you try again.")
data = DATA  # noqa: F821  Set by hosted.load.
CONNECTION = ["first i=25 How many issues a page holds, at most 50. Larger values are reduced to 50.", "after s endCursor of the previous page"]


def short(issue):
    return {"key": issue["key"], "title": issue["title"], "state": issue["state"], "priority": issue["priority"], "assignee": issue["assignee"] and {"login": issue["assignee"]},
            "labels": {"nodes": [{"name": label} for label in issue["labels"]]}, "createdAt": issue["created"], "completedAt": issue["closed"], "estimate": issue["estimate"],
            "customer": issue["customer"], "commentCount": len(issue["comments"])}


def connection(items, a):
    first = max(1, min(a["first"], 50))
    try:
        at = int(bytes.fromhex(a["after"]).decode()[7:]) if a.get("after") else 0
    except ValueError:
        raise Bad("Argument Validation Error: after is not a cursor")
    end = at + first
    return {"issues": {"nodes": [short(i) for i in items[at:end]], "pageInfo": {"hasNextPage": end < len(items), "endCursor": f"offset:{end}".encode().hex() if end < len(items) else None}}}


FILTERS = ["project WEB|API|OPS Only issues of this project", "state todo|in_progress|in_review|done|canceled Only issues in this state", "priority urgent|high|medium|low Only this priority",
           "assignee s Login of the assignee", "label s Name of a label", "createdAfter s Only issues created at or after this ISO 8601 time", "createdBefore s Only issues created before this ISO 8601 time"]


def matching(a):
    return [i for i in data["issues"] if all(a.get(k) in (None, i[k]) for k in ("project", "state", "priority", "assignee")) and (a.get("label") is None or a["label"] in i["labels"])
            and i["created"] >= a.get("createdAfter", "") and i["created"] < a.get("createdBefore", "9")]


@server.tool("list_issues", "List issues, oldest first. Cursor pagination: pass pageInfo.endCursor as after while pageInfo.hasNextPage is true.", *FILTERS, *CONNECTION)
def _(a):
    return connection(matching(a), a)


@server.tool("get_issue", "Everything about one issue: fields, sprint, linked support ticket, reporter and customer domain. Comments are returned by list_issue_comments.", "key s! Issue key, e.g. WEB-123", slow=.05, rate=(20, 1))
def _(a):
    issue = one(data["issues"], "key", a["key"], "Issue")
    return short(issue) | {"reporter": {"login": issue["reporter"]}, "sprintId": issue["sprint"], "supportTicket": issue["ticket"], "project": {"key": issue["project"]}}


@server.tool("search_issues", "Search issues by text in the title, newest first. Returns total_count, incomplete_results and items.", "q s! Text to find in titles, ignoring case",
             "page i=1 Page number, starting at 1", "per_page i=30 Results per page (max 100)", rate=(20, 2))
def _(a):
    found = [i for i in reversed(data["issues"]) if a["q"].lower() in i["title"].lower()]
    size = min(a["per_page"], 100)
    return {"total_count": len(found), "incomplete_results": False, "items": [short(i) for i in found[(a["page"] - 1) * size:a["page"] * size]]}


@server.tool("list_issue_comments", "Comments of an issue, oldest first.", "key s! Issue key")
def _(a):
    return {"comments": [{"author": c["by"], "createdAt": c["at"], "body": c["text"]} for c in sorted(one(data["issues"], "key", a["key"], "Issue")["comments"], key=lambda c: c["at"])]}


@server.tool("list_projects", "All projects with their key and how many issues they have.")
def _(a):
    return [{"key": p, "members": m, "issueCount": sum(i["project"] == p for i in data["issues"])} for p, m in data["projects"].items()]


@server.tool("list_sprints", "Sprints of the team with first and last day (inclusive).")
def _(a):
    return markdown(["id", "name", "starts", "ends"], [list(s.values()) for s in data["sprints"]])


@server.tool("get_sprint_report", "Issues of a sprint with state and estimate, as one table.", "sprint_id s! For example SPR-2")
def _(a):
    one(data["sprints"], "id", a["sprint_id"], "Sprint")
    return markdown(["Key", "State", "Estimate", "Assignee"], [[i["key"], i["state"], i["estimate"], i["assignee"]] for i in data["issues"] if i["sprint"] == a["sprint_id"]])


@server.tool("list_members", "People who can be assigned: login, display name and e-mail address.", "query s Part of a name or login")
def _(a):
    q = a.get("query", "").lower()
    return [{"login": p["login"], "name": p["name"], "email": p["email"], "active": True} for p in data["staff"] if q in p["name"].lower() or q in p["login"]]


@server.tool("list_labels", "Labels of the workspace.")
def _(a):
    return Text(repr([{"name": n, "color": c} for n, c in (("bug", "red"), ("feature", "blue"), ("chore", "grey"), ("security", "black"), ("regression", "orange"), ("docs", "green"))]))


def pull(p):
    return {"number": p["number"], "title": p["title"], "state": "open" if p["state"] == "open" else "closed", "draft": p["draft"], "user": {"login": p["author"]},
            "created_at": p["created"], "merged_at": p["merged"], "base": {"repo": {"name": p["repository"]}}}


@server.tool("list_pull_requests", "List pull requests of a repository, in order of number. A merged pull request is closed and has merged_at.", "repository storefront|platform|pipelines! Name of the repository",
             "state open|closed|all=open Which ones", "page i=1 Page number, starting at 1", "per_page i=30 Results per page (max 100)")
def _(a):
    found = [p for p in data["pulls"] if p["repository"] == a["repository"] and (a["state"] == "all" or (p["state"] == "open") == (a["state"] == "open"))]
    size = min(a["per_page"], 100)
    return [pull(p) for p in found[(a["page"] - 1) * size:a["page"] * size]]


@server.tool("get_pull_request", "One pull request with changed lines and the issue it closes.", "number i! Number of the pull request", slow=.05)
def _(a):
    p = one(data["pulls"], "number", a["number"], "Pull request")
    return pull(p) | {"additions": p["additions"], "deletions": p["deletions"], "closes": p["issue"]}


@server.tool("list_pull_request_reviews", "Reviews of a pull request in the order in which they were given.", "number i! Number of the pull request", rate=(30, 1))
def _(a):
    p = one(data["pulls"], "number", a["number"], "Pull request")
    return [{"user": {"login": r["by"]}, "state": r["state"].upper(), "submitted_at": r["at"]} for r in sorted(p["reviews"], key=lambda r: r["at"])]


RUN = {"type": "object", "properties": {"id": {"type": "integer"}, "workflow": {"type": "string"}, "conclusion": {"type": "string"}, "run_started_at": {"type": "string"}, "duration_seconds": {"type": "integer"},
                                        "actor": {"type": "string"}, "head_branch": {"type": "string"}}}


def run(r):
    return {"id": r["id"], "workflow": r["workflow"], "conclusion": r["conclusion"], "run_started_at": r["started"], "duration_seconds": r["seconds"], "actor": r["actor"], "head_branch": r["branch"]}


@server.tool("list_workflow_runs", "Workflow runs of a repository, newest first.", "repository storefront|platform|pipelines! Name of the repository", "workflow build|test|deploy|lint Only this workflow",
             "conclusion success|failure|cancelled Only runs that ended so", "branch s Only this branch", "page i=1 Page number, starting at 1", "per_page i=30 Results per page, 100 at most",
             out={"type": "object", "properties": {"total_count": {"type": "integer"}, "workflow_runs": {"type": "array", "items": RUN}}})
def _(a):
    found = [r for r in data["runs"] if r["repository"] == a["repository"] and all(a.get(k) in (None, r[k]) for k in ("workflow", "conclusion", "branch"))]
    size = min(a["per_page"], 100)
    return Structured({"total_count": len(found), "workflow_runs": [run(r) for r in found[(a["page"] - 1) * size:a["page"] * size]]})


@server.tool("get_workflow_run", "One workflow run.", "id i! Id of the run", out=RUN)
def _(a):
    return Structured(run(one(data["runs"], "id", a["id"], "Run")))


KEY, BODY = "key s! Issue key", "body s! Text in Markdown"
new = lambda kind: lambda a: {"success": True, kind: {"id": f"new-{kind}", **a}}
server.write("create_issue", "Create an issue in a project.", "project WEB|API|OPS! Project key", "title s! Title", "description s Markdown", "priority urgent|high|medium|low=medium Priority", "labels s[] Names of labels", "assignee s Login", reply=new("issue"))
server.write("update_issue", "Change fields of an issue. Only the given fields change.", KEY, "title s New title", "state todo|in_progress|in_review|done|canceled New state", "priority urgent|high|medium|low New priority", "assignee s Login", "estimate i Points", reply=new("issue"))
server.write("add_issue_comment", "Comment on an issue.", KEY, BODY, reply=new("comment"))
server.write("add_issue_label", "Add a label to an issue.", KEY, "label s! Name of the label")
server.write("move_issue_to_sprint", "Plan an issue for a sprint.", KEY, "sprint_id s! Id of the sprint")
server.write("delete_issue", "Delete an issue for good.", KEY)
server.write("create_pull_request", "Open a pull request.", "repository storefront|platform|pipelines! Repository", "title s! Title", "head s! Branch with the changes", "base s=main Branch to merge into", "draft b=false Open as draft", reply=new("pull_request"))
server.write("merge_pull_request", "Merge a pull request.", "number i! Number", "method merge|squash|rebase=merge How to merge")
server.write("rerun_workflow", "Run a workflow again.", "id i! Id of the run")
