//! `replace` and `replace-first`.

use super::args::shown;
use super::finding;
use crate::builtins::regex::{Replacement, Scan, TemplatePart};
use crate::builtins::transform::mapping::replace_elements;
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow};
use crate::value::{Graphemes, Regex, Str, Value};

/// `(replace s pat new)`, and `(replace m c)` over collections.
pub(crate) fn replace(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if args.len() < 3 { replace_elements(ctx, args) } else { replace_text(ctx, "replace", args, false) }
}

/// `(replace-first s pat new)`
pub(crate) fn replace_first(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    replace_text(ctx, "replace-first", args, true)
}

fn replace_text(ctx: &mut Ctx<'_>, name: &str, args: &mut [Value], first_only: bool) -> Result<Flow> {
    if let [text, Value::Str(_) | Value::Regex(_), _] = &args[..]
        && !matches!(text, Value::Str(_))
    {
        args[0] = Value::Str(shown(name, args)?);
    }
    match &args[..] {
        [Value::Str(text), Value::Str(wanted), Value::Str(new)] => {
            literal(ctx, text, wanted, new, first_only).map(Flow::Return)
        }
        [Value::Str(text), Value::Regex(regex), with] => {
            let with = match with {
                Value::Str(template) => {
                    ctx.charge(template.as_str().len() / 8)?;
                    Replacement::Template(parse_template(template.as_str(), regex))
                }
                with if with.is_callable() => Replacement::Function(with.clone()),
                _ => return Err(Error::argument_types(name, args)),
            };
            Scan::replace(regex.clone(), text.clone(), with, first_only, ctx)
        }
        _ => Err(Error::argument_types(name, args)),
    }
}

/// Replaces text by text; `""` is found before every grapheme and at the end.
pub(crate) fn literal(
    ctx: &mut Ctx<'_>,
    text: &Str,
    wanted: &Str,
    new: &Str,
    first_only: bool,
) -> Result<Value> {
    let (text, wanted, new) = (text.as_str(), wanted.as_str(), new.as_str());
    ctx.charge(text.len() / 8)?;
    let mut out = String::new();
    let mut append = |ctx: &mut Ctx<'_>, piece: &str| -> Result<()> {
        ctx.charge(1 + piece.len() / 16)?;
        crate::print::append(&mut out, piece)
    };
    if wanted.is_empty() {
        for (i, (_, grapheme)) in Graphemes::new(text).enumerate() {
            if i == 0 || !first_only {
                append(ctx, new)?;
            }
            append(ctx, grapheme)?;
        }
        if !first_only || text.is_empty() {
            append(ctx, new)?;
        }
    } else {
        let mut last = 0;
        finding::each(text, wanted, |at| {
            append(ctx, &text[last..at])?;
            append(ctx, new)?;
            last = at + wanted.len();
            Ok(!first_only)
        })?;
        append(ctx, &text[last..])?;
    }
    Ok(Value::Str(Str::from_string(out)))
}

/// Reads a replacement text as Java does: `$1` and `${name}` are groups, a backslash takes the next character as it
/// is. A `$` that refers to no group of the pattern is itself.
fn parse_template(template: &str, regex: &Regex) -> Vec<TemplatePart> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                if let Some(next) = rest.chars().next() {
                    text.push(next);
                    rest = &rest[next.len_utf8()..];
                }
            }
            '$' => match group_reference(rest, regex) {
                Some((group, length)) => {
                    if !text.is_empty() {
                        parts.push(TemplatePart::Text(std::mem::take(&mut text)));
                    }
                    parts.push(TemplatePart::Group(group));
                    rest = &rest[length..];
                }
                None => text.push('$'),
            },
            c => text.push(c),
        }
    }
    if !text.is_empty() {
        parts.push(TemplatePart::Text(text));
    }
    parts
}

/// The group that follows a `$`, and how many bytes name it: as many digits as make the number of a group.
fn group_reference(rest: &str, regex: &Regex) -> Option<(usize, usize)> {
    if let Some(name) = rest.strip_prefix('{') {
        let (name, _) = name.split_once('}')?;
        return Some((regex.group_named(name)?, name.len() + 2));
    }
    let mut found = None;
    let mut number = 0;
    for (i, digit) in rest.bytes().enumerate().take_while(|(_, byte)| byte.is_ascii_digit()) {
        number = number * 10 + usize::from(digit - b'0');
        if number > regex.groups() {
            break;
        }
        found = Some((number, i + 1));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(template: &str) -> Vec<TemplatePart> {
        match Regex::literal(r"(?<word>\w)(\d)") {
            Ok(Value::Regex(regex)) => parse_template(template, &regex),
            _ => unreachable!("a pattern"),
        }
    }

    #[test]
    fn replacement_texts_refer_to_groups_as_in_java() {
        use TemplatePart::{Group, Text};
        let text = |text: &str| Text(text.into());
        assert_eq!(parts("$2-$1"), [Group(2), text("-"), Group(1)]);
        assert_eq!(parts("$0$11"), [Group(0), Group(1), text("1")]);
        assert_eq!(parts("${word}!"), [Group(1), text("!")]);
        assert_eq!(parts(r"\$1\\2 & \0"), [text(r"$1\2 & 0")]);
        assert_eq!(parts("$9 $x ${nope} $"), [text("$9 $x ${nope} $")]);
        assert_eq!(parts(""), []);
    }
}
