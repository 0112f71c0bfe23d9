#!/usr/bin/env python3
"""Makes the large office in $OFFICE/env: the small one, and `large/NAME.json` for each hosted server, workbooks, and more people in the graph.
Deterministic. `tasks.py` computes the answers from the names of this module."""
import json
import os
import random
import re
import subprocess
import sys
import zipfile
from datetime import datetime, timedelta, timezone
from xml.sax.saxutils import escape
from zoneinfo import ZoneInfo

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import make_office as small  # noqa: E402  Makes files, shop, repository and graph.

R = random.Random(4107)
ENV = small.B
UTC = timezone.utc


def iso(at):
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def between(first, last):
    """A moment between two, in whole seconds."""
    return first + timedelta(seconds=R.randint(0, int((last - first).total_seconds())))


def day(year, month, number, hour=0):
    return datetime(year, month, number, hour, tzinfo=UTC)


START, END = day(2026, 1, 1), day(2026, 3, 31, 20)

# ---- people
MORE = ["Sana Iqbal", "Tomás Vidal", "Ulla Brandt", "Victor Chen", "Wanda Kowalska", "Ximena Paz", "Yusuf Demir", "Zoe Laurent", "Arun Mehta",
        "Bea Lindqvist", "Carlos Prado", "Dina Haddad", "Emil Sorensen", "Fatou Diallo", "Gio Conti"]
MORE_TEAMS = ["Sales", "Sales", "Sales", "Sales", "Sales", "Finance", "Finance", "Platform", "Platform", "Storefront", "Storefront", "Data", "Data", "Support", "Support"]
ZONES = ["Asia/Karachi", "America/Bogota", "Europe/Berlin", "Asia/Singapore", "Europe/Warsaw", "America/Lima", "Europe/Istanbul", "Europe/Paris",
         "Asia/Kolkata", "Europe/Stockholm", "America/Sao_Paulo", "Asia/Beirut", "Europe/Copenhagen", "Africa/Dakar", "Europe/Rome"]
plain = str.maketrans("áéíóúüöäø", "aeiouuoao")
STAFF = [dict(name=p[0], email=p[1], team=p[2], tz=p[3]) for p in small.PEOPLE]
STAFF += [dict(name=n, email=n.lower().translate(plain).replace(" ", ".") + "@acme.example", team=t, tz=z) for n, t, z in zip(MORE, MORE_TEAMS, ZONES)]
for number, person in enumerate(STAFF):
    first, last = person["email"].split("@")[0].split(".")
    person |= dict(login=first[0] + last, chat="U0" + format(7919 * (number + 11) % 46656, "05X"), number=number + 1)
TEAM = lambda name: [person for person in STAFF if person["team"] == name]
ENGINEERS = TEAM("Platform") + TEAM("Storefront") + TEAM("Data")

# ---- CRM
LEFT = ["Nordwind", "Alta", "Bluebird", "Cedar", "Delphi", "Ember", "Fjord", "Granite", "Harbor", "Iris", "Juniper", "Kestrel"]
RIGHT = ["Logistics", "Foods", "Clinics", "Hotels", "Textiles", "Energy", "Schools", "Motors"]
PLACES = [("Germany", "Europe/Berlin"), ("France", "Europe/Paris"), ("Spain", "Europe/Madrid"), ("United States", "America/New_York"),
          ("Japan", "Asia/Tokyo"), ("Brazil", "America/Sao_Paulo"), ("Norway", "Europe/Oslo")]
COMPANIES, seen = [], set()
while len(COMPANIES) < 64:
    name = f"{R.choice(LEFT)} {R.choice(RIGHT)}"
    if name in seen:
        continue
    seen.add(name)
    country, zone = R.choices(PLACES, [6, 5, 3, 5, 2, 2, 2])[0]
    COMPANIES.append(dict(id=str(70010 + 17 * len(COMPANIES)), name=name, domain=name.lower().replace(" ", "-") + ".example", country=country, tz=zone,
                          industry=name.split()[1], tier=R.choices(["enterprise", "mid", "small"], [4, 4, 4])[0], employees=R.randint(8, 4000),
                          owner=R.choice(TEAM("Sales"))["email"], created=iso(between(day(2023, 1, 1), day(2025, 12, 20)))))
CONTACTS, used = [], set()
for company in COMPANIES:
    for _ in range(R.randint(1, 4)):
        name = f"{R.choice(small.FN)} {R.choice(small.LN)}"
        email = name.lower().replace("'", "").replace(" ", ".") + "@" + company["domain"]
        if email not in used:
            used.add(email)
            CONTACTS.append(dict(id=str(91001 + 3 * len(CONTACTS)), name=name, email=email, company=company["id"],
                                 role=R.choice(["buyer", "finance", "technical", "executive"]), subscribed=R.random() < .7,
                                 last_contacted=iso(between(START, END)) if R.random() < .8 else None))
STAGES = ["appointment", "qualified", "proposal", "negotiation", "closed_won", "closed_lost"]
DEALS = []
for number in range(236):
    company = R.choice(COMPANIES)
    stage = R.choices(STAGES, [4, 4, 4, 3, 6, 4])[0]
    created = between(day(2025, 7, 1), day(2026, 3, 20))
    DEALS.append(dict(id=str(500100 + 7 * number), name=f"{company['name']} {R.choice(['renewal', 'expansion', 'pilot', 'new business'])} {number + 1}",
                      company=company["id"], stage=stage, amount=R.randint(8, 900) * 100, owner=company["owner"] if R.random() < .85 else R.choice(TEAM("Sales"))["email"],
                      created=iso(created), close=(created + timedelta(days=R.randint(10, 160))).strftime("%Y-%m-%d"), source=R.choice(["inbound", "referral", "event", "outbound"])))

# ---- billing: amounts in cents, times in seconds
stamp = lambda at: int(at.timestamp())
PLANS = dict(starter=4900, team=19900, business=59900, enterprise=190000)
CUSTOMERS, SUBSCRIPTIONS, INVOICES, CHARGES, REFUNDS, DISPUTES = [], [], [], [], [], []
tag = lambda prefix, number: f"{prefix}_{(number * 2654435761 + 97) % 2 ** 32:08x}"
for company in COMPANIES[:58]:
    number = len(CUSTOMERS)
    customer = dict(id=tag("cus", number), name=company["name"], email="billing@" + company["domain"], crm=company["id"] if R.random() < .85 else None,
                    currency="usd" if company["country"] in ("United States", "Brazil") else "eur", created=stamp(between(day(2024, 1, 1), day(2025, 12, 1))), delinquent=False)
    CUSTOMERS.append(customer)
    plan = R.choices(list(PLANS), [4, 5, 4, 2])[0]
    status = R.choices(["active", "past_due", "canceled", "trialing"], [12, 2, 3, 1])[0]
    canceled = between(day(2026, 1, 10), END) if status == "canceled" else None
    sub = dict(id=tag("sub", number), customer=customer["id"], plan=plan, status=status, quantity=R.randint(1, 12), canceled=stamp(canceled) if canceled else None,
               reason=R.choice(["too_expensive", "missing_features", "switched_service", "unused"]) if canceled else None)
    SUBSCRIPTIONS.append(sub)
    for month in (10, 11, 12, 13, 14, 15):
        at = day(2025 + (month - 1) // 12, (month - 1) % 12 + 1, R.randint(1, 9), R.randint(6, 20))
        if status == "trialing" or canceled and at > canceled:
            continue
        paid = R.random() < (.6 if status == "past_due" else .93)
        total = PLANS[plan] * sub["quantity"] + R.choice([0, 0, 0, 1250, 9900])
        invoice = dict(id=tag("in", len(INVOICES)), number=f"AC-{len(INVOICES) + 1001}", customer=customer["id"], status="paid" if paid else R.choices(["open", "uncollectible", "void"], [6, 2, 1])[0],
                       total=total, created=stamp(at), due=stamp(at + timedelta(days=14)), paid_at=stamp(at + timedelta(hours=R.randint(2, 700))) if paid else None)
        INVOICES.append(invoice)
        tries = R.choices([0, 1, 2], [8, 2, 1])[0] if paid else R.randint(1, 3)
        for attempt in range(tries + paid):
            failed = attempt < tries
            charge = dict(id=tag("ch", len(CHARGES)), customer=customer["id"], invoice=invoice["id"], amount=total, created=invoice["created"] + 86400 * attempt,
                          status="failed" if failed else "succeeded", failure=R.choice(["card_declined", "insufficient_funds", "expired_card"]) if failed else None, refunded=0)
            CHARGES.append(charge)
            if not failed and R.random() < .12:
                charge["refunded"] = R.choice([total, total // 2, 2500])
                REFUNDS.append(dict(id=tag("re", len(REFUNDS)), charge=charge["id"], amount=charge["refunded"], created=charge["created"] + R.randint(3600, 20 * 86400),
                                    reason=R.choice(["requested_by_customer", "duplicate", "fraudulent"])))
            elif not failed and R.random() < .04:
                DISPUTES.append(dict(id=tag("dp", len(DISPUTES)), charge=charge["id"], amount=total, created=charge["created"] + 5 * 86400, status=R.choice(["needs_response", "won", "lost"])))
    customer["delinquent"] = any(i["status"] in ("open", "uncollectible") for i in INVOICES if i["customer"] == customer["id"])

# ---- tracker: issues, pull requests, runs of workflows
VERBS = ["Fix", "Improve", "Investigate", "Remove", "Document", "Add"]
THINGS = ["login loop", "slow export", "tax rounding", "broken webhook", "empty invoice", "search index", "cart badge", "retry storm", "mobile layout", "rate limit", "price cache", "audit trail"]
MENTIONED = sorted(set(re.findall(r"T-\d+", subprocess.run(["git", "-C", f"{ENV}/repo", "log", "--format=%B"], check=True, capture_output=True, text=True).stdout)))
PROJECTS = {"WEB": TEAM("Storefront"), "API": TEAM("Platform"), "OPS": TEAM("Platform") + TEAM("Data")}
SPRINTS = [dict(id=f"SPR-{n + 1}", name=f"2026 sprint {n + 1}", starts=(day(2026, 1, 5) + timedelta(days=14 * n)).strftime("%Y-%m-%d"),
                ends=(day(2026, 1, 18) + timedelta(days=14 * n)).strftime("%Y-%m-%d")) for n in range(6)]
ISSUES, PULLS, RUNS = [], [], []
count = dict.fromkeys(PROJECTS, 100)
for _ in range(372):
    project = R.choices(list(PROJECTS), [4, 5, 3])[0]
    count[project] += 1
    created = between(START, END)
    state = R.choices(["todo", "in_progress", "in_review", "done", "canceled"], [4, 3, 2, 9, 1])[0]
    closed = created + timedelta(hours=R.randint(3, 900)) if state in ("done", "canceled") else None
    labels = sorted(R.sample(["bug", "feature", "chore", "security", "regression", "docs"], R.choice([1, 1, 2])))
    company = R.choice(COMPANIES) if R.random() < .35 else None
    ISSUES.append(dict(key=f"{project}-{count[project]}", project=project, title=f"{R.choice(VERBS)} {R.choice(THINGS)} in {R.choice(small.SERV)}", state=state,
                       priority=R.choices(["urgent", "high", "medium", "low"], [1, 3, 5, 3])[0], labels=labels, assignee=R.choice(PROJECTS[project])["login"] if R.random() < .88 else None,
                       reporter=R.choice(STAFF)["login"], created=iso(created), closed=iso(min(closed, END)) if closed else None, estimate=R.choice([None, 1, 2, 3, 5, 8]),
                       sprint=R.choice(SPRINTS)["id"] if R.random() < .7 else None, customer=company["domain"] if company else None,
                       ticket=R.choice(MENTIONED + [t["id"] for t in small.TK]) if R.random() < .35 else None,
                       comments=[dict(by=R.choice(STAFF)["login"], at=iso(between(created, END)), text=R.choice(["Can reproduce.", "Blocked by infra.", "Fix is in review.", "Customer confirmed.", "Any update?"]))
                                 for _ in range(R.choice([0, 0, 1, 2, 3, 5]))]))
ISSUES.sort(key=lambda issue: issue["created"])
for number in range(128):
    issue = R.choice(ISSUES)
    author = R.choice(ENGINEERS)
    created = between(START, END - timedelta(days=2))
    state = R.choices(["merged", "open", "closed"], [8, 2, 1])[0]
    PULLS.append(dict(number=401 + number, title=f"{issue['title']} ({issue['key']})", issue=issue["key"], author=author["login"], state=state, created=iso(created),
                      merged=iso(created + timedelta(hours=R.randint(1, 140))) if state == "merged" else None, additions=R.randint(1, 900), deletions=R.randint(0, 500),
                      repository=R.choice(["storefront", "platform", "pipelines"]), draft=state == "open" and R.random() < .3,
                      reviews=[dict(by=p["login"], state=R.choice(["approved", "approved", "changes_requested", "commented"]), at=iso(created + timedelta(hours=R.randint(1, 60))))
                               for p in R.sample([e for e in ENGINEERS if e is not author], R.randint(0, 3))]))
for number in range(430):
    at = between(START, END)
    RUNS.append(dict(id=880000 + 13 * number, workflow=R.choice(["build", "test", "deploy", "lint"]), repository=R.choice(["storefront", "platform", "pipelines"]),
                     conclusion=R.choices(["success", "failure", "cancelled"], [12, 3, 1])[0], started=iso(at), seconds=R.randint(20, 2400), actor=R.choice(ENGINEERS)["login"],
                     branch=R.choice(["main", "main", "develop", "feature"])))
RUNS.sort(key=lambda run: run["started"], reverse=True)

# ---- chat: times are texts of seconds
CHANNELS = [dict(id="C0" + format(104729 * (n + 5) % 1679616, "05X"), name=name, members=[], topic=topic, archived=name.startswith("old"))
            for n, (name, topic) in enumerate([("general", "Company wide"), ("incidents", "One thread for each incident"), ("platform", "Team Platform"), ("storefront", "Team Storefront"),
                                               ("data", "Team Data"), ("support", "Team Support"), ("sales", "Team Sales"), ("finance", "Team Finance"), ("random", "Anything"),
                                               ("deploys", "Who deploys what"), ("customers", "News of customers"), ("old-launch", "Launch of 2024")])]
MESSAGES, last = {}, {}
for channel in CHANNELS:
    team = [p for p in STAFF if p["team"].lower() == channel["name"]]
    channel["members"] = [p["chat"] for p in (team or R.sample(STAFF, R.randint(8, 24)))]
    found = []
    for _ in range(dict(incidents=150, customers=170, deploys=160, general=130).get(channel["name"], R.randint(30, 80))):
        at = between(START, END)
        text = dict(incidents=f"{R.choice(small.SERV)} is {R.choice(['slow', 'down', 'flapping', 'back to normal'])}, see {R.choice(ISSUES)['key']}",
                    customers=f"{R.choice(COMPANIES)['name']} {R.choice(['asked for a discount', 'wants to cancel', 'is happy', 'reports a bug'])}",
                    deploys=f"deployed {R.choice(small.SERV)} {R.randint(1, 4)}.{R.randint(0, 9)}.{R.randint(0, 20)}").get(
                        channel["name"], R.choice(["lunch?", "standup notes are in the wiki", "who owns this?", "thanks!", "see " + R.choice(ISSUES)["key"], "release is out"]))
        mention = R.choice(STAFF)["chat"]
        found.append(dict(ts=f"{stamp(at)}.{R.randint(100000, 999999)}", user=R.choice(channel["members"]), text=text + (f" <@{mention}>" if R.random() < .25 else ""),
                          reactions=[dict(name=n, count=R.randint(1, 9)) for n in R.sample(["eyes", "white_check_mark", "tada", "+1"], R.choice([0, 0, 1, 2]))],
                          replies=[dict(ts=f"{stamp(at + timedelta(minutes=R.randint(1, 900)))}.{R.randint(100000, 999999)}", user=R.choice(channel["members"]),
                                        text=R.choice(["on it", "fixed", "same here", "rolled back", "looking"])) for _ in range(R.choice([0, 0, 0, 1, 3]))]))
    MESSAGES[channel["id"]] = sorted(found, key=lambda message: message["ts"], reverse=True)

# ---- mail and calendar
MAILS = []
for number in range(265):
    contact = R.choice(CONTACTS)
    at = between(START, END)
    zone = ZoneInfo(next(c for c in COMPANIES if c["id"] == contact["company"])["tz"])
    MAILS.append(dict(id=format(0x18f0000 + number * 4919, "x"), thread=format(0x18f0000 + (number - number % 3) * 4919, "x"), sender=f"{contact['name']} <{contact['email']}>",
                      to=R.choice(["support", "sales", "billing"]) + "@acme.example", subject=R.choice(["Invoice", "Renewal", "Outage", "Question about", "Complaint:"]) + " " + R.choice(small.PROD)["name"],
                      date=at.astimezone(zone).strftime("%a, %d %b %Y %H:%M:%S %z"), at=stamp(at), labels=sorted(R.sample(["INBOX", "UNREAD", "IMPORTANT", "STARRED"], R.randint(1, 3))),
                      attachments=[dict(name=R.choice(["invoice.pdf", "photo.png", "contract.docx"]), bytes=R.randint(900, 900000)) for _ in range(R.choice([0, 0, 1, 2]))],
                      body=f"Hello,\n\n{R.choice(['please send the invoice again', 'we cannot log in', 'when does it arrive', 'we want to talk about prices'])}.\nRef {R.choice(INVOICES)['number']}\n\n{contact['name']}"))
MAILS.sort(key=lambda mail: mail["at"], reverse=True)
EVENTS = []
for number in range(168):
    organizer = R.choice(STAFF)
    zone = ZoneInfo(organizer["tz"])
    date = START + timedelta(days=R.randint(4, 88))
    begins = datetime(date.year, date.month, date.day, R.randint(8, 17), R.choice([0, 15, 30]), tzinfo=zone)
    guests = R.sample(STAFF, R.randint(1, 6))
    outside = [c["email"] for c in R.sample(CONTACTS, R.choice([0, 1, 2, 3]))]
    EVENTS.append(dict(id=f"ev{number + 1:04d}", title=R.choice(["Standup", "Planning", "1:1", "Customer call", "Retro", "Interview", "Budget review"]), organizer=organizer["email"],
                       start=begins.isoformat(), end=(begins + timedelta(minutes=R.choice([15, 30, 45, 60, 90]))).isoformat(), tz=organizer["tz"], status=R.choices(["confirmed", "cancelled"], [9, 1])[0],
                       attendees=[dict(email=e, response=R.choice(["accepted", "declined", "tentative", "needsAction"])) for e in dict.fromkeys([g["email"] for g in guests] + outside)],
                       room=R.choice([None, "Oslo", "Lima", "Kyoto"])))
EVENTS.sort(key=lambda event: datetime.fromisoformat(event["start"]))

# ---- monitoring
INCIDENTS, MONITORS, LOGS, DEPLOYS, METRICS = [], [], [], [], {}
for number in range(142):
    at = between(START, END - timedelta(days=1))
    status = R.choices(["resolved", "acknowledged", "triggered"], [12, 1, 1])[0]
    INCIDENTS.append(dict(id=f"Q{1300 + number}", service=R.choice(small.SERV), severity=R.choices(["SEV1", "SEV2", "SEV3"], [1, 3, 6])[0], status=status, started=iso(at),
                          resolved=iso(at + timedelta(minutes=R.randint(4, 900))) if status == "resolved" else None, responder=R.choice(TEAM("Platform") + TEAM("Support"))["email"],
                          issue=R.choice(ISSUES)["key"] if R.random() < .6 else None, title=R.choice(["High latency", "Error rate", "Disk full", "Certificate expires", "Queue backlog"])))
INCIDENTS.sort(key=lambda incident: incident["started"])
for number in range(44):
    MONITORS.append(dict(id=6000 + number, name=f"{R.choice(small.SERV)} {R.choice(['p95 latency', 'error rate', 'cpu', 'saturation'])}", state=R.choice(["OK", "OK", "OK", "Alert", "Warn", "No Data"]),
                         muted=R.random() < .2, threshold=round(R.uniform(.5, 95), 1), owner=R.choice(["Platform", "Storefront", "Data"]), tags=R.sample(["env:prod", "env:staging", "pager", "slo"], 2)))
for service in small.SERV:
    base = R.randint(60, 400)
    METRICS[service] = [dict(at=iso(day(2026, 3, 1) + timedelta(hours=h)), p95=round(base * R.uniform(.7, 1.9) + (base if R.random() < .04 else 0), 1), errors=round(max(0, R.gauss(.8, .9)), 2),
                             requests=R.randint(200, 9000)) for h in range(24 * 14)]
for number in range(900):
    at = between(day(2026, 3, 20), END)
    level = R.choices(["info", "warn", "error"], [7, 2, 2])[0]
    LOGS.append(dict(at=at.isoformat(timespec="milliseconds"), service=R.choice(small.SERV), level=level, host=f"node-{R.randint(1, 9)}", status=R.choice([200, 201, 404, 429, 500, 502]),
                     ms=R.randint(3, 4000), customer=R.choice(COMPANIES)["domain"], message=R.choice(["request done", "upstream timeout", "retrying", "cache miss", "payment declined"])))
LOGS.sort(key=lambda log: log["at"])
for number in range(118):
    DEPLOYS.append(dict(id=3000 + number, service=R.choice(small.SERV), version=f"{R.randint(1, 4)}.{R.randint(0, 9)}.{R.randint(0, 20)}", by=R.choice(ENGINEERS)["login"], at=iso(between(START, END)),
                        status=R.choices(["succeeded", "failed", "rolled_back"], [10, 1, 2])[0]))
DEPLOYS.sort(key=lambda deploy: deploy["at"])
weeks = [day(2026, 1, 5) + timedelta(days=7 * n) for n in range(12)]
ONCALL = [dict(schedule=s, start=iso(w), end=iso(w + timedelta(days=7)), email=R.choice(TEAM(t))["email"]) for s, t in (("primary", "Platform"), ("secondary", "Support")) for w in weeks]

# ---- wiki
CATALOGUE = [dict(service=s, tier=R.randint(1, 3), owner=R.choice(ENGINEERS)["name"], slo=R.choice(["99.5 %", "99.9 %", "99.95 %"]), cost=R.randint(300, 9000)) for s in small.SERV]
PAGES = []


def page(space, title, body, labels=()):
    PAGES.append(dict(id=str(33000 + 11 * len(PAGES)), space=space, title=title, body=body, labels=list(labels), author=R.choice(STAFF)["email"], version=R.randint(1, 30),
                      updated=between(day(2025, 2, 1), END).astimezone(ZoneInfo("Europe/Berlin")).isoformat(timespec="seconds")))


def table(columns, rows):
    return "\n".join(["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns), *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


page("ENG", "Service catalogue", "# Service catalogue\n\nWho owns what, and what it costs a month.\n\n"
     + table(["Service", "Tier", "Owner", "SLO", "Cost (EUR)"], [[c["service"], c["tier"], c["owner"], c["slo"], f"{c['cost']:,}"] for c in CATALOGUE]) + "\n", ["catalogue"])
RUNBOOKS = []
for service in small.SERV:
    for topic in R.sample(["latency", "errors", "restart", "failover", "restore"], 4):
        reviewed = between(day(2025, 3, 1), day(2026, 3, 25)).strftime("%d.%m.%Y")
        steps = R.randint(3, 9)
        RUNBOOKS.append(dict(title=f"Runbook: {service} {topic}", service=service, reviewed=reviewed, steps=steps))
        page("OPS", f"Runbook: {service} {topic}", f"# {service}: {topic}\n\nLast reviewed: {reviewed}\nSeverity from: SEV{R.randint(1, 3)}\n\n## Steps\n\n"
             + "\n".join(f"{n + 1}. {R.choice(['check the dashboard', 'drain a node', 'call the owner', 'roll back', 'clear the cache'])}" for n in range(steps)) + "\n", ["runbook", service])
DISCOUNTS = {c["domain"]: R.randint(3, 25) for c in R.sample(COMPANIES, 22)}
page("SALES", "Agreed discounts", "Agreed with the finance team, valid for 2026.\n\n" + table(["Domain", "Discount"], [[d, f"{p} %"] for d, p in DISCOUNTS.items()]) + "\n", ["pricing"])
HOLIDAYS = [dict(date=f"2026-{m:02d}-{d:02d}", country=c, name=n) for m, d, c, n in
            [(1, 1, "Germany", "New Year"), (1, 6, "Germany", "Epiphany"), (1, 6, "Spain", "Epiphany"), (2, 11, "Japan", "Foundation Day"), (2, 23, "Japan", "Emperor's Birthday"),
             (2, 17, "Brazil", "Carnival"), (1, 19, "United States", "M. L. King Day"), (2, 16, "United States", "Presidents' Day"), (3, 20, "Japan", "Equinox"), (2, 16, "Germany", "Rose Monday"), (2, 16, "Brazil", "Carnival"), (2, 18, "Brazil", "Ash Wednesday"), (3, 9, "Germany", "Works outing"), (1, 23, "France", "Inventory day"),
             (2, 27, "France", "Company day"), (3, 27, "France", "Bridge day"), (3, 30, "Norway", "Easter week"), (3, 2, "United States", "Founders' Day"), (2, 27, "Spain", "Andalusia Day"), (3, 19, "Spain", "St. Joseph")]]
page("HR", "Public holidays 2026", table(["Date", "Country", "Name"], [[h["date"], h["country"], h["name"]] for h in HOLIDAYS]) + "\n", ["hr"])
for number in range(46):
    page(R.choice(["ENG", "SALES", "HR", "OPS"]), f"{R.choice(['Notes', 'Proposal', 'Review', 'Plan'])} {number + 1}: {R.choice(THINGS)}", "Lorem ipsum " * R.randint(4, 60) + f"\n\nSee {R.choice(ISSUES)['key']}.\n",
         R.sample(["draft", "archived", "decision"], R.randint(0, 2)))

# ---- workbooks
VENDORS = [dict(vendor=f"{R.choice(LEFT)} {R.choice(['Supplies', 'Cloud', 'Travel', 'Legal', 'Print'])} {n}", category=R.choice(["cloud", "travel", "office", "legal"]), contract_end=(day(2026, 1, 1) + timedelta(days=R.randint(0, 500))).strftime("%Y-%m-%d"),
                yearly_cost=R.randint(5, 900) * 100, owner=R.choice(STAFF)["email"], service=R.choice(small.SERV + [""])) for n in range(160)]
BUDGET = [dict(team=t, month=f"2026-{m:02d}", planned=R.randint(100, 400) * 100, spent=R.randint(80, 450) * 100) for t in ("Platform", "Storefront", "Data", "Support", "Sales", "Finance") for m in range(1, 7)]
TARGETS = [dict(rep=p["email"], quarter=q, target=R.randint(200, 700) * 1000) for p in TEAM("Sales") for q in ("2025-Q4", "2026-Q1", "2026-Q2")]


def column(number):
    return chr(65 + number)


def workbook(path, sheets):
    """An .xlsx of sheets, each a list of equal dicts."""
    def cell(at, value):
        if isinstance(value, (int, float)):
            return f'<c r="{at}"><v>{value}</v></c>'
        return f'<c r="{at}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    head, main = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n', "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        write = lambda name, text: book.writestr(zipfile.ZipInfo(name, (2026, 4, 1, 0, 0, 0)), head + text)
        kinds = "".join(f'<Override PartName="/xl/worksheets/sheet{n + 1}.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>' for n in range(len(sheets)))
        write("[Content_Types].xml", '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
              '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>' + kinds + "</Types>")
        write("_rels/.rels", f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="{rel}/officeDocument" Target="xl/workbook.xml"/></Relationships>')
        names = "".join(f'<sheet name="{name}" sheetId="{n + 1}" r:id="r{n + 1}"/>' for n, name in enumerate(sheets))
        write("xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{rel}"><sheets>{names}</sheets></workbook>')
        links = "".join(f'<Relationship Id="r{n + 1}" Type="{rel}/worksheet" Target="worksheets/sheet{n + 1}.xml"/>' for n in range(len(sheets)))
        write("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{links}</Relationships>')
        for n, rows in enumerate(sheets.values()):
            lines = [list(rows[0])] + [list(row.values()) for row in rows]
            data = "".join(f'<row r="{y + 1}">' + "".join(cell(column(x) + str(y + 1), v) for x, v in enumerate(line)) + "</row>" for y, line in enumerate(lines))
            write(f"xl/worksheets/sheet{n + 1}.xml", f'<worksheet xmlns="{main}"><sheetData>{data}</sheetData></worksheet>')


def main():
    folder = f"{ENV}/large"
    os.makedirs(folder, exist_ok=True)
    data = dict(
        tracker=dict(staff=STAFF, issues=ISSUES, pulls=PULLS, runs=RUNS, sprints=SPRINTS, projects={p: [m["login"] for m in ms] for p, ms in PROJECTS.items()}),
        chat=dict(staff=STAFF, channels=CHANNELS, messages=MESSAGES),
        crm=dict(staff=[p for p in STAFF if p["team"] == "Sales"], companies=COMPANIES, contacts=CONTACTS, deals=DEALS, stages=STAGES),
        mail=dict(staff=STAFF, mails=MAILS, events=EVENTS),
        billing=dict(customers=CUSTOMERS, subscriptions=SUBSCRIPTIONS, invoices=INVOICES, charges=CHARGES, refunds=REFUNDS, disputes=DISPUTES, plans=PLANS),
        monitoring=dict(incidents=INCIDENTS, monitors=MONITORS, logs=LOGS, deploys=DEPLOYS, metrics=METRICS, oncall=ONCALL, services=small.SERV),
        wiki=dict(pages=PAGES))
    for name, value in data.items():
        with open(f"{folder}/{name}.json", "w") as file:
            json.dump(value, file)
    workbook(f"{ENV}/books/finance/budget-2026.xlsx", {"Budget": BUDGET, "Targets": TARGETS})
    workbook(f"{ENV}/books/vendors.xlsx", {"Vendors": VENDORS})
    with open(f"{ENV}/memory.jsonl", "a") as file:
        for team in ("Sales", "Finance"):
            file.write(json.dumps(dict(type="entity", name=team, entityType="team", observations=[f"channel: #{team.lower()}"])) + "\n")
        for person in STAFF[len(small.PEOPLE):]:
            facts = [f"email: {person['email']}", f"timezone: {person['tz']}", f"login: {person['login']}"]
            file.write(json.dumps(dict(type="entity", name=person["name"], entityType="person", observations=facts)) + "\n")
            file.write(json.dumps({"type": "relation", "from": person["name"], "to": person["team"], "relationType": "member_of"}) + "\n")


if __name__ == "__main__":
    main()
