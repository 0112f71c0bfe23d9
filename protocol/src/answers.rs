//! Answers of people as clients, the console and other services send them: an object with an `ElicitResult` for each
//! question.

use std::borrow::Cow;
use std::collections::HashMap;

use ptc_mcp::json::{Raw, repeated_key};

/// The members of an object of answers, given as text: question ids and answers. An answer is `None` if its id, or a
/// member anywhere in it, occurs twice: it would be ambiguous, and is no answer.
pub fn answers(text: &str) -> Vec<(Cow<'_, str>, Option<Raw<'_>>)> {
    let members = Raw::parse(text).ok().and_then(Raw::members);
    let members: Vec<(Cow<'_, str>, Raw<'_>)> = members.into_iter().flatten().collect();
    let mut times: HashMap<Cow<'_, str>, u32> = HashMap::with_capacity(members.len());
    for (id, _) in &members {
        *times.entry(id.clone()).or_default() += 1;
    }
    let once = |id: &str, sent: Raw<'_>| times.get(id) == Some(&1) && repeated_key(sent.text()).is_none();
    members.into_iter().map(|(id, sent)| (id.clone(), Some(sent).filter(|sent| once(&id, *sent)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_twice_is_no_answer() {
        let given =
            answers(r#"{"q1":{"action":"accept"},"q2":{"action":"cancel"},"q3":{"a":1,"a":1},"\u00711":{}}"#);
        let given: Vec<_> = given.iter().map(|(id, sent)| (&**id, sent.map(Raw::text))).collect();
        assert_eq!(given, [("q1", None), ("q2", Some(r#"{"action":"cancel"}"#)), ("q3", None), ("q1", None)]);
        assert!(answers("[]").is_empty() && answers("{").is_empty());
    }
}
