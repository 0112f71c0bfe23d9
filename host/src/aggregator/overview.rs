//! The overview of an upstream's answer, for models and diagnostics (upstreams.md 11.2).
//!
//! Only the outermost level is parsed; nested values are skipped as text. Keys and strings are scrubbed before they are
//! truncated, so that no truncation leaves part of a secret.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use ptc_engine::ResultOverview;
use ptc_secret::credentials::Redactor;
use ptc_upstreams::upstream::Payload;

/// Keys of a map, or entries of it, that are shown.
const KEYS: usize = 8;
/// Items of a list that are shown.
const ITEMS: usize = 5;
/// Bytes of a preview.
const PREVIEW: usize = 240;
/// Bytes of a string inside a preview.
const LEAF: usize = 120;

/// The overview of a payload; `None` where there is nothing to see.
pub(super) fn overview(payload: &Payload, redactor: &Redactor) -> Option<ResultOverview> {
    let previewer = Previewer { redactor };
    match payload {
        Payload::None | Payload::Content(_) => None,
        Payload::JsonNull => Some(scalar("nil", "null")),
        Payload::Text(bytes) => Some(previewer.text(&String::from_utf8_lossy(bytes))),
        Payload::Json(bytes) | Payload::JsonOrText(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            Some(previewer.json(&text).unwrap_or_else(|| previewer.text(&text)))
        }
    }
}

fn scalar(shape: &str, preview: &str) -> ResultOverview {
    ResultOverview { value_kind: "json", shape: shape.into(), preview: preview.into() }
}

struct Previewer<'a> {
    redactor: &'a Redactor,
}

impl Previewer<'_> {
    fn text(&self, text: &str) -> ResultOverview {
        let scrubbed = self.redactor.scrub(text);
        ResultOverview {
            value_kind: "text",
            shape: format!("string bytes={}", text.len()),
            preview: cut(&scrubbed, PREVIEW),
        }
    }

    /// The overview of JSON; `None` if the text is no JSON.
    #[expect(clippy::disallowed_methods, reason = "entry point: Previewer.json")]
    fn json(&self, text: &str) -> Option<ResultOverview> {
        let raw: &RawValue = serde_json::from_str(text.trim()).ok()?;
        let text = raw.get();
        Some(match text.as_bytes().first()? {
            b'{' => {
                let entries = entries(text)?;
                let keys: Vec<_> =
                    entries.first.keys().map(|key| format!("{:?}", self.redactor.scrub(key))).collect();
                let shown = entries.first.iter().map(|(key, value)| {
                    format!("{}:{}", quoted(&self.redactor.scrub(key)), self.leaf(value.get()))
                });
                let preview = format!("{{{}}}", shown.collect::<Vec<_>>().join(","));
                ResultOverview {
                    value_kind: "json",
                    shape: format!("map keys=[{}] count={}", keys.join(", "), entries.count),
                    preview: cut(&preview, PREVIEW),
                }
            }
            b'[' => {
                let items = items(text)?;
                let shown: Vec<_> = items.first.iter().map(|item| self.leaf(item.get())).collect();
                ResultOverview {
                    value_kind: "json",
                    shape: format!("list count={}", items.count),
                    preview: cut(&format!("[{}]", shown.join(",")), PREVIEW),
                }
            }
            b'"' => self.text(&serde_json::from_str::<String>(text).ok()?),
            b't' | b'f' => scalar("boolean", text),
            b'n' => scalar("nil", text),
            _ if text.contains(['.', 'e', 'E']) => scalar("number", &cut(text, PREVIEW)),
            _ => scalar("integer", &cut(text, PREVIEW)),
        })
    }

    /// A value inside the outermost one, as JSON.
    #[expect(clippy::disallowed_methods, reason = "entry point: Previewer.leaf")]
    fn leaf(&self, text: &str) -> String {
        match text.as_bytes().first() {
            Some(b'{') => entries(text).map_or_else(String::new, |entries| {
                let keys: Vec<_> =
                    entries.first.keys().map(|key| quoted(&self.redactor.scrub(key))).collect();
                format!("{{\"type\":\"map\",\"keys\":[{}]}}", keys.join(","))
            }),
            Some(b'[') => items(text)
                .map_or_else(String::new, |items| format!("{{\"type\":\"list\",\"count\":{}}}", items.count)),
            Some(b'"') => serde_json::from_str::<String>(text)
                .map_or_else(|_| String::new(), |text| quoted(&cut(&self.redactor.scrub(&text), LEAF))),
            _ => self.redactor.scrub(&cut(text, LEAF)).into_owned(),
        }
    }
}

/// The first entries of a map by key, and how many there are.
struct Entries<'t> {
    first: BTreeMap<String, &'t RawValue>,
    count: usize,
}

/// The first items of a list, and how many there are.
struct ListPreview<'t> {
    first: Vec<&'t RawValue>,
    count: usize,
}

#[expect(clippy::disallowed_methods, reason = "entry point: entries()")]
fn entries(text: &str) -> Option<Entries<'_>> {
    struct Collect;
    impl<'t> Visitor<'t> for Collect {
        type Value = Entries<'t>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("an object")
        }

        fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Entries<'t>, A::Error> {
            let mut entries = Entries { first: BTreeMap::new(), count: 0 };
            while let Some((key, value)) = map.next_entry::<Cow<'t, str>, &'t RawValue>()? {
                entries.count += 1;
                entries.first.insert(key.into_owned(), value);
                if entries.first.len() > KEYS {
                    entries.first.pop_last();
                }
            }
            Ok(entries)
        }
    }
    serde_json::Deserializer::from_str(text).deserialize_map(Collect).ok()
}

#[expect(clippy::disallowed_methods, reason = "entry point: items()")]
fn items(text: &str) -> Option<ListPreview<'_>> {
    struct Collect;
    impl<'t> Visitor<'t> for Collect {
        type Value = ListPreview<'t>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'t>>(self, mut seq: A) -> Result<ListPreview<'t>, A::Error> {
            let mut items = ListPreview { first: Vec::new(), count: 0 };
            while let Some(item) = seq.next_element::<&'t RawValue>()? {
                items.count += 1;
                if items.first.len() < ITEMS {
                    items.first.push(item);
                }
            }
            Ok(items)
        }
    }
    serde_json::Deserializer::from_str(text).deserialize_seq(Collect).ok()
}

fn quoted(text: &str) -> String {
    ptc_mcp::json::Value::from(text).to_string()
}

/// The longest beginning of at most `max` bytes that ends between characters, and three dots if that is not all.
fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = (0..=max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}...", &text[..end])
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use ptc_secret::credentials::Secret;

    fn of(json: &str) -> (String, String, &'static str) {
        let overview =
            overview(&Payload::JsonOrText(Bytes::from(json.to_owned())), &Redactor::new()).unwrap();
        (overview.shape, overview.preview, overview.value_kind)
    }

    #[test]
    fn shapes_and_previews() {
        assert_eq!(
            of(r#"{"sum": 3}"#),
            (r#"map keys=["sum"] count=1"#.into(), r#"{"sum":3}"#.into(), "json")
        );
        assert_eq!(
            of(r#"[{"b":1,"a":[2]},[1,2],"x",null,1.5,6]"#),
            (
                "list count=6".into(),
                r#"[{"type":"map","keys":["a","b"]},{"type":"list","count":2},"x",null,1.5]"#.into(),
                "json"
            )
        );
        assert_eq!(of("\"a\\nb\""), ("string bytes=3".into(), "a\nb".into(), "text"));
        assert_eq!(of("# Title"), ("string bytes=7".into(), "# Title".into(), "text"));
        assert_eq!(of("12").0, "integer");
        assert_eq!(of("1e3").0, "number");
        assert_eq!(of("true").0, "boolean");
        assert_eq!(of("null").0, "nil");
        let many: Vec<_> = (0..20).rev().map(|n| format!("\"k{n:02}\":{n}")).collect();
        let (shape, preview, _) = of(&format!("{{{}}}", many.join(",")));
        assert!(shape.starts_with("map keys=[\"k00\", ") && shape.ends_with("\"k07\"] count=20"));
        assert_eq!(preview.matches("\"k").count(), 8);
        let (_, preview, _) = of(&format!("{:?}", "é".repeat(300)));
        assert_eq!(preview, format!("{}...", "é".repeat(120)));
    }

    #[test]
    fn secrets_do_not_show_not_even_in_part() {
        let redactor = Redactor::new();
        redactor.register([&Secret::new("s3cret-s3cret-s3cret")]).unwrap();
        let json = format!(r#"{{"s3cret-s3cret-s3cret":"{}s3cret-s3cret-s3cret"}}"#, "x".repeat(110));
        let overview = overview(&Payload::Json(Bytes::from(json)), &redactor).unwrap();
        assert!(!format!("{overview:?}").contains("s3cret"), "{overview:?}");
    }
}
