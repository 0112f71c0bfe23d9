#!/usr/bin/env python3
"""Makes the workplace in $OFFICE/env: files/, shop.db, repo/, memory.jsonl, tickets.json. Deterministic."""
import csv, io, json, os, random, shutil, sqlite3, subprocess, sys
from datetime import datetime, timedelta
B = os.path.join(os.path.abspath(os.environ.get("OFFICE") or sys.exit("OFFICE is not set: start this through `office`")), "env"); os.makedirs(B, exist_ok=True)
R = random.Random(20260322)
F = B + "/files"
for d in ("files", "repo"):
    shutil.rmtree(f"{B}/{d}", ignore_errors=True)
def w(path, text):
    p = f"{F}/{path}"
    os.makedirs(os.path.dirname(p), exist_ok=True)
    open(p, "w").write(text)
iso = lambda d: d.strftime("%Y-%m-%dT%H:%M:%SZ")

PEOPLE = [ # name, email, team, timezone, department, office, salary, start
 ("Ana Ruiz","ana.ruiz@acme.example","Platform","America/Bogota","Engineering","Bogota",98000,"2019-04-01"),
 ("Ben Okafor","ben.okafor@acme.example","Platform","Africa/Lagos","Engineering","Lagos",91000,"2020-09-14"),
 ("Chloe Martin","chloe.martin@acme.example","Storefront","Asia/Tokyo","Engineering","Tokyo",102500,"2018-01-08"),
 ("Dev Patel","dev.patel@acme.example","Support","Asia/Kolkata","Support","Pune",54000,"2021-06-21"),
 ("Elif Kaya","elif.kaya@acme.example","Support","Europe/Istanbul","Support","Istanbul",56500,"2022-02-01"),
 ("Farid Nasser","farid.nasser@acme.example","Support","Asia/Dubai","Support","Dubai",61000,"2017-11-13"),
 ("Grace O'Neil","grace.oneil@acme.example","Storefront","America/Phoenix","Product","Phoenix",110000,"2016-03-07"),
 ("Hiro Tanaka","hiro.tanaka@acme.example","Data","Asia/Tokyo","Engineering","Tokyo",99500,"2021-10-04"),
 ("Ines Costa","ines.costa@acme.example","Data","Asia/Kathmandu","Engineering","Kathmandu",87000,"2023-05-15"),
]
buf = io.StringIO(); cw = csv.writer(buf, lineterminator="\n")
cw.writerow(["employee_id","name","email","department","office","salary","start_date","manager"])
for i, p in enumerate(PEOPLE):
    nm = p[0].split(" ", 1)
    cw.writerow([f"E{100+i}", f"{nm[1]}, {nm[0]}", p[1], p[4], p[5], p[6], p[7], "" if i == 6 else "E106"])
w("hr/employees.csv", buf.getvalue())

# ---- services, configs, logs
SERV = ["auth","cart","catalog","checkout","email","gateway","ledger","search"]
timeouts = dict(auth=1500, cart=2500, catalog=5000, checkout=8000, email=30000, gateway=3000, ledger=4500, search=800)
for s in SERV:
    c = {"service": s, "version": f"{R.randint(1,4)}.{R.randint(0,9)}.{R.randint(0,20)}",
         "http": {"port": 8000 + SERV.index(s) * 11, "client": {"timeout_ms": timeouts[s], "retries": R.randint(0,5)}},
         "features": [{"name": f, "enabled": R.random() < .5} for f in R.sample(["dark_mode","new_pricing","beta_search","gift_cards","fast_path","audit_log"], R.randint(2,4))],
         "limits": {"memory_mb": R.choice([256,512,1024,2048]), "cpu": R.choice([0.5,1,2])}}
    if s in ("search", "email"): del c["http"]["client"]["retries"]
    w(f"config/{s}.json", json.dumps(c, indent=2) + "\n")
MSG = {"INFO": ["request done","cache warmed","session opened","job finished"], "DEBUG": ["cache lookup","query plan chosen"],
       "WARN": ["slow query","retrying upstream","queue is filling up"], "ERROR": ["upstream timeout","connection reset","payment declined","disk quota exceeded","null customer id"]}
weights = dict(auth=2, cart=3, catalog=4, checkout=6, email=2, gateway=5, ledger=3, search=4)
for day in range(1, 8):
    t = datetime(2026, 3, day, 0, R.randint(0, 30)); lines = []
    for _ in range(R.randint(70, 110)):
        t += timedelta(seconds=R.randint(60, 1400))
        if t.day != day: break
        s = R.choices(SERV, [weights[x] for x in SERV])[0]
        lv = R.choices(["DEBUG","INFO","WARN","ERROR"], [2, 10, 3, 4 if s == "checkout" else 2])[0]
        lines.append(f"{iso(t)} {lv:<5} [{s}] req={R.getrandbits(32):08x} user={R.randint(1,60)} {R.choice(MSG[lv])} took={int(R.lognormvariate(5,.9))}ms")
        if lv == "ERROR" and R.random() < .25:
            lines.append("    at com.acme.%s.Handler.run(Handler.java:%d)" % (s, R.randint(10, 400)))
    w(f"logs/app-2026-03-{day:02d}.log", "\n".join(lines) + "\n")
ips = [f"203.0.113.{R.randint(1,250)}" for _ in range(14)] + [f"198.51.100.{R.randint(1,250)}" for _ in range(8)]
t = datetime(2026, 3, 3, 0, 0); lines = []
paths = ["/","/api/orders","/api/products","/api/cart","/login","/static/app.js","/api/search?q=lamp","/admin","/health"]
for _ in range(320):
    t += timedelta(seconds=R.randint(5, 500)); st = R.choices([200,301,304,401,403,404,500,503],[60,4,8,5,2,10,5,2])[0]
    by = "-" if st == 304 else str(int(R.lognormvariate(7.5, 1.1)))
    lines.append(f'{R.choices(ips,[30-i for i in range(22)])[0]} - - [{t.strftime("%d/%b/%Y:%H:%M:%S")} +0000] "{R.choices(["GET","POST","DELETE"],[8,3,1])[0]} {R.choice(paths)} HTTP/1.1" {st} {by} "-" "{R.choice(["Mozilla/5.0 (X11; Linux x86_64)","curl/8.4.0","GoogleBot/2.1"])}"')
w("logs/access.log", "\n".join(lines) + "\n")

# ---- products, sales
ADJ = ["Oak","Steel","Velvet","Copper","Linen","Marble","Glass","Bamboo"]
NOUN = {"Lighting":["Lamp","Lantern","Spot"],"Furniture":["Chair","Table","Shelf"],"Kitchen":["Pan","Kettle","Bowl"],"Textile":["Curtain","Rug","Cushion"],"Garden":["Planter","Bench"]}
PROD = []
for c, ns in NOUN.items():
    for n in ns:
        for a in R.sample(ADJ, 3):
            name = f"{a} {n}" + (f", {R.choice(['small','large','set of 2'])}" if R.random() < .3 else "")
            PROD.append(dict(id=len(PROD)+1, sku=f"{c[:3].upper()}-{100+len(PROD)*7}", name=name, category=c, price=round(R.uniform(6, 240), 2), stock=R.randint(0, 180)))
REG = ["North","South","East","West"]
for q, (m0, n) in {"q1": (1, 90), "q2": (4, 75)}.items():
    buf = io.StringIO(); cw = csv.writer(buf, lineterminator="\n")
    cw.writerow(["date","region","sku","product","quantity","unit_price","rep"])
    d = datetime(2026, m0, 1)
    for _ in range(n):
        d += timedelta(days=R.choice([0,1,1,1]))
        p = R.choice(PROD)
        cw.writerow([d.strftime("%Y-%m-%d"), R.choices(REG,[4,3,2,3])[0], p["sku"], p["name"], R.randint(1,12), f'{p["price"]:.2f}', R.choice(["Ana","Lou","Kim","Raj"])])
    w(f"sales/sales_2026_{q}.csv", buf.getvalue())
snap = {p["sku"]: R.randint(0,150) for p in PROD if R.random() < .9}
w("inventory/inventory_2026-03-01.json", json.dumps({"taken_at":"2026-03-01T06:00:00Z","warehouses":[{"name":wn,"items":[{"sku":k,"quantity":v} for i,(k,v) in enumerate(snap.items()) if i%2==j]} for j,wn in enumerate(["Lyon","Porto"])]}, indent=1))
snap2 = {k: (v if R.random() < .6 else max(0, v + R.randint(-30,30))) for k, v in snap.items() if R.random() < .92}
for p in PROD:
    if p["sku"] not in snap and R.random() < .8: snap2[p["sku"]] = R.randint(1,150)
w("inventory/inventory_2026-04-01.json", json.dumps({"taken_at":"2026-04-01T06:00:00Z","warehouses":[{"name":wn,"items":[{"sku":k,"quantity":v} for i,(k,v) in enumerate(snap2.items()) if i%2==j]} for j,wn in enumerate(["Lyon","Porto"])]}, indent=1))
for p in PROD:   # the shop's stock agrees with the April count for most
    if p["sku"] in snap2 and R.random() < .7: p["stock"] = snap2[p["sku"]]
for s in ("roof","cellar","lobby","server-room"):
    base = dict(roof=8, cellar=14, lobby=21)[s] if s != "server-room" else 27
    rows = ["timestamp,temp_c,humidity"]; t = datetime(2026, 3, 1)
    for i in range(96):
        v = f"{base + 4*((i%24)-12)/12*(-1 if i%24>14 else 1) + R.uniform(-2,2):.2f}"
        if R.random() < .05: v = R.choice(["","n/a","ERR"])
        rows.append(f"{iso(t)},{v},{R.randint(20,90)}"); t += timedelta(hours=1)
    w(f"sensors/{s}.csv", "\n".join(rows) + "\n")
ev = []; t = datetime(2026, 3, 1, 7)
for _ in range(240):
    t += timedelta(seconds=R.randint(3, 900))
    k = R.choices(["view","add_to_cart","purchase","refund","login"],[10,5,3,1.3,4])[0]
    e = {"ts": iso(t), "user": f"u{R.randint(1,40):03d}", "type": k}
    if k in ("purchase","refund"): e["amount"] = round(R.uniform(5,300),2)
    if k == "view": e["page"] = {"path": R.choice(["/home","/lamp","/chair","/sale"]), "ref": R.choice([None,"mail","ads"])}
    ev.append(json.dumps(e))
w("events/events.jsonl", "\n".join(ev) + "\n")
DOCS = ["onboarding","deploy","incident-guide","api","glossary","roadmap","style","security"]
for d in DOCS:
    L = [f"# {d.replace('-',' ').title()}", "", f"Owner: {R.choice(PEOPLE)[0]}", ""]
    for s in range(R.randint(2,5)):
        L += [f"## {R.choice(['Overview','Steps','Rules','Notes','Open points','Examples'])} {s+1}", "", "Lorem ipsum " * R.randint(3, 30), ""]
        if d not in ("glossary","style"):
            for _ in range(R.randint(0,4)): L.append(f"- [{R.choice([' ',' ','x'])}] {R.choice(['check','write','remove','ask about','measure'])} {R.choice(['backups','the cache','old keys','latency','alerts'])}")
        L += ["", f"See [{R.choice(DOCS)}]({R.choice(DOCS)}.md) and <https://wiki.acme.example/{R.choice(DOCS)}>.", ""]
    w(f"docs/{d}.md", "\n".join(L))
for m in (1,2,3):
    for k in range(R.randint(1,3)):
        w(f"notes/2026/{m:02d}/meeting-{k+1}.md", f"# Meeting {m}/{k+1}\n\nAttendees: {', '.join(x[0] for x in R.sample(PEOPLE, R.randint(2,5)))}\n\nDecisions:\n" + "".join(f"* D{m}{k}{j}: {R.choice(['ship','delay','review','drop'])} {R.choice(SERV)}\n" for j in range(R.randint(1,4))))
w("archive/2024/backup/old/README.txt", "nothing to see\n"); w("archive/2024/export.xml", "<export><row id=\"1\"/></export>\n"); w("README.md", "# Acme workplace\n\nFiles of the shop team.\n")

# ---- shop
db = f"{B}/shop.db"
if os.path.exists(db): os.remove(db)
con = sqlite3.connect(db)
con.executescript("""create table customers(id integer primary key, name text not null, email text unique, city text, country text, joined_on text);
create table products(id integer primary key, sku text unique, name text, category text, price real, stock integer);
create table orders(id integer primary key, customer_id integer references customers(id), ordered_at text, status text, shipped_at text, coupon text);
create table order_items(id integer primary key, order_id integer references orders(id), product_id integer references products(id), quantity integer, unit_price real);""")
FN = ["Liam","Noa","Mia","Omar","Ivy","Jan","Sofia","Kofi","Yuki","Lena","Tom","Aisha","Paul","Rosa","Igor"]
LN = ["O'Brien","Silva","Kim","Novak","D'Angelo","Meyer","Haddad","Sato","Diaz","Berg","Olsen","Rossi"]
CITY = [("Lyon","France"),("Paris","France"),("Porto","Portugal"),("Berlin","Germany"),("Munich","Germany"),("Hamburg","Germany"),("Oslo","Norway"),("Madrid","Spain"),("Turin","Italy")]
CUST, seen = [], set()
while len(CUST) < 60:
    n = f"{R.choice(FN)} {R.choice(LN)}"
    if n in seen: continue
    seen.add(n); c = R.choices(CITY,[4,5,3,6,4,2,2,3,1])[0]
    CUST.append((len(CUST)+1, n, n.lower().replace(" ",".").replace("'","") + "@" + R.choice(["mail.example","post.example","web.example"]), c[0], c[1], (datetime(2024,1,1)+timedelta(days=R.randint(0,700))).strftime("%Y-%m-%d")))
con.executemany("insert into customers values(?,?,?,?,?,?)", CUST)
con.executemany("insert into products values(:id,:sku,:name,:category,:price,:stock)", PROD)
active = [c[0] for c in CUST if c[0] % 11 != 0]; item = 0
t = datetime(2025, 11, 1, 8)
for oid in range(1, 221):
    t += timedelta(minutes=R.randint(30, 1900)); st = R.choices(["delivered","shipped","pending","cancelled","returned"],[10,3,2,1.5,1])[0]
    sh = (t + timedelta(minutes=R.randint(120, 9000))).strftime("%Y-%m-%d %H:%M:%S") if st in ("delivered","shipped","returned") else None
    con.execute("insert into orders values(?,?,?,?,?,?)", (oid, R.choices(active,[1+(i%5) for i in range(len(active))])[0], t.strftime("%Y-%m-%d %H:%M:%S"), st, sh, R.choice([None,None,None,"SPRING10","VIP"])))
    for p in R.sample(PROD, R.randint(1,4)):
        item += 1; con.execute("insert into order_items values(?,?,?,?,?)", (item, oid, p["id"], R.randint(1,5), round(p["price"]*R.choice([1,1,.9]),2)))
con.commit(); con.close()

# ---- tickets
TK = []; t = datetime(2026, 1, 5, 9)
TAGS = ["billing","delivery","damaged","login","refund","question","bug","wholesale"]
for i in range(137):
    t += timedelta(minutes=R.randint(20, 1500)); st = R.choices(["open","pending","closed"],[4,2,7])[0]; c = CUST[min(59, int(R.expovariate(1/14)))]
    res = iso(t + timedelta(minutes=R.randint(15, 12000))) if st == "closed" else None
    p = R.choice(PROD)
    TK.append(dict(id=f"T-{1001+i}", title=f"{R.choice(['Problem with','Question about','Broken','Late','Wrong'])} {p['name']}", status=st, priority=R.choices(["low","normal","high","urgent"],[3,6,3,1.6])[0],
      created_at=iso(t), resolved_at=res, customer_email=c[2] if i % 17 else c[2].upper(), assignee=R.choice(["dev.patel","elif.kaya","farid.nasser"]) if R.random() < .9 else None,
      tags=sorted(R.sample(TAGS, R.randint(0,3))), product_sku=p["sku"], body=f"Hello,\nabout my order #{R.randint(1,220)}: {R.choice(['it never came','one piece is cracked','please call me','the invoice is wrong'])}.\nPhone: +49 {R.randint(100,999)} {R.randint(10000,99999)}\n",
      archived=(1001+i) % 13 == 0, score=None if R.random() < .35 else R.randint(1,5),
      comments=[dict(author=R.choice(["dev.patel","elif.kaya","farid.nasser","customer"]), at=iso(t+timedelta(minutes=R.randint(5,6000))), text=R.choice(["any news?","we are on it","thank you!","sent a replacement","please see the photo"])) for _ in range(R.choice([0,1,1,2,3,4,6]))]))
for x in TK: x["comments"].sort(key=lambda c: c["at"])
json.dump(TK, open(f"{B}/tickets.json","w"), indent=1)

# ---- git
repo = f"{B}/repo"; os.makedirs(repo)
def git(*a, env=None):
    subprocess.run(["git","-C",repo,*a], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})})
git("init","-q","-b","main")
AU = PEOPLE[:3]; t = datetime(2026, 1, 7, 10); done = [x["id"] for x in TK]
TXT = ["add retry to uploads","speed up the index","handle empty carts","rename settings","drop old endpoint","show totals with tax","log request ids","cache price lists","validate coupons","support gift cards"]
tag_at = {9:"v1.0.0", 19:"v1.1.0", 26:"v1.2.0"}
for i in range(31):
    t += timedelta(minutes=R.randint(90, 6500)); a = R.choices(AU,[5,3,4])[0]
    kind = R.choices(["feat","fix","docs","chore","refactor"],[5,6,2,2,1])[0]; sc = R.choice(SERV)
    m = f"{kind}({sc}): {R.choice(TXT)}"
    if kind in ("fix","feat") and R.random() < .65: m += f"\n\n{'Fixes' if kind == 'fix' else 'Refs'} {R.choice(done)}" + (f" and {R.choice(done)}" if R.random() < .3 else "")
    for f in R.sample(["src/%s.py" % s for s in SERV] + ["README.md","CHANGELOG.md"], R.randint(1,3)):
        p = f"{repo}/{f}"; os.makedirs(os.path.dirname(p), exist_ok=True); open(p,"a").write("".join(f"line {i}.{k} of {f}\n" for k in range(R.randint(1,9))))
    git("add","-A"); d = iso(t)
    git("commit","-q","-m",m,env={"GIT_AUTHOR_NAME":a[0],"GIT_AUTHOR_EMAIL":a[1],"GIT_COMMITTER_NAME":a[0],"GIT_COMMITTER_EMAIL":a[1],"GIT_AUTHOR_DATE":d,"GIT_COMMITTER_DATE":d})
    if i in tag_at: git("tag", tag_at[i])

# ---- knowledge graph
E, L = [], []
for p in PEOPLE:
    E.append((p[0],"person",[f"email: {p[1]}",f"timezone: {p[3]}",f"joined {p[7]}"] + ([R.choice(["likes climbing","speaks French","on leave in August"])] if R.random() < .6 else [])))
    L.append((p[0], p[2], "member_of"))
for tm in ("Platform","Storefront","Support","Data"): E.append((tm,"team",[f"channel: #{tm.lower()}"]))
for s in SERV: E.append((s,"service",[f"tier: {R.randint(1,3)}", f"language: {R.choice(['go','python','rust'])}"]))
for a, b in [("checkout","cart"),("checkout","ledger"),("checkout","auth"),("cart","catalog"),("catalog","search"),("gateway","auth"),("gateway","catalog"),("ledger","email"),("search","ledger"),("auth","email")]: L.append((a,b,"depends_on"))
own = dict(auth="Ana Ruiz",cart="Chloe Martin",catalog="Grace O'Neil",checkout="Chloe Martin",email="Dev Patel",gateway="Ben Okafor",ledger="Hiro Tanaka",search="Ines Costa")
for s, o in own.items(): L.append((o, s, "owns"))
for pr, obs, ppl in [("Atlas",["deadline: 2026-06-30","budget: 120000 EUR"],["Ana Ruiz","Hiro Tanaka","Elif Kaya","Chloe Martin"]),("Borealis",["deadline: 2026-04-15","budget: 45000 EUR"],["Ben Okafor","Ana Ruiz"]),("Cobalt",["deadline: 2026-09-01","budget: 300000 EUR"],["Grace O'Neil","Ines Costa","Hiro Tanaka"])]:
    E.append((pr,"project",obs)); L += [(x, pr, "works_on") for x in ppl]
R.shuffle(E); R.shuffle(L)
open(f"{B}/memory.jsonl","w").write("\n".join([json.dumps({"type":"entity","name":n,"entityType":k,"observations":o}) for n,k,o in E] + [json.dumps({"type":"relation","from":a,"to":b,"relationType":r}) for a,b,r in L]) + "\n")
