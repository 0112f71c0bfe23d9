//! Reads single options: command line > environment > settings file > default.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use ptc_host::config::ProcessEnv;
use ptc_host::similar::most_similar;
use ptc_host::text::clip;
use ptc_host::visible::visible_line;

use super::flags::{ALL, find};
use super::settings_file::SettingsFile;
use ptc_protocol::settings::{BootError, BootWarning};
use ptc_protocol::usage::share;

/// Most bytes of a URL that a fault shows.
const MAX_SHOWN: usize = 200;

/// Options that protect the server, and are not left without a value.
const PROTECTING: [&str; 8] = [
    "policy",
    "issuer",
    "required-scope",
    "http-auth",
    "http-auth-token-file",
    "http-operator-token-file",
    "http-tls-cert",
    "http-tls-key",
];

/// Where an option is set.
enum Source {
    CommandLine,
    /// In this variable.
    Variable(String),
    /// In the settings file.
    File,
}

/// The options of one start, not yet interpreted. Collects warnings while they are read.
pub struct Values<'a> {
    matches: &'a ArgMatches,
    env: &'a ProcessEnv,
    file: &'a SettingsFile,
    warnings: Vec<BootWarning>,
    /// Options whose text is not one of their words.
    faults: Vec<String>,
}

impl<'a> Values<'a> {
    /// Reads from these arguments, this environment and this settings file.
    pub fn new(matches: &'a ArgMatches, env: &'a ProcessEnv, file: &'a SettingsFile) -> Self {
        Values { matches, env, file, warnings: Vec::new(), faults: Vec::new() }
    }

    /// The warnings so far.
    pub(crate) fn into_warnings(mut self) -> Vec<BootWarning> {
        let warnings = std::mem::take(&mut self.warnings).into_iter();
        warnings.map(|warning| BootWarning { message: self.placed(&warning.message), ..warning }).collect()
    }

    /// A message in which options that the settings file sets stand as where it sets them (`policy in ptc.toml:3`), and not as flags
    /// (`--policy`, `--policy / PTC_POLICY`) that nobody has typed.
    pub(crate) fn placed(&self, message: &str) -> String {
        let (mut placed, mut rest) = (String::with_capacity(message.len()), message);
        while let Some(at) = rest.find("--") {
            let (before, flag) = (&rest[..at], &rest[at + 2..]);
            let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let end = flag.find(|c| !is_part(c)).unwrap_or(flag.len());
            let name = &flag[..end];
            placed.push_str(before);
            // What is part of a word, such as a path, names no option.
            let begins = !before.ends_with(|c: char| c.is_alphanumeric() || "-_/=".contains(c));
            let place = if begins { self.place_in_file(name) } else { None };
            match place {
                Some(place) => {
                    placed.push_str(&place);
                    let [own, former] = find(name).variables();
                    let after = &flag[end..];
                    let variables = [own, former].map(|variable| format!(" / {variable}"));
                    rest = variables.iter().find_map(|shown| after.strip_prefix(&**shown)).unwrap_or(after);
                }
                None => {
                    placed.push_str("--");
                    placed.push_str(name);
                    rest = &flag[end..];
                }
            }
        }
        placed + rest
    }

    /// Where the settings file sets an option, if it is one and that counts.
    fn place_in_file(&self, name: &str) -> Option<String> {
        let is_known = ALL.iter().flat_map(|group| group.flags).any(|flag| flag.name == name);
        let (_, source) = if is_known { self.set(name)? } else { return None };
        matches!(source, Source::File).then(|| self.file.place(name)).flatten()
    }

    /// The same of a fault.
    pub(crate) fn placed_fault(&self, fault: &BootError) -> BootError {
        BootError::new(self.placed(&fault.to_string()))
    }

    /// Records a warning.
    pub fn warn(&mut self, event: &'static str, message: String) {
        self.warnings.push(BootWarning { event, message });
    }

    /// The option's text; `None` if it is not given, or given as an empty variable.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = self.set_text(name)?.to_string_lossy();
        let trimmed = text.trim();
        (!trimmed.is_empty()).then(|| trimmed.to_owned())
    }

    /// The texts of an option, and where they are from; `None` if it is not set.
    pub(crate) fn origin(&self, name: &str) -> Option<(Vec<String>, String)> {
        let (texts, source) = self.set(name)?;
        let place = match source {
            Source::CommandLine => format!("--{name}"),
            Source::Variable(variable) => variable,
            Source::File => self.file.line(name)?,
        };
        Some((texts.iter().map(|text| text.to_string_lossy().into_owned()).collect(), place))
    }

    /// The texts of the option where it is set first, one or those of a list; `None` also if the sub-command does not have it.
    fn set(&self, name: &str) -> Option<(Vec<&OsStr>, Source)> {
        if let Some(given) = self.matches.try_get_many::<OsString>(name).ok().flatten() {
            return Some((given.map(OsString::as_os_str).collect(), Source::CommandLine));
        }
        if let Some((variable, text)) = find(name).in_environment(self.env) {
            return Some((vec![text], Source::Variable(variable)));
        }
        let texts = self.file.texts(name)?;
        Some((texts.iter().map(OsString::as_os_str).collect(), Source::File))
    }

    /// The text of the option where it is set first.
    fn set_text(&self, name: &str) -> Option<&OsStr> {
        self.set(name)?.0.first().copied()
    }

    /// The source of a given option.
    pub fn source(&self, name: &str) -> &'static str {
        match self.set(name) {
            Some((_, Source::CommandLine)) => "cli",
            Some((_, Source::File)) => "file",
            Some((_, Source::Variable(_))) | None => "env",
        }
    }

    /// Whether the option's text, where it is set first, stands where secrets must not: on the command line, or in the settings
    /// file itself.
    pub(crate) fn is_exposed(&self, name: &str) -> bool {
        match self.set(name) {
            Some((_, Source::CommandLine)) => true,
            Some((_, Source::File)) => self.file.spells_out(name),
            Some((_, Source::Variable(_))) | None => false,
        }
    }

    /// Whether the text of an option is the value of a variable that the settings file names.
    pub(crate) fn is_by_variable(&self, name: &str) -> bool {
        matches!(self.set(name), Some((_, Source::File))) && !self.file.spells_out(name)
    }

    /// The option and its variable, for messages: the former name of the variable if that is set. Or where the settings file
    /// has it, if that is what counts.
    pub(super) fn shown(&self, name: &str) -> String {
        let source = self.set(name).map(|(_, source)| source);
        if let Some(place) = self.place_in_file(name) {
            return place;
        }
        let [own, _] = find(name).variables();
        let variable = if let Some(Source::Variable(set)) = source { set } else { own };
        format!("--{name} / {variable}")
    }

    /// One of a fixed set of words, if the option is given. Any other text is recorded for [`Values::check_choices`].
    pub(crate) fn choice<T: Copy>(&mut self, name: &str, choices: &[(&'static str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let found = choices.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let fault = not_a_choice(&self.shown(name), &text, choices.iter().map(|(word, _)| *word));
            self.faults.push(fault);
        }
        found.map(|(_, choice)| *choice)
    }

    /// [`Values::choice`] without regard to case.
    pub(crate) fn loose_choice<T: Copy>(&mut self, name: &str, choices: &[(&'static str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let found = choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(&text));
        if found.is_none() {
            let fault = not_a_choice(&self.shown(name), &text, choices.iter().map(|(word, _)| *word));
            self.faults.push(fault);
        }
        found.map(|(_, choice)| *choice)
    }

    /// Records that an entry of a list is none of these, for [`Values::check_choices`].
    pub(crate) fn refuse_choice(&mut self, name: &str, text: &str, words: &[&'static str]) {
        self.faults.push(not_a_choice(&self.shown(name), text, words.iter().copied()));
    }

    /// Checks that all choices read so far were words of their sets.
    ///
    /// # Errors
    /// All that were not, a line each: a typing error must not be replaced by a default.
    pub(crate) fn check_choices(&mut self) -> Result<(), BootError> {
        let faults = std::mem::take(&mut self.faults);
        if faults.is_empty() { Ok(()) } else { Err(BootError::new(faults.join("\n"))) }
    }

    /// Checks that no option that protects the server is given without a value, as a variable of a script that is not set leaves it: the
    /// server would do without that protection.
    ///
    /// # Errors
    /// One is.
    pub(super) fn check_protecting(&self) -> Result<(), BootError> {
        let is_blank = |text: &OsStr| text.to_str().is_some_and(|text| text.trim().is_empty());
        for name in PROTECTING {
            let place = match self.set(name) {
                Some((texts, source)) if texts.iter().all(|text| is_blank(text)) => match source {
                    Source::CommandLine => format!("--{name}"),
                    Source::Variable(variable) => variable,
                    Source::File => self.shown(name),
                },
                Some(_) => continue,
                None => match find(name).variables().into_iter().find(|name| self.env.get(name).is_some()) {
                    Some(variable) => variable,
                    None => continue,
                },
            };
            return Err(BootError::new(format!(
                "{place} is empty: it would protect nothing; give it a value, or leave it out to do without"
            )));
        }
        Ok(())
    }

    /// The option as a path, byte for byte.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.set_text(name)?);
        (!path.as_os_str().is_empty()).then_some(path)
    }

    /// All entries of a list, trimmed and without empty ones. A list on the command line replaces the variable.
    pub fn list(&self, name: &str) -> Vec<String> {
        let texts = self.set(name).map(|(texts, _)| texts).unwrap_or_default();
        let texts: Vec<_> = texts.into_iter().map(OsStr::to_string_lossy).collect();
        let entries = texts.iter().flat_map(|text| text.split(',')).map(str::trim);
        entries.filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
    }

    /// An integer of at least 1, if the option is given.
    ///
    /// # Errors
    /// If it is given as anything else.
    pub fn positive(&self, name: &str) -> Result<Option<u64>, BootError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse::<i128>() {
            Ok(number) if number >= 1 => Ok(Some(u64::try_from(number).unwrap_or(u64::MAX))),
            parsed => {
                let got = if parsed.is_ok() { text } else { format!("{text:?}") };
                Err(BootError::new(format!("{} must be a positive integer, got: {got}", self.shown(name))))
            }
        }
    }

    /// An integer of at least 1, or the table's default.
    ///
    /// # Errors
    /// As [`Values::positive`].
    pub fn number(&self, name: &str) -> Result<u64, BootError> {
        Ok(self.positive(name)?.unwrap_or_else(|| find(name).default.number()))
    }

    /// The limit of one of several principals on `total`: the option's value, or its share.
    ///
    /// # Errors
    /// As [`Values::positive`].
    pub(crate) fn share(&self, name: &str, total: usize, principals: usize) -> Result<usize, BootError> {
        self.size_or(name, share(total, principals))
    }

    /// [`Values::number`] for a size in this process's memory.
    ///
    /// # Errors
    /// As [`Values::positive`].
    pub fn size(&self, name: &str) -> Result<usize, BootError> {
        Ok(size(self.number(name)?))
    }

    /// [`Values::number_or`] for a size in this process's memory.
    ///
    /// # Errors
    /// As [`Values::positive`].
    pub(crate) fn size_or(&self, name: &str, default: usize) -> Result<usize, BootError> {
        Ok(self.positive(name)?.map_or(default, size))
    }

    /// [`Values::number`] as a time in milliseconds.
    ///
    /// # Errors
    /// As [`Values::positive`].
    pub fn time(&self, name: &str) -> Result<Duration, BootError> {
        Ok(Duration::from_millis(self.number(name)?))
    }

    /// The option's text, or the table's default.
    pub fn word(&self, name: &str) -> String {
        self.text(name).unwrap_or_else(|| find(name).default.word().to_owned())
    }

    /// A switch. Text that is not a boolean keeps the default and causes a warning.
    pub fn switch(&mut self, name: &str) -> bool {
        let default = find(name).default.is_on();
        let Some(text) = self.text(name) else { return default };
        boolean(&text).unwrap_or_else(|| {
            let message = format!("{} is not a boolean: {text:?}; using {default}", self.shown(name));
            self.warn("boolean_invalid", message);
            default
        })
    }

    /// An integer clamped to `least..=most`; text that is not an integer keeps the default. `event` names the
    /// warning.
    pub fn clamped(&mut self, name: &str, least: u64, most: u64, event: &'static str) -> u64 {
        let default = find(name).default.number();
        let Some(text) = self.text(name) else { return default };
        let Ok(number) = text.parse::<i128>() else {
            self.warn(event, format!("{} is not an integer: {text:?}; using {default}", self.shown(name)));
            return default;
        };
        let used = number.clamp(i128::from(least), i128::from(most)) as u64;
        if i128::from(used) != number {
            self.warn(
                event,
                format!("{} {number} is outside {least} to {most}; using {used}", self.shown(name)),
            );
        }
        used
    }
}

/// What a switch's text says, if it is a boolean.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// `--catalog-mode / PTC_CATALOG_MODE must be auto, inline or lazy, got: "lasy"; did you mean lazy?`
pub(super) fn not_a_choice(shown: &str, text: &str, words: impl Iterator<Item = &'static str>) -> String {
    let words: Vec<&str> = words.collect();
    let listed = match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    };
    let similar = most_similar(text, words.into_iter());
    let similar = similar.map_or_else(String::new, |word| format!("; did you mean {word}?"));
    format!("{shown} must be {listed}, got: {text:?}{similar}")
}

/// A URL that cannot be used, as its fault shows it: without user and password, and without the query, which may hold a secret.
pub(super) fn shown_url(text: &str) -> String {
    let scheme = text.find("://").map_or(0, |at| at + "://".len());
    let bare = match text.rfind('@') {
        Some(at) if at >= scheme => format!("{}…{}", &text[..scheme], &text[at..]),
        _ => text.to_owned(),
    };
    let shown = match bare.find(['?', '#']) {
        Some(at) => format!("{}…", &bare[..=at]),
        None => bare,
    };
    let rest = if shown.len() > MAX_SHOWN { "…" } else { "" };
    format!("\"{}{rest}\"", visible_line(clip(&shown, MAX_SHOWN)))
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
