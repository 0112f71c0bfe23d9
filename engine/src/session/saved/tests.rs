use super::*;
use crate::outcome::SessionFault;
use bytes::Bytes;
use proptest::prelude::*;
use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::code::LANGUAGE_VERSION;
use ptc_vm::machine::{Namespace, Setup};
use ptc_vm::value::{Map, Str};
use ptc_vm::{Machine, Program, Step, Value, print};
use std::rc::Rc;
use std::sync::Arc;

fn program(text: &str) -> Option<Rc<Program>> {
    let mut program = compile(text, library(), &CompileOptions::default()).ok()?;
    program.text = Some(Arc::from(text));
    Some(Rc::new(program))
}

/// The namespace after these programs, and the value of the last one.
fn after(programs: &[&str], mut namespace: Namespace) -> (Namespace, Value) {
    let mut value = Value::Nil;
    for text in programs {
        let setup = Setup { namespace, ..Setup::new(library()) };
        let mut machine = Machine::new(program(text).expect("a program"), setup);
        while let Step::Slice = machine.resume(100_000) {}
        let outcome = machine.finish(true);
        value = outcome.result.unwrap_or_else(|error| panic!("{text}: {error}"));
        namespace = outcome.namespace;
    }
    (namespace, value)
}

fn saved(namespace: &Namespace, last: &Value, about: &[u8]) -> Bytes {
    let sizes: Vec<(Rc<str>, u64)> =
        namespace.bindings().into_iter().map(|(name, _)| (name.clone(), name.len() as u64)).collect();
    let journal: Map = [(Value::str("task"), Value::Int(1))].into_iter().collect();
    let values = Values {
        namespace,
        history: [last, &Value::Nil, &Value::Int(7)],
        turn: 12,
        journal: &journal,
        summaries: &[(Str::new("step"), Value::str("done"))],
        sizes: &sizes,
        history_sizes: [1, 2, 3],
        journal_bytes: 9,
    };
    drafted(&values, None).expect("it fits").finish(about)
}

fn read(blob: &[u8]) -> Result<Restored, Trouble> {
    read_session(blob, &mut |text| Ok(program(text)))
}

fn fault(blob: &[u8]) -> Option<SessionFault> {
    match read(blob) {
        Err(Trouble::Fault(fault)) => Some(fault),
        Err(Trouble::Refused(error)) => panic!("{error}"),
        Ok(_) => None,
    }
}

const FIVE: &str =
    "(def user \"ada\") (def total 42) (def ids [1 2 3]) (def by-id {1 :a 2 :b}) (def done? true)";

#[test]
fn a_session_comes_back_and_goes_on() {
    let texts = [
        "(def rate 3) (defn twice \"Doubles.\" [x] (* 2 x))",
        "(defn scaled [x] (* rate (twice x)))",
        "(map scaled [1 2])",
    ];
    let (namespace, last) = after(&texts, Namespace::new(library()));
    let blob = saved(&namespace, &last, b"about it");
    assert_eq!(about(&blob).expect("a saved session"), b"about it");
    let back = read(&blob).expect("a saved session");
    assert_eq!((back.turn, back.history_sizes, back.journal_bytes), (12, [1, 2, 3], 9));
    assert_eq!(print::readable_lossy(&back.history[0]), "[6 12]");
    assert_eq!(back.journal.len(), 1);
    assert_eq!(back.summaries[0].0.as_str(), "step");
    assert_eq!(back.sizes.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["rate", "scaled", "twice"]);
    let doc = back.namespace.get("twice").and_then(|binding| binding.info.clone()).expect("documentation");
    assert_eq!(
        (doc.doc.as_deref(), &*doc.source),
        (Some("Doubles."), "(defn twice \"Doubles.\" [x] (* 2 x))")
    );
    // The last text made no function, and the value does not need it.
    let mut kept = texts_of(&blob);
    kept.sort_unstable();
    assert_eq!(kept, texts[..2]);
    let (_, value) = after(&["(def rate 5)", "(scaled 2)"], back.namespace);
    assert_eq!(print::readable_lossy(&value), "20");
}

/// The texts that a saved session has.
fn texts_of(blob: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    let read = read_session(blob, &mut |text| {
        texts.push(text.to_owned());
        Ok(program(text))
    });
    assert!(read.is_ok());
    texts
}

#[test]
fn five_small_bindings_are_small() {
    let (namespace, last) = after(&[FIVE], Namespace::new(library()));
    let blob = saved(&namespace, &last, &[0; 64]);
    assert!(blob.len() <= 300, "{} bytes", blob.len());
}

#[test]
fn large_sessions_are_packed() {
    let (namespace, last) = after(
        &["(def rows (map (fn [n] {:id n :state \"paid\" :sum 1.5}) (range 2000)))"],
        Namespace::new(library()),
    );
    let blob = saved(&namespace, &last, b"about");
    let payload = packing::unpack(&blob).expect("a saved session");
    assert!(blob.len() < payload.len() * 2 / 3, "{} of {}", blob.len(), payload.len());
    assert_eq!(about(&blob).expect("a saved session"), b"about");
    let back = read(&blob).expect("a saved session");
    let (_, value) = after(&["(:id (nth rows 1999))"], back.namespace);
    assert_eq!(print::readable_lossy(&value), "1999");
}

#[test]
fn sizes_are_checked_before_anything_is_unpacked() {
    // Format, packed, a raw size of 4 GiB or of 2 MiB, ten bytes.
    for size in [&[0x80, 0x80, 0x80, 0x80, 0x10][..], &[0x80, 0x80, 0x80, 0x01]] {
        let blob = [&[1, 1], size, &[0; 10]].concat();
        assert_eq!(fault(&blob), Some(SessionFault::Corrupt("size")));
        assert_eq!(about(&blob).err(), Some(SessionFault::Corrupt("size")));
    }
}

#[test]
fn what_another_build_wrote_is_read_if_its_programs_come_to_the_same_code() {
    let (data, last) = after(&[FIVE], Namespace::new(library()));
    let (functions, _) = after(&["(defn f [] 1)"], Namespace::new(library()));
    let of_another_build = |blob: &Bytes| {
        let mut bytes = blob.to_vec();
        // Behind format and packing.
        bytes[2] ^= 1;
        bytes
    };
    assert_eq!(fault(&of_another_build(&saved(&data, &last, b""))), None);
    assert_eq!(fault(&of_another_build(&saved(&functions, &last, b""))), None);
    // The same text, other code.
    let other = |text: &str| Ok(program(&text.replace('1', "2")));
    let blob = saved(&functions, &last, b"");
    let read = read_session(&blob, &mut |text| other(text));
    assert!(matches!(read, Err(Trouble::Fault(SessionFault::OtherBuild))));
    let read = read_session(&blob, &mut |_| Ok(None));
    assert!(matches!(read, Err(Trouble::Fault(SessionFault::OtherBuild))));
    // Another format.
    assert_eq!(fault(&[2, 0, 1, 2, 3]), Some(SessionFault::OtherBuild));
    // What means nothing here.
    let mut strange = of_another_build(&saved(&data, &last, b""));
    strange.push(0);
    assert_eq!(fault(&strange), Some(SessionFault::OtherBuild));
}

/// The digest of a program's code under another version of the language.
fn digest_in_language(version: u16, program: &Program) -> [u8; DIGEST] {
    let mut pieces = Vec::new();
    ptc_vm::graph::write_code(program, &mut |piece| pieces.push(piece.to_vec())).expect("it fits");
    pieces[0] = version.to_le_bytes().to_vec();
    let digest = ring::digest::digest(&ring::digest::SHA256, &pieces.concat());
    digest.as_ref()[..DIGEST].try_into().expect("as many bytes")
}

#[test]
fn functions_of_another_language_version_are_refused() {
    let text = "(defn f [] (/ 6 2))";
    let (functions, last) = after(&[text], Namespace::new(library()));
    let mut blob = saved(&functions, &last, b"").to_vec();
    let code = program(text).expect("a program");
    let own = digest(&code).expect("it fits");
    assert_eq!(own, digest_in_language(LANGUAGE_VERSION, &code));
    let at = blob.windows(DIGEST).position(|bytes| bytes == own).expect("the digest is beside the text");
    blob[at..at + DIGEST].copy_from_slice(&digest_in_language(LANGUAGE_VERSION - 1, &code));
    assert_eq!(fault(&blob), Some(SessionFault::OtherBuild));
}

proptest! {
    #[test]
    fn changed_bytes_are_refused_or_are_a_session(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (namespace, last) = after(&[FIVE, "(defn f [x] (fn [y] [x y]))", "(f 1)"], Namespace::new(library()));
        let mut bytes = saved(&namespace, &last, b"about").to_vec();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        let _ = about(&bytes);
        if let Ok(back) = read(&bytes) {
            for (_, binding) in back.namespace.bindings() {
                print::readable_lossy(&binding.value);
            }
        }
    }
}
