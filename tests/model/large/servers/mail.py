"""A mailbox and a calendar. Lists of messages give ids only; pages go by `pageToken`; no tool is annotated."""
from datetime import datetime, timedelta

from hosted import Bad, Server, Text, one

server = Server("mail")
data = DATA  # noqa: F821
PAGE = "pageToken s nextPageToken of the previous page"


def paged(key, items, a, size):
    token = a.get("pageToken", "p0")
    if not token.startswith("p") or not token[1:].isdigit():
        raise Bad("Invalid pageToken")
    at = int(token[1:])
    return {key: items[at:at + size], "resultSizeEstimate": len(items)} | ({"nextPageToken": f"p{at + size}"} if at + size < len(items) else {})


def holds(mail, query):
    """The search language: from:, to:, subject:, label:, after:, before:, has:attachment, and words."""
    for word in query.split():
        name, _, value = word.partition(":")
        value = value.lower()
        tests = {"from": lambda: value in mail["sender"].lower(), "to": lambda: value in mail["to"], "subject": lambda: value in mail["subject"].lower(), "label": lambda: value.upper() in mail["labels"],
                 "has": lambda: value == "attachment" and bool(mail["attachments"]), "is": lambda: value.upper() in mail["labels"]}
        if name in ("after", "before"):
            try:
                at = datetime.strptime(value + " +0000", "%Y/%m/%d %z").timestamp()
            except ValueError:
                raise Bad(f"Invalid date in query: {value}; write YYYY/MM/DD")
            if (mail["at"] >= at) != (name == "after"):
                return False
        elif not (tests[name]() if name in tests else word.lower() in (mail["subject"] + mail["body"]).lower()):
            return False
    return True


@server.tool("search_emails", "Searches messages with the query language of the mail box: from:, to:, subject:, label:, is:unread, has:attachment, after:2026/01/31, before:2026/02/28 (midnight UTC) and words. Newest first. Gives ids only; read_email gives the message.",
             "query s! Query", "maxResults i=20 Ids a page, at most 100", PAGE, reads=None)
def _(a):
    size = max(1, min(a["maxResults"], 100))
    return paged("messages", [{"id": m["id"], "threadId": m["thread"]} for m in data["mails"] if holds(m, a["query"])], a, size)


@server.tool("read_email", "Reads a message: headers and body as text.", "messageId s! Id of the message", reads=None, slow=.02)
def _(a):
    m = one(data["mails"], "id", a["messageId"], "Message")
    files = "".join(f"\n- {f['name']} ({f['bytes']} bytes)" for f in m["attachments"])
    return Text(f"Thread ID: {m['thread']}\nSubject: {m['subject']}\nFrom: {m['sender']}\nTo: {m['to']}\nDate: {m['date']}\nLabels: {', '.join(m['labels'])}\n\n{m['body']}" + (f"\n\nAttachments ({len(m['attachments'])}):{files}" if files else ""))


@server.tool("read_emails_batch", "Reads headers of up to 25 messages at once: from, to, subject, date, labels and number of attachments, without bodies.", "messageIds s[]! Ids of messages", reads=None)
def _(a):
    if len(a["messageIds"]) > 25:
        raise Bad(f"too many ids: {len(a['messageIds'])}, at most 25")
    return [{"id": m["id"], "payload": {"headers": [{"name": n, "value": v} for n, v in (("From", m["sender"]), ("To", m["to"]), ("Subject", m["subject"]), ("Date", m["date"]))]}, "labelIds": m["labels"], "attachmentCount": len(m["attachments"])}
            for m in (one(data["mails"], "id", i, "Message") for i in a["messageIds"])]


@server.tool("list_threads", "Threads with the number of their messages, newest first.", "maxResults i=20 Threads a page, at most 50", PAGE, reads=None)
def _(a):
    count = {}
    for m in data["mails"]:
        count[m["thread"]] = count.get(m["thread"], 0) + 1
    return paged("threads", [{"id": i, "messageCount": n} for i, n in count.items()], a, max(1, min(a["maxResults"], 50)))


@server.tool("list_email_labels", "Labels of the mail box, with numbers of messages.", reads=None)
def _(a):
    return {"labels": [{"id": n, "messagesTotal": sum(n in m["labels"] for m in data["mails"])} for n in ("INBOX", "UNREAD", "IMPORTANT", "STARRED")]}


def event(e):
    return {"id": e["id"], "summary": e["title"], "status": e["status"], "organizer": {"email": e["organizer"]}, "start": {"dateTime": e["start"], "timeZone": e["tz"]}, "end": {"dateTime": e["end"], "timeZone": e["tz"]},
            "attendees": [{"email": p["email"], "responseStatus": p["response"]} for p in e["attendees"]]} | ({"location": e["room"]} if e["room"] else {})


@server.tool("calendar_list_events", "Events of all calendars of the company that begin in a span, in order of start. Times have the offset of the organizer's zone.", "timeMin s RFC 3339 time with offset; events that start at or after it",
             "timeMax s RFC 3339 time with offset; events that start before it", "q s Text in the title", "maxResults i=25 Events a page, no more than 50", "showCancelled b=false Cancelled events too", PAGE, reads=None)
def _(a):
    try:
        low, high = (datetime.fromisoformat(a[k].replace("Z", "+00:00")).timestamp() if k in a else None for k in ("timeMin", "timeMax"))
    except ValueError:
        raise Bad("Bad Request: timeMin and timeMax must be RFC 3339 times")
    found = [event(e) for e in data["events"] if (a["showCancelled"] or e["status"] != "cancelled") and a.get("q", "").lower() in e["title"].lower()
             and (low is None or datetime.fromisoformat(e["start"]).timestamp() >= low) and (high is None or datetime.fromisoformat(e["start"]).timestamp() < high)]
    return paged("items", found, a, max(1, min(a["maxResults"], 50)))


@server.tool("calendar_get_event", "One event.", "eventId s! Id of the event", reads=None)
def _(a):
    return event(one(data["events"], "id", a["eventId"], "Event"))


@server.tool("calendar_freebusy", "Busy spans of people in a span of at most 14 days, in UTC. An event is busy for its organizer and for attendees who accepted.", "emails s[]! E-mail addresses", "timeMin s! RFC 3339 time", "timeMax s! RFC 3339 time", reads=None, slow=.3)
def _(a):
    low, high = (datetime.fromisoformat(a[k].replace("Z", "+00:00")) for k in ("timeMin", "timeMax"))
    if high - low > timedelta(days=14):
        raise Bad("The requested time range is too long: 14 days at most")
    utc = lambda t: t.astimezone(datetime.fromisoformat("2026-01-01T00:00:00+00:00").tzinfo).strftime("%Y-%m-%dT%H:%M:%SZ")
    spans = [(datetime.fromisoformat(e["start"]), datetime.fromisoformat(e["end"]), {e["organizer"]} | {p["email"] for p in e["attendees"] if p["response"] == "accepted"}) for e in data["events"] if e["status"] == "confirmed"]
    return {"calendars": {mail: {"busy": [{"start": utc(s), "end": utc(t)} for s, t, who in spans if mail in who and s < high and t > low]} for mail in a["emails"]}}


@server.tool("calendar_list_calendars", "Calendars that you can see.", reads=None)
def _(a):
    return {"items": [{"id": p["email"], "summary": p["name"], "timeZone": p["tz"]} for p in data["staff"]]}


@server.tool("calendar_list_rooms", "Rooms that can be booked.", reads=None)
def _(a):
    return Text("Oslo: 12 seats\nLima: 6 seats\nKyoto: 4 seats\n")


ID, EVENT = "messageId s! Id of the message", "eventId s! Id of the event"
for name, description, lines in (
        ("send_email", "Sends a message.", ["to s[]! Addresses", "subject s! Subject", "body s! Text", "cc s[] Addresses", "inReplyTo s Id of the message that is answered"]),
        ("draft_email", "Writes a draft.", ["to s[]! Addresses", "subject s! Subject", "body s! Text"]),
        ("modify_email", "Changes labels of a message.", [ID, "addLabelIds s[] Labels to add", "removeLabelIds s[] Labels to remove"]),
        ("delete_email", "Deletes a message for good.", [ID]),
        ("create_filter", "Makes a filter for new messages.", ["query s! Query", "addLabelIds s[]! Labels to add"]),
        ("calendar_create_event", "Makes an event and invites attendees.", ["summary s! Title", "start s! RFC 3339 time", "end s! RFC 3339 time", "attendees s[] E-mail addresses", "timeZone s IANA time zone", "location s Room"]),
        ("calendar_update_event", "Changes an event.", [EVENT, "summary s Title", "start s RFC 3339 time", "end s RFC 3339 time"]),
        ("calendar_delete_event", "Deletes an event.", [EVENT]),
        ("calendar_respond", "Answers an invitation.", [EVENT, "response accepted|declined|tentative! Answer"]),
        ("set_vacation_responder", "Answers messages while you are away.", ["start d! First day", "end d! Last day", "text s! Text"])):
    server.write(name, description, *lines, reads=None, reply=lambda a, name=name: Text(f"{name}: done"))
