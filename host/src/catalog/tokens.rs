//! The words by which the search finds tools and servers.

use std::collections::BTreeSet;

use ptc_mcp::json::Value;
use ptc_vm::builtins::words::tokenize;

/// Words of a tool or server that are searched, its name's among them.
const MAX_TOKENS: usize = 64;
/// Words of a description that come before the names of arguments.
const FIRST_OF_DESCRIPTION: usize = 32;

/// The words of a tool or server, taken once when its entry is built.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokens {
    pub(super) name: Vec<String>,
    pub(super) other: Vec<String>,
}

impl Tokens {
    pub(super) fn of_tool(name: &str, description: &str, input: &Value, annotations: Option<&Value>) -> Self {
        let keys = ptc_schema::json_schema::properties(input).into_iter().flat_map(|p| p.keys());
        let hints = annotations.and_then(Value::as_object).into_iter().flatten().flat_map(|(key, value)| {
            let value = match value {
                Value::String(text) => tokenize(text),
                Value::Bool(_) | Value::Number(_) => tokenize(&value.to_string()),
                _ => Vec::new(),
            };
            tokenize(key).into_iter().chain(value)
        });
        Self::new(name, description, keys.flat_map(|key| tokenize(key)).chain(hints))
    }

    pub(super) fn of_server(name: &str, description: &str, capabilities: &[String]) -> Self {
        Self::new(name, description, capabilities.iter().flat_map(|text| tokenize(text)))
    }

    /// The name, the beginning of the description, `more`, and the rest of the description, as far as there is room.
    fn new(name: &str, description: &str, more: impl Iterator<Item = String>) -> Self {
        let mut name = tokenize(name);
        name.truncate(MAX_TOKENS);
        let room = MAX_TOKENS - name.len();
        let mut first = tokenize(description);
        let rest = first.split_off(first.len().min(FIRST_OF_DESCRIPTION));
        // A repeated word never changes a maximum.
        let mut other = BTreeSet::new();
        for word in first.into_iter().chain(more).chain(rest) {
            if other.len() == room {
                break;
            }
            other.insert(word);
        }
        Self { name, other: other.into_iter().collect() }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.name.len() + self.other.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_mcp::json::json;

    #[test]
    fn a_tool_has_64_words_of_which_its_description_leaves_some_to_its_arguments() {
        let words =
            |letter: &str, count: usize| (0..count).map(|n| format!("{letter}{n}")).collect::<Vec<_>>();
        let keys = |count| {
            let properties: ptc_mcp::json::Map =
                words("k", count).into_iter().map(|key| (key, json!({}))).collect();
            json!({"properties": properties})
        };
        let of = |description: usize, arguments: usize| {
            let tokens = Tokens::of_tool("a b", &words("d", description).join(" "), &keys(arguments), None);
            let count = |letter| tokens.other.iter().filter(|word| word.starts_with(letter)).count();
            (tokens.len(), count('d'), count('k'))
        };
        assert_eq!(of(62, 0), (64, 62, 0));
        assert_eq!(of(63, 0), (64, 62, 0), "one more is not searched");
        assert_eq!(of(100, 20), (64, 42, 20));
        assert_eq!(of(100, 60_000), (64, 32, 30));
        assert_eq!(of(3, 5), (10, 3, 5));
    }
}
