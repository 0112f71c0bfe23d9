//! The arguments of an evaluation, checked in a fixed order with fixed messages.

use std::borrow::Cow;
use std::sync::Arc;

use ptc_host::output_schema::OutputSchema;

use ptc_mcp::json::{Kind, Raw, repeated_key, write_string};

use super::super::unknown_arguments::{MOST_COMPARED, heed_unknown};

/// Deepest nesting of `context`.
const MAX_CONTEXT_DEPTH: usize = 128;
/// Largest `output_schema`, in bytes.
const MAX_SCHEMA_BYTES: usize = 256 << 10;

/// Bounds of arguments.
#[derive(Debug, Clone, Copy)]
pub struct ArgumentCaps {
    /// Longest program, in bytes.
    pub max_program_bytes: usize,
    /// Largest context, in bytes of compact JSON.
    pub max_context_bytes: usize,
}

/// The wording of a tool's errors about `context`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wording {
    /// ``argument `context` …``, with the value found and with the reason of a rule.
    Full,
    /// The same without the reason: a task has no program whose namespace could be shadowed.
    Unexplained,
    /// `context …`, without sizes and keys that were found.
    Short,
    /// `arguments …`: they are those of an upstream's tool.
    Arguments,
}

impl Wording {
    fn complain(self, complaint: &str) -> String {
        match self {
            Wording::Full | Wording::Unexplained => format!("argument `context` {complaint}"),
            Wording::Short => format!("context {complaint}"),
            Wording::Arguments => format!("arguments {complaint}"),
        }
    }

    fn no_object(self, got: Kind) -> String {
        match self {
            Wording::Full | Wording::Unexplained | Wording::Arguments => {
                self.complain(&format!("must be a JSON object, got {}", got.name()))
            }
            Wording::Short => self.complain("must be an object when supplied"),
        }
    }

    fn too_large(self, size: usize, max: usize) -> String {
        let found = if self == Wording::Short { String::new() } else { format!(" ({size} > {max})") };
        match self {
            Wording::Arguments => self.complain(&format!("exceed the bytes of an upstream call{found}")),
            _ => self.complain(&format!("exceeds max_context_bytes{found}")),
        }
    }

    fn slash_in(self, key: &str) -> String {
        let mut quoted = Vec::new();
        write_string(&mut quoted, key);
        let quoted = String::from_utf8_lossy(&quoted);
        let found = match self {
            Wording::Full => format!(" (would shadow PTC-Lisp namespace): {quoted}"),
            Wording::Unexplained | Wording::Arguments => format!(": {quoted}"),
            Wording::Short => String::new(),
        };
        self.complain(&format!("keys may not contain `/`{found}"))
    }
}

/// Checked arguments.
#[derive(Debug, Clone)]
pub struct Arguments {
    /// The program.
    pub program: Arc<str>,
    /// The context: the text of a JSON object.
    pub context: Option<Arc<str>>,
    /// The schema of the value.
    pub output_schema: Option<Arc<OutputSchema>>,
    /// Whether the run is to be recorded as a test, where drafts are offered.
    pub record: bool,
}

impl Arguments {
    /// Reads an arguments object.
    ///
    /// # Errors
    /// The `message` of the first check that fails.
    pub(crate) fn read(arguments: Option<Raw<'_>>, caps: &ArgumentCaps) -> Result<Arguments, String> {
        if let Some(other) =
            arguments.map(Raw::kind).filter(|kind| !matches!(kind, Kind::Object | Kind::Null))
        {
            return Err(format!("arguments must be an object, got {}", other.name()));
        }
        let members = ArgumentMembers::of(arguments)?;
        heed_unknown(members.unknown.iter(), &KNOWN)?;
        let program = program(members.given_program(), caps.max_program_bytes)?;
        let record = record(members.record)?;
        Ok(Arguments { record, ..members.check(program, caps, Wording::Full)? })
    }

    /// As [`read`](Self::read), around a program that was checked already.
    ///
    /// # Errors
    /// The `message` of the first check that fails.
    pub(crate) fn read_around(
        program: Arc<str>,
        arguments: Option<Raw<'_>>,
        caps: &ArgumentCaps,
        wording: Wording,
    ) -> Result<Arguments, String> {
        ArgumentMembers::of(arguments)?.check(program, caps, wording)
    }
}

/// The arguments of the tool.
const KNOWN: [&str; 6] = ["program", "code", "context", "output_schema", "record", "signature"];

/// The members that matter, as sent.
#[derive(Default)]
struct ArgumentMembers<'a> {
    program: Option<Raw<'a>>,
    /// The name of the program for models that know other tools of this kind (decision 165).
    code: Option<Raw<'a>>,
    context: Option<Raw<'a>>,
    output_schema: Option<Raw<'a>>,
    record: Option<Raw<'a>>,
    signature: Option<Raw<'a>>,
    /// Names of other members, as many as are looked at.
    unknown: Vec<Cow<'a, str>>,
}

impl<'a> ArgumentMembers<'a> {
    fn of(arguments: Option<Raw<'a>>) -> Result<Self, String> {
        let mut members = ArgumentMembers::default();
        for (key, value) in arguments.and_then(Raw::members).into_iter().flatten() {
            let slot = match &*key {
                "program" => &mut members.program,
                "code" => &mut members.code,
                "context" => &mut members.context,
                "output_schema" => &mut members.output_schema,
                "record" => &mut members.record,
                "signature" => &mut members.signature,
                _ => {
                    if members.unknown.len() < MOST_COMPARED {
                        members.unknown.push(key);
                    }
                    continue;
                }
            };
            if slot.replace(value).is_some() {
                return Err(format!("argument `{key}` is given twice"));
            }
        }
        Ok(members)
    }

    /// The program: `code` if `program` is missing.
    fn given_program(&self) -> Option<Raw<'a>> {
        program_of(self.program, self.code)
    }

    /// Checks everything but the program.
    fn check(self, program: Arc<str>, caps: &ArgumentCaps, wording: Wording) -> Result<Arguments, String> {
        let context = context(self.context, caps.max_context_bytes, wording)?;
        if self.signature.is_some_and(|given| given.kind() != Kind::Null) {
            return Err("argument `signature` is no longer supported; use `output_schema`".into());
        }
        let output_schema = output_schema(self.output_schema)?;
        Ok(Arguments { program, context, output_schema, record: false })
    }
}

/// Whether a run is to be recorded.
///
/// # Errors
/// The message that it must be a boolean.
fn record(value: Option<Raw<'_>>) -> Result<bool, String> {
    match value.filter(|value| value.kind() != Kind::Null) {
        None => Ok(false),
        Some(value) if value.kind() == Kind::Boolean => Ok(value.text() == "true"),
        Some(value) => Err(format!("argument `record` must be true or false, got {}", value.kind().name())),
    }
}

/// The program among the arguments: `code` if `program` is missing.
pub(crate) fn program_of<'a>(program: Option<Raw<'a>>, code: Option<Raw<'a>>) -> Option<Raw<'a>> {
    program.filter(|program| program.kind() != Kind::Null).or(code).or(program)
}

/// The program within a code fence, if all of it is in one (decision 165). Lines keep their numbers.
pub(crate) fn without_fence(program: &str) -> Arc<str> {
    let start = program.len() - program.trim_start().len();
    let ticks = program[start..].bytes().take_while(|byte| *byte == b'`').count();
    if ticks < 3 {
        return program.into();
    }
    let fence = &program[start..start + ticks];
    let inside = &program[start + ticks..];
    let inside = inside.trim_end().strip_suffix(fence).unwrap_or(inside);
    // The fence may be followed by the name of a language.
    let is_language = |line: &str| !line.contains(['(', '[', '{', '"', '`']);
    let line_end = inside.find('\n').filter(|end| is_language(&inside[..*end]));
    [&program[..start], &inside[line_end.unwrap_or(0)..]].concat().into()
}

fn program(value: Option<Raw<'_>>, max: usize) -> Result<Arc<str>, String> {
    let Some(value) = value else { return Err("argument `program` is required".into()) };
    let Some(program) = value.as_str() else {
        return Err(format!("argument `program` must be a string, got {}", value.kind().name()));
    };
    if program.len() > max {
        return Err(format!("argument `program` exceeds max_program_bytes ({} > {max})", program.len()));
    }
    let program = without_fence(&program);
    if program.trim().is_empty() {
        return Err("argument `program` must be a non-empty string".into());
    }
    Ok(program)
}

/// The context of a call: the text of a JSON object.
///
/// # Errors
/// The `message` of the first check that fails.
pub(crate) fn context(
    value: Option<Raw<'_>>,
    max: usize,
    wording: Wording,
) -> Result<Option<Arc<str>>, String> {
    let Some(value) = value.filter(|value| value.kind() != Kind::Null) else { return Ok(None) };
    let text = value.as_str().filter(|text| text.len() <= max.saturating_mul(2));
    let value = text.as_deref().and_then(Raw::object_of).unwrap_or(value);
    let Some(mut members) = value.members() else { return Err(wording.no_object(value.kind())) };
    checked_size(value, max, wording)?;
    let (mut empty, mut slashed) = (false, None);
    for (key, _) in &mut members {
        empty |= key.is_empty();
        if slashed.is_none() && key.contains('/') {
            slashed = Some(key);
        }
    }
    if empty {
        return Err(wording.complain("keys must be non-empty"));
    }
    if let Some(key) = slashed {
        return Err(wording.slash_in(&key));
    }
    checked_content(value, members.deepest(), wording)?;
    Ok(Some(value.text().into()))
}

fn checked_size(value: Raw<'_>, max: usize, wording: Wording) -> Result<(), String> {
    // The text as sent is never shorter than its compact form.
    if value.text().len() > max {
        let size = value.compact_len();
        if size > max {
            return Err(wording.too_large(size, max));
        }
    }
    Ok(())
}

/// Checks a JSON object of a call that is nested `deepest` deep.
fn checked_content(value: Raw<'_>, deepest: usize, wording: Wording) -> Result<(), String> {
    if let Some(number) = beyond_floats(value.text()) {
        let shown: String = number.chars().take(40).collect();
        return Err(wording.complain(&format!("holds a number that no float can be: {shown}")));
    }
    if deepest > MAX_CONTEXT_DEPTH {
        return Err(wording.complain(&format!("is nested deeper than {MAX_CONTEXT_DEPTH} levels")));
    }
    if let Some(key) = repeated_key(value.text()) {
        return Err(wording.complain(&format!("gives a key twice in one object: {key:?}")));
    }
    Ok(())
}

/// Checks the arguments of a call that are handed on as they are written, and gives them on one line.
///
/// # Errors
/// The `message` of the first check that fails.
pub(crate) fn passed_arguments(value: Option<Raw<'_>>, max: usize) -> Result<Vec<u8>, String> {
    let Some(value) = value.filter(|value| value.kind() != Kind::Null) else { return Ok(b"{}".to_vec()) };
    let wording = Wording::Arguments;
    let Some(mut members) = value.members() else {
        return Err(format!("arguments must be an object, got {}", value.kind().name()));
    };
    checked_size(value, max, wording)?;
    members.by_ref().for_each(drop);
    checked_content(value, members.deepest(), wording)?;
    // Line breaks are between the tokens of JSON only, where any blank does, and end a message on a pipe.
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let on_a_line = value.text().bytes().map(|byte| if is_break(&byte) { b' ' } else { byte });
    Ok(on_a_line.collect())
}

/// The first number of a JSON text that is too large for a float. (Integers have no bound here.)
fn beyond_floats(json: &str) -> Option<&str> {
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(inside) = bytes.get(at).filter(|byte| **byte != b'"') {
                    at += if *inside == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let number = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let length = bytes[at..].iter().take_while(|byte| number(byte)).count();
                let text = &json[at..at + length];
                let is_float = text.contains(['.', 'e', 'E']);
                if is_float && text.parse::<f64>().is_ok_and(f64::is_infinite) {
                    return Some(text);
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    None
}

fn output_schema(value: Option<Raw<'_>>) -> Result<Option<Arc<OutputSchema>>, String> {
    let Some(value) = value.filter(|value| value.kind() != Kind::Null) else { return Ok(None) };
    let text = value.as_str().filter(|text| text.len() <= 2 * MAX_SCHEMA_BYTES);
    let value = text.as_deref().and_then(Raw::object_of).unwrap_or(value);
    if value.kind() != Kind::Object {
        return Err(format!("argument `output_schema` must be a JSON object, got {}", value.kind().name()));
    }
    let invalid = |detail: &str| format!("argument `output_schema` is invalid: {detail}");
    if value.text().len() > MAX_SCHEMA_BYTES {
        return Err(invalid(&format!("schema exceeds {MAX_SCHEMA_BYTES} bytes")));
    }
    OutputSchema::parse(value.text()).map(|schema| Some(Arc::new(schema))).map_err(|detail| invalid(&detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_clients_add_or_change() {
        let caps = ArgumentCaps { max_program_bytes: 100, max_context_bytes: 60 };
        let read = |text: &str| Arguments::read(Some(Raw::parse(text).expect("JSON")), &caps);
        assert!(read(r#"{"program":"1","reasoning":"because","_meta":{}}"#).is_ok(), "ignored");
        for (typed, meant) in
            [("programm", "program"), ("Context", "context"), ("outputSchema", "output_schema")]
        {
            let error = read(&format!("{{\"{typed}\":\"1\"}}")).expect_err("a typing error");
            assert_eq!(error, format!("argument `{typed}` is not known; did you mean `{meant}`?"));
        }
        let context = |json: &str| read(&format!(r#"{{"program":"1","context":{json}}}"#)).map(|a| a.context);
        assert_eq!(
            context(r#"" {\"a\": [1, \"x\"]}\n""#).expect("an object").as_deref(),
            Some(r#"{"a": [1, "x"]}"#)
        );
        assert!(context(r#""[1]""#).expect_err("an array").ends_with("must be a JSON object, got string"));
        assert!(context(r#""{\"a\":""#).expect_err("half").ends_with("must be a JSON object, got string"));
        assert!(context(r#""{\"a/b\":1}""#).expect_err("a slash").contains("may not contain `/`"));
        let long = format!(r#""{{\"a\":\"{}\"}}""#, "x".repeat(80));
        assert!(context(&long).expect_err("too large").contains("exceeds max_context_bytes"));
    }

    #[test]
    fn null_is_absent_and_the_text_of_an_object_is_the_object() {
        let caps = ArgumentCaps { max_program_bytes: 100, max_context_bytes: 60 };
        let read = |text: &str| Arguments::read(Some(Raw::parse(text).expect("JSON")), &caps);
        let none =
            read(r#"{"program":"1","context":null,"output_schema":null,"signature":null}"#).expect("none");
        assert_eq!((none.context, none.output_schema), (None, None));
        let schema = |json: &str| read(&format!(r#"{{"program":"1","output_schema":{json}}}"#));
        let object = schema(r#"{"type":"object"}"#).expect("an object").output_schema;
        assert_eq!(schema(r#"" {\"type\": \"object\"}\n""#).expect("its text").output_schema, object);
        for (wrong, kind) in [(r#""[1]""#, "string"), (r#""{""#, "string"), ("[]", "array"), ("5", "integer")]
        {
            let error = schema(wrong).expect_err("no object");
            assert_eq!(error, format!("argument `output_schema` must be a JSON object, got {kind}"));
        }
        let code = read(r#"{"program":null,"code":"(+ 1 2)"}"#).expect("code");
        assert_eq!(&*code.program, "(+ 1 2)");
        let both = read(r#"{"program":"1","code":"2"}"#).expect("both");
        assert_eq!(&*both.program, "1");
    }

    #[test]
    fn a_code_fence_is_taken_off_and_lines_keep_their_numbers() {
        for (sent, meant) in [
            ("(+ 1 2)", "(+ 1 2)"),
            ("```\n(+ 1 2)\n```", "\n(+ 1 2)\n"),
            ("```clojure\n(+ 1 2)\n```\n", "\n(+ 1 2)\n"),
            ("\n ````lisp title=x\r\n(+ 1 2)\n````", "\n \n(+ 1 2)\n"),
            ("```ptc-lisp\n(+ 1 2)", "\n(+ 1 2)"),
            ("```(+ 1 2)```", "(+ 1 2)"),
            ("```(+ 1\n2)```", "(+ 1\n2)"),
            ("(str \"```\")", "(str \"```\")"),
        ] {
            assert_eq!(&*without_fence(sent), meant, "{sent:?}");
        }
        let caps = ArgumentCaps { max_program_bytes: 100, max_context_bytes: 60 };
        let empty = Arguments::read(Raw::parse(r#"{"program":"```\n```"}"#).ok(), &caps);
        assert_eq!(empty.expect_err("empty"), "argument `program` must be a non-empty string");
    }

    #[test]
    fn numbers_that_no_float_can_be() {
        for fine in [r#"{"a":1e308,"b":-1.5E-400,"c":"1e999\\\" 1e999","d":[0.0]}"#, "{}"] {
            assert_eq!(beyond_floats(fine), None, "{fine}");
        }
        assert_eq!(beyond_floats(&format!("[{}]", "9".repeat(400))), None);
        assert_eq!(beyond_floats(r#"{"a":{"b":[1,-1e999]}}"#), Some("-1e999"));
        let digits = format!("{}.5", "9".repeat(400));
        assert_eq!(beyond_floats(&digits), Some(&*digits));
    }
}
