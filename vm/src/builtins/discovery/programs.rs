//! Kept programs in discovery: the namespace `program` (language.md 12).

use super::catalog::{fault, line_of, to_map};
use crate::builtins::words::{score, tokenize};
use crate::error::{Error, Result};
use crate::json;
use crate::machine::{Ctx, ProgramCatalog};
use crate::meter;
use crate::value::{Map, Str, Value};
use std::cmp::Reverse;
use std::sync::Arc;

/// Their namespace.
const PROGRAM: &str = "program";
/// Most names that an error lists.
const MOST_NAMES: usize = 20;
/// Steps that one listed program costs.
const STEPS_PER_PROGRAM: usize = 20;
/// Points added for words of a name.
const NAME_BOOST: u32 = 2;
/// Bytes of a description that are searched.
const SEARCHED: usize = 256;
/// How often a description of a program looks at each byte of its schemas, about.
const LOOKS: usize = 16;
/// Bytes of text that are made in a step.
const BYTES_PER_STEP: usize = 16;

/// The kept programs behind a reference to their namespace.
pub(super) fn namespace(ctx: &Ctx<'_>, reference: &str) -> Option<Arc<dyn ProgramCatalog>> {
    if reference == PROGRAM { ctx.program_catalog() } else { None }
}

/// The kept program that a reference names; `None` if it is no name of one, or there are none at all.
///
/// # Errors
/// There is none of this name.
fn named(ctx: &Ctx<'_>, reference: &str) -> Result<Option<(Arc<dyn ProgramCatalog>, usize)>> {
    let name = reference.strip_prefix(PROGRAM).and_then(|rest| rest.strip_prefix('/'));
    let Some((name, catalog)) = name.zip(ctx.program_catalog()) else { return Ok(None) };
    match catalog.find(name) {
        Some(number) => Ok(Some((catalog, number))),
        None => Err(unknown(&*catalog, name)),
    }
}

#[cold]
fn unknown(catalog: &dyn ProgramCatalog, name: &str) -> Error {
    let all = catalog.count();
    let names: Vec<&str> =
        (0..all.min(MOST_NAMES)).filter_map(|number| catalog.program(number)).map(|it| it.name).collect();
    let more = match all - names.len() {
        0 => String::new(),
        more => format!(" and {more} more: (dir 'program)"),
    };
    fault(format!("no program is named {name}; there are {}{more}", names.join(", ")))
}

/// The lines of `dir`. Where there are more, a note says how to go on.
pub(super) fn lines(
    ctx: &mut Ctx<'_>,
    catalog: &dyn ProgramCatalog,
    offset: usize,
    limit: usize,
) -> Result<Value> {
    let all = catalog.count();
    let shown = all.saturating_sub(offset).min(limit);
    ctx.charge(shown * STEPS_PER_PROGRAM)?;
    ctx.reserve(shown * 256)?;
    let listed = (offset..).take(shown).filter_map(|number| catalog.program(number));
    let lines: Vec<Value> =
        listed.map(|program| Value::str(line_of(&reference(program.name), program.description))).collect();
    let next = offset.saturating_add(shown);
    if shown > 0 && next < all {
        let left = all - offset;
        let text = format!(
            "dir program: {shown} of {left} programs shown; (dir 'program {{:offset {next}}}) goes on"
        );
        ctx.note(Str::from(text));
    }
    Ok(Value::vector(lines))
}

fn reference(name: &str) -> String {
    format!("{PROGRAM}/{name}")
}

fn charge_description(ctx: &mut Ctx<'_>, catalog: &dyn ProgramCatalog, number: usize) -> Result<()> {
    let bytes = catalog.schema_bytes(number);
    ctx.charge(STEPS_PER_PROGRAM + bytes * LOOKS / BYTES_PER_STEP)?;
    ctx.reserve(bytes.saturating_mul(2))
}

/// The text of `doc` about the kept program of a reference.
pub(super) fn doc(ctx: &mut Ctx<'_>, reference: &str) -> Result<Option<String>> {
    let Some((catalog, number)) = named(ctx, reference)? else { return Ok(None) };
    charge_description(ctx, &*catalog, number)?;
    Ok(Some(catalog.doc(number)))
}

/// The map of `meta` about the kept program of a reference.
pub(super) fn meta(ctx: &mut Ctx<'_>, reference: &str) -> Result<Option<Value>> {
    let Some((catalog, number)) = named(ctx, reference)? else { return Ok(None) };
    let Some(program) = catalog.program(number) else { return Ok(None) };
    charge_description(ctx, &*catalog, number)?;
    let (input, output) = catalog.schemas(number);
    let parsed = |schema: &str| -> Result<Value> { Ok(json::parse(schema.as_bytes())?.unwrap_or_default()) };
    let map = to_map([
        ("kind", Value::str("kept-program")),
        ("source", Value::str(PROGRAM)),
        ("namespace", Value::str(PROGRAM)),
        ("name", Value::str(program.name)),
        ("ref", Value::str(reference)),
        ("description", Value::str(program.description)),
        ("input_schema", parsed(&input)?),
        ("output_schema", output.as_deref().map(parsed).transpose()?.unwrap_or_default()),
        ("call", Value::str(catalog.call(number))),
    ]);
    Ok(Some(map))
}

/// The lines of the best `limit` kept programs for these words.
pub(super) fn matches(ctx: &mut Ctx<'_>, words: &[String], limit: usize) -> Result<Vec<String>> {
    let Some(catalog) = ctx.program_catalog() else { return Ok(Vec::new()) };
    let mut found: Vec<(Reverse<u32>, usize)> = Vec::new();
    for number in 0..catalog.count() {
        let Some(program) = catalog.program(number) else { break };
        meter::charge_steps(STEPS_PER_PROGRAM as u64 / 2)?;
        let names = tokenize(program.name);
        let searched = program.description.floor_char_boundary(SEARCHED);
        let mut others = tokenize(&program.description[..searched]);
        others.extend(catalog.arguments(number).into_iter().flat_map(tokenize));
        meter::charge_steps((words.len() * (names.len() + others.len()) / 4) as u64)?;
        let score = score(words, names.iter(), NAME_BOOST) + score(words, others.iter(), 0);
        if score > 0 {
            found.push((Reverse(score), number));
        }
    }
    found.sort_unstable();
    let best = found.into_iter().take(limit).filter_map(|(_, number)| catalog.program(number));
    Ok(best.map(|program| line_of(&reference(program.name), program.description)).collect())
}

/// The options of a search for the host, which has room for `left` lines.
pub(super) fn with_limit(options: &Map, left: usize) -> Map {
    let mut options = options.clone();
    options.remove(&Value::str("limit"));
    options.insert(Value::keyword("limit"), Value::Int(left as i64));
    options
}
