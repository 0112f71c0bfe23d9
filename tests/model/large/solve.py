"""The tasks of the large office by direct calls: what a careful client calls, with the largest pages and the narrowest filters, and what it reckons from the
results alone. `direct.py` gives each function a `Direct`."""
import ast
import collections
import csv
import io
import json
import re
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

REPO = BOOKS = FILES = ""
OPEN = ("todo", "in_progress", "in_review")
at = lambda text: datetime.fromisoformat(text.replace("Z", "+00:00"))
unix = lambda day: int(at(day + "T00:00:00Z").timestamp())
utc = lambda text: at(text).astimezone(timezone.utc)
month = lambda ts: datetime.fromtimestamp(float(ts), timezone.utc).strftime("%Y-%m")
top = lambda counts, many=None: [[k, v] for k, v in sorted(counts.items(), key=lambda item: (-item[1], item[0]))][:many]
rows_of_csv = lambda text: list(csv.DictReader(io.StringIO(text)))


def table(text):
    """The rows of the first Markdown table of a text."""
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [dict(zip(lines[0], line)) for line in lines[2:]]


# ---- pages, each server's way
def issues(d, **filters):
    found, more = [], {}
    while True:
        page = d.json("tracker/list_issues", first=50, **filters, **more)["issues"]
        found += page["nodes"]
        if not page["pageInfo"]["hasNextPage"]:
            return found
        more = {"after": page["pageInfo"]["endCursor"]}


def history(d, name, **span):
    found, more = [], {}
    while True:
        page = d.json("chat/conversations_history", channel_id=channel(d, name), limit=60, **span, **more)
        found += page["messages"]
        if not page["has_more"]:
            return found
        more = {"cursor": page["response_metadata"]["next_cursor"]}


def chat_rows(d, tool, limit, **more):
    found, cursor = [], {}
    while True:
        rows = rows_of_csv(d.text(f"chat/{tool}", limit=limit, **more, **cursor))
        found += rows
        if not rows[-1]["Cursor"]:
            return found
        cursor = {"cursor": rows[-1]["Cursor"]}


def channel(d, name):
    if not hasattr(d, "channels"):
        d.channels = {row["Name"]: row["ID"] for row in chat_rows(d, "channels_list", 10)}
    return d.channels["#" + name]


def people(d):
    return {row["UserID"]: row["RealName"] for row in chat_rows(d, "users_list", 15)}


def crm(d, tool, **arguments):
    found, more = [], {}
    while True:
        page = d.json(f"crm/{tool}", **arguments, **more)
        found += page["results"]
        if "paging" not in page:
            return found
        more = {"after": page["paging"]["next"]["after"]}


def objects(d, kind, *filters):
    """All objects of a type, or those that a search finds."""
    if not filters:
        return crm(d, f"crm_{kind}_list", limit=100)
    return crm(d, "crm_objects_search", objectType=kind, limit=50, filters=[dict(zip(("propertyName", "operator", "value"), f)) for f in filters])


def billing(d, tool, **filters):
    found, more = [], {}
    while True:
        page = d.json(f"billing/{tool}", limit=100, **filters, **more)
        found += page["data"]
        if not page["has_more"]:
            return found
        more = {"starting_after": found[-1]["id"]}


def tokens(d, tool, key, size, **arguments):
    found, more = [], {}
    while True:
        page = d.json(f"mail/{tool}", maxResults=size, **arguments, **more)
        found += page[key]
        if "nextPageToken" not in page:
            return found
        more = {"pageToken": page["nextPageToken"]}


def events(d, **arguments):
    return tokens(d, "calendar_list_events", "items", 50, **arguments)


def heads(d, query):
    """Headers of the mails that a query finds, 25 a call."""
    ids = [m["id"] for m in tokens(d, "search_emails", "messages", 100, query=query)]
    found = [m for n in range(0, len(ids), 25) for m in d.json("mail/read_emails_batch", messageIds=ids[n:n + 25])]
    return [m | {h["name"]: h["value"] for h in m["payload"]["headers"]} for m in found]


def incidents(d, **filters):
    found = []
    while True:
        page = d.json("monitoring/list_incidents", limit=100, offset=len(found), **filters)
        found += page["incidents"]
        if not page["more"]:
            return found


def logs(d, **filters):
    text, found = d.text("monitoring/search_logs", **filters), []
    while True:
        lines = [json.loads(line) for line in text.splitlines()]
        found += [line for line in lines if "next_url" not in line]
        if not lines or "next_url" not in lines[-1]:
            return found
        text = d.text("monitoring/get_next_page", next_url=lines[-1]["next_url"])


def deployments(d, **filters):
    first = d.json("monitoring/list_deployments", page_size=40, **filters)
    rest = [d.json("monitoring/list_deployments", page_size=40, page_number=n, **filters) for n in range(1, first["meta"]["total_pages"])]
    return sum((page["deployments"] for page in rest), first["deployments"])


def pages(d, space, **filters):
    found = []
    while True:
        page = d.json("wiki/wiki_list_pages", space=space, start=len(found), limit=20, **filters)
        found += page["results"]
        if "next" not in page["_links"]:
            return found


def sheet(d, path, name):
    values = d.json("sheets/read_range", path=path, sheet=name)["values"]
    return [dict(zip(values[0], row)) for row in values[1:]]


def members(d):
    return {m["login"]: m["name"] for m in d.json("tracker/list_members")}


def owners(d):
    return {o["id"]: o for o in d.json("crm/crm_owners_list")["results"]}


def pulls(d, repository):
    found, page = [], 1
    while True:
        rows = d.json("tracker/list_pull_requests", repository=repository, state="closed", per_page=100, page=page)
        found += rows
        if len(rows) < 100:
            return found
        page += 1


def L01(d):
    return collections.Counter(i["key"].split("-")[0] for priority in ("urgent", "high") for i in issues(d, priority=priority) if i["state"] in OPEN)


def L02(d):
    names = members(d)
    done = issues(d, state="done", createdAfter="2026-02-01T00:00:00Z", createdBefore="2026-03-01T00:00:00Z")
    return top(collections.Counter(names[i["assignee"]["login"]] for i in done if i["assignee"]), 3)


def L03(d):
    sprint = next(s["id"] for s in table(d.text("tracker/list_sprints")) if s["name"] == "2026 sprint 3")
    rows = [(int(r["Estimate"] or 0), r["State"]) for r in table(d.text("tracker/get_sprint_report", sprint_id=sprint))]
    return [sum(e for e, _ in rows), sum(e for e, state in rows if state == "done")]


def L04(d):
    found = {}
    for repository in ("storefront", "platform", "pipelines"):
        merged = [p for p in pulls(d, repository) if p["merged_at"]]
        found[repository] = [len(merged), sum(all(r["state"] != "APPROVED" for r in d.json("tracker/list_pull_request_reviews", number=p["number"])) for p in merged)]
    return found


def L05(d):
    share = {}
    for repository in ("storefront", "platform", "pipelines"):
        page = d.json("tracker/list_workflow_runs", repository=repository, workflow="test", branch="main", per_page=100)
        share[repository] = round(100 * sum(r["conclusion"] == "failure" for r in page["workflow_runs"]) / page["total_count"], 2)
    return share


def L06(d):
    found, page = [], 1
    while True:
        answer = d.json("chat/search_messages", query="wants to cancel in:#customers", count=25, page=page)["messages"]
        found += answer["matches"]
        page += 1
        if page > answer["paging"]["pages"]:
            return sorted({m["text"].split(" wants to cancel")[0] for m in found if month(m["ts"]) == "2026-02"})


def L07(d):
    count = collections.Counter()
    for m in history(d, "incidents", oldest=str(unix("2026-03-01")), latest=str(unix("2026-04-01"))):
        thread = d.json("chat/conversations_replies", channel_id=channel(d, "incidents"), thread_ts=m["ts"])["messages"] if m.get("reply_count") else [m]
        count.update(t["user"] for t in thread)
    names = people(d)
    return top({names[user]: n for user, n in count.items()}, 3)


def L08(d):
    text = " ".join(m["text"] for m in history(d, "incidents", oldest=str(unix("2026-03-16"))))
    return [key for key in sorted(set(re.findall(r"[A-Z]+-\d+", text))) if d.json("tracker/get_issue", key=key)["state"] in OPEN]


def won(d):
    found = collections.Counter()
    for deal in objects(d, "deals", ("dealstage", "EQ", "closed_won"), ("closedate", "GTE", "2026-01-01"), ("closedate", "LT", "2026-04-01")):
        found[deal["properties"]["hubspot_owner_id"]] += float(deal["properties"]["amount"])
    return found


def L09(d):
    names = owners(d)
    return top({f"{names[o]['firstName']} {names[o]['lastName']}": amount for o, amount in won(d).items()})


def L10(d):
    linked = {c["metadata"].get("crm_company_id") for c in billing(d, "list_customers")}
    return sorted(c["properties"]["name"] for c in objects(d, "companies", ("tier", "EQ", "enterprise")) if c["id"] not in linked)


def L11(d):
    german = {c["id"] for c in objects(d, "companies", ("country", "EQ", "Germany"))}
    contacts = objects(d, "contacts", ("marketing_opt_in", "EQ", "true"), ("notes_last_contacted", "EQ", ""))
    return sorted(c["properties"]["email"] for c in contacts if c["properties"]["associatedcompanyid"] in german)


def L12(d):
    found = collections.Counter()
    for status in ("open", "uncollectible"):
        for invoice in billing(d, "list_invoices", status=status):
            found[invoice["currency"]] += invoice["amount_remaining"]
    return {currency: amount / 100 for currency, amount in found.items()}


def L13(d):
    found = collections.Counter()
    for charge in billing(d, "list_charges", status="succeeded", created_gte=unix("2026-01-01"), created_lt=unix("2026-04-01")):
        found[charge["customer"]] += charge["amount"] - charge["amount_refunded"]
    names = {c["id"]: c["name"] for c in billing(d, "list_customers")}
    return [[name, amount / 100] for name, amount in top({names[c]: amount for c, amount in found.items()}, 5)]


def L14(d):
    failed = billing(d, "list_charges", status="failed", created_gte=unix("2026-01-01"), created_lt=unix("2026-02-01"))
    return collections.Counter(c["failure_code"] for c in failed)


def L15(d):
    link = {c["id"]: c["metadata"].get("crm_company_id") for c in billing(d, "list_customers")}
    country = {c["id"]: c["properties"]["country"] for c in objects(d, "companies")}
    found = collections.Counter()
    for s in billing(d, "list_subscriptions", status="canceled"):
        found[country.get(link[s["customer"]], "unknown")] += sum(i["quantity"] * i["price"]["unit_amount"] for i in s["items"]["data"])
    return {k: v / 100 for k, v in found.items()}


def L16(d):
    ids = [m["id"] for m in tokens(d, "search_emails", "messages", 100, query="to:billing@acme.example is:unread")]
    numbers = {re.search(r"Ref (AC-\d+)", d.text("mail/read_email", messageId=i))[1] for i in ids}
    unpaid = {i["number"] for status in ("open", "uncollectible", "void") for i in billing(d, "list_invoices", status=status)}
    return sorted(numbers & unpaid)


def L17(d):
    found = collections.Counter()
    for m in heads(d, "subject:Outage has:attachment"):
        found[datetime.strptime(m["Date"], "%a, %d %b %Y %H:%M:%S %z").astimezone(timezone.utc).strftime("%Y-%m")] += m["attachmentCount"]
    return found


def L18(d):
    found = collections.Counter()
    for e in events(d, q="Customer call", timeMin="2026-02-01T00:00:00Z", timeMax="2026-03-01T00:00:00Z"):
        found[e["organizer"]["email"]] += (at(e["end"]["dateTime"]) - at(e["start"]["dateTime"])).total_seconds() / 3600
    names = {c["id"]: c["summary"] for c in d.json("mail/calendar_list_calendars")["items"]}
    return top({names[k]: v for k, v in found.items()}, 3)


def L19(d):
    berlin = [(at(e["start"]["dateTime"]).astimezone(ZoneInfo("Europe/Berlin")), e["id"]) for e in events(d, timeMin="2026-03-01T00:00:00+01:00", timeMax="2026-04-01T00:00:00+02:00")]
    return [[i, t.strftime("%Y-%m-%d %H:%M")] for t, i in sorted(berlin) if t.hour < 8]


def L20(d):
    holidays = {(r["Date"], r["Country"]) for r in table(d.text("wiki/wiki_get_page_by_title", space="HR", title="Public holidays 2026"))}
    country = {c["properties"]["domain"]: c["properties"]["country"] for c in objects(d, "companies")}
    found = {(e["id"], e["start"]["dateTime"][:10], country.get(a["email"].split("@")[1])) for e in events(d) for a in e["attendees"]}
    return sorted(list(f) for f in found if f[1:] in holidays)


def L21(d):
    found = collections.defaultdict(list)
    for i in incidents(d, statuses=["resolved"]):
        found[i["severity"]].append((at(i["resolved_at"]) - at(i["created_at"])).total_seconds() / 60)
    return {k: round(sum(v) / len(v), 2) for k, v in found.items()}


def L22(d):
    linked = sorted((i["id"], i["external_references"][0]["external_id"]) for severity in ("SEV1", "SEV2") for i in incidents(d, severity=severity) if i["external_references"])
    state = {key: d.json("tracker/get_issue", key=key)["state"] for key in sorted({key for _, key in linked})}
    return [[i, key, state[key]] for i, key in linked if state[key] in OPEN]


def L23(d):
    found = {}
    for service in d.text("monitoring/list_services").splitlines():
        weeks = [d.text("monitoring/query_metrics", service=service, metric="p95", **{"from": f"2026-03-{a:02d}T00:00:00Z", "to": f"2026-03-{b:02d}T00:00:00Z"}) for a, b in ((1, 8), (8, 15))]
        worst = max((row for week in weeks for row in rows_of_csv(week)), key=lambda row: float(row["value"]))
        found[service] = [worst["time"], float(worst["value"])]
    return found


def L24(d):
    count = collections.Counter(line["customer"] for line in logs(d, level="error", **{"from": "2026-03-24"}))
    names = {c["properties"]["domain"]: c["properties"]["name"] for c in objects(d, "companies")}
    return top({names[domain]: n for domain, n in count.items()}, 3)


def L25(d):
    names, all_of = members(d), deployments(d)
    total = collections.Counter(names[x["deployed_by"]] for x in all_of)
    return [[who, n, total[who]] for who, n in top(collections.Counter(names[x["deployed_by"]] for x in all_of if x["status"] != "succeeded"))]


def L26(d):
    shifts = d.json("monitoring/list_oncall_shifts", schedule="primary")["final_schedule"]["rendered_schedule_entries"]
    starts = [i["created_at"] for i in incidents(d)]
    found = collections.Counter()
    for s in shifts:
        found[s["user"]["email"]] += sum(s["start"] <= start < s["end"] for start in starts)
    return found


def L27(d):
    def reviewed(page):
        return datetime.strptime(re.search(r"Last reviewed: (\S+)", d.text("wiki/wiki_get_page", page_id=page["id"]))[1], "%d.%m.%Y")
    return sorted(p["title"] for p in pages(d, "OPS", label="runbook") if reviewed(p) < datetime(2025, 8, 1))


def L28(d):
    lines = []
    for row in table(d.text("wiki/wiki_get_page_by_title", space="ENG", title="Service catalogue")):
        if row["Tier"] == "1":
            number = len(incidents(d, service=row["Service"], since="2026-01-01", until="2026-04-01"))
            lines.append(f"{row['Service']} | {row['Owner']} | {number} | {row['Cost (EUR)'].replace(',', '')}")
    return "\n".join(sorted(lines))


def L29(d):
    discount = {r["Domain"]: int(r["Discount"].removesuffix("%")) for r in table(d.text("wiki/wiki_get_page_by_title", space="SALES", title="Agreed discounts"))}
    domain = {c["id"]: c["email"].split("@")[1] for c in billing(d, "list_customers")}
    found = collections.Counter()
    for i in billing(d, "list_invoices", created_gte=unix("2026-03-01"), created_lt=unix("2026-04-01")):
        if i["status"] != "void":
            found[i["currency"]] += i["total"] * discount.get(domain[i["customer"]], 0)
    return {k: round(v / 10000, 2) for k, v in found.items()}


def L30(d):
    found = collections.Counter()
    for row in sheet(d, "finance/budget-2026.xlsx", "Budget"):
        if row["month"] < "2026-04":
            found[row["team"]] += row["spent"] - row["planned"]
    return top({k: v for k, v in found.items() if v > 0})


def L31(d):
    found = {}
    for row in sheet(d, "vendors.xlsx", "Vendors"):
        if "2026-04-01" <= row["contract_end"] < "2026-07-01":
            pair = found.setdefault(row["category"], [0, 0])
            pair[0] += 1
            pair[1] += row["yearly_cost"]
    return sorted(([k, *v] for k, v in found.items()), key=lambda row: -row[2])


def L32(d):
    names, amounts = owners(d), won(d)
    by_mail = {names[o]["email"]: amount for o, amount in amounts.items()}
    rows = [[r["rep"], round(100 * by_mail.get(r["rep"], 0) / r["target"], 2)] for r in sheet(d, "finance/budget-2026.xlsx", "Targets") if r["quarter"] == "2026-Q1"]
    return sorted(rows, key=lambda row: -row[1])


def L33(d):
    tickets = set(re.findall(r"T-\d+", d.text("git/git_log", repo_path=REPO, max_count=1000)))
    keys = [i["key"] for i in issues(d, project="OPS", state="done")]
    found = [(key, d.json("tracker/get_issue", key=key)["supportTicket"]) for key in keys]
    return sorted([key, ticket] for key, ticket in found if ticket in tickets)


def L34(d):
    rows = ast.literal_eval(d.text("shop/read_query", query="SELECT name, stock FROM products"))
    stock = {row["name"]: row["stock"] for row in rows}
    subjects = [m["Subject"] for m in heads(d, "")]
    return [[n, c, stock[n]] for n, c in top(collections.Counter(n for s in subjects for n in stock if s.endswith(" " + n)), 5)]


def L35(d):
    graph = d.json("memory/open_nodes", names=["Sales"])
    names = {r["from"]: 0 for r in graph["relations"] if r["to"] == "Sales" and r["relationType"] == "member_of"}
    who = people(d)
    for m in history(d, "sales"):
        if who[m["user"]] in names:
            names[who[m["user"]]] += 1
    return names


def L36(d):
    rich = {r["email"]: 0 for r in rows_of_csv(d.text("files/read_text_file", path=f"{FILES}/hr/employees.csv")) if int(r["salary"]) >= 90000}
    for e in events(d, timeMin="2026-03-01T00:00:00Z", timeMax="2026-04-01T00:00:00Z"):
        if e["organizer"]["email"] in rich:
            rich[e["organizer"]["email"]] += 1
    return top(rich)
