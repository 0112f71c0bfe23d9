//! The digest that binds a state to the arguments of its call.

use ptc_host::{canonical_json, digest};

/// The SHA-256 of the canonical form of `params.arguments`, so that a client may format them in another way when it
/// calls again. Arguments without a canonical form, such as an object with a repeated key, are bound as sent.
pub fn arguments_digest(arguments: Option<&str>) -> [u8; 32] {
    let Some(arguments) = arguments else { return [0; 32] };
    let as_sent = || digest::sha256(&[b"as sent\0", arguments.as_bytes()].concat());
    // The prefix keeps arguments that are bound as sent apart from canonical forms.
    canonical_json::digest(arguments.as_bytes()).unwrap_or_else(|_| as_sent())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_one_digest_however_it_is_written() {
        let digest = |text: &str| arguments_digest(Some(text));
        assert_eq!(digest(r#"{"a":1.0,"b":"\u0061"}"#), digest(r#"{ "b": "a", "a": 1 }"#));
        assert_ne!(digest(r#"{"a":1}"#), digest(r#"{"a":2}"#));
        assert_ne!(digest("{}"), arguments_digest(None));
        let (one, other) = (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#);
        assert_eq!(digest(one), digest(one));
        assert_ne!(digest(one), digest(other));
    }
}
