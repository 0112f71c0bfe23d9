//! The first difference of JSON values.

use ptc_base::json::Value as Json;

/// Characters of a value that a message shows.
const MAX_DISPLAYED: usize = 120;

/// The first difference, as a sentence with its JSON pointer; `None` for equal values.
pub(super) fn first_difference(recorded: &Json, asked: &Json) -> Option<String> {
    let mut at = String::new();
    let (mut recorded, mut asked) = (recorded, asked);
    // One step down for each level: no recursion, however deep the values are.
    'down: while recorded != asked {
        match (recorded, asked) {
            (Json::Object(left), Json::Object(right)) => {
                for key in left.keys().chain(right.keys()) {
                    let (one, other) = (left.get(key), right.get(key));
                    if one == other {
                        continue;
                    }
                    at.push('/');
                    at.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    match (one, other) {
                        (Some(one), Some(other)) => (recorded, asked) = (one, other),
                        (one, other) => return Some(sentence(&at, one, other)),
                    }
                    continue 'down;
                }
                return None;
            }
            (Json::Array(left), Json::Array(right)) => {
                let differs = (0..left.len().max(right.len())).find(|&i| left.get(i) != right.get(i))?;
                at.push_str(&format!("/{differs}"));
                match (left.get(differs), right.get(differs)) {
                    (Some(one), Some(other)) => (recorded, asked) = (one, other),
                    (one, other) => return Some(sentence(&at, one, other)),
                }
            }
            (Json::String(left), Json::String(right)) => return Some(texts(&at, left, right)),
            _ => return Some(sentence(&at, Some(recorded), Some(asked))),
        }
    }
    None
}

fn sentence(at: &str, recorded: Option<&Json>, asked: Option<&Json>) -> String {
    let display =
        |value: Option<&Json>| value.map_or_else(|| "nothing".into(), |value| cut(&value.to_string()));
    format!("at {} it has {} instead of {}", place(at), display(asked), display(recorded))
}

/// Two texts from shortly before they part.
fn texts(at: &str, recorded: &str, asked: &str) -> String {
    let same = recorded.chars().zip(asked.chars()).take_while(|(one, other)| one == other).count();
    let from = same.saturating_sub(20);
    let part = |text: &str| cut(&Json::from(text.chars().skip(from).collect::<String>()).to_string());
    format!("at {}, character {same}, it has {} instead of {}", place(at), part(asked), part(recorded))
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the root" } else { pointer }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_DISPLAYED {
        return text.to_owned();
    }
    text.chars().take(MAX_DISPLAYED).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_base::json::json;

    #[test]
    fn the_first_difference_is_named() {
        let found = |one: Json, other: Json| first_difference(&one, &other);
        assert_eq!(found(json!({"a": [1, 2]}), json!({"a": [1, 2]})), None);
        assert_eq!(
            found(json!({"a": [1, {"b/c": 2}]}), json!({"a": [1, {"b/c": "x"}]})).unwrap(),
            "at /a/1/b~1c it has \"x\" instead of 2"
        );
        assert_eq!(found(json!([1]), json!([1, 2])).unwrap(), "at /1 it has 2 instead of nothing");
        assert_eq!(found(json!({"a": 1}), json!({})).unwrap(), "at /a it has nothing instead of 1");
        let long = format!("{}same, then", "x".repeat(50));
        let text = found(json!(format!("{long} this")), json!(format!("{long} that"))).unwrap();
        assert_eq!(
            text,
            "at the root, character 63, it has \"xxxxxxxsame, then that\" instead of \"xxxxxxxsame, then this\""
        );
    }
}
