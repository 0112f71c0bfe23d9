//! `ptc config`: the options of `ptc start`, and the schema of its settings file.

use std::process::ExitCode;

use clap::{ArgMatches, Args, Subcommand};
use ptc_host::config::ProcessEnv;
use ptc_host::visible::visible;
use ptc_mcp::json::{Map, Value, json};

use super::start::StartArgs;
use super::{output, report};
use crate::options::flags::{ALL, Fallback, Flag, ValueKind};
use crate::options::settings_file::{OUTSIDE, SECRET};
use crate::options::values::Values;
use crate::options::{self, variables};
use ptc_protocol::settings::BootError;

/// Arguments of `ptc config`.
#[derive(Args, Debug)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand, Debug)]
enum ConfigCommand {
    /// Print each option that is set, its value and where it is from, and whether a server would start with them
    Show(Box<ShowArgs>),
    /// Print the JSON schema of the settings file (ptc start --config FILE), for editors
    Schema,
}

#[derive(Args, Debug)]
struct ShowArgs {
    /// Print the options that are not set, too, with their defaults
    #[arg(long)]
    all: bool,

    /// Print JSON for programs instead of a table for people
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    options: StartArgs,
}

/// Runs the sub-command.
pub fn run(args: &ConfigArgs) -> ExitCode {
    match &args.command {
        ConfigCommand::Show(args) => show(args),
        ConfigCommand::Schema => {
            output::write(format_args!("{}\n", schema()));
            ExitCode::SUCCESS
        }
    }
}

fn show(args: &ShowArgs) -> ExitCode {
    let env = ProcessEnv::current();
    let rows = match rows(&args.options.0, &env, args.all) {
        Ok(rows) => rows,
        Err(fault) => return report::fault(&fault.to_string()),
    };
    if args.json {
        let rows: Vec<Value> = rows.iter().map(Row::json).collect();
        output::write(format_args!("{}\n", visible(&json!({"options": rows}).to_string())));
    } else {
        let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
        output::write(format_args!("{}", visible(&output::aligned(&cells))));
    }
    for unknown in variables::unknown(&env) {
        output::write_error(format_args!("ptc: {}\n", visible(&unknown)));
    }
    match options::resolve(&args.options.0, env) {
        Ok(_) => ExitCode::SUCCESS,
        Err(fault) => report::fault(&fault.to_string()),
    }
}

/// An option, as it is shown.
pub(super) struct Row {
    pub(super) flag: &'static Flag,
    pub(super) value: String,
    pub(super) source: String,
    /// The texts of which something is not shown.
    pub(super) secrets: Vec<String>,
}

/// The options that are set in these arguments, this environment and the files that both name; with `all`, the others as well,
/// with their defaults.
///
/// # Errors
/// The file of `--env-file` or `--config` cannot be read, or is wrong.
pub(super) fn rows(matches: &ArgMatches, env: &ProcessEnv, all: bool) -> Result<Vec<Row>, BootError> {
    let (env, file) = options::sources(matches, env.clone())?;
    let values = Values::new(matches, &env, &file);
    let flags = ALL.iter().flat_map(|group| group.flags);
    let row = |flag: &'static Flag| match values.origin(flag.name) {
        Some((texts, source)) => {
            let shown: Vec<String> = texts.iter().map(|text| told(flag, text)).collect();
            let hidden = texts.iter().zip(&shown).filter(|(text, shown)| text != shown);
            let secrets = hidden.map(|(text, _)| text.clone()).collect();
            Some(Row { flag, value: shown.join(","), source, secrets })
        }
        None => {
            let value = match flag.default {
                Fallback::Unset => "-".to_owned(),
                Fallback::Number(number) => number.to_string(),
                Fallback::On(on) => on.to_string(),
                Fallback::Word(text) | Fallback::Derived(text) => text.to_owned(),
            };
            all.then(|| Row { flag, value, source: "default".to_owned(), secrets: Vec::new() })
        }
    };
    Ok(flags.filter_map(row).collect())
}

/// A value without its secrets.
fn told(flag: &Flag, text: &str) -> String {
    const REDACTED: &str = ptc_host::credentials::REDACTED;
    if SECRET.contains(&flag.name) {
        return REDACTED.to_owned();
    }
    // A URL may have a password before its host.
    match text.split_once("://").map(|(scheme, rest)| (scheme, rest.split_once('@'))) {
        Some((scheme, Some((_, host)))) => format!("{scheme}://{REDACTED}@{host}"),
        _ => text.to_owned(),
    }
}

impl Row {
    fn cells(&self) -> Vec<String> {
        vec![self.flag.name.to_owned(), self.value.clone(), self.source.clone()]
    }

    fn json(&self) -> Value {
        json!({"name": self.flag.name, "value": self.value, "source": self.source})
    }
}

/// The JSON schema of the settings file, indented.
pub fn schema() -> String {
    let flags = ALL.iter().flat_map(|group| group.flags).filter(|flag| !OUTSIDE.contains(&flag.name));
    let properties: Map = flags.map(|flag| (flag.name.to_owned(), property(flag))).collect();
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of a ptc server (ptc start --config FILE)",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "$defs": {"variable": {
            "description": "The value of an environment variable",
            "type": "object",
            "additionalProperties": false,
            "required": ["env"],
            "properties": {"env": {"type": "string"}},
        }},
    });
    format!("{schema:#}")
}

fn property(flag: &Flag) -> Value {
    let own = match flag.kind {
        ValueKind::Switch => json!({"type": "boolean"}),
        ValueKind::Positive | ValueKind::HttpPositive => json!({"type": "integer", "minimum": 1}),
        ValueKind::Clamped => json!({"type": "integer"}),
        ValueKind::Text | ValueKind::Path => json!({"type": "string"}),
        ValueKind::List => json!({"type": "array", "items": {"type": "string"}}),
    };
    let variable = json!({"$ref": "#/$defs/variable"});
    let mut property = match SECRET.contains(&flag.name) {
        true => variable,
        false => json!({"anyOf": [own, variable]}),
    };
    let Some(map) = property.as_object_mut() else { return property };
    map.insert("description".to_owned(), flag.help.into());
    let default: Option<Value> = match flag.default {
        Fallback::Unset | Fallback::Derived(_) => None,
        Fallback::Number(number) => Some(number.into()),
        Fallback::On(on) => Some(on.into()),
        Fallback::Word(text) => Some(text.into()),
    };
    if let Some(default) = default {
        map.insert("default".to_owned(), default);
    }
    property
}
