"""A CRM: objects whose fields are texts in `properties`, associations that must be followed, `paging.next.after`, and a search with filters."""
from hosted import Bad, Server, markdown, one

server = Server("crm", "Amounts are in EUR. Owners are named by id; crm_owners_list gives their e-mail addresses.", slower='{"status":"error","message":"You have reached your secondly limit.","category":"RATE_LIMITS"}')
data = DATA  # noqa: F821
OWNERS = {p["email"]: str(2200 + 11 * p["number"]) for p in data["staff"]}
PAGE = ["limit i=10 Objects a page; the maximum is 100", "after s The paging.next.after of the previous page"]


def text(value):
    return "" if value is None else str(value)


def company(c):
    return {"id": c["id"], "properties": {"name": c["name"], "domain": c["domain"], "country": c["country"], "industry": c["industry"], "tier": c["tier"], "numberofemployees": text(c["employees"]),
                                          "hubspot_owner_id": OWNERS[c["owner"]], "createdate": c["created"]}, "archived": False}


def contact(c):
    return {"id": c["id"], "properties": {"fullname": c["name"], "email": c["email"], "jobrole": c["role"], "associatedcompanyid": c["company"], "marketing_opt_in": text(c["subscribed"]).lower(),
                                          "notes_last_contacted": text(c["last_contacted"])}, "archived": False}


def deal(d):
    return {"id": d["id"], "properties": {"dealname": d["name"], "dealstage": d["stage"], "amount": text(d["amount"]) + ".00", "closedate": d["close"], "createdate": d["created"], "hubspot_owner_id": OWNERS[d["owner"]],
                                          "analytics_source": d["source"]}, "archived": False}


KINDS = {"companies": [company(c) for c in data["companies"]], "contacts": [contact(c) for c in data["contacts"]], "deals": [deal(d) for d in data["deals"]]}


def paged(items, a, most=100, total=False):
    size, at = max(1, min(a["limit"], most)), int(a.get("after") or 0)
    result = {"results": items[at:at + size]} | ({"total": len(items)} if total else {})
    return result | ({"paging": {"next": {"after": str(at + size)}}} if at + size < len(items) else {})


for kind, fields in (("companies", "name, domain, country, industry, tier (enterprise, mid, small), numberofemployees, hubspot_owner_id, createdate"),
                     ("contacts", "fullname, email, jobrole, associatedcompanyid, marketing_opt_in, notes_last_contacted"),
                     ("deals", "dealname, dealstage, amount, closedate, createdate, hubspot_owner_id, analytics_source")):
    singular = {"companies": "company"}.get(kind, kind[:-1])
    server.tool(f"crm_{kind}_list", f"Lists {kind} in order of creation, a page at a time. Properties: {fields}. All values are texts.", *PAGE)(lambda a, kind=kind: paged(KINDS[kind], a))
    server.tool(f"crm_{singular}_get", f"Reads one {singular} by its id.", f"id s! Id of the {singular}")(lambda a, kind=kind, singular=singular: one(KINDS[kind], "id", a["id"], singular))


@server.tool("crm_objects_search", "Searches objects of a type. A filter is {\"propertyName\", \"operator\", \"value\"}; operators: EQ, NEQ, LT, LTE, GT, GTE, CONTAINS. Filters are combined with AND. Numbers and ISO dates are compared as such.",
             "objectType companies|contacts|deals! Type", "filters o[] Filters", "limit i=10 Objects a page; the maximum is 50", "after s The paging.next.after of the previous page", rate=(8, 2), slow=.1)
def _(a):
    def holds(item, f):
        have, want = item["properties"].get(f["propertyName"]), str(f.get("value", ""))
        if have is None:
            raise Bad(f"There was a problem with the request: property {f['propertyName']} does not exist")
        try:
            have, want = float(have), float(want)
        except ValueError:
            pass
        tests = {"EQ": lambda: have == want, "NEQ": lambda: have != want, "LT": lambda: have < want, "LTE": lambda: have <= want, "GT": lambda: have > want, "GTE": lambda: have >= want,
                 "CONTAINS": lambda: want.lower() in str(have).lower()}
        if f.get("operator") not in tests:
            raise Bad(f"unknown operator {f.get('operator')}; one of {', '.join(tests)}")
        return tests[f["operator"]]()
    for f in a.get("filters", []):
        if not isinstance(f, dict) or "propertyName" not in f:
            raise Bad("each filter needs propertyName, operator and value")
    return paged([i for i in KINDS[a["objectType"]] if all(holds(i, f) for f in a.get("filters", []))], a, 50, True)


@server.tool("crm_associations_list", "Ids of the objects that are associated with an object.", "fromType companies! Type of the object", "id s! Its id", "toType contacts|deals! Type of the associated objects",
             "limit i=20 Ids a page; the maximum is 100", "after s The paging.next.after of the previous page")
def _(a):
    return paged([{"toObjectId": i["id"], "associationTypes": [{"label": None}]} for i in data[a["toType"]] if i["company"] == a["id"]], a)


@server.tool("crm_deal_company", "The company that a deal belongs to.", "deal_id s! Id of the deal")
def _(a):
    return {"dealId": a["deal_id"], "companyId": one(data["deals"], "id", a["deal_id"], "deal")["company"]}


@server.tool("crm_owners_list", "Owners of companies and deals: id, name and e-mail address.")
def _(a):
    return {"results": [{"id": OWNERS[p["email"]], "email": p["email"], "firstName": p["name"].split()[0], "lastName": p["name"].split()[1]} for p in data["staff"]]}


@server.tool("crm_pipeline_stages", "Stages of the pipeline in order, with the probability of winning.")
def _(a):
    return markdown(["stage", "label", "probability"], [[s, s.replace("_", " ").title(), p] for s, p in zip(data["stages"], (.1, .25, .5, .75, 1, 0))])


@server.tool("crm_report_pipeline", "Number and sum of deals in each stage, as a Markdown table. Rounded to thousands.")
def _(a):
    return markdown(["Stage", "Deals", "Sum (kEUR)"], [[s, sum(d["stage"] == s for d in data["deals"]), round(sum(d["amount"] for d in data["deals"] if d["stage"] == s) / 1000)] for s in data["stages"]])


@server.tool("crm_properties_list", "Names of the properties that objects of a type have.", "objectType companies|contacts|deals! Type")
def _(a):
    return {"results": [{"name": name, "type": "string"} for name in KINDS[a["objectType"]][0]["properties"]]}


PROPERTIES = "properties o! Names and values"
for kind in ("company", "contact", "deal"):
    server.write(f"crm_{kind}_create", f"Creates a {kind}.", PROPERTIES, reply=lambda a: {"id": "1", "properties": a["properties"]})
    server.write(f"crm_{kind}_update", f"Changes properties of a {kind}. Properties that are not given stay.", f"id s! Id of the {kind}", PROPERTIES, reply=lambda a: {"id": a["id"], "properties": a["properties"]})
server.write("crm_note_create", "Adds a note to an object.", "objectType companies|contacts|deals! Type", "id s! Id of the object", "body s! Text of the note")
server.write("delete_crm_object", "Moves an object to the trash.", "objectType companies|contacts|deals! Type", "id s! Id of the object")
server.write("crm_task_create", "Creates a task for an owner.", "owner_id s! Id of the owner", "subject s! What is to be done", "due d Day")
