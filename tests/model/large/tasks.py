#!/usr/bin/env python3
"""tasks.py MODEL-FOLDER: makes the large office, and checks that `tasks-large.md` and `expected-large.json` are what its data gives; with --write they are
written. Every answer is computed from the data, before any server has formed it."""
import collections
import json
import re
import sys
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import make_large as w

TASKS = {}
NAME = {p["login"]: p["name"] for p in w.STAFF} | {p["email"]: p["name"] for p in w.STAFF} | {p["chat"]: p["name"] for p in w.STAFF}
COMPANY = {c["id"]: c for c in w.COMPANIES}
CUSTOMER = {c["id"]: c for c in w.CUSTOMERS}
ISSUE = {i["key"]: i for i in w.ISSUES}
INVOICE = {i["id"]: i for i in w.INVOICES}
CHANNEL = {c["name"]: w.MESSAGES[c["id"]] for c in w.CHANNELS}
OPEN = ("todo", "in_progress", "in_review")
Q1 = ("2026-01-01", "2026-04-01")
at = lambda text: datetime.fromisoformat(text.replace("Z", "+00:00"))
second = lambda text: int(at(text + "T00:00:00Z").timestamp())
month = lambda ts: datetime.fromtimestamp(float(ts), timezone.utc).strftime("%Y-%m")


def task(text, kind="json"):
    """The next task: the decorated function computes its answer."""
    def keep(compute):
        TASKS[f"L{len(TASKS) + 1:02d}"] = (text, kind, compute())
    return keep


def top(counts, many=None):
    """[[key, value] ...], largest first, then by key."""
    return [[k, v] for k, v in sorted(counts.items(), key=lambda item: (-item[1], item[0]))][:many]


@task("How many issues of each project in our tracker are still being worked on or waiting (neither done nor canceled) and have the priority urgent or high? (A map from project key to number.)")
def _():
    return collections.Counter(i["project"] for i in w.ISSUES if i["state"] in OPEN and i["priority"] in ("urgent", "high"))


@task("Which three people have the most done issues of the tracker assigned to them, of those that were created in February 2026 (UTC)? (A list of [full name, number], most first, ties by name.)")
def _():
    return top(collections.Counter(NAME[i["assignee"]] for i in w.ISSUES if i["state"] == "done" and i["assignee"] and i["created"][:7] == "2026-02"), 3)


@task("How many points were planned for 2026 sprint 3, and how many of these belong to issues that are done? Issues without an estimate count 0. (A list [planned, done].)")
def _():
    sprint = next(s["id"] for s in w.SPRINTS if s["name"] == "2026 sprint 3")
    rows = [(i["estimate"] or 0, i["state"]) for i in w.ISSUES if i["sprint"] == sprint]
    return [sum(e for e, _ in rows), sum(e for e, s in rows if s == "done")]


@task("(hard) For each code repository: how many pull requests were merged, and how many of these were merged without any approving review? (A map from repository to [merged, without approval].)")
def _():
    found = {}
    for p in w.PULLS:
        if p["state"] == "merged":
            pair = found.setdefault(p["repository"], [0, 0])
            pair[0] += 1
            pair[1] += all(r["state"] != "approved" for r in p["reviews"])
    return found


@task("How often did the test workflow fail on the branch main, in percent of all its runs there, in each repository? (A map from repository to percent, rounded to two decimals.)")
def _():
    share = {}
    for repository in ("storefront", "platform", "pipelines"):
        runs = [r for r in w.RUNS if (r["repository"], r["workflow"], r["branch"]) == (repository, "test", "main")]
        share[repository] = round(100 * sum(r["conclusion"] == "failure" for r in runs) / len(runs), 2)
    return share


@task("Which companies wanted to cancel in February 2026, according to the chat channel #customers? Take the UTC date of the message. (A sorted list of company names without repetition.)")
def _():
    return sorted({m["text"].split(" wants to cancel")[0] for m in CHANNEL["customers"] if month(m["ts"]) == "2026-02" and " wants to cancel" in m["text"]})


@task("(hard) Who wrote the most in the chat channel #incidents in March 2026 (UTC)? Count messages, and the replies in threads whose first message is of that month. (A list of the top three as [full name, number], most first, ties by name.)")
def _():
    first = [m for m in CHANNEL["incidents"] if month(m["ts"]) == "2026-03"]
    return top(collections.Counter(NAME[m["user"]] for f in first for m in [f, *f["replies"]]), 3)


@task("Which issues that were mentioned in the chat channel #incidents from 2026-03-16 on (UTC) are neither done nor canceled? (A sorted list of keys without repetition.)")
def _():
    keys = {k for m in CHANNEL["incidents"] if float(m["ts"]) >= second("2026-03-16") for k in re.findall(r"[A-Z]+-\d+", m["text"])}
    return sorted(k for k in keys if ISSUE[k]["state"] in OPEN)


def won(first, end):
    found = collections.Counter()
    for d in w.DEALS:
        if d["stage"] == "closed_won" and first <= d["close"] < end:
            found[d["owner"]] += d["amount"]
    return found


@task("What did each of our sales people win in the first quarter of 2026: the sum of the won deals whose close date lies in January to March? (A list of [full name, amount], highest first.)")
def _():
    return top({NAME[owner]: amount for owner, amount in won(*Q1).items()})


@task("Which enterprise companies of the CRM are not linked from any customer of our payments system? (A sorted list of names.)")
def _():
    linked = {c["crm"] for c in w.CUSTOMERS}
    return sorted(c["name"] for c in w.COMPANIES if c["tier"] == "enterprise" and c["id"] not in linked)


@task("Which contacts at German companies agreed to marketing but were never contacted? (A sorted list of e-mail addresses.)")
def _():
    return sorted(c["email"] for c in w.CONTACTS if c["subscribed"] and not c["last_contacted"] and COMPANY[c["company"]]["country"] == "Germany")


@task("How much do customers still owe us on invoices that are open or were given up as uncollectible, in each currency? (A map from currency code in lower case to amount in whole units with two decimals, not cents.)")
def _():
    found = collections.Counter()
    for i in w.INVOICES:
        if i["status"] in ("open", "uncollectible"):
            found[CUSTOMER[i["customer"]]["currency"]] += i["total"]
    return {k: v / 100 for k, v in found.items()}


@task("(hard) Which five customers brought the most in the first quarter of 2026 (UTC): successful charges created then, less what was refunded of them? Do not convert currencies. (A list of [customer name, amount in units, not cents], highest first.)")
def _():
    found = collections.Counter()
    for c in w.CHARGES:
        if c["status"] == "succeeded" and second(Q1[0]) <= c["created"] < second(Q1[1]):
            found[CUSTOMER[c["customer"]]["name"]] += c["amount"] - c["refunded"]
    return [[k, v / 100] for k, v in top(found, 5)]


@task("Why did charges fail in January 2026 (UTC)? (A map from failure code to number.)")
def _():
    return collections.Counter(c["failure"] for c in w.CHARGES if c["status"] == "failed" and second("2026-01-01") <= c["created"] < second("2026-02-01"))


@task("How much monthly revenue (units times price) did we lose with the subscriptions that are canceled, by the country that the CRM has for the company? Customers that are not linked to the CRM count as unknown. (A map from country or \"unknown\" to amount in units, not cents, without conversion.)")
def _():
    found = collections.Counter()
    for s in w.SUBSCRIPTIONS:
        if s["status"] == "canceled":
            crm = CUSTOMER[s["customer"]]["crm"]
            found[COMPANY[crm]["country"] if crm else "unknown"] += s["quantity"] * w.PLANS[s["plan"]]
    return {k: v / 100 for k, v in found.items()}


@task("(hard) Unread mails to billing@acme.example name an invoice in their text. Which of these invoices are not paid? (A sorted list of invoice numbers without repetition.)")
def _():
    paid = {i["number"]: i["status"] == "paid" for i in w.INVOICES}
    numbers = {re.search(r"AC-\d+", m["body"])[0] for m in w.MAILS if m["to"].startswith("billing@") and "UNREAD" in m["labels"]}
    return sorted(n for n in numbers if not paid[n])


@task("How many attachments came with mails whose subject has the word Outage, in each month of their sending (UTC)? (A map from month, as 2026-01, to number of attachments.)")
def _():
    found = collections.Counter()
    for m in w.MAILS:
        if "Outage" in m["subject"] and m["attachments"]:
            found[month(m["at"])] += len(m["attachments"])
    return found


@task("How many hours of customer calls that were not cancelled did each person organize in February 2026 (start in UTC)? (The top three as [full name, hours], most first, ties by name.)")
def _():
    found = collections.Counter()
    for e in w.EVENTS:
        if e["title"] == "Customer call" and e["status"] == "confirmed" and at(e["start"]).astimezone(timezone.utc).strftime("%Y-%m") == "2026-02":
            found[NAME[e["organizer"]]] += (at(e["end"]) - at(e["start"])).total_seconds() / 3600
    return top(found, 3)


@task("Which calendar events of March 2026 (by the date in Berlin) that were not cancelled start before 8:00 in Berlin time? (A list of [event id, start in Berlin as 2026-03-31 07:15], in order of start, ties by id.)")
def _():
    berlin = [(at(e["start"]).astimezone(ZoneInfo("Europe/Berlin")), e["id"]) for e in w.EVENTS if e["status"] == "confirmed"]
    return [[i, t.strftime("%Y-%m-%d %H:%M")] for t, i in sorted(berlin) if t.strftime("%Y-%m") == "2026-03" and t.hour < 8]


@task("(hard) Which events that were not cancelled have a guest from a customer company whose country has a public holiday on the event's date (the date in the organizer's time zone)? The holidays of 2026 stand in the wiki, the countries in the CRM. (A list of [event id, date, country], in order of id.)")
def _():
    country = {c["domain"]: c["country"] for c in w.COMPANIES}
    holidays = {(h["date"], h["country"]) for h in w.HOLIDAYS}
    found = {(e["id"], e["start"][:10], country[a["email"].split("@")[1]]) for e in w.EVENTS if e["status"] == "confirmed" for a in e["attendees"] if a["email"].split("@")[1] in country}
    return sorted([list(f) for f in found if f[1:] in holidays])


minutes = lambda i: (at(i["resolved"]) - at(i["started"])).total_seconds() / 60


@task("How long did it take on average to resolve incidents, by severity? Only resolved ones count. (A map from severity to minutes, rounded to two decimals.)")
def _():
    found = collections.defaultdict(list)
    for i in w.INCIDENTS:
        if i["resolved"]:
            found[i["severity"]].append(minutes(i))
    return {k: round(sum(v) / len(v), 2) for k, v in found.items()}


@task("Which incidents of severity SEV1 or SEV2 are linked to an issue that is neither done nor canceled? (A list of [incident id, issue key, state of the issue], in order of incident id.)")
def _():
    return sorted([i["id"], i["issue"], ISSUE[i["issue"]]["state"]] for i in w.INCIDENTS if i["severity"] in ("SEV1", "SEV2") and i["issue"] and ISSUE[i["issue"]]["state"] in OPEN)


@task("When was the p95 latency of each service at its highest from 2026-03-01 to 2026-03-14, both included (UTC)? (A map from service to [time as 2026-03-01T00:00:00Z, value].)")
def _():
    worst = {s: max(rows, key=lambda r: r["p95"]) for s, rows in w.METRICS.items()}
    return {s: [r["at"], r["p95"]] for s, r in worst.items()}


@task("Which three customers had the most error lines in our logs from 2026-03-24 on (UTC)? (A list of [company name as in the CRM, number of lines], most first, ties by name.)")
def _():
    name = {c["domain"]: c["name"] for c in w.COMPANIES}
    return top(collections.Counter(name[line["customer"]] for line in w.LOGS if line["level"] == "error" and line["at"] >= "2026-03-24"), 3)


@task("Whose deployments failed or were rolled back, how often, out of how many that they made? (A list of [full name, failed or rolled back, all], most failures first, then by name, people without failures left out.)")
def _():
    total = collections.Counter(NAME[d["by"]] for d in w.DEPLOYS)
    return [[k, n, total[k]] for k, n in top(collections.Counter(NAME[d["by"]] for d in w.DEPLOYS if d["status"] != "succeeded"))]


@task("How many incidents started while each person had the primary on-call shift? (A map from e-mail address to number of incidents, for all people who had a shift.)")
def _():
    found = collections.Counter()
    for s in w.ONCALL:
        if s["schedule"] == "primary":
            found[s["email"]] += sum(s["start"] <= i["started"] < s["end"] for i in w.INCIDENTS)
    return found


@task("Which runbooks in the wiki were last reviewed before 2025-08-01? (A sorted list of page titles.)")
def _():
    return sorted(r["title"] for r in w.RUNBOOKS if datetime.strptime(r["reviewed"], "%d.%m.%Y") < datetime(2025, 8, 1))


@task("Write a table of the services of tier 1 (the wiki's service catalogue knows), one line each of the form `service | owner | incidents | cost`, for example `auth | Jo Doe | 12 | 3400`: incidents that started in the first quarter of 2026 from monitoring, cost from the catalogue as plain number. In order of service, no header.", "text")
def _():
    return "\n".join(f"{c['service']} | {c['owner']} | {sum(i['service'] == c['service'] for i in w.INCIDENTS)} | {c['cost']}" for c in sorted(w.CATALOGUE, key=lambda c: c["service"]) if c["tier"] == 1)


@task("(hard) The wiki of the sales team lists agreed discounts by domain. What would these discounts have been worth on the invoices that were created in March 2026 (UTC), void ones left out? Customers have the address billing@ at their domain. (A map from currency in lower case to amount in units with two decimals; round once, at the end.)")
def _():
    found = collections.Counter()
    for i in w.INVOICES:
        customer = CUSTOMER[i["customer"]]
        if i["status"] != "void" and month(i["created"]) == "2026-03":
            found[customer["currency"]] += i["total"] * w.DISCOUNTS.get(customer["email"].split("@")[1], 0)
    return {k: round(v / 10000, 2) for k, v in found.items()}


@task("Which teams spent more than planned in the first quarter of 2026 as a whole, according to the workbook finance/budget-2026.xlsx, and how much more? (A list of [team, amount], highest first.)")
def _():
    found = collections.Counter()
    for b in w.BUDGET:
        if b["month"] < "2026-04":
            found[b["team"]] += b["spent"] - b["planned"]
    return top({k: v for k, v in found.items() if v > 0})


@task("What is the yearly cost of the vendors in vendors.xlsx whose contract ends in the second quarter of 2026, by category? (A list of [category, number of vendors, yearly cost in all], highest cost first.)")
def _():
    found = {}
    for v in w.VENDORS:
        if "2026-04-01" <= v["contract_end"] < "2026-07-01":
            pair = found.setdefault(v["category"], [0, 0])
            pair[0] += 1
            pair[1] += v["yearly_cost"]
    return sorted(([k, *v] for k, v in found.items()), key=lambda row: -row[2])


@task("How many percent of the targets for the first quarter of 2026 (sheet Targets of finance/budget-2026.xlsx) did our sales people reach with won deals whose close date lies in that quarter? (A list of [e-mail address, percent rounded to two decimals], highest first.)")
def _():
    amounts = won(*Q1)
    rows = [[t["rep"], round(100 * amounts[t["rep"]] / t["target"], 2)] for t in w.TARGETS if t["quarter"] == "2026-Q1"]
    return sorted(rows, key=lambda row: -row[1])


@task("(hard) Which done issues of the project OPS belong to a support ticket that a commit message of the code repository mentions? (A list of [issue key, ticket], in order of issue key.)")
def _():
    tickets = set(w.MENTIONED)
    return sorted([i["key"], i["ticket"]] for i in w.ISSUES if i["project"] == "OPS" and i["state"] == "done" and i["ticket"] in tickets)


@task("Which five products of the shop are named most often in the subjects of all mails, and how many of them are in stock? (A list of [product name, mails, stock in the shop's data base], most mails first, ties by name.)")
def _():
    stock = {p["name"]: p["stock"] for p in w.small.PROD}
    return [[n, c, stock[n]] for n, c in top(collections.Counter(n for m in w.MAILS for n in stock if m["subject"].endswith(" " + n)), 5)]


@task("For each member of the team Sales (the knowledge graph knows who that is): how many first messages did they write in the chat channel #sales? (A map from full name to number, 0 for those who wrote none.)")
def _():
    found = collections.Counter(NAME[m["user"]] for m in CHANNEL["sales"])
    return {p["name"]: found[p["name"]] for p in w.TEAM("Sales")}


@task("Which employees in hr/employees.csv earn at least 90000, and how many calendar events of March 2026 (start in UTC) that were not cancelled did each of them organize? (A list of [e-mail address, number], most events first, ties by address.)")
def _():
    rich = {p[1]: 0 for p in w.small.PEOPLE if p[6] >= 90000}
    for e in w.EVENTS:
        if e["organizer"] in rich and e["status"] == "confirmed" and at(e["start"]).astimezone(timezone.utc).strftime("%Y-%m") == "2026-03":
            rich[e["organizer"]] += 1
    return top(rich)


HEAD = """# Tasks

You help the staff of a company. What you need is reached through the tools that TOOL.md tells of and nothing else; ask for no tool by another way:

    ./call L01 TOOL < input              # calls the tool: input is JSON of its arguments, or plainly its only required one, as a program
    ./lisp_eval L01 < program            # the same as ./call L01 lisp_eval
    ./answer L01 < answer                # stores your final answer for the task

The code repository is @REPO@, the workbooks lie in @BOOKS@, other files in @FILES@. Today is 2026-04-01. Nothing is to be changed anywhere.
Lists, maps and texts may be given as JSON or as the tool prints them. What stands in parentheses is the form of the answer.

"""


def main():
    folder, write = sys.argv[1], "--write" in sys.argv
    w.main()
    texts = HEAD + "\n".join(f"**{number}** {text}\n" for number, (text, _, _) in TASKS.items())
    answers = json.dumps({n: {"kind": kind, "answer": answer} for n, (_, kind, answer) in TASKS.items()}, indent=1, ensure_ascii=False) + "\n"
    for name, content in (("tasks-large.md", texts), ("expected-large.json", answers)):
        if write:
            with open(f"{folder}/{name}", "w") as file:
                file.write(content)
        with open(f"{folder}/{name}") as file:
            if file.read() != content:
                sys.exit(f"{name} is not what the data gives: tests/model/large/tasks.py --write")


if __name__ == "__main__":
    main()
