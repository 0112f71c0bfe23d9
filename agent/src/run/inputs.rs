//! The context of a run, held against the agent's signature and prompt before the first turn (agent.md 4).

use super::{Fail, FailReason};
use crate::settings::Config;
use crate::signature::{Signature, Type, check_fields, coerce_in_place};
use crate::tool::JsonMap;

/// Reads values as their parameters' types, as arguments of tools are read.
pub(super) fn coerce(signature: Option<&Signature>, context: &mut JsonMap) {
    if let Some(signature) = signature {
        coerce_in_place(&signature.params, context);
    }
}

/// Checks that the context satisfies the signature and the prompt.
///
/// # Errors
/// The failure of the run.
pub(super) fn check(config: &Config, context: &JsonMap) -> Result<(), Fail> {
    let params = config.signature.as_ref().map_or(&[][..], |signature| &signature.params);
    if let (Some(signature), Err(found)) = (&config.signature, check_fields(params, context)) {
        let text = format!("the context does not fit the signature {signature}: {found}");
        return Err(Fail::new(FailReason::InvalidContext, text));
    }
    // Within sections the signature has been held against the template when the agent was built.
    let optional = |name: &str| params.iter().any(|field| field.is_called(name) && is_optional(&field.ty));
    let allowed = |path: &str, in_section: bool| {
        (in_section && !params.is_empty()) || optional(path.split('.').next().unwrap_or_default())
    };
    let Some(path) = config.prompt.missing(context, &allowed) else { return Ok(()) };
    let names: Vec<&str> = context.keys().map(String::as_str).collect();
    let names = if names.is_empty() { "is empty".to_owned() } else { format!("has {}", names.join(", ")) };
    let text = format!("the prompt's {{{{{path}}}}} has no value: the context {names}");
    Err(Fail::new(FailReason::InvalidContext, text))
}

fn is_optional(ty: &Type) -> bool {
    matches!(ty, Type::Optional(_))
}
