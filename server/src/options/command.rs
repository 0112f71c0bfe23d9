//! Builds clap arguments from the table, and rewrites the spellings of switches.

use std::ffi::OsString;

use clap::builder::OsStringValueParser;
use clap::{Arg, ArgAction};

use super::flags::{ALL, Flag, Group, ValueKind};

/// The arguments of these groups.
pub fn arguments(groups: &[Group]) -> Vec<Arg> {
    groups.iter().flat_map(|group| group.flags.iter().map(|flag| argument(group.heading, flag))).collect()
}

fn argument(heading: &'static str, flag: &Flag) -> Arg {
    let [variable, _] = flag.variables();
    let help = format!("{} [env: {variable}]", flag.described());
    // Values stay text here: what is wrong with one is reported in this program's words, not in clap's.
    let argument = Arg::new(flag.name)
        .long(flag.name)
        .help(help)
        .help_heading(heading)
        .value_parser(OsStringValueParser::new());
    match flag.kind {
        ValueKind::Switch => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("BOOL")
            .action(ArgAction::Set)
            .overrides_with(flag.name),
        ValueKind::List => argument.action(ArgAction::Append).value_name("TEXT"),
        ValueKind::Positive | ValueKind::HttpPositive | ValueKind::Clamped => {
            // A negative number is a wrong value, not an unknown flag.
            argument
                .action(ArgAction::Set)
                .overrides_with(flag.name)
                .value_name("N")
                .allow_negative_numbers(true)
        }
        ValueKind::Path => argument.action(ArgAction::Set).overrides_with(flag.name).value_name("PATH"),
        ValueKind::Text => argument.action(ArgAction::Set).overrides_with(flag.name).value_name("TEXT"),
    }
}

/// Rewrites `--no-x` to `--x=false` for every switch `x`. Everything after `--` stays as it is.
pub(crate) fn spell_out_switches(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut literal = false;
    arguments
        .into_iter()
        .map(|argument| {
            literal |= argument == "--";
            let switched_off =
                argument.to_str().and_then(|text| text.strip_prefix("--no-")).filter(|_| !literal);
            match switched_off {
                Some(name) if is_switch(name) => format!("--{name}=false").into(),
                _ => argument,
            }
        })
        .collect()
}

fn is_switch(name: &str) -> bool {
    ALL.iter().flat_map(|group| group.flags).any(|flag| flag.kind == ValueKind::Switch && flag.name == name)
}
