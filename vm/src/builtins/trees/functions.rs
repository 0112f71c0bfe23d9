//! The functions over [`walk`](super::walk).

use super::walk::{Action, KeyConversion, WalkOrder, check_functions, once, walk};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow};
use crate::value::{Map, Value};
use std::mem::take;

/// `(walk inner outer form)`
pub(super) fn walk_once(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check_functions("walk", 2, args)?;
    once(ctx, take(&mut args[0]), take(&mut args[1]), take(&mut args[2]))
}

/// `(prewalk f form)`
pub(super) fn prewalk(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check_functions("prewalk", 1, args)?;
    Ok(walk(Action::Call(take(&mut args[0])), WalkOrder::Before, take(&mut args[1])))
}

/// `(postwalk f form)`
pub(super) fn postwalk(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check_functions("postwalk", 1, args)?;
    Ok(walk(Action::Call(take(&mut args[0])), WalkOrder::After, take(&mut args[1])))
}

/// The replacement of a node by a map of replacements: the value of exactly this key.
fn replacement(name: &str, args: &mut [Value]) -> Result<Action> {
    let replacements = match take(&mut args[0]) {
        Value::Map(map) => map,
        Value::Nil => Map::new(),
        other => return Err(Error::argument(name, 1, "map", &other)),
    };
    Ok(Action::Replace(replacements))
}

/// `(prewalk-replace replacements form)`
pub(super) fn prewalk_replace(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let action = replacement("prewalk-replace", args)?;
    Ok(walk(action, WalkOrder::Before, take(&mut args[1])))
}

/// `(postwalk-replace replacements form)`
pub(super) fn postwalk_replace(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let action = replacement("postwalk-replace", args)?;
    Ok(walk(action, WalkOrder::After, take(&mut args[1])))
}

/// `(keywordize-keys form)`
pub(super) fn keywordize_keys(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    Ok(walk(Action::Rename(KeyConversion::Keywords), WalkOrder::After, take(&mut args[0])))
}

/// `(stringify-keys form)`
pub(super) fn stringify_keys(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    Ok(walk(Action::Rename(KeyConversion::Strings), WalkOrder::After, take(&mut args[0])))
}
