//! `ptc config`: the options of `ptc start`, and the schema of its settings file.

use std::process::ExitCode;

use clap::{ArgMatches, Args, Subcommand};
use ptc_host::config::ProcessEnv;
use ptc_host::credentials::REDACTED;
use ptc_host::visible::visible;
use ptc_mcp::json::{Map, Value, json};

use super::doctor::origin;
use super::start::StartArgs;
use super::{output, report};
use crate::boot;
use crate::options::flags::{ALL, Fallback, Flag, ValueKind};
use crate::options::settings_file::{OUTSIDE, SECRET};
use crate::options::values::{self, Values};
use crate::options::{self, SettingsSource, variables};
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
        output::print_json(&json!({"options": rows}));
    } else {
        let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
        output::write(format_args!("{}", visible(&output::aligned(&cells))));
    }
    let warn = |text: &str| output::write_error(format_args!("ptc: {}\n", visible(text)));
    match boot::check(&SettingsSource::new(args.options.0.clone(), env.clone())) {
        Ok(settings) => {
            settings.warnings.iter().for_each(|warning| warn(&warning.message));
            ExitCode::SUCCESS
        }
        Err(fault) => {
            variables::unknown(&env).iter().for_each(|unknown| warn(unknown));
            report::fault(&fault.to_string())
        }
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
            let by_variable = values.is_by_variable(flag.name);
            let shown: Vec<String> = texts.iter().map(|text| told(flag, text, by_variable)).collect();
            let hidden = texts.iter().zip(&shown).filter(|(text, shown)| !shown.contains(*text));
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

/// A value as it is used, without its secrets. `by_variable`: the settings file names a variable in its place.
fn told(flag: &Flag, text: &str, by_variable: bool) -> String {
    if SECRET.contains(&flag.name) {
        return REDACTED.to_owned();
    }
    // User, path and query of a URL may be secrets, and who keeps a URL out of the file has a reason.
    match origin(text) {
        Some(_) if by_variable => REDACTED.to_owned(),
        Some(origin) => origin,
        None if flag.kind == ValueKind::Switch && values::boolean(text).is_none() => {
            format!("{} ({text} is no boolean)", flag.default.is_on())
        }
        None => text.to_owned(),
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
        ValueKind::HttpPositive if flag.name.ends_with("-port") => {
            json!({"type": "integer", "minimum": 1, "maximum": u16::MAX})
        }
        ValueKind::Positive | ValueKind::HttpPositive => json!({"type": "integer", "minimum": 1}),
        ValueKind::Clamped => json!({"type": "integer"}),
        ValueKind::Text if !flag.words().is_empty() => json!({"type": "string", "enum": flag.words()}),
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
