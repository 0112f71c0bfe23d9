//! Data at the head of a text: read, never evaluated.
//!
//! A program that is kept in a file begins with a map that describes it. The map is read by the reader of programs, so that the
//! file is one text for editors, and so is what the rest of the text mentions.

use std::collections::BTreeSet;

use ptc_vm::Reason;

use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Forms};
use crate::reader;
use crate::source::{Position, Span};

/// A datum, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Datum {
    /// What it is.
    pub content: DatumContent,
    /// The text that it was read from.
    pub span: Span,
}

/// What a datum is.
#[derive(Clone, Debug, PartialEq)]
pub enum DatumContent {
    /// `nil`
    Nil,
    /// `true`, `false`
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// A finite number with a fraction.
    Float(f64),
    /// A string or a character.
    Text(String),
    /// A keyword, without its colon.
    Keyword(String),
    /// `[…]`
    Vector(Vec<Datum>),
    /// `{…}`: keys and values as they stand. No key occurs twice.
    Map(Vec<(Datum, Datum)>),
}

/// The first form of a text, and what follows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The first form.
    pub datum: Datum,
    /// Whether it is the only one.
    pub is_alone: bool,
    /// The names behind a slash that the rest of the text mentions in the namespace that was asked for, with their places. Each
    /// once, in the order of their first mention.
    pub mentions: Vec<(String, Span)>,
}

/// Reads the first form of `source` as data, and finds the names `namespace/NAME` that the other forms mention.
///
/// # Errors
/// `parse_error` if the text cannot be read or is empty; `invalid_form` at whatever is no datum: symbols, lists, sets, patterns,
/// numbers beyond 64 bits, and maps with a key twice.
pub fn read_head(source: &str, namespace: &str) -> Result<Head> {
    read(source, namespace).map_err(|error| error.locate(source))
}

fn read(source: &str, namespace: &str) -> Result<Head> {
    let forms = reader::read(source)?;
    let program = forms.program();
    let Some(first) = forms[program].first().copied() else {
        return Err(CompileError::parse(Span::default(), "the text is empty"));
    };
    let datum = datum(&forms, first)?;
    let mentions = mentions(&forms, namespace, first.span.end);
    Ok(Head { datum, is_alone: program.len() == 1, mentions })
}

/// The namespace of calls of kept programs, with its slash.
const PROGRAM: &str = "program/";

/// Whether a text has the word `program/` anywhere: others call no kept program.
#[must_use]
pub fn may_mention_programs(source: &str) -> bool {
    memchr::memmem::find(source.as_bytes(), PROGRAM.as_bytes()).is_some()
}

/// The names `NAME` of `program/NAME` that a text mentions, each once, with the place of a mention; none without a look at its
/// forms where it has no such word.
///
/// # Errors
/// The text cannot be read.
pub fn mentioned_programs(source: &str) -> Result<Vec<(String, Span)>> {
    if !may_mention_programs(source) {
        return Ok(Vec::new());
    }
    let forms = reader::read(source).map_err(|error| error.locate(source))?;
    Ok(mentions(&forms, PROGRAM.trim_end_matches('/'), 0))
}

/// The names in a namespace that forms from a place on mention, each once, in the order of their first mention.
fn mentions(forms: &Forms<'_>, namespace: &str, from: u32) -> Vec<(String, Span)> {
    let mut found: Vec<(&str, Span)> = Vec::new();
    for form in forms.all().filter(|form| form.span.start >= from) {
        if let FormKind::Qualified { namespace: before, name } = form.kind
            && forms.names.text(before) == namespace
        {
            found.push((forms.names.text(name), form.span));
        }
    }
    found.sort_by_key(|(_, span)| span.start);
    let mut known = BTreeSet::new();
    found.retain(|(name, _)| known.insert(*name));
    found.into_iter().map(|(name, span)| (name.to_owned(), span)).collect()
}

/// The datum that a form is. Forms nest as deep as the reader lets them.
fn datum(forms: &Forms<'_>, form: Form) -> Result<Datum> {
    let refused = |what: &str| {
        Err(CompileError::new(
            Reason::InvalidForm,
            form.span,
            format!("{what} is no data: nothing is evaluated here"),
        ))
    };
    let content = match form.kind {
        FormKind::Nil => DatumContent::Nil,
        FormKind::Bool(is) => DatumContent::Bool(is),
        FormKind::Int(number) => DatumContent::Int(number),
        FormKind::Float(number) => DatumContent::Float(number),
        FormKind::Str(text) => DatumContent::Text(forms.string(text).to_owned()),
        FormKind::Keyword(name) => DatumContent::Keyword(forms.names.text(name).to_owned()),
        FormKind::JoinedKeyword { text, .. } => DatumContent::Keyword(forms.string(text).to_owned()),
        FormKind::Vector(items) => {
            DatumContent::Vector(forms[items].iter().map(|item| datum(forms, *item)).collect::<Result<_>>()?)
        }
        FormKind::Map(items) => {
            let mut entries: Vec<(Datum, Datum)> = Vec::with_capacity(items.len() / 2);
            let mut known = std::collections::HashSet::new();
            for pair in forms[items].chunks_exact(2) {
                let (key, value) = (datum(forms, pair[0])?, datum(forms, pair[1])?);
                if let Some(name) = key.name()
                    && !known.insert(name.to_owned())
                {
                    let text = format!("the key {name} stands twice in one map");
                    return Err(CompileError::new(Reason::InvalidForm, pair[0].span, text));
                }
                entries.push((key, value));
            }
            DatumContent::Map(entries)
        }
        FormKind::Symbol(_) | FormKind::Qualified { .. } | FormKind::QuotedSymbol(_) => {
            return refused("a symbol");
        }
        FormKind::BigInt(_) | FormKind::SpecialFloat(_) => {
            return refused("a number that JSON readers do not hold");
        }
        FormKind::Regex(_) => return refused("a pattern"),
        FormKind::Set(_) => return refused("a set"),
        FormKind::List(_)
        | FormKind::ShortFn(_)
        | FormKind::Quoted(_)
        | FormKind::History(_)
        | FormKind::Threaded(_) => {
            return refused("an expression");
        }
    };
    Ok(Datum { content, span: form.span })
}

impl Datum {
    /// The text of a string or a keyword.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.content {
            DatumContent::Text(text) | DatumContent::Keyword(text) => Some(text),
            _ => None,
        }
    }

    /// Where it begins in the text that it was read from.
    #[must_use]
    pub fn position(&self, source: &str) -> Position {
        Position::of(source, self.span)
    }

    /// What it is, for messages: `a map`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.content {
            DatumContent::Nil => "nil",
            DatumContent::Bool(_) => "a boolean",
            DatumContent::Int(_) | DatumContent::Float(_) => "a number",
            DatumContent::Text(_) => "a string",
            DatumContent::Keyword(_) => "a keyword",
            DatumContent::Vector(_) => "a vector",
            DatumContent::Map(_) => "a map",
        }
    }
}

impl Span {
    /// Where it begins in the text that it is of.
    #[must_use]
    pub fn position(self, source: &str) -> Position {
        Position::of(source, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(source: &str) -> Head {
        read_head(source, "program").unwrap()
    }

    #[test]
    fn the_first_form_is_data_and_the_rest_is_not_looked_at_but_for_names() {
        let head = head(
            r#"{:a [1 2.5 "x" :k nil true] "b" {}} (undefined (program/one {}) program/two) (program/one)"#,
        );
        let DatumContent::Map(entries) = &head.datum.content else { panic!("{head:?}") };
        assert_eq!(entries[0].0.name(), Some("a"));
        let DatumContent::Vector(items) = &entries[0].1.content else { panic!("{head:?}") };
        let kinds: Vec<_> = items.iter().map(Datum::kind).collect();
        assert_eq!(kinds, ["a number", "a number", "a string", "a keyword", "nil", "a boolean"]);
        assert_eq!(entries[1].0.name(), Some("b"));
        assert!(!head.is_alone);
        let names: Vec<_> = head.mentions.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
    }

    #[test]
    fn what_is_no_data_is_told_with_its_place() {
        for (source, text, place) in [
            ("{:a b}", "a symbol is no data: nothing is evaluated here", (1, 5)),
            ("{:a\n (f)}", "an expression is no data: nothing is evaluated here", (2, 2)),
            ("{:a #{1}}", "a set is no data: nothing is evaluated here", (1, 5)),
            ("{:a 1 \"a\" 2}", "the key a stands twice in one map", (1, 7)),
            (
                "{:a 123456789012345678901234567890}",
                "a number that JSON readers do not hold is no data: nothing is evaluated here",
                (1, 5),
            ),
            ("", "the text is empty", (1, 1)),
        ] {
            let error = read_head(source, "program").unwrap_err();
            let position = error.position();
            assert_eq!((error.message(), (position.line, position.column)), (text, place), "{source}");
        }
        assert!(read_head("{:a", "program").is_err());
    }

    #[test]
    fn a_head_may_stand_alone() {
        assert!(head("{} ; nothing").is_alone);
    }

    #[test]
    fn mentioned_programs_are_names_and_no_texts() {
        let text = "(program/b {}) \"program/c\" ; program/d\n(map program/a [program/b])";
        let mentioned = mentioned_programs(text).unwrap();
        let mentioned: Vec<_> = mentioned.iter().map(|(name, span)| (name.as_str(), span.start)).collect();
        assert_eq!(mentioned, [("b", 1), ("a", 44)]);
        assert_eq!(mentioned_programs("(").unwrap(), [], "nobody looks at it");
        assert!(mentioned_programs("(program/b").is_err());
    }
}
