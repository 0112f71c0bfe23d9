//! `reduced` and its kin.

use crate::builtins::support::reduced as wrapper;
use crate::error::Result;
use crate::machine::Ctx;
use crate::value::Value;
use std::mem::take;

/// `(reduced x)`
pub(super) fn reduced(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(wrapper::reduced(take(&mut args[0])))
}

/// `(reduced? x)`
pub(super) fn reduced_p(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(Value::bool(wrapper::is_reduced(&args[0])))
}

/// `(unreduced x)`
pub(super) fn unreduced(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(wrapper::unreduced(take(&mut args[0])))
}

/// `(ensure-reduced x)`
pub(super) fn ensure_reduced(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let value = take(&mut args[0]);
    Ok(if wrapper::is_reduced(&value) { value } else { wrapper::reduced(value) })
}
