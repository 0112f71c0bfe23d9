//! Program text as a tree. Reads what the generator writes: no comments, no escapes, no reader macros.

use num_bigint::BigInt;

/// A form.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    /// An integer.
    Int(BigInt),
    /// A string.
    Str(String),
    /// A keyword's name.
    Keyword(String),
    /// A symbol, `nil`, `true` and `false` included.
    Symbol(String),
    /// `( … )`
    List(Vec<Form>),
    /// `[ … ]`
    Vector(Vec<Form>),
    /// `{ … }`
    Map(Vec<Form>),
}

/// The one form of a text.
pub(super) fn read(text: &str) -> Option<Form> {
    let mut rest = text;
    let form = one(&mut rest)?;
    rest.trim().is_empty().then_some(form)
}

fn one(rest: &mut &str) -> Option<Form> {
    *rest = rest.trim_start();
    let first = rest.chars().next()?;
    match first {
        '(' => many(rest, ')').map(Form::List),
        '[' => many(rest, ']').map(Form::Vector),
        '{' => many(rest, '}').map(Form::Map),
        '"' => {
            let (text, behind) = rest[1..].split_once('"')?;
            *rest = behind;
            (!text.contains('\\')).then(|| Form::Str(text.to_owned()))
        }
        _ => {
            let end = rest.find(|c: char| c.is_whitespace() || "()[]{}\"".contains(c)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            *rest = behind;
            Some(match word.strip_prefix(':') {
                Some(name) => Form::Keyword(name.to_owned()),
                None => match word.parse() {
                    Ok(number) => Form::Int(number),
                    Err(_) => Form::Symbol(word.to_owned()),
                },
            })
        }
    }
}

fn many(rest: &mut &str, close: char) -> Option<Vec<Form>> {
    *rest = &rest[1..];
    let mut forms = Vec::new();
    loop {
        *rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix(close) {
            *rest = behind;
            return Some(forms);
        }
        forms.push(one(rest)?);
    }
}
