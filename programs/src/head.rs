//! The head of a program's file: what it is, what it takes and gives, and what it may do.

use std::sync::Arc;
use std::time::Duration;

use ptc_compiler::datum::Datum;
use ptc_host::engine::kept::{Fields, HEAD_KEYS, LIMIT_KEYS, ProgramFault, ProgramSchema, ProgramTools};

use crate::limits::ProgramLimits;
use crate::test_case::TestCase;

/// Longest description, in characters.
const MAX_DESCRIPTION: usize = 4000;
/// Longest title, in characters.
const MAX_TITLE: usize = 100;
/// What stands at the head of a file.
#[derive(Clone, Debug)]
pub struct ProgramHead {
    /// `:title`, for people.
    pub title: Option<Box<str>>,
    /// `:description`, for whoever calls it.
    pub description: Box<str>,
    /// `:input`: the schema of its arguments, which are an object.
    pub input: Arc<ProgramSchema>,
    /// `:output`: the schema of its value.
    pub output: Option<Box<ProgramSchema>>,
    /// `:tools`, `:resources` and `:prompts`.
    pub tools: ProgramTools,
    /// `:limits`
    pub limits: Option<Box<ProgramLimits>>,
    /// How many `:tests` it has.
    pub tests: usize,
}

impl ProgramHead {
    /// Reads a head.
    pub(crate) fn read(source: &str, datum: &Datum) -> Result<ProgramHead, ProgramFault> {
        let fields = Fields::of(source, datum, "the head of a program", &HEAD_KEYS)?;
        let Some(description) = fields.text("description")?.map(str::trim).filter(|text| !text.is_empty())
        else {
            return Err(
                fields.lacks("the head has no :description: say what the program does, for whoever calls it")
            );
        };
        short(&fields, "description", description, MAX_DESCRIPTION)?;
        let title = fields.text("title")?.map(str::trim).filter(|text| !text.is_empty());
        short(&fields, "title", title.unwrap_or_default(), MAX_TITLE)?;
        Ok(ProgramHead {
            title: title.map(Box::from),
            description: description.into(),
            input: Arc::new(ProgramSchema::of_arguments(&fields)?),
            output: ProgramSchema::of_value(&fields)?.map(Box::new),
            tools: ProgramTools::read(&fields)?,
            limits: limits(source, &fields)?,
            tests: Self::read_tests(source, datum)?.len(),
        })
    }

    /// The tests of a head. Nobody holds them: a server needs those of none but programs that are to be approved.
    pub(crate) fn read_tests(source: &str, datum: &Datum) -> Result<Vec<TestCase>, ProgramFault> {
        let fields = Fields::of(source, datum, "the head of a program", &HEAD_KEYS)?;
        fields.items("tests")?.iter().map(|test| TestCase::read(source, test)).collect()
    }
}

fn short(fields: &Fields<'_>, key: &str, text: &str, most: usize) -> Result<(), ProgramFault> {
    let length = text.chars().count();
    match (length > most, fields.get(key)) {
        (true, Some(value)) => {
            Err(fields.fault(value, format!(":{key} has {length} characters, at most {most}")))
        }
        _ => Ok(()),
    }
}

fn limits(source: &str, fields: &Fields<'_>) -> Result<Option<Box<ProgramLimits>>, ProgramFault> {
    let Some(given) = fields.get("limits") else { return Ok(None) };
    let limits = Fields::of(source, given, ":limits", &LIMIT_KEYS)?;
    let calls = limits.count("calls")?.map(|calls| u32::try_from(calls).unwrap_or(u32::MAX));
    Ok(Some(Box::new(ProgramLimits {
        timeout: limits.count("timeout-ms")?.map(Duration::from_millis),
        steps: limits.count("steps")?,
        memory_bytes: limits.count("memory-bytes")?,
        calls,
    })))
}
