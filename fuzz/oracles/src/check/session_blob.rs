//! Sessions that were saved, and changed on the way.

use ptc_compiler::{CompileOptions, compile};
use ptc_host::engine::saved::{Restored, about, read_session, write_session};
use ptc_vm::builtins::library;
use ptc_vm::machine::Setup;
use ptc_vm::meter::Allowance;
use ptc_vm::{Machine, Program, Step, Value, print};
use std::rc::Rc;
use std::sync::Arc;

/// What sessions are made of, one program each.
const SESSIONS: &[&str] = &[
    "(def user \"ada\") (def total 42) (def ids [1 2 3]) (def by-id {1 :a 2 :b}) [user total]",
    "(defn f \"Doc.\" [x] (fn [y] [x y f])) (def g (f 1)) (def h (partial g 2)) (def j (comp h inc)) j",
    "(def xs (range 100000)) (def ys (assoc xs 5000 :y)) (def zs (repeat 1000 \"z\")) (subvec ys 10 6000)",
    "(def rows (map (fn [n] {:id n :tag (str \"t\" n)}) (range 40))) (def s (set (range 50))) (zipmap s rows)",
    "(def ev (letfn [(e? [n] (or (zero? n) (o? (dec n)))) (o? [n] (and (pos? n) (e? (dec n))))] [e? o?])) #\"a+(b)\"",
    "(def stack '(1 2 3)) (def tail (rest stack)) (def all (conj (list stack tail [stack]) stack)) (map list all)",
    "(def big (reduce * (range 1 40))) (def xf (comp (map inc) (take 3))) (cycle [1 2 3])",
];

/// The first byte chooses a session, each four bytes behind it change one byte of it: the place in three, the new one. With
/// 255 as the first byte the rest is read as it is.
pub fn session_blob(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    if *first == u8::MAX {
        is_harmless(rest);
        return;
    }
    let mut bytes = saved(SESSIONS[usize::from(*first) % SESSIONS.len()]);
    for change in rest.chunks_exact(4) {
        let place = usize::from(change[0]) << 16 | usize::from(change[1]) << 8 | usize::from(change[2]);
        let place = place % bytes.len();
        bytes[place] = change[3];
    }
    if let Some(cut) = rest.chunks_exact(4).remainder().first() {
        bytes.truncate(bytes.len() * usize::from(*cut) / 255);
    }
    is_harmless(&bytes);
}

fn program(text: &str) -> Option<Rc<Program>> {
    let mut program = compile(text, library(), &CompileOptions::default()).ok()?;
    program.text = Some(Arc::from(text));
    Some(Rc::new(program))
}

fn saved(text: &str) -> Vec<u8> {
    let mut machine = Machine::new(program(text).expect("a program"), Setup::new(library()));
    while let Step::Slice = machine.resume(100_000) {}
    let outcome = machine.finish(true);
    // An endless sequence is no result; its definitions stay out with it.
    let value = outcome.result.unwrap_or_default();
    write_session(&outcome.namespace, [&value, &Value::Nil, &value], b"about").expect("it is small").to_vec()
}

/// Reading ends within its limits. What comes of it can be shown, and gives the same bytes again.
fn is_harmless(bytes: &[u8]) {
    let _ = about(bytes);
    let Some(session) = read(bytes) else { return };
    for (_, binding) in session.namespace.bindings() {
        print::render_capped(&binding.value, 1000, print::Budget::default());
    }
    let Some(once) = written(&session) else { return };
    let again = read(&once).expect("what was written can be read");
    assert_eq!(written(&again).as_deref(), Some(&once[..]));
}

fn read(bytes: &[u8]) -> Option<Restored> {
    let allowance =
        Allowance { memory_bytes: 64 << 20, steps: 20_000_000, reservation: None, deadline: None };
    let mut session = None;
    let done = allowance.spend(|| {
        session = read_session(bytes, &mut |text| Ok(program(text))).ok();
        Ok(())
    });
    done.ok().and(session)
}

fn written(session: &Restored) -> Option<Vec<u8>> {
    let [first, second, third] = &session.history;
    write_session(&session.namespace, [first, second, third], b"about").ok().map(|blob| blob.to_vec())
}
