//! The arguments of a call that choose a page, for its record (decision 184).

use ptc_engine::PageRecord;
use ptc_mcp::json::{Map, Value};
use ptc_vm::paging::{PageArguments, Parameters, Scalar};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Longest arguments that are read, in bytes of JSON.
const MOST_BYTES: usize = 4096;

/// The arguments of a call, the text of a JSON object, that choose a page.
pub fn sent_pages(arguments: &[u8], parameters: &Parameters) -> PageArguments {
    page_keys(arguments, parameters, false).0
}

/// The call's arguments that choose a page, and the record of its page: calls that differ only in the page belong to one group.
#[expect(clippy::disallowed_methods, reason = "entry point: page_keys()")]
pub(super) fn page_keys(
    arguments: &[u8],
    parameters: &Parameters,
    by_pages: bool,
) -> (PageArguments, PageRecord) {
    let mut whole = DefaultHasher::new();
    arguments.hash(&mut whole);
    let whole = whole.finish();
    let record = |group| PageRecord { group, whole, by_pages, standing: None };
    let read =
        (arguments.len() <= MOST_BYTES).then(|| serde_json::from_slice::<Map>(arguments).ok()).flatten();
    let Some(read) = read else { return (PageArguments::default(), record(whole)) };
    let mut sent = PageArguments::default();
    let mut others: Vec<(&str, String)> = Vec::new();
    for (name, value) in &read {
        let scalar = match value {
            Value::String(text) => Some(Scalar::Text(text.clone())),
            other => other.as_i64().map(Scalar::Number),
        };
        match (parameters.role(name), scalar) {
            (Some(_), Some(scalar)) => sent.push(parameters, name, scalar),
            (Some(_), None) => {}
            (None, _) => others.push((name, value.to_string())),
        }
    }
    others.sort();
    let mut group = DefaultHasher::new();
    others.hash(&mut group);
    (sent, record(group.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_differ_in_the_page_alone_are_of_one_group() {
        let keys = |json: &str| page_keys(json.as_bytes(), &Parameters::default(), false).1;
        let first = keys(r#"{"status":"open","limit":30}"#);
        for other in [
            r#"{"limit":30,"status":"open","page":2}"#,
            r#"{"status":"open","cursor":"x"}"#,
            r#"{"offset":3,"status":"open"}"#,
        ] {
            let other = keys(other);
            assert_eq!(other.group, first.group);
            assert_ne!(other.whole, first.whole);
        }
        assert_ne!(keys(r#"{"status":"closed","limit":30}"#).group, first.group);
        let long = format!(r#"{{"page":1,"q":"{}"}}"#, "x".repeat(MOST_BYTES));
        assert_eq!(keys(&long).group, keys(&long).whole);
        assert_eq!(keys("[1]").group, keys("[1]").whole);
    }
}
