//! JSON as the data of a file.

use ptc_mcp::json::Value as Json;

/// Widest line that is not broken, in characters.
const WIDTH: usize = 100;

/// A value as data of the language, with keywords for keys where they can be. Lines after the first are indented by `indent`.
#[must_use]
pub fn edn(json: &Json, indent: usize) -> String {
    let mut text = String::new();
    write(&mut text, json, indent);
    text
}

fn write(out: &mut String, json: &Json, indent: usize) {
    let plain = flat(json);
    let (items, open, close): (Vec<String>, char, char) = match json {
        _ if indent + plain.chars().count() <= WIDTH => return out.push_str(&plain),
        Json::Object(map) => {
            let entry = |(name, value): (&String, &Json)| {
                let key = key(name);
                let inner = indent + 2 + key.chars().count();
                format!("{key} {}", edn(value, inner))
            };
            (map.iter().map(entry).collect(), '{', '}')
        }
        Json::Array(list) => (list.iter().map(|item| edn(item, indent + 1)).collect(), '[', ']'),
        _ => return out.push_str(&plain),
    };
    out.push(open);
    out.push_str(&items.join(&format!("\n{}", " ".repeat(indent + 1))));
    out.push(close);
}

/// A value on one line.
fn flat(json: &Json) -> String {
    match json {
        Json::Null => "nil".to_owned(),
        Json::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(name, value)| format!("{} {}", key(name), flat(value))).collect();
            format!("{{{}}}", entries.join(" "))
        }
        Json::Array(list) => format!("[{}]", list.iter().map(flat).collect::<Vec<_>>().join(" ")),
        // A JSON string is one of the language, but for its escaped slash, which no writer of ours writes.
        other => other.to_string(),
    }
}

fn key(name: &str) -> String {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match name.starts_with(starts) && name.chars().all(inside) {
        true => format!(":{name}"),
        false => Json::from(name).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_compiler::datum::read_head;
    use ptc_host::engine::kept::json_of;
    use ptc_mcp::json::json;

    #[test]
    fn what_is_written_is_read_again() {
        let long = "x".repeat(90);
        for value in [
            json!({"a": 1, "b-c": [true, null, 2.5], "d e": "q\"\n\u{1}é\u{2028}/", ":k": {}}),
            json!({"rows": [{"text": long, "n": 1}, {"text": long, "deep": {"list": [long, long]}}]}),
        ] {
            let text = edn(&value, 0);
            let head = read_head(&text, "program").unwrap();
            assert_eq!(json_of(&head.datum, &text).unwrap(), value, "{text}");
        }
        assert_eq!(edn(&json!({"a": [1, "x"]}), 0), r#"{:a [1 "x"]}"#);
    }
}
