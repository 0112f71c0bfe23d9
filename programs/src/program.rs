//! One program: its file, read.

use std::rc::Rc;
use std::sync::Arc;

use ptc_compiler::datum::read_head;
use ptc_compiler::parts::{HEAD_MARK, link, place};
use ptc_compiler::{CompileOptions, Span};
use ptc_host::digest::sha256_hex;
use ptc_vm::Machine;
use ptc_vm::builtins::library;
use ptc_vm::machine::Setup;

use crate::head::ProgramHead;
use crate::name::ProgramName;
use crate::test_case::TestCase;
use ptc_host::engine::kept::ProgramFault;

/// Largest file, in bytes.
pub const MAX_FILE_BYTES: u64 = 512 << 10;
/// The namespace of calls between programs.
const NAMESPACE: &str = "program";

/// A program as its file has it.
#[derive(Clone, Debug)]
pub struct KeptProgram {
    /// Its name, which is that of the file.
    pub name: ProgramName,
    /// The whole text of the file.
    pub text: Arc<str>,
    /// What stands at its head.
    pub head: ProgramHead,
    /// SHA-256 of the file's bytes, in 64 hex digits.
    pub digest: Arc<str>,
    /// The programs that it calls, sorted.
    pub calls: Box<[ProgramName]>,
}

impl KeptProgram {
    /// Reads the text of a file, and compiles it to see that it can be.
    ///
    /// # Errors
    /// What is wrong with it first.
    pub fn read(name: ProgramName, text: &str) -> Result<KeptProgram, ProgramFault> {
        if let Some(at) = text.find(HEAD_MARK) {
            let at = Span { start: at as u32, end: at as u32 + 1 };
            return Err(ProgramFault::at(at.position(text), "a file has no form feed in it"));
        }
        let head = read_head(text, NAMESPACE)?;
        if head.is_alone {
            return Err(ProgramFault::whole("the file has a head and no program behind it"));
        }
        let mut calls = Vec::new();
        for (called, span) in &head.mentions {
            let called = ProgramName::new(called)
                .map_err(|fault| ProgramFault::at(span.position(text), fault.to_string()))?;
            if called == name {
                return Err(ProgramFault::at(span.position(text), "a program cannot call itself"));
            }
            calls.push(called);
        }
        calls.sort();
        let read = ProgramHead::read(text, &head.datum)?;
        // What it calls is another file's matter.
        compile(&link(text, true, calls.iter().map(|called| (called.as_str(), "{}"))))?;
        let digest = sha256_hex(text.as_bytes()).into();
        Ok(KeptProgram { digest, name, text: text.into(), head: read, calls: calls.into() })
    }

    /// The tests of its head, read of its text.
    #[must_use]
    pub fn tests(&self) -> Vec<TestCase> {
        let head = read_head(&self.text, NAMESPACE).ok();
        head.and_then(|head| ProgramHead::read_tests(&self.text, &head.datum).ok()).unwrap_or_default()
    }
}

/// Whether a linked text can run: it compiles, and has all names that it uses.
///
/// # Errors
/// What is wrong first; in a program that it calls with the name of that one's file.
pub(crate) fn compile(body: &str) -> Result<(), ProgramFault> {
    let options = CompileOptions { max_source_bytes: body.len(), ..CompileOptions::default() };
    let program = ptc_compiler::compile(body, library(), &options)
        .map_err(|error| placed(body, ProgramFault::from(error)))?;
    let machine = Machine::new(Rc::new(program), Setup { upstreams: true, ..Setup::new(library()) });
    match machine.result() {
        Some(Err(error)) => {
            let text = format!("{}{}", error.message(), error.hint().unwrap_or_default());
            let (line, column) = error.position().map_or((0, 0), |at| (at.line, at.column));
            Err(placed(body, ProgramFault { line, column, text }))
        }
        _ => Ok(()),
    }
}

/// A fault in a program that is called, as one of the whole text that names its file.
fn placed(text: &str, fault: ProgramFault) -> ProgramFault {
    match place(text, fault.line) {
        Some((name, line)) => {
            ProgramFault::whole(format!("{name}.clj:{line}:{} {}", fault.column, fault.text))
        }
        None => fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<KeptProgram, ProgramFault> {
        KeptProgram::read(ProgramName::new("report").unwrap(), text)
    }

    const WHOLE: &str = r#"; a report
{:description "Adds up the open invoices of a customer."
 :title "Open invoices"
 :input {:type "object" :properties {:customer {:type "string"}} :required ["customer"]}
 :output {:type :object :properties {:cents {:type "integer"}}}
 :tools ["billing/list_*" "crm/get"]
 :limits {:timeout-ms 5000 :steps 100000 :calls 20}
 :tests [{:name "two" :input {:customer "ann"} :now "2026-01-31T12:00:00Z"
          :replies [{:tool "billing/list_invoices" :args {:customer "ann"} :value [{:cents 3}] :times 2}
                    {:tool "crm/get" :fault {:reason :tool-error :message "gone"}}]
          :answers [true :decline {:name "x"}]
          :value {:cents 3}}]}
(let [é 1] {:cents (undefined-later é)})
(defn undefined-later [x] x)
"#;

    #[test]
    fn a_file_is_read_whole() {
        let program = read(&WHOLE.replace("undefined-later", "inc").replace("(defn inc [x] x)", "")).unwrap();
        let head = &program.head;
        assert_eq!(
            (head.title.as_deref(), &*head.description),
            (Some("Open invoices"), "Adds up the open invoices of a customer.")
        );
        assert_eq!(
            &*head.input.json,
            r#"{"type":"object","properties":{"customer":{"type":"string"}},"required":["customer"],"additionalProperties":false}"#
        );
        assert!(head.tools.names("billing", "list_invoices") && !head.tools.names("billing", "delete"));
        assert_eq!(head.limits.as_ref().and_then(|limits| limits.calls), Some(20));
        let tests = program.tests();
        assert_eq!((tests.len(), head.tests), (1, 1));
        assert_eq!(tests[0].replies.len(), 2);
        assert_eq!(tests[0].title(), "two");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let body = "\n(+ 1 2)";
        for (head, fault) in [
            ("[]", "1:1 the head of a program must be a map, got a vector"),
            ("{}", "1:1 the head has no :description: say what the program does, for whoever calls it"),
            ("{:description 7}", "1:15 :description must be a string, got a number"),
            (
                "{:description \"x\" :tool []}",
                "1:19 the head of a program has no key :tool; did you mean :tools?",
            ),
            (
                "{:description \"x\"\n :tools [\"billing\"]}",
                "2:10 :tools has strings such as \"upstream/name\", with * for anything, got \"billing\"",
            ),
            (
                "{:description \"x\" :input {:type \"array\"}}",
                "1:26 :input must be the schema of an object, got :type \"array\"",
            ),
            (
                "{:description \"x\" :output {:typ \"array\"}}",
                "1:27 :output is no schema that ptc can check: unsupported JSON Schema key(s): typ",
            ),
            (
                "{:description \"x\" :input {:properties {:a {:type \"integer\" :default \"x\"}}}}",
                "1:26 :input has a default of \"a\" that does not fit: expected integer at $, got a string",
            ),
            ("{:description \"x\" :limits {:steps 0}}", "1:35 :steps must be a whole number above 0"),
            (
                "{:description \"x\" :tests [{}]}",
                "1:27 a test has either :value or :error, what the program ends with",
            ),
            (
                "{:description \"x\" :tests [{:value 1 :replies [{:tool \"a/b\" :fault {:reason :time-out}}]}]}",
                "1:76 no call fails with the reason :time-out; there are :upstream-unavailable, :upstream-error, :tool-error, :auth-failed, :auth-required, :rate-limited, :timeout, :response-too-large, :cap-exhausted, :declined, :cancelled, :unanswerable",
            ),
            (
                "{:description \"x\" :tests [{:value 1 :replies [{:value 1}]}]}",
                "1:47 a reply has a :tool such as \"upstream/name\"",
            ),
            ("{:description f}", "1:15 a symbol is no data: nothing is evaluated here"),
        ] {
            assert_eq!(read(&format!("{head}{body}")).unwrap_err().to_string(), fault, "{head}");
        }
        assert_eq!(
            read("{:description \"x\"}").unwrap_err().to_string(),
            "the file has a head and no program behind it"
        );
        let at = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(at("{:description \"x\"}\n1 \u{c}"), "2:3 a file has no form feed in it");
        assert!(
            read("{:description \"x\"}\n(program/other {:x 1})").is_ok(),
            "what it calls is another file"
        );
        assert!(at("{:description \"x\"}\n(program/other)").starts_with("2:2 "));
        assert!(
            at("{:description \"x\"}\n(foo 1)").starts_with("2:2 "),
            "{}",
            at("{:description \"x\"}\n(foo 1)")
        );
        assert_eq!(at("{:description \"x\"}\n(program/report {})"), "2:2 a program cannot call itself");
        assert!(
            at("{:description \"x\"}\n(program/lisp-eval {})").starts_with("2:2 names that begin with lisp-")
        );
    }
}
