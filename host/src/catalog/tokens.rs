//! The tokenizer of the search.

use ptc_mcp::json::Value;

/// Words of a text: split at case changes, `_`, `-`, `.`, `/`, `(`, `)`, `,`, `:` and white space, in lower case.
pub(super) fn tokenize(text: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(text.len() + 8);
    let mut after_lower = false;
    for c in text.chars() {
        if after_lower && c.is_uppercase() {
            spaced.push(' ');
        }
        after_lower = c.is_lowercase();
        let delimiter = c.is_whitespace() || "_-./(),:".contains(c);
        spaced.push(if delimiter { ' ' } else { c });
    }
    spaced.split_whitespace().map(str::to_lowercase).collect()
}

/// Sum over the query's words of the best match among `targets`: 10 equal, 5 prefix, 2 inside, each plus `boost`.
pub(super) fn score<'t>(
    query: &[String],
    targets: impl Iterator<Item = &'t String> + Clone,
    boost: u32,
) -> u32 {
    let best = |word: &String| {
        targets
            .clone()
            .map(|target| match target.find(word.as_str()) {
                Some(0) if target.len() == word.len() => 10 + boost,
                Some(0) => 5 + boost,
                Some(_) => 2 + boost,
                None => 0,
            })
            .max()
            .unwrap_or(0)
    };
    query.iter().map(best).fold(0, u32::saturating_add)
}

/// The words of a tool or server, taken once when its entry is built.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokens {
    pub(super) name: Vec<String>,
    pub(super) other: Vec<String>,
}

impl Tokens {
    pub(super) fn of_tool(name: &str, description: &str, input: &Value, annotations: Option<&Value>) -> Self {
        let mut other = tokenize(description);
        for key in crate::json_schema::properties(input).into_iter().flat_map(|p| p.keys()) {
            other.extend(tokenize(key));
        }
        for (key, value) in annotations.and_then(Value::as_object).into_iter().flatten() {
            other.extend(tokenize(key));
            match value {
                Value::String(text) => other.extend(tokenize(text)),
                Value::Bool(_) | Value::Number(_) => other.extend(tokenize(&value.to_string())),
                _ => {}
            }
        }
        Self::new(name, other)
    }

    pub(super) fn of_server(name: &str, description: &str, capabilities: &[String]) -> Self {
        let mut other = tokenize(description);
        other.extend(capabilities.iter().flat_map(|text| tokenize(text)));
        Self::new(name, other)
    }

    fn new(name: &str, mut other: Vec<String>) -> Self {
        // A repeated target word never changes a maximum.
        other.sort_unstable();
        other.dedup();
        Self { name: tokenize(name), other }
    }
}
