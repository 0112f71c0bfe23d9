//! `WWW-Authenticate`.

use crate::bounds::{Charged, bounded};
use ptc_oauth::challenge::{Bearer, Challenge, MAX_CHALLENGES, parse};

/// Challenges are read within the limits, in linear time; what was read is read again from its plainest form, and the one that counts is among them.
pub fn challenge(data: &[u8]) {
    let values: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    let found = bounded("challenges", data.len(), || (parse(&values), Charged::default()));
    assert!(found.len() <= MAX_CHALLENGES);
    for challenge in &found {
        assert!(!challenge.scheme.is_empty() && !challenge.scheme.contains([' ', ',', '=', '"']));
        assert!(challenge.token68.is_none() || challenge.parameters.is_empty());
        let mut names: Vec<&str> = challenge.parameters.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.iter().all(|name| !name.is_empty() && !name.bytes().any(|b| b.is_ascii_uppercase())));
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{challenge:?}");
    }
    // Escapes make texts longer, and limits are for texts.
    let written: Vec<String> = found.iter().map(written).collect();
    if written.iter().map(String::len).sum::<usize>() <= ptc_oauth::challenge::MAX_BYTES {
        assert_eq!(parse(&written), found, "{written:?}");
    }
    let bearers = || found.iter().filter(|challenge| challenge.scheme.eq_ignore_ascii_case("bearer"));
    let named = |challenge: &&Challenge| {
        challenge.parameter("resource_metadata").is_some_and(|value| !value.is_empty())
    };
    let expected = bearers().find(named).or(bearers().next());
    let value = |name| expected.and_then(|c| c.parameter(name)).filter(|value| !value.is_empty());
    let bearer = Bearer::find(&values);
    assert_eq!(bearer.is_some(), expected.is_some());
    let bearer = bearer.unwrap_or_default();
    assert_eq!(bearer.resource_metadata.as_deref(), value("resource_metadata"));
    assert_eq!((bearer.scope.as_deref(), bearer.error.as_deref()), (value("scope"), value("error")));
}

fn written(challenge: &Challenge) -> String {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"");
    let parameters =
        challenge.parameters.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    let parameters: Vec<String> = challenge.token68.iter().cloned().chain(parameters).collect();
    format!("{} {}", challenge.scheme, parameters.join(", "))
}
