"""A payments API: amounts in cents, times in seconds, `starting_after` with the last id, `has_more`."""
from hosted import Bad, Server, Structured, one

server = Server("billing", closed=True)
data = DATA  # noqa: F821
PAGE = ["limit i=10 Objects a page, between 1 and 100", "starting_after s Id of the last object of the previous page"]
CREATED = ["created_gte i Only objects created at or after this Unix time", "created_lt i Only objects created before this Unix time"]
LIST = lambda item: {"type": "object", "properties": {"object": {"type": "string"}, "data": {"type": "array", "items": item}, "has_more": {"type": "boolean"}, "url": {"type": "string"}}, "required": ["data", "has_more"]}
INVOICE = {"type": "object", "properties": {"id": {"type": "string"}, "number": {"type": "string"}, "customer": {"type": "string"}, "status": {"type": "string", "enum": ["paid", "open", "uncollectible", "void"]},
                                            "total": {"type": "integer"}, "amount_remaining": {"type": "integer"}, "created": {"type": "integer"}, "due_date": {"type": "integer"}, "currency": {"type": "string"}}}
CURRENCY = {c["id"]: c["currency"] for c in data["customers"]}


def paged(kind, items, a, show):
    if a["limit"] < 1:
        raise Bad("Invalid integer: limit must be between 1 and 100")
    size, at = min(a["limit"], 100), 0
    if a.get("starting_after"):
        at = next((n + 1 for n, i in enumerate(items) if i["id"] == a["starting_after"]), None)
        if at is None:
            raise Bad(f"No such {kind[:-1]}: '{a['starting_after']}'")
    return {"object": "list", "data": [show(i) for i in items[at:at + size]], "has_more": at + size < len(items), "url": f"/v1/{kind}"}


def chosen(items, a, *keys):
    return sorted((i for i in items if all(a.get(k) in (None, i[k]) for k in keys) and a.get("created_gte", 0) <= i.get("created", 0) < a.get("created_lt", 2 ** 40)), key=lambda i: (-i.get("created", 0), i["id"]))


def customer(c):
    return {"id": c["id"], "object": "customer", "name": c["name"], "email": c["email"], "currency": c["currency"], "created": c["created"], "delinquent": c["delinquent"], "metadata": {"crm_company_id": c["crm"]} if c["crm"] else {}}


def invoice(i):
    return {"id": i["id"], "number": i["number"], "customer": i["customer"], "status": i["status"], "total": i["total"], "amount_remaining": i["total"] if i["status"] in ("open", "uncollectible") else 0, "created": i["created"],
            "due_date": i["due"], "currency": CURRENCY[i["customer"]]}


def charge(c):
    return {"id": c["id"], "object": "charge", "customer": c["customer"], "invoice": c["invoice"], "amount": c["amount"], "amount_refunded": c["refunded"], "currency": CURRENCY[c["customer"]], "created": c["created"], "status": c["status"],
            "failure_code": c["failure"], "paid": c["status"] == "succeeded"}


def subscription(s):
    return {"id": s["id"], "customer": s["customer"], "status": s["status"], "canceled_at": s["canceled"], "cancellation_details": {"reason": s["reason"]},
            "items": {"data": [{"quantity": s["quantity"], "price": {"lookup_key": s["plan"], "unit_amount": data["plans"][s["plan"]], "recurring": {"interval": "month"}}}]}}


@server.tool("list_customers", "Lists customers, newest first. metadata.crm_company_id is the id of the company in the CRM, where it is known.", "email s Only the customer with exactly this e-mail address", *CREATED, *PAGE)
def _(a):
    return paged("customers", chosen(data["customers"], a, "email"), a, customer)


@server.tool("retrieve_customer", "Retrieves a customer.", "customer s! Id of the customer")
def _(a):
    return customer(one(data["customers"], "id", a["customer"], "No such customer"))


@server.tool("list_invoices", "Lists invoices, newest first. Amounts are in cents.", "customer s Only invoices of this customer", "status paid|open|uncollectible|void Only invoices in this status", *CREATED, *PAGE, out=LIST(INVOICE))
def _(a):
    return Structured(paged("invoices", chosen(data["invoices"], a, "customer", "status"), a, invoice))


@server.tool("retrieve_invoice", "Retrieves an invoice by id.", "invoice s! Id of the invoice (in_…), not its number", out=INVOICE)
def _(a):
    return Structured(invoice(one(data["invoices"], "id", a["invoice"], "No such invoice")))


@server.tool("list_charges", "Lists attempts to charge, newest first, failed ones too. Amounts are in cents.", "customer s Only charges of this customer", "status succeeded|failed Only charges in this status", *CREATED, *PAGE, rate=(10, 1))
def _(a):
    return paged("charges", chosen(data["charges"], a, "customer", "status"), a, charge)


@server.tool("retrieve_charge", "Retrieves a charge.", "charge s! Id of the charge")
def _(a):
    return charge(one(data["charges"], "id", a["charge"], "No such charge"))


@server.tool("list_refunds", "Lists refunds, newest first.", "charge s Only refunds of this charge", *CREATED, *PAGE)
def _(a):
    return paged("refunds", chosen(data["refunds"], a, "charge"), a, lambda r: {**r, "object": "refund", "status": "succeeded"})


@server.tool("list_subscriptions", "Lists subscriptions. Canceled ones are returned only with status canceled or all.", "customer s Only subscriptions of this customer", "status active|past_due|canceled|trialing|all Status", *PAGE)
def _(a):
    wanted = a.get("status")
    found = [s for s in data["subscriptions"] if a.get("customer") in (None, s["customer"]) and (s["status"] != "canceled" if wanted is None else wanted in ("all", s["status"]))]
    return paged("subscriptions", found, a, subscription)


@server.tool("list_disputes", "Lists disputes, newest first.", "status needs_response|won|lost Only disputes in this status", *PAGE)
def _(a):
    return paged("disputes", chosen(data["disputes"], a, "status"), a, lambda d: {**d, "object": "dispute"})


@server.tool("list_prices", "Prices of the plans, a month and unit, in cents.")
def _(a):
    return {"object": "list", "data": [{"lookup_key": k, "unit_amount": v, "recurring": {"interval": "month"}} for k, v in data["plans"].items()], "has_more": False}


@server.tool("retrieve_balance", "Balance of the account.")
def _(a):
    return {"object": "balance", "available": [{"amount": 1284400, "currency": "eur"}], "pending": [{"amount": 99100, "currency": "eur"}]}


@server.tool("search_billing_resources", "Searches customers by a part of the name or of the e-mail address.", "query s! Text", "limit i<=20=10 Most results", slow=.3)
def _(a):
    return [customer(c) for c in data["customers"] if a["query"].lower() in c["name"].lower() or a["query"].lower() in c["email"]][:a["limit"]]


CUSTOMER, INV, SUB = "customer s! Id of the customer", "invoice s! Id of the invoice", "subscription s! Id of the subscription"
for name, description, lines in (
        ("create_customer", "Creates a customer.", ["name s! Name", "email s E-mail address"]),
        ("create_invoice", "Creates a draft of an invoice.", [CUSTOMER, "days_until_due i=14 Days"]),
        ("finalize_invoice", "Finalizes an invoice and sends it.", [INV]),
        ("void_invoice", "Voids an open invoice.", [INV]),
        ("create_refund", "Refunds a charge, in whole or in part.", ["charge s! Id of the charge", "amount i Cents; without it all", "reason requested_by_customer|duplicate|fraudulent Reason"]),
        ("cancel_subscription", "Cancels a subscription.", [SUB]),
        ("update_subscription", "Changes a subscription.", [SUB, "quantity i Units", "plan starter|team|business|enterprise Plan"]),
        ("update_dispute", "Adds evidence to a dispute.", ["dispute s! Id of the dispute", "evidence s! Text", "submit b=false Send it to the bank"]),
        ("create_payment_link", "Makes a link to pay.", ["price s! Plan", "quantity i=1 Units"]),
        ("create_coupon", "Makes a coupon.", ["percent_off n! Percent", "duration once|forever|repeating=once How long"])):
    server.write(name, description, *lines, reply=lambda a: {"id": "new", "object": "write", **a})
