//! Reads single options: command line > environment > settings file > default.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use ptc_host::config::ProcessEnv;
use ptc_host::similar::most_similar;

use super::flags::find;
use super::settings_file::SettingsFile;
use ptc_protocol::settings::{BootError, BootWarning};
use ptc_protocol::usage::share;

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
    pub(crate) fn into_warnings(self) -> Vec<BootWarning> {
        self.warnings
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

    /// The option and its variable, for messages: the former name of the variable if that is set. Or where the settings file
    /// has it, if that is what counts.
    pub(super) fn shown(&self, name: &str) -> String {
        let source = self.set(name).map(|(_, source)| source);
        if let (Some(Source::File), Some(place)) = (&source, self.file.place(name)) {
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

    /// All words of a list, each of them one of a fixed set. Any other text is recorded for
    /// [`Values::check_choices`].
    pub(crate) fn choices<T: Copy>(&mut self, name: &str, choices: &[(&'static str, T)]) -> Vec<T> {
        let mut found = Vec::new();
        for text in self.list(name) {
            match choices.iter().find(|(word, _)| *word == text) {
                Some((_, choice)) => found.push(*choice),
                None => {
                    let words = choices.iter().map(|(word, _)| *word);
                    self.faults.push(not_a_choice(&self.shown(name), &text, words));
                }
            }
        }
        found
    }

    /// Checks that all choices read so far were words of their sets.
    ///
    /// # Errors
    /// All that were not, a line each: a typing error must not be replaced by a default.
    pub(crate) fn check_choices(&mut self) -> Result<(), BootError> {
        let faults = std::mem::take(&mut self.faults);
        if faults.is_empty() { Ok(()) } else { Err(BootError::new(faults.join("\n"))) }
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
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => true,
            "0" | "false" | "no" | "off" => false,
            _ => {
                let message = format!("{} is not a boolean: {text:?}; using {default}", self.shown(name));
                self.warn("boolean_invalid", message);
                default
            }
        }
    }

    /// An integer clamped to `least..=most`; text that is not an integer keeps the default. `event` names the
    /// warning.
    pub fn clamped(&mut self, name: &str, least: u64, most: u64, event: &'static str) -> u64 {
        let default = find(name).default.number();
        let Some(text) = self.text(name) else { return default };
        let Ok(number) = text.parse::<i128>() else {
            self.warn(event, format!("--{name} is not an integer: {text:?}; using {default}"));
            return default;
        };
        let used = number.clamp(i128::from(least), i128::from(most)) as u64;
        if i128::from(used) != number {
            self.warn(event, format!("--{name} {number} is outside {least} to {most}; using {used}"));
        }
        used
    }
}

/// `--catalog-mode / PTC_CATALOG_MODE must be auto, inline or lazy, got: "lasy"; did you mean lazy?`
fn not_a_choice(shown: &str, text: &str, words: impl Iterator<Item = &'static str>) -> String {
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

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
