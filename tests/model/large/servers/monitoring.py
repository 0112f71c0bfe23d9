"""Monitoring: incidents, monitors, metrics, logs, deployments and who is on call. Offsets with `more`, next URLs, JSON lines, CSV and a Python literal."""
from datetime import datetime
from urllib.parse import parse_qs, urlencode, urlparse

from hosted import Bad, Server, Text, csv, json_lines, one

server = Server("monitoring", "Times are UTC unless they carry an offset.", page=12)
data = DATA  # noqa: F821
SERVICE = "service s Only this service"
SPAN = ["since s Only what started at or after this ISO 8601 time (UTC)", "until s Only what started before this ISO 8601 time (UTC)"]


def incident(i):
    return {"id": i["id"], "title": i["title"], "service": {"summary": i["service"]}, "severity": i["severity"], "status": i["status"], "created_at": i["started"], "resolved_at": i["resolved"],
            "assignments": [{"assignee": {"email": i["responder"]}}], "external_references": [{"external_id": i["issue"], "kind": "issue"}] if i["issue"] else []}


@server.tool("list_incidents", "Incidents in order of their start. Classic pagination: raise offset by limit while more is true; total is not computed.", SERVICE, "severity SEV1|SEV2|SEV3 Only this severity",
             "statuses s[] Only these: triggered, acknowledged, resolved", *SPAN, "limit i=25 Incidents a page (at most 100)", "offset i=0 How many to leave out")
def _(a):
    found = [i for i in data["incidents"] if all(a.get(k) in (None, i[k]) for k in ("service", "severity")) and (not a.get("statuses") or i["status"] in a["statuses"]) and a.get("since", "") <= i["started"] < a.get("until", "9")]
    size = max(1, min(a["limit"], 100))
    return {"incidents": [incident(i) for i in found[a["offset"]:a["offset"] + size]], "limit": size, "offset": a["offset"], "total": None, "more": a["offset"] + size < len(found)}


@server.tool("get_incident", "One incident.", "incident_id s! Id of the incident", slow=.05)
def _(a):
    return {"incident": incident(one(data["incidents"], "id", a["incident_id"], "Incident"))}


@server.tool("list_oncall_shifts", "Who is on call: shifts of a schedule, a week each.", "schedule primary|secondary! Schedule", *SPAN)
def _(a):
    return {"schedule": a["schedule"], "final_schedule": {"rendered_schedule_entries": [{"start": s["start"], "end": s["end"], "user": {"email": s["email"]}} for s in data["oncall"] if s["schedule"] == a["schedule"] and a.get("since", "") <= s["start"] < a.get("until", "9")]}}


@server.tool("list_monitors", "All monitors with state and owner team. Text form of a Python list.", "group_states OK|Alert|Warn|No_Data Only monitors in this state")
def _(a):
    wanted = (a.get("group_states") or "").replace("_", " ")
    return Text(repr([{"id": m["id"], "name": m["name"], "overall_state": m["state"], "muted": m["muted"], "threshold": m["threshold"], "team": m["owner"], "tags": m["tags"]} for m in data["monitors"] if wanted in ("", m["state"])]))


@server.tool("get_monitor", "One monitor.", "monitor_id i! Id of the monitor")
def _(a):
    return one(data["monitors"], "id", a["monitor_id"], "Monitor")


@server.tool("query_metrics", "Values of a metric of a service, an hour each, as CSV with the columns time and value. Data from 2026-03-01 on, for 14 days; a query covers at most 7 days (168 values), later ones are left out.", "service s! Name of the service",
             "metric p95|errors|requests! p95 latency in ms, error rate in percent, or number of requests", "from s! First hour, ISO 8601 (UTC)", "to s! End, ISO 8601 (UTC), not included", slow=.1)
def _(a):
    if a["service"] not in data["metrics"]:
        raise Bad(f"unknown service {a['service']}")
    found = [m for m in data["metrics"][a["service"]] if a["from"] <= m["at"] < a["to"]][:168]
    return Text(csv(["time", "value"], [[m["at"], m[a["metric"]]] for m in found]))


@server.tool("search_logs", "Log lines as JSON lines, oldest first, 100 at most. If there is more, the last line is {\"next_url\": …}; give it to get_next_page.", SERVICE, "level info|warn|error Only this level", "from s First moment, ISO 8601 (UTC)",
             "to s End, ISO 8601 (UTC)", "query s Text in the message", rate=(10, 1))
def _(a):
    found = [line for line in data["logs"] if a.get("service") in (None, line["service"]) and a.get("level") in (None, line["level"]) and a.get("query", "") in line["message"] and a.get("from", "") <= line["at"] < a.get("to", "9")]
    at = a.get("at", 0)
    rest = {k: v for k, v in a.items() if k != "at"} | {"at": at + 100}
    return json_lines(found[at:at + 100] + ([{"next_url": "https://logs.acme.example/v2/search?" + urlencode(rest)}] if at + 100 < len(found) else []))


@server.tool("get_next_page", "The next page of a search for logs.", "next_url s! The next_url of the page before")
def _(a):
    given = {key: values[0] for key, values in parse_qs(urlparse(a["next_url"]).query).items()}
    if not given.get("at", "").isdigit():
        raise Bad("not a next_url of this server")
    return server.call("search_logs", given | {"at": int(given["at"])})


@server.tool("list_deployments", "Deployments, oldest first: who deployed which version. Paged by page_number from 0; total_pages tells how many there are.", SERVICE, "status succeeded|failed|rolled_back Only these", "page_number i=0 Page, from 0",
             "page_size i=20 Deployments a page, up to 40")
def _(a):
    found = [d for d in data["deploys"] if all(a.get(k) in (None, d[k]) for k in ("service", "status"))]
    size, at = max(1, min(a["page_size"], 40)), a["page_number"]
    return {"meta": {"page_number": at, "page_size": size, "total_pages": -(-len(found) // size)}, "deployments": [{"id": d["id"], "service": d["service"], "version": d["version"], "deployed_by": d["by"],
            "finished": datetime.fromisoformat(d["at"].replace("Z", "+00:00")).strftime("%m/%d/%Y %I:%M:%S %p"), "status": d["status"]} for d in found[at * size:(at + 1) * size]]}


@server.tool("list_services", "Services that are monitored.")
def _(a):
    return Text("\n".join(data["services"]))


@server.tool("get_slo_status", "Whether a service keeps its objective this month.", "service s! Name of the service")
def _(a):
    return Text(f"Service: {a['service']}\nObjective: 99.9 %\nStatus: {'met' if len(a['service']) % 2 else 'at risk'}\n")


@server.tool("list_dashboards", "Dashboards by title and URL.")
def _(a):
    return [{"title": f"{s} overview", "url": f"https://dash.acme.example/d/{s}"} for s in data["services"]]


@server.tool("list_downtimes", "Planned downtimes.")
def _(a):
    return {"downtimes": []}


INCIDENT, MONITOR = "incident_id s! Id of the incident", "monitor_id i! Id of the monitor"
for name, description, lines in (
        ("create_incident", "Opens an incident and pages who is on call.", ["title s! Title", "service s! Service", "severity SEV1|SEV2|SEV3! Severity"]),
        ("acknowledge_incident", "Acknowledges an incident.", [INCIDENT]),
        ("resolve_incident", "Resolves an incident.", [INCIDENT, "note s What was done"]),
        ("add_incident_note", "Adds a note to an incident.", [INCIDENT, "content s! Text"]),
        ("mute_monitor", "Mutes a monitor.", [MONITOR, "end s Until when"]),
        ("create_monitor", "Makes a monitor.", ["name s! Name", "query s! Query", "threshold n! Threshold"]),
        ("delete_monitor", "Deletes a monitor.", [MONITOR]),
        ("override_oncall", "Puts somebody else on call.", ["schedule primary|secondary! Schedule", "email s! Who", "start s! From", "end s! To"]),
        ("create_downtime", "Plans a downtime.", ["service s! Service", "start s! From", "end s! To"])):
    server.write(name, description, *lines)
