"""A chat of channels and threads. Results are CSV where lists of people and channels are asked for; a cursor stands in the last column of the last row."""
import re

from hosted import Server, Text, csv, one

server = Server("chat", closed=True, slower='{"ok":false,"error":"ratelimited","retry_after":1}')
data = DATA  # noqa: F821
NAMES = {c["name"]: c for c in data["channels"]}
CHANNEL = "channel_id s! Id of the channel, for example C0A1B2C; names such as #general are not accepted"


def channel(a):
    return one(data["channels"], "id", a["channel_id"], "channel_not_found")


def paged(rows, a, most):
    size = max(1, min(a["limit"], most))
    at = int(a["cursor"].removeprefix("next:")) if re.fullmatch(r"next:\d+", a.get("cursor") or "next:0") and a.get("cursor") else 0
    return rows[at:at + size], f"next:{at + size}" if at + size < len(rows) else ""


@server.tool("channels_list", "Channels of the workspace as CSV. The last column of the last row holds the cursor of the next page, if there is one.", "include_archived b=false Archived channels too",
             "limit i=5 Rows a page, at most 10", "cursor s Cursor of the next page")
def _(a):
    rows, cursor = paged([c for c in data["channels"] if a["include_archived"] or not c["archived"]], a, 10)
    return Text(csv(["ID", "Name", "Topic", "MemberCount", "Cursor"], [[c["id"], "#" + c["name"], c["topic"], len(c["members"]), cursor if c is rows[-1] else ""] for c in rows]))


@server.tool("users_search", "Find people by name, e-mail address or display name. CSV.", "query s! Part of a name or address", "limit i<=50=10 Most rows", rate=(15, 2))
def _(a):
    q = a["query"].lower()
    found = [p for p in data["staff"] if q in p["name"].lower() or q in p["email"]]
    return Text(csv(["UserID", "UserName", "RealName", "Email"], [[p["chat"], p["login"], p["name"], p["email"]] for p in found[:a["limit"]]]))


@server.tool("users_list", "All people of the workspace as CSV, a page at a time.", "limit i=10 Rows a page, at most 15", "cursor s Cursor of the next page")
def _(a):
    rows, cursor = paged(data["staff"], a, 15)
    return Text(csv(["UserID", "UserName", "RealName", "Email", "TimeZone", "Cursor"], [[p["chat"], p["login"], p["name"], p["email"], p["tz"], cursor if p is rows[-1] else ""] for p in rows]))


@server.tool("user_profile", "Profile of one person.", "user_id s! Id of the person, for example U01ABCD")
def _(a):
    p = one(data["staff"], "chat", a["user_id"], "user_not_found")
    return {"ok": True, "user": {"id": p["chat"], "name": p["login"], "tz": p["tz"], "profile": {"real_name": p["name"], "email": p["email"], "title": p["team"]}}}


@server.tool("channel_members", "Ids of the members of a channel.", CHANNEL)
def _(a):
    return {"ok": True, "members": channel(a)["members"], "response_metadata": {"next_cursor": ""}}


def message(m):
    found = {"type": "message", "user": m["user"], "text": m["text"], "ts": m["ts"]}
    if m.get("replies"):
        found |= {"thread_ts": m["ts"], "reply_count": len(m["replies"])}
    return found | ({"reactions": m["reactions"]} if m.get("reactions") else {})


@server.tool("conversations_history", "Messages of a channel, newest first, without the replies in threads. ts is the time in seconds since 1970 (UTC) as a text.", CHANNEL, "oldest s Only messages after this ts",
             "latest s Only messages before this ts", "limit i=20 Messages a page; no more than 60 are returned", "cursor s response_metadata.next_cursor of the previous page", rate=(12, 1))
def _(a):
    found = [m for m in data["messages"][channel(a)["id"]] if float(a.get("oldest", 0)) < float(m["ts"]) < float(a.get("latest", 1e12))]
    rows, cursor = paged(found, a, 60)
    return {"ok": True, "messages": [message(m) for m in rows], "has_more": bool(cursor), "response_metadata": {"next_cursor": cursor}}


@server.tool("conversations_replies", "A thread: its first message and the replies, oldest first.", CHANNEL, "thread_ts s! ts of the first message", slow=.05)
def _(a):
    m = one(data["messages"][channel(a)["id"]], "ts", a["thread_ts"], "thread_not_found")
    return {"ok": True, "messages": [message(m)] + [message(r) for r in sorted(m["replies"], key=lambda r: r["ts"])], "has_more": False}


@server.tool("search_messages", "Search first messages of all channels for a text, newest first.", "query s! Text, ignoring case. Add in:#name to look in one channel only", "page i=1 Page, from 1", "count i=20 Matches a page, at most 25", slow=.3)
def _(a):
    words = a["query"].split()
    inside = [w[4:] for w in words if w.startswith("in:#")]
    text = " ".join(w for w in words if not w.startswith("in:#")).lower()
    found = [{"channel": {"id": c["id"], "name": c["name"]}, **message(m)} for c in data["channels"] if not inside or c["name"] in inside for m in data["messages"][c["id"]] if text in m["text"].lower()]
    found.sort(key=lambda m: m["ts"], reverse=True)
    size = max(1, min(a["count"], 25))
    pages = -(-len(found) // size)
    return {"ok": True, "messages": {"matches": found[(a["page"] - 1) * size:a["page"] * size], "paging": {"count": size, "total": len(found), "page": a["page"], "pages": pages}}}


@server.tool("pins_list", "Pinned messages of a channel.", CHANNEL)
def _(a):
    return {"ok": True, "items": [message(m) for m in data["messages"][channel(a)["id"]] if any(r["name"] == "tada" and r["count"] > 6 for r in m["reactions"])]}


@server.tool("emoji_list", "Custom emoji of the workspace.")
def _(a):
    return {"ok": True, "emoji": {"acme": "https://emoji.acme.example/acme.png", "shipit": "alias:rocket"}}


@server.tool("usergroups_list", "Groups of people that can be mentioned, with the number of members.")
def _(a):
    teams = sorted({p["team"] for p in data["staff"]})
    return Text(csv(["Handle", "Members", "UserIDs"], [[t.lower(), sum(p["team"] == t for p in data["staff"]), " ".join(p["chat"] for p in data["staff"] if p["team"] == t)] for t in teams]))


@server.tool("reminders_list", "Your reminders.")
def _(a):
    return {"ok": True, "reminders": []}


TEXT = "text s! Text of the message in Markdown"
server.write("conversations_add_message", "Post a message to a channel or, with thread_ts, into a thread.", CHANNEL, TEXT, "thread_ts s ts of the first message of a thread")
server.write("conversations_update_message", "Change a message of your own.", CHANNEL, "ts s! ts of the message", TEXT)
server.write("delete_message", "Delete a message.", CHANNEL, "ts s! ts of the message")
server.write("schedule_message", "Post a message later.", CHANNEL, TEXT, "post_at i! Time in seconds since 1970")
server.write("reactions_add", "React to a message.", CHANNEL, "ts s! ts of the message", "emoji s! Name without colons")
server.write("channels_create", "Create a channel.", "name s! Name without #", "is_private b=false Private channel")
server.write("archive_channel", "Archive a channel.", CHANNEL)
server.write("channels_invite", "Invite people to a channel.", CHANNEL, "user_ids s[]! Ids of people")
server.write("set_status", "Set your status.", "text s! Text", "emoji s Name without colons", "until i Time in seconds since 1970")
