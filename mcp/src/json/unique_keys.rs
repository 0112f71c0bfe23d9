//! Keys that stand twice in one object. Readers keep one of the two values silently, and not all the same one.

use std::borrow::Cow;

use super::Raw;

/// The first key of a JSON text that stands twice in an object, at any depth. The text must be JSON.
#[must_use]
pub fn repeated_key(json: &str) -> Option<String> {
    repeated_key_at(json).map(|(key, _)| key)
}

/// The same with the place where it stands for the second time, in bytes.
#[must_use]
pub fn repeated_key_at(json: &str) -> Option<(String, usize)> {
    let bytes = json.as_bytes();
    // The keys of all open objects with their places, and where those of each begin; `None` stands for an array.
    let mut keys: Vec<(Cow<'_, str>, usize)> = Vec::new();
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut is_key = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' => {
                open.push(Some(keys.len()));
                is_key = true;
            }
            b'[' => open.push(None),
            b']' => {
                open.pop();
            }
            b'}' => {
                let begin = open.pop()??;
                let own = keys.get_mut(begin..)?;
                own.sort_unstable();
                if let Some(pair) = own.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                    return Some((pair[1].0.to_string(), pair[1].1));
                }
                keys.truncate(begin);
                is_key = false;
            }
            b',' => is_key = matches!(open.last(), Some(Some(_))),
            b'"' => {
                let end = end_of_string(bytes, at);
                if std::mem::take(&mut is_key) {
                    keys.push((Raw::parse(json.get(at..end)?).ok()?.as_str()?, at));
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The place after the string that begins at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
        at += if *byte == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_in_one_object_is_found_at_any_depth() {
        for (json, key) in [
            (r#"{"a":1,"a":2}"#, "a"),
            (r#"{"a":1,"b":{"c":[1,{"x":"x","y":{},"x":1}]}}"#, "x"),
            (r#"{"a":1,"\u0061":2}"#, "a"),
            (r#"{"":1, "" :2}"#, ""),
            (r#"{"a\"":[1,2],"b":"a","a\"":{}}"#, "a\""),
        ] {
            assert_eq!(repeated_key(json).as_deref(), Some(key), "{json}");
        }
        assert_eq!(repeated_key_at("{\"a\":1,\n \"b\":2, \"a\":3}"), Some(("a".to_owned(), 16)));
        let integer = "9".repeat(400);
        for fine in [
            r#"{"a":{"a":[{"a":1},{"a":2}]},"b":"a","c":["a","a",{"a":"a"}]}"#,
            r#"["a","a"]"#,
            r#""a""#,
            "{}",
            &format!("{{\"a\":{integer},\"b\":1e999}}"),
        ] {
            assert_eq!(repeated_key(fine), None, "{fine}");
        }
    }
}
