//! The same work in six languages. Each entry gives the same answer, as text.
//!
//! Where a language lacks something (a JSON reader, regular expressions), its entry is empty and its row stays empty.

/// One piece of work.
pub struct Workload {
    /// Its name, as in `docs/performance.md`.
    pub name: &'static str,
    /// The answer that every engine must give.
    pub answer: &'static str,
    /// PTC-Lisp.
    pub ptc: &'static str,
    /// Lua: the body of a function.
    pub lua: &'static str,
    /// JavaScript: the body of a function.
    pub js: &'static str,
    /// Rhai.
    pub rhai: &'static str,
    /// Steel (a Scheme): definitions, of which `work` gives the answer.
    pub steel: &'static str,
}

/// All of them. `TEXT` is the JSON document of [`json_text`].
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "fib(25) by recursion",
        answer: "75025",
        ptc: "(defn fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 25)",
        lua: "local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
return fib(25)",
        js: "function fib(n) { return n < 2 ? n : fib(n-1) + fib(n-2) } return fib(25)",
        rhai: "fn fib(n) { if n < 2 { n } else { fib(n-1) + fib(n-2) } } fib(25)",
        steel: "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (define (work) (fib 25))",
    },
    Workload {
        name: "a loop that sums a million",
        answer: "499999500000",
        ptc: "(loop [i 0 sum 0] (if (< i 1000000) (recur (inc i) (+ sum i)) sum))",
        lua: "local i, sum = 0, 0 while i < 1000000 do sum = sum + i i = i + 1 end
return string.format('%.0f', sum)",
        js: "let i = 0, sum = 0; while (i < 1000000) { sum += i; i += 1 } return sum",
        rhai: "let i = 0; let sum = 0; while i < 1000000 { sum += i; i += 1; } sum",
        steel: "(define (work) (let loop ([i 0] [sum 0]) (if (< i 1000000) (loop (+ i 1) (+ sum i)) sum)))",
    },
    Workload {
        name: "reduce with a closure over a million",
        answer: "499999500000",
        ptc: "(reduce (fn [acc x] (+ acc x)) 0 (range 1000000))",
        lua: "local function reduce(f, acc, n) for x = 0, n - 1 do acc = f(acc, x) end return acc end
return string.format('%.0f', reduce(function(acc, x) return acc + x end, 0, 1000000))",
        js: "function reduce(f, acc, n) { for (let x = 0; x < n; x++) acc = f(acc, x); return acc }
return reduce((acc, x) => acc + x, 0, 1000000)",
        rhai: "let f = |acc, x| acc + x; let acc = 0; for x in 0..1000000 { acc = f.call(acc, x); } acc",
        steel: "(define (work) (foldl (lambda (x acc) (+ acc x)) 0 (range 0 1000000)))",
    },
    Workload {
        name: "filter, group, sum, sort 10 000 records",
        answer: "3 535569",
        ptc: "(def rows (map (fn [i] {:id i :region (mod i 7) :total (mod (* i 31) 1000)}) (range 10000)))
(let [[k v] (->> rows (filter (fn [r] (> (:total r) 500))) (group-by :region)
                 (map (fn [[k v]] [k (reduce + (map :total v))])) (sort-by second >) first)]
  (str k \" \" v))",
        lua: "local rows = {}
for i = 0, 9999 do rows[#rows+1] = {id = i, region = i % 7, total = (i * 31) % 1000} end
local kept = {}
for _, r in ipairs(rows) do if r.total > 500 then kept[#kept+1] = r end end
local groups = {}
for _, r in ipairs(kept) do
  local g = groups[r.region]
  if not g then g = {} groups[r.region] = g end
  g[#g+1] = r
end
local sums = {}
for k, g in pairs(groups) do
  local sum = 0
  for _, r in ipairs(g) do sum = sum + r.total end
  sums[#sums+1] = {k, sum}
end
table.sort(sums, function(a, b) return a[2] > b[2] end)
return string.format('%d %d', sums[1][1], sums[1][2])",
        js: "const rows = [];
for (let i = 0; i < 10000; i++) rows.push({id: i, region: i % 7, total: (i * 31) % 1000});
const groups = {};
for (const r of rows.filter(r => r.total > 500)) (groups[r.region] ||= []).push(r);
const sums = Object.entries(groups).map(([k, g]) => [k, g.map(r => r.total).reduce((a, b) => a + b)]);
sums.sort((a, b) => b[1] - a[1]);
return sums[0][0] + ' ' + sums[0][1]",
        rhai: "let rows = [];
for i in 0..10000 { rows.push(#{id: i, region: i % 7, total: (i * 31) % 1000}); }
let groups = #{};
for r in rows.filter(|r| r.total > 500) {
  let k = `${r.region}`;
  if k in groups { groups[k].push(r); } else { groups[k] = [r]; }
}
let sums = [];
for k in groups.keys() { let sum = 0; for r in groups[k] { sum += r.total; } sums.push([k, sum]); }
sums.sort(|a, b| b[1] - a[1]);
`${sums[0][0]} ${sums[0][1]}`",
        steel: "(define (work)
  (define rows (map (lambda (i) (hash 'id i 'region (modulo i 7) 'total (modulo (* i 31) 1000))) (range 0 10000)))
  (define kept (filter (lambda (r) (> (hash-ref r 'total) 500)) rows))
  (define groups
    (foldl (lambda (r groups)
             (let ([k (hash-ref r 'region)])
               (hash-insert groups k (cons r (if (hash-contains? groups k) (hash-ref groups k) '())))))
           (hash) kept))
  (define sums
    (map (lambda (k) (list k (foldl + 0 (map (lambda (r) (hash-ref r 'total)) (hash-ref groups k)))))
         (hash-keys->list groups)))
  (define best (car (sort sums (lambda (a b) (> (cadr a) (cadr b))))))
  (string-append (number->string (car best)) \" \" (number->string (cadr best))))",
    },
    Workload {
        name: "word count over 20 000 strings",
        answer: "997",
        ptc: "(def words (map (fn [i] (str \"word\" (mod (* i 7919) 997))) (range 20000)))
(count (frequencies words))",
        lua: "local words = {}
for i = 0, 19999 do words[#words+1] = 'word' .. tostring((i * 7919) % 997) end
local counts = {}
for _, w in ipairs(words) do counts[w] = (counts[w] or 0) + 1 end
local n = 0
for _ in pairs(counts) do n = n + 1 end
return n",
        js: "const words = [];
for (let i = 0; i < 20000; i++) words.push('word' + (i * 7919) % 997);
const counts = new Map();
for (const w of words) counts.set(w, (counts.get(w) || 0) + 1);
return counts.size",
        rhai: "let words = [];
for i in 0..20000 { words.push(`word${(i * 7919) % 997}`); }
let counts = #{};
for w in words { if w in counts { counts[w] += 1; } else { counts[w] = 1; } }
counts.len()",
        steel: "(define (work)
  (define words (map (lambda (i) (string-append \"word\" (number->string (modulo (* i 7919) 997)))) (range 0 20000)))
  (hash-length
    (foldl (lambda (w counts) (hash-insert counts w (+ 1 (if (hash-contains? counts w) (hash-ref counts w) 0))))
           (hash) words)))",
    },
    Workload {
        name: "sort of 50 000",
        answer: "25009",
        ptc: "(def xs (map (fn [i] (mod (* i 7919) 50021)) (range 50000))) (nth (sort xs) 25000)",
        lua: "local xs = {}
for i = 0, 49999 do xs[#xs+1] = (i * 7919) % 50021 end
table.sort(xs)
return xs[25001]",
        js: "const xs = [];
for (let i = 0; i < 50000; i++) xs.push((i * 7919) % 50021);
xs.sort((a, b) => a - b);
return xs[25000]",
        rhai: "let xs = [];
for i in 0..50000 { xs.push((i * 7919) % 50021); }
xs.sort();
xs[25000]",
        steel: "(define (work) (list-ref (sort (map (lambda (i) (modulo (* i 7919) 50021)) (range 0 50000)) <) 25000))",
    },
    Workload {
        name: "JSON in, pipeline, JSON out",
        answer: r#"{"r0":71106.75,"r1":71249.75,"r2":71392.75,"r3":71535.75,"r4":71678.75,"r5":71821.75,"r6":70964.5}"#,
        ptc: "(->> (json/parse-string data/text) (filter :active) (group-by :region)
     (map (fn [[k v]] [k (reduce + (map :total v))])) (into {}) json/generate-string)",
        lua: "",
        js: "const sums = {};
for (const r of JSON.parse(TEXT).filter(r => r.active)) sums[r.region] = (sums[r.region] || 0) + r.total;
return JSON.stringify(Object.fromEntries(Object.entries(sums).sort((a, b) => a[0] < b[0] ? -1 : 1)))",
        rhai: "",
        steel: "",
    },
    Workload {
        name: "a report of 5 000 lines",
        answer: "94263",
        ptc: "(count (clojure.string/join \"\\n\" (map (fn [i] (str \"line \" i \": \" (* i i))) (range 5000))))",
        lua: "local lines = {}
for i = 0, 4999 do lines[#lines+1] = 'line ' .. i .. ': ' .. i * i end
return #table.concat(lines, '\\n')",
        js: "const lines = [];
for (let i = 0; i < 5000; i++) lines.push('line ' + i + ': ' + i * i);
return lines.join('\\n').length",
        rhai: "let lines = \"\";
for i in 0..5000 { if i > 0 { lines += \"\\n\"; } lines += `line ${i}: ${i * i}`; }
lines.len()",
        steel: "(define (work)
  (string-length
    (string-join (map (lambda (i) (string-append \"line \" (number->string i) \": \" (number->string (* i i)))) (range 0 5000))
                 \"\\n\")))",
    },
    Workload {
        name: "regex extraction over 2 000 lines",
        answer: "1999000",
        ptc: "(def lines (map (fn [i] (str \"2026-01-\" (mod i 28) \" ERROR code=\" i)) (range 2000)))
(reduce + (map (fn [l] (parse-long (second (re-find #\"code=(\\d+)\" l)))) lines))",
        lua: "local lines = {}
for i = 0, 1999 do lines[#lines+1] = '2026-01-' .. i % 28 .. ' ERROR code=' .. i end
local sum = 0
for _, l in ipairs(lines) do sum = sum + tonumber(string.match(l, 'code=(%d+)')) end
return string.format('%.0f', sum)",
        js: "const lines = [];
for (let i = 0; i < 2000; i++) lines.push('2026-01-' + i % 28 + ' ERROR code=' + i);
let sum = 0;
for (const l of lines) sum += parseInt(/code=(\\d+)/.exec(l)[1]);
return sum",
        rhai: "",
        steel: "",
    },
];

/// The JSON document of the JSON workload.
pub fn json_text() -> String {
    let rows: Vec<String> = (0..1000)
        .map(|i| {
            format!(
                r#"{{"id":{i},"name":"name {i}","region":"r{}","total":{}.25,"active":true}}"#,
                i % 7,
                i % 1000
            )
        })
        .collect();
    format!("[{}]", rows.join(","))
}

/// A tiny program, to be compiled and run from text.
pub const TINY: Workload = Workload {
    name: "compile and run a tiny program",
    answer: "3",
    ptc: "(+ 1 2)",
    lua: "return 1 + 2",
    js: "return 1 + 2",
    rhai: "1 + 2",
    steel: "(+ 1 2)",
};

/// A program of 60 lines, to be compiled and run from text: functions that call each other, and a call.
pub struct Long {
    /// PTC-Lisp.
    pub ptc: String,
    /// Lua.
    pub lua: String,
    /// JavaScript.
    pub js: String,
    /// Rhai.
    pub rhai: String,
    /// Steel.
    pub steel: String,
}

/// See [`Long`].
pub fn long() -> Long {
    let mut long = Long {
        ptc: "(defn f0 [x] (if (> x 0) x 0))\n".into(),
        lua: "local function f0(x) if x > 0 then return x else return 0 end end\n".into(),
        js: "function f0(x) { return x > 0 ? x : 0 }\n".into(),
        rhai: "fn f0(x) { if x > 0 { x } else { 0 } }\n".into(),
        steel: "(define (f0 x) (if (> x 0) x 0))\n".into(),
    };
    for n in 1..59 {
        let before = n - 1;
        long.ptc += &format!("(defn f{n} [x] (let [y (+ (f{before} x) {n})] (if (> y 0) y (- y))))\n");
        long.lua += &format!(
            "local function f{n}(x) local y = f{before}(x) + {n} if y > 0 then return y else return -y end end\n"
        );
        long.js += &format!("function f{n}(x) {{ const y = f{before}(x) + {n}; return y > 0 ? y : -y }}\n");
        long.steel += &format!("(define (f{n} x) (let ([y (+ (f{before} x) {n})]) (if (> y 0) y (- y))))\n");
        long.rhai +=
            &format!("fn f{n}(x) {{ let y = f{before}(x) + {n}; if y > 0 {{ y }} else {{ -y }} }}\n");
    }
    long.ptc += "(f58 1)";
    long.steel += "(f58 1)";
    long.lua += "return f58(1)";
    long.js += "return f58(1)";
    long.rhai += "f58(1)";
    long
}

/// The answer of [`long`].
pub const LONG_ANSWER: &str = "1712";
