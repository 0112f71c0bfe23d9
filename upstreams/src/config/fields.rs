//! Typed access to the keys of one upstream's entry.

use std::cell::RefCell;
use std::fmt::Display;
use std::time::Duration;

use ptc_mcp::json::{Map, Value};

use ptc_base::config_error::ConfigError;

/// The JSON object of one upstream. Remembers which keys were asked for, so that the rest can be reported.
pub(super) struct Fields<'a> {
    pub(super) upstream: &'a str,
    map: &'a Map,
    known: RefCell<Vec<&'static str>>,
    unset: RefCell<Option<String>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(upstream: &'a str, map: &'a Map) -> Self {
        Self { upstream, map, known: RefCell::default(), unset: RefCell::default() }
    }

    /// An error about this upstream: `upstream <name> <detail>`.
    pub(super) fn error(&self, detail: impl Display) -> ConfigError {
        ConfigError::upstream(self.upstream, detail)
    }

    /// Takes note that something which the entry names is not set. That is an error of the entry, unless the entry says that
    /// one can go without it (ruling 121).
    ///
    /// # Errors
    /// `why`, if the upstream is required.
    pub(super) fn lacks(&self, why: String) -> Result<(), ConfigError> {
        if self.map.get("required") != Some(&Value::Bool(false)) {
            return Err(ConfigError::upstream_verbatim(self.upstream, why));
        }
        self.unset.borrow_mut().get_or_insert(why);
        Ok(())
    }

    /// The first variable that was noted as not set.
    pub(super) fn unset(&self) -> Option<String> {
        self.unset.borrow().clone()
    }

    /// The raw value of a key.
    pub(super) fn get(&self, key: &'static str) -> Option<&'a Value> {
        self.known.borrow_mut().push(key);
        self.map.get(key)
    }

    /// The raw value of a key that does not count as read by that.
    pub(super) fn peek(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key)
    }

    /// Keys that were not read, in file order. `$`-keys (`$schema`, `$comment`) are for editors.
    pub(super) fn unknown(&self) -> Vec<&'a str> {
        let known = self.known.borrow();
        self.map.keys().map(String::as_str).filter(|k| !known.contains(k) && !k.starts_with('$')).collect()
    }

    /// The keys that were asked for so far, each once.
    pub(super) fn known(&self) -> Vec<&'static str> {
        let mut known = self.known.borrow().clone();
        known.sort_unstable();
        known.dedup();
        known
    }

    pub(super) fn string(&self, key: &'static str) -> Result<Option<&'a str>, ConfigError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.error(format_args!("{key} must be a string"))),
        }
    }

    /// A key that must hold a non-empty string: `upstream N requires <key>`.
    pub(super) fn required_string(&self, key: &'static str) -> Result<&'a str, ConfigError> {
        match self.get(key) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            _ => Err(self.error(format_args!("requires {key}"))),
        }
    }

    pub(super) fn bool(&self, key: &'static str) -> Result<Option<bool>, ConfigError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.error(format_args!("{key} must be a boolean"))),
        }
    }

    pub(super) fn positive(&self, key: &'static str) -> Result<Option<usize>, ConfigError> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => match value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0) {
                Some(n) => Ok(Some(n)),
                None => Err(self.error(format_args!("{key} must be a positive integer"))),
            },
        }
    }

    pub(super) fn millis(&self, key: &'static str) -> Result<Option<Duration>, ConfigError> {
        Ok(self.positive(key)?.map(|ms| Duration::from_millis(ms as u64)))
    }

    /// One value under either of two names that mean the same.
    pub(super) fn either<T>(
        &self,
        keys: [&'static str; 2],
        read: impl Fn(&Self, &'static str) -> Result<Option<T>, ConfigError>,
    ) -> Result<Option<T>, ConfigError> {
        match (read(self, keys[0])?, read(self, keys[1])?) {
            (Some(_), Some(_)) => Err(self
                .error(format_args!("sets both {} and {}; they mean the same, keep one", keys[0], keys[1]))),
            (first, second) => Ok(first.or(second)),
        }
    }

    pub(super) fn strings(&self, key: &'static str) -> Result<Option<Vec<String>>, ConfigError> {
        let fail = || self.error(format_args!("{key} must be a list of strings"));
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned).ok_or_else(fail))
                .collect::<Result<_, _>>()
                .map(Some),
            Some(_) => Err(fail()),
        }
    }

    pub(super) fn object(&self, key: &'static str) -> Result<Option<&'a Map>, ConfigError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(_) => Err(self.error(format_args!("{key} must be an object"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn with<T>(value: Value, read: impl Fn(&Fields<'_>) -> Result<T, ConfigError>) -> Result<T, String> {
        let Value::Object(map) = value else { panic!("an object") };
        read(&Fields::new("x", &map)).map_err(|e| e.to_string())
    }

    #[test]
    fn numbers_are_positive_integers() {
        assert_eq!(with(json!({"n": 5}), |f| f.positive("n")), Ok(Some(5)));
        assert_eq!(with(json!({}), |f| f.positive("n")), Ok(None));
        for bad in [json!(0), json!(-1), json!(1.5), json!("5"), json!(null), json!(true)] {
            assert_eq!(
                with(json!({"n": bad}), |f| f.positive("n")),
                Err("upstream x n must be a positive integer".to_owned())
            );
        }
    }

    #[test]
    fn wrong_types_name_the_key() {
        assert_eq!(with(json!({"k": 1}), |f| f.bool("k")).unwrap_err(), "upstream x k must be a boolean");
        assert_eq!(
            with(json!({"k": 1}), |f| f.string("k").map(|_| ())).unwrap_err(),
            "upstream x k must be a string"
        );
        assert_eq!(
            with(json!({"k": [1]}), |f| f.strings("k")).unwrap_err(),
            "upstream x k must be a list of strings"
        );
        assert_eq!(
            with(json!({"k": []}), |f| f.object("k").map(|_| ())).unwrap_err(),
            "upstream x k must be an object"
        );
        assert_eq!(
            with(json!({"k": ""}), |f| f.required_string("k").map(|_| ())).unwrap_err(),
            "upstream x requires k"
        );
    }

    #[test]
    fn aliases_exclude_each_other() {
        let read = |f: &Fields<'_>| f.either(["a", "b"], Fields::positive);
        assert_eq!(with(json!({"a": 1}), read), Ok(Some(1)));
        assert_eq!(with(json!({"b": 2}), read), Ok(Some(2)));
        assert_eq!(
            with(json!({"a": 1, "b": 1}), read).unwrap_err(),
            "upstream x sets both a and b; they mean the same, keep one"
        );
    }

    #[test]
    fn unknown_keys_are_those_never_asked_for() {
        let Value::Object(map) = json!({"b": 1, "a": 1, "$comment": "", "known": 1}) else { unreachable!() };
        let fields = Fields::new("x", &map);
        fields.get("known");
        assert_eq!(fields.unknown(), ["b", "a"]);
    }
}
