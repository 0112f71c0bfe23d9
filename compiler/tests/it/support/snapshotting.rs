//! Machines that are written where they wait, and read again.

use super::suspending::{ASKING, Order, PROGRAMS};
use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::graph::{Bounds, write_code};
use ptc_vm::machine::{
    CallId, HostRequest, Limits, Payload, PendingCall, Reply, RestoreError, RestoreSetup, Setup,
    SnapshotError, SnapshotSetup,
};
use ptc_vm::{Machine, Program, Step, print};
use std::rc::Rc;

/// Programs that wait in the middle of the builtins that [`PROGRAMS`] have no `f` in, and in the midst of state that those lack.
pub(crate) const MORE: &[&str] = &[
    // one of each kind that they do not reach
    "(get (tool/call! {:server \"s\" :tool \"t\" :args {:a 1}}) \"a\")",
    "(tool/pages {:server \"s\" :tool \"t\" :args {:items [1 2]}} {:items (fn [p] (f (get p \"items\"))) :next (fn [p] (f nil))})",
    "(apropos \"echo\")",
    "[(sleep-ms 5) (f 1) (pmap (fn [n] (sleep-ms n) (f n)) [1 2])]",
    "(let [z (in-zone (java.util.Date. 0) \"Europe/Berlin\")] [(f 1) z (.toLocalDateTime z)])",
    "(apropos \"echo\" {:limit 3})",
    "(reductions (fn ([] (f 5)) ([a x] a)) [])",
    "(update [1 2] 0 f)",
    "(update-in [[1] 2] [0 0] f)",
    "(update-vals [1 2] f)",
    "(update-keys [:a :b] f)",
    "(sort (comparator (fn [a b] (< (f a) (f b)))) [3 1 2])",
    "(sort-by - (fn [a b] (- (f b) (f a))) (range 40))",
    "(sort (fn [a b] (compare (f a) (f b))) [\"b\" \"a\" \"c\" \"a\"])",
    // transducers of every stage
    "(into [] (comp (map-indexed (fn [i x] [i (f x)])) (keep-indexed (fn [i x] (when (even? i) x)))) [3 1 2])",
    "(into #{} (comp cat (remove (fn [x] (= 2 (f x)))) (take-while (fn [x] (f x)))) [[1 2] [3]])",
    "(into {} (comp (drop-while (fn [x] (< (f x) 2))) (map (fn [x] [x (f x)]))) [1 2 3])",
    "(into [] (comp (take-nth 2) (distinct) (dedupe) (interpose :s) (map f)) [1 2 1 3 1])",
    "(into [] (comp (partition-all 2) (map (fn [p] (f (first p)))) (drop 1)) (range 7))",
    "(transduce (map f) (completing (fn [a x] (conj a (f x))) (fn [a] (f (count a)))) [] [1 2])",
    "(transduce (comp (mapcat (fn [x] (range (f x)))) (halt-when (fn [x] (= 2 (f x))) (fn [a x] [a (f x)]))) conj [] [1 2 3 4])",
    "(transduce (take 2) (fn ([] (f [])) ([a] (f a)) ([a x] (conj a (f x)))) [1 2 3])",
    // endless sequences
    "(take 3 (repeatedly (fn [] (f 1))))",
    "(take-while (fn [x] (< (f x) 5)) (range))",
    "(take-while (fn [x] (< (f x) 3)) (iterate (fn [x] (inc (f x))) 0))",
    "(take-while (fn [x] (f x)) (cycle [1 2 nil]))",
    "(map (fn [a b] [(f a) b]) [1 2 3] (repeat 7))",
    // endless sequences: as they are, and walks over them
    "(let [s (iterate (fn [x] (inc (f x))) 0)] [(first s) (nth s 3) (first (rest s)) (take 2 (drop 1 s))])",
    "(let [s (filter (fn [x] (odd? (f x))) (map (fn [x] (f (inc x))) (cons 9 (iterate inc 0))))] (f 1) [(take 3 s) (some (fn [x] (f (> x 4))) s)])",
    "(let [s (concat [1 2] (map f (repeatedly (fn [] (f 7)))))] (f 1) (reduce (fn [a x] (if (> a 20) (reduced [a x]) (+ a (f x)))) s))",
    "(let [[a b & more] (iterate (fn [x] (* 2 (f x))) 1)] [a b (take 2 more)])",
    "(into [] (comp (map f) (take 3)) (drop-while (fn [x] (< (f x) 2)) (range)))",
    "(map (fn [a b] [a (f b)]) [1 2 3] (iterate (fn [x] (inc (f x))) 0))",
    // endless sequences: loops that are in the midst of them, in step, and folds of them
    "(for [x (iterate (fn [x] (inc (f x))) 0) :while (< (f x) 4) y (range x)] [x (f y)])",
    "(for [a (map f (range)) :when (f true) :while (< a 3) b (iterate (fn [x] (inc (f x))) a) :while (< b 5)] (f [a b]))",
    "(for [x (iterate (fn [x] (+ x (count (for [y (range) :while (< (f y) 2)] (f y))))) 0) :while (< x 5)] (f x))",
    "(doseq [[i x] (map (fn [a b] (f [a b])) (range) (cycle [:a :b])) :while (< i 3)] (println i (f x)))",
    "(when-first [x (map f (iterate inc 3))] (f x))",
    "(take 3 (for [x (map f (range)) :when (odd? (f x)) y [1 2]] (f [x y])))",
    "(take 3 (map (fn [a b] (f [a b])) (filter (fn [x] (odd? (f x))) (range)) (iterate (fn [x] (inc (f x))) 5)))",
    "(take 5 (interleave (map f (range)) (interleave (map f (range)) (repeat 7))))",
    "(let [s (map vector (range) (iterate f 1))] (f 1) [(take 4 (reductions (fn [a x] (+ a (f (first x)))) 10 s)) (take 2 (partition 2 1 (map f s)))])",
    // patterns that have been paid for, in the middle of a replacement and before
    "(do (re-seq #\"a+\" \"aaba\") (str/replace \"xaay\" #\"a+\" (fn [m] (str (f m) (count (re-seq #\"a+\" \"ba\"))))))",
    "(let [r (re-pattern \"(\\\\d)(x?)\")] (f 1) [(re-find r \"1x\") (str/replace \"1x2\" r (fn [[m d]] (str m (f d))))])",
    "(str/replace \"é1ü2\" #\"\\\\d\" (fn [m] (str (f m) \"é\")))",
    "(str/replace \"abc\" #\"\" (fn [m] (f \"-\")))",
    // definitions: own, in branches, of builtins' names
    "(do (def a (f 1)) (defn inc [x] (f (+ x 10))) (def a (+ a (f 2))) [(map inc [1 2]) a (inc 3)])",
    "(do (defn + [a b] (f (* a b))) (let [x 3 y 4] (if (< x (+ x y)) (+ x 5) (+ 1 2))))",
    "(do (def a 1) (pmap (fn [x] (def a (f x)) (pmap (fn [y] (def b (f y)) [a b]) [1 2])) [5 6]))",
    "(do (defonce a (f 1)) (defonce a (f 2)) a)",
    "(do (defn g \"Doubles.\" [x] (* 2 (f x))) (g 2) (doc g))",
    // branches that have ended, failed and printed
    "(pmap (fn [x] (println x) (if (= x 2) (f x) x)) [1 2 3])",
    "(pcalls (fn [] (f 1)) (fn [] (inc \"a\")) (fn [] (f 3)))",
    "(pmap (fn [x] (reduce (fn [a y] (println y) (+ a (f y))) 0 [x x])) [1 2 3])",
    // values that are shared, large, odd
    "(let [m {:a 1 :b [1 2]} all [m m (f m)]] (f 1) (map (fn [x] (assoc x :c (f 2))) [m m]))",
    "(let [big (vec (range 500)) m (zipmap (range 100) (range 100))] (f 1) [(count big) (get m 50) (nth (conj big (f 2)) 500)])",
    "(let [r (range 1000000)] (f 1) (reduce (fn [a x] (if (> x 3) (reduced a) (+ a (f x)))) 0 r))",
    "(let [x [1e300 -0.0 123456789012345678901234567890N \"text\" :k 'sym #\"re\" #{1 :a} #'tool nil true]] (f 1) (pr-str x))",
    "(let [a '(1 [2]) b (conj a (f 3)) [x & c] b] (f 1) [a (cons a b) c (list a a) (= a [1 [2]]) (for [y b] (f y))])",
    "(walk/postwalk (fn [x] (f x)) '(1 (2 [3])))",
    "(into () (map f) [3 1 2])",
    "(let [d (java.time.LocalDate/parse \"2024-02-29\")] (f 1) (str d))",
    "(let [now (fn [] [(currentTimeMillis) (System/nanoTime) (str (Instant/now)) (str (LocalDate/now)) (str (java.util.Date.))]) then (now)] (f 1) [(= then (now)) (now)])",
    "(letfn [(even [n] (if (zero? (f n)) true (odd (dec n)))) (odd [n] (if (zero? n) false (even (dec n))))] (f 1) (even 4))",
    "(let [g ((fn [a & more] (fn ([] (f a)) ([x & ys] [a (f x) ys more]))) 1 2 3)] [(g) (g 4 5 6)])",
    "(for [[k v] {:a 1 :b 2 :c 3} c (str (f v)) :let [z (f k)]] [k c z])",
    "(loop [i 0 acc {}] (if (< i 3) (recur (inc i) (assoc acc (f i) (f (str i)))) acc))",
    "(let [[a b & c] (map f [1 2 3]) {:keys [x] :as m} {:x (f 9)}] (f 1) [a b c x m])",
    "(do (step-done \"s\" (f 1)) (task \"t\" (f 2)))",
    // programs that are kept, in branches and inside each other
    "(map f (pmap program/b [{:x 1} {:x 2}]))\n\u{c};program/b\n{}\n(def y data/x) (defn g [z] (get (tool/echo {:x z}) \"x\")) (+ (g y) (with-out-str (print 1)) (return (program/c {:z (g y)})))\n\u{c};program/c\n{}\n(pmap (fn [n] (tool/echo {:n (+ n data/z)})) [1 2])",
    // what memoized functions remember, in the program and in branches
    "(let [g (memoize (fn [& xs] (println xs) (f xs)))] [(g 1) (g 1) (pmap (fn [x] [(g x) (g x 2) (g x)]) [1 2]) (g 1) (g 2)])",
    "(do (println (f 1)) (budget/remaining) (f 2) [*1 data/x])",
    "(map (fn [r] [(:ok r) (f (:message r))]) [(tool/call {:server \"s\" :tool \"fault\" :args {}})])",
    // questions
    "(let [r (ask {:message \"Which?\" :schema {:type \"object\" :properties {:a {:type \"string\"}}}})] [(f (:ok r)) (get-in r [:value \"type\"])])",
    "(map (fn [x] [(f x) (:value (ask {:message (str \"Sure of \" x \"?\")}))]) [1 2])",
    "(reduce (fn [a x] (conj a (:reason (ask {:message \"Nobody?\"})) (f x))) [] [1 2])",
    "(pmap (fn [x] [(:ok (ask {:message \"Sure?\"})) (f x) (pcalls (fn [] (ask {:message \"Nobody?\"})))]) [1 2])",
    "(let [r (tool/call {:server \"s\" :tool \"t\" :args {:rows [{:a 1} {:a 2}]}})] (f 1) (map (fn [x] (f (:missing x))) (:rows (:value r))))",
    "(let [v (vec (range 3)) s (set v) g (fn [] v) w {:v v :l (list v v)} x (f 1)] [x (identical? v (:v w)) (apply identical? (:l w)) (identical? g (partial g)) (identical? v (g)) (identical? s (conj s 1)) (identical? v (vec (range 3))) (hash w)])",
];

/// A program for each kind of builtin in the middle of its work, in which that one waits.
pub(crate) const KINDS: &[(&str, &str)] = &[
    ("apropos", "(apropos \"echo\")"),
    ("call of a combinator", "((juxt f f) 4)"),
    ("comparator", "((comparator (fn [a b] (f (< a b)))) 1 2)"),
    ("distinct-by", "(distinct-by f [3 1 3])"),
    ("doc", "(doc \"echo/a\" \"echo/b\")"),
    ("escape", "(escape \"aba\" (fn [c] (f c)))"),
    ("extreme by key", "(min-by (fn [x] (f x)) [3 1 2])"),
    ("filter", "(filter (fn [x] (f x)) [3 nil])"),
    ("group-by", "(group-by (fn [x] (f x)) [3 1 3])"),
    ("keep", "(keep (fn [x] (f x)) [3 nil])"),
    ("map", "(map f [3 1 2])"),
    ("mapcat", "(mapcat (fn [x] [(f x)]) [3 1])"),
    ("memoize", "((memoize f) 3)"),
    ("merge-with", "(merge-with (fn [a b] (+ (f a) b)) {:a 1 :b 3} {:a 2 :b 4 :c 5} {:c 6})"),
    ("pages", "(tool/pages {:server \"s\" :tool \"t\" :args {:items [1 2]}})"),
    ("partition-by", "(partition-by (fn [x] (f (odd? x))) [3 1 2])"),
    ("program", "(program/b {:x 1})\n\u{c};program/b\n{}\n(tool/echo {:x data/x})"),
    ("quantifier", "(some (fn [x] (f x)) [nil 3])"),
    ("read-string", "(read-string {:readers {'m f}} \"[1 #m {:a [2]} #m 3]\")"),
    ("reduce", "(reduce (fn [a x] (+ a (f x))) [3 1 2])"),
    ("reduce-kv", "(reduce-kv (fn [a k v] (+ a (f v))) 0 {:a 1 :b 2})"),
    ("reductions", "(reductions (fn [a x] (+ a (f x))) [3 1 2])"),
    ("reductions of nothing", "(reductions (fn ([] (f 5)) ([a x] a)) [])"),
    ("regex scan", "(str/replace \"a1b2\" #\"[0-9]\" (fn [m] (f m)))"),
    ("run!", "(run! (fn [x] (println (f x))) [3 1 2])"),
    ("select", "(set/select (fn [x] (f (odd? x))) #{1 2 3})"),
    ("sort", "(sort (fn [a b] (f (< a b))) [3 1 2])"),
    ("sort keys", "(sort-by (fn [x] (f x)) [3 1 2])"),
    ("tool/call!", "(tool/call! {:server \"s\" :tool \"t\" :args {:a 1}})"),
    ("total by key", "(sum-by (fn [x] (f x)) [3 1 2])"),
    ("trampoline", "(trampoline (fn [x] (fn [] (f x))) 4)"),
    ("transducers", "(into [] (map f) [3 1 2])"),
    ("transducers of the program", "(transduce (fn [rf] (f 1) rf) + [3 1 2])"),
    ("tree-seq", "(tree-seq (fn [x] (f (vector? x))) seq [1 [2]])"),
    ("update", "(update {:a 5} :a f)"),
    ("update of an element", "(update [5 6] 1 f)"),
    ("update-in", "(update-in {:a {:b [5]}} [:a :b 0] f)"),
    ("update-keys", "(update-keys {1 :a 2 :b} f)"),
    ("update-vals", "(update-vals {:a 1 :b 2} f)"),
    ("update-vals of a vector", "(update-vals [1 2] f)"),
    ("walk", "(walk/walk (fn [x] (f x)) count [3 1 2])"),
    ("walk in step", "(map vector (iterate (fn [x] (inc (f x))) 1) [7 8 9])"),
    ("walk of all nodes", "(walk/postwalk (fn [x] (f x)) {:a [1 {:b 2}]})"),
    ("while", "(take-while (fn [x] (f x)) [3 nil])"),
    ("with-out-str", "(with-out-str (println (f 1)) (print (with-out-str (prn (f 2))) (f 3)))"),
];

pub(crate) const LIMITS: Limits = Limits { memory_bytes: 10 << 20, steps: 50_000 };

pub(crate) fn compiled(source: &str) -> Rc<Program> {
    compiled_here(source).unwrap_or_else(|error| panic!("{source}: {error:?}"))
}

/// The program with its text, as hosts that write snapshots compile it.
fn compiled_here(source: &str) -> ptc_vm::Result<Rc<Program>> {
    let mut program = compile(source, library(), &CompileOptions::default())?;
    program.text = Some(source.into());
    Ok(Rc::new(program))
}

/// Whether a text is a program at all.
pub(crate) fn compiles(source: &str) -> bool {
    compiled_here(source).is_ok()
}

pub(crate) fn digest(program: &Program) -> ptc_vm::Result<[u8; 16]> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u128;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u128::from(*byte)).wrapping_mul((1 << 88) | 0x13b);
        }
    };
    write_code(program, &mut add).expect("code has room");
    Ok(hash.to_le_bytes())
}

pub(crate) fn start(program: &Rc<Program>) -> Machine {
    let setup = Setup {
        tools: vec![Rc::from("echo")],
        upstreams: true,
        limits: LIMITS,
        started_at: 1_700_000_000_123,
        ..Setup::new(library())
    };
    Machine::new(program.clone(), setup)
}

pub(crate) fn written(machine: &Machine) -> Result<Vec<u8>, SnapshotError> {
    let setup = SnapshotSetup {
        digest: &digest,
        text_comes_with_request: false,
        bounds: Bounds::default(),
        host: b"host",
    };
    machine.snapshot(&setup).map(|snapshot| snapshot.bytes)
}

pub(crate) fn read(
    bytes: &[u8],
    compile: &mut dyn FnMut(&str) -> ptc_vm::Result<Rc<Program>>,
) -> Result<Machine, RestoreError> {
    Machine::restore(bytes, lent(compile)).map(|restored| restored.machine)
}

pub(crate) fn read_fresh(bytes: &[u8]) -> Result<Machine, RestoreError> {
    read(bytes, &mut compiled_here)
}

pub(crate) fn lent(compile: &mut dyn FnMut(&str) -> ptc_vm::Result<Rc<Program>>) -> RestoreSetup<'_> {
    RestoreSetup {
        library: library(),
        compile,
        digest: &digest,
        request_program: None,
        limits: LIMITS,
        granted_bytes: 1 << 20,
        reservation: None,
        deadline: None,
        bounds: Bounds::default(),
    }
}

/// A call and what its host will answer.
pub(crate) type Open = (CallId, Answer);

#[derive(Clone)]
pub(crate) enum Answer {
    Echo(Vec<u8>),
    Success(Vec<u8>),
    Fault,
}

impl Answer {
    pub(crate) fn to(call: PendingCall) -> Open {
        let answer = match call.request {
            HostRequest::Tool { arguments, .. } | HostRequest::Discovery { arguments, .. } => {
                Answer::Echo(arguments)
            }
            HostRequest::Upstream(request) => match (request.tool, request.arguments) {
                (Ok(tool), Ok(arguments)) if tool != "fault" => Answer::Success(arguments.json),
                _ => Answer::Fault,
            },
            HostRequest::Ask { message, .. } if message == "Nobody?" => Answer::Fault,
            HostRequest::Ask { schema, .. } => Answer::Success(schema.unwrap_or_else(|| b"{}".to_vec())),
            HostRequest::Sleep { .. } => Answer::Echo(b"null".to_vec()),
            HostRequest::Feature(_) => panic!("nobody asks for it"),
        };
        (call.id, answer)
    }

    pub(crate) fn reply(self) -> Reply {
        match self {
            Answer::Echo(arguments) => Reply::Value(Payload::Json(arguments.into())),
            Answer::Success(arguments) => Reply::success(Payload::Json(arguments.into())),
            Answer::Fault => Reply::fault("timeout", "no answer"),
        }
    }
}

/// What a run shows: value or error, prints, steps.
pub(crate) type Shown = (String, Vec<String>, u64);

pub(crate) fn finish(mut machine: Machine) -> Shown {
    let text = machine.inspect(print::readable);
    let outcome = machine.finish(true);
    let shown = match outcome.result {
        Ok(_) => text.expect("a value").expect("printable"),
        Err(error) => format!("!{} {} {:?}", error.reason(), error.message(), error.position()),
    };
    (shown, outcome.prints.iter().map(|line| line.as_str().to_owned()).collect(), outcome.steps)
}

/// Runs until the program ends; `at_wait` may put another machine in the place of the one that waits.
pub(crate) fn drive(
    mut machine: Machine,
    mut open: Vec<Open>,
    order: Order,
    at_wait: &mut dyn FnMut(Machine, &[Open]) -> Machine,
) -> Shown {
    let mut seed = if let Order::Any(seed) = order { seed } else { 0 };
    loop {
        let step = machine.resume(u64::MAX);
        open.extend(machine.take_calls().into_iter().map(Answer::to));
        match step {
            Step::Done => return finish(machine),
            Step::Slice => {}
            Step::Wait => {
                open.retain(|(call, _)| machine.is_waiting_for(*call));
                machine = at_wait(machine, &open);
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let next = match order {
                    Order::First => 0,
                    Order::Last => open.len() - 1,
                    Order::Any(_) => (seed >> 33) as usize % open.len(),
                };
                let (call, answer) = open.remove(next);
                machine.complete(call, answer.reply());
            }
        }
    }
}

pub(crate) fn programs() -> impl Iterator<Item = String> {
    PROGRAMS
        .iter()
        .chain(MORE)
        .chain(KINDS.iter().map(|(_, program)| program))
        .map(|program| format!("{ASKING} {program}"))
}

pub(crate) fn calls(open: &[Open]) -> Vec<CallId> {
    let mut calls: Vec<CallId> = open.iter().map(|(call, _)| *call).collect();
    calls.sort_unstable();
    calls
}
