//! Builds clap arguments from the table, and rewrites the spellings of switches.

use std::ffi::OsString;
use std::marker::PhantomData;

use clap::builder::OsStringValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::flags::{ALL, Flag, OptionGroup, ValueKind};

/// The groups of options that a command takes.
pub(crate) trait OptionGroups {
    const GROUPS: &'static [OptionGroup];
}

/// The given options of some groups. They are interpreted later, together with the environment.
#[derive(Clone, Debug)]
pub(crate) struct GivenOptions<T>(pub(crate) ArgMatches, PhantomData<T>);

impl<T> FromArgMatches for GivenOptions<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(GivenOptions(matches.clone(), PhantomData))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl<T: OptionGroups> Args for GivenOptions<T> {
    fn augment_args(command: Command) -> Command {
        command.args(arguments(T::GROUPS))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The arguments of these groups.
pub fn arguments(groups: &[OptionGroup]) -> Vec<Arg> {
    groups.iter().flat_map(|group| group.flags.iter().map(|flag| argument(group.heading, flag))).collect()
}

fn argument(heading: &'static str, flag: &Flag) -> Arg {
    let [variable, _] = flag.variables();
    let help = format!("{} [env: {variable}]", flag.described());
    // Values stay text here, so that errors have our own wording and not clap's.
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

/// Commands whose arguments are options of the table, or names that cannot be the value of a switch.
const WITH_SWITCHES: [&str; 2] = ["start", "state"];

/// Rewrites `--no-x` to `--x=false` for every switch `x`, and `--x false` of a server to the same: a word after a
/// switch can only be its value. Everything after `--` stays as it is.
pub(crate) fn spell_out_switches(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut spelled: Vec<OsString> = Vec::new();
    let (mut literal, mut takes_words) = (false, false);
    for argument in arguments {
        literal |= argument == "--";
        let text = argument.to_str().filter(|_| !literal);
        match text.and_then(|text| text.strip_prefix("--no-")) {
            Some(name) if is_switch(name) => {
                spelled.push(format!("--{name}=false").into());
                continue;
            }
            _ => {}
        }
        if spelled.len() == 1 {
            takes_words = text.is_some_and(|command| WITH_SWITCHES.contains(&command));
        }
        let switch = spelled.last().and_then(|last| last.to_str()?.strip_prefix("--"));
        match (switch, text) {
            (Some(switch), Some(word)) if takes_words && is_switch(switch) && is_word(word) => {
                let whole = format!("--{switch}={word}").into();
                spelled.pop();
                spelled.push(whole);
            }
            _ => spelled.push(argument),
        }
    }
    spelled
}

fn is_word(text: &str) -> bool {
    ["true", "false", "yes", "no", "on", "off", "1", "0"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn is_switch(name: &str) -> bool {
    ALL.iter().flat_map(|group| group.flags).any(|flag| flag.kind == ValueKind::Switch && flag.name == name)
}
