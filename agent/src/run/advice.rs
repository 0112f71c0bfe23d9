//! Advice added to a program's failure from the agent's knowledge of its tools, which the machine lacks.

use crate::settings::Config;
use ptc_engine::Failure;
use ptc_vm::Reason;

/// Adds to a failure. `named` are the tools that the program names.
pub(super) fn add(config: &Config, failure: &mut Failure, named: impl FnOnce() -> Vec<String>) {
    match failure.reason {
        Reason::UnknownTool => {
            let callable: Vec<&String> = config.program_tools().map(|(name, _)| name).collect();
            let named = named();
            let native: Vec<String> = config
                .native_tools()
                .map(|(name, _)| name)
                .filter(|name| !callable.contains(name) && named.contains(name))
                .map(|name| format!("`{name}`"))
                .collect();
            let what = match native.as_slice() {
                [] => return,
                [one] => format!("{one} is a native tool: call it directly, not inside a program."),
                several => format!(
                    "{} are native tools: call them directly, not inside a program.",
                    several.join(", ")
                ),
            };
            let stop = if failure.full_message().ends_with('.') { " " } else { ". " };
            failure.hint = Some(format!("{}{stop}{what}", failure.hint.as_deref().unwrap_or_default()));
        }
        Reason::InvalidToolArgs => {
            if let Some(message) = named_argument(config, &failure.message) {
                failure.message = message;
            }
        }
        _ => {}
    }
}

/// The message about an argument without a name, with the first parameter of the tool's signature as its name (language.md
/// 5.5); the machine knows no signature and guesses. `None` for other messages.
fn named_argument(config: &Config, message: &str) -> Option<String> {
    let (before, form) = message.split_once(" — try (tool/")?;
    let name = form.strip_suffix(" {:url \"...\"})")?;
    let (_, tool) = config.program_tools().find(|(known, _)| *known == name)?;
    let first = tool.signature.as_ref().and_then(|signature| signature.params.first());
    Some(match first {
        Some(field) => format!("{before} — try (tool/{name} {{:{} \"...\"}})", field.name),
        None => format!("{before} — wrap in {{:key value}}"),
    })
}
