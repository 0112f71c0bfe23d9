//! The listing of `lisp_keep`.

use ptc_mcp::json::object_text;

use crate::schemas::{STRING, error_branch, strings, success_branch, union};
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::{Annotations, Definition};

const DESCRIPTION: &str = "Proposes a program that you ran with lisp_eval, and that ended well, as a tool of its own: a draft, which \
    becomes a tool for others once a person has approved it. Run it first with what differs from call to call in `context` \
    (data/<name>), and with \"record\": true so that the run is its test. Keeps the last program, or the one whose text you give as `program`.";

const INPUT: &str = r#"{"type":"object","required":["name","description"],"properties":{"name":{"type":"string","description":"Small letters, digits and hyphens."},"description":{"type":"string","description":"What it does, for whoever calls it."},"title":{"type":"string","description":"A name for people."},"input":{"type":"object","description":"JSON Schema of its arguments; from the run's context if left out."},"output":{"type":"object","description":"JSON Schema of its value."},"tools":{"type":"array","items":{"type":"string"},"description":"What it may call, as \"upstream/tool\"; those that it called if left out."},"limits":{"type":"object","description":"timeout_ms, steps, memory_bytes, calls."},"program":{"type":"string","description":"The text of the program that is meant, exactly as you ran it; the last one if left out."}}}"#;

pub(super) const NAME: &str = "lisp_keep";

pub(super) fn definition(profile: Profile) -> Definition {
    let hints = Annotations { read_only: false, destructive: false, idempotent: true, open_world: false };
    Definition {
        name: NAME.into(),
        title: Some("PTC-Lisp: propose a tool".into()),
        description: DESCRIPTION.into(),
        input_schema: INPUT.into(),
        output_schema: output(profile),
        annotations: Some(hints.to_json()),
        meta: None,
        long: None,
    }
}

fn output(profile: Profile) -> Option<String> {
    if profile == Profile::Slim {
        return None;
    }
    let done =
        success_branch(&["status", "name", "program", "digest", "tests", "replaced", "next"], |properties| {
            strings(properties, &["name", "program", "digest", "next"]);
            properties.raw("tests", r#"{"type":"integer"}"#);
            properties.raw("replaced", r#"{"type":"boolean"}"#);
            properties.raw("untested", STRING);
        });
    let failed = error_branch(&["status", "reason", "message", "feedback"], |properties| {
        strings(properties, &["reason", "message", "feedback"]);
    });
    Some(union([done, failed]))
}

/// The structured content of an answer.
pub(super) struct KeptDraft<'a> {
    pub(super) name: &'a str,
    pub(super) program: &'a str,
    pub(super) digest: &'a str,
    pub(super) tests: usize,
    /// Why it has no test, if the run was to be one.
    pub(super) untested: Option<&'a str>,
    pub(super) replaced: bool,
    pub(super) next: &'a str,
}

impl KeptDraft<'_> {
    pub(super) fn json(&self) -> String {
        object_text(|object| {
            object.string("status", "ok");
            object.string("name", self.name);
            object.string("program", self.program);
            object.string("digest", self.digest);
            object.integer("tests", self.tests as u64);
            if let Some(untested) = self.untested {
                object.string("untested", untested);
            }
            object.boolean("replaced", self.replaced);
            object.string("next", self.next);
        })
    }

    pub(super) fn text(&self) -> String {
        let KeptDraft { name, program, tests, untested, replaced, next, .. } = self;
        let of = if *replaced { ", in place of the former one" } else { "" };
        let tests = match (tests, untested) {
            (_, Some(why)) => format!("without a test: {why}"),
            (0, None) => "without a test".to_owned(),
            (1, None) => "with 1 test".to_owned(),
            (tests, None) => format!("with {tests} tests"),
        };
        format!("draft {name}{of}, {tests}\n{next}\n\n{program}")
    }
}
