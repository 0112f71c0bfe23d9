//! How a parameter's values are written into a URL: `style` and `explode` of the document (ruling 60).

use ptc_mcp::json::Value;
use url::form_urlencoded::byte_serialize;

/// How a list, or a map, of scalars is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Lists as `a=1&a=2`.
    Repeated,
    /// Lists as `a=1,2`, with this text between the items.
    Joined(&'static str),
    /// Maps as `a[x]=1&a[y]=2`.
    Deep,
}

impl Style {
    /// The style of a parameter object. `None` if calls cannot be written in it.
    pub(super) fn of(parameter: &Value, place: ParameterLocation) -> Option<Self> {
        let style = parameter.get("style").and_then(Value::as_str);
        if place == ParameterLocation::Path {
            return matches!(style, None | Some("simple")).then_some(Self::Joined(","));
        }
        let style = style.unwrap_or("form");
        let explode = parameter.get("explode").and_then(Value::as_bool).unwrap_or(style == "form");
        match style {
            "form" | "spaceDelimited" | "pipeDelimited" if explode => Some(Self::Repeated),
            "form" => Some(Self::Joined(",")),
            "spaceDelimited" => Some(Self::Joined("%20")),
            "pipeDelimited" => Some(Self::Joined("%7C")),
            "deepObject" => Some(Self::Deep),
            _ => None,
        }
    }

    pub(super) fn takes_lists(self) -> bool {
        self != Self::Deep
    }

    pub(super) fn takes_maps(self) -> bool {
        self == Self::Deep
    }

    /// The members of the query for a value, encoded. `None` if this style has no way to write it. Nulls, empty lists and
    /// empty maps have no members.
    pub(super) fn query(self, name: &str, value: &Value) -> Option<Vec<String>> {
        let pair = |name: &str, value: &str| format!("{}={value}", encode(name));
        match value {
            Value::Null => Some(Vec::new()),
            Value::Array(items) => {
                let items = items.iter().map(|item| Some(encode(&scalar(item)?)));
                let items: Vec<String> = items.collect::<Option<_>>()?;
                match self {
                    Self::Repeated => Some(items.iter().map(|item| pair(name, item)).collect()),
                    Self::Joined(_) if items.is_empty() => Some(Vec::new()),
                    Self::Joined(separator) => Some(vec![pair(name, &items.join(separator))]),
                    Self::Deep => None,
                }
            }
            Value::Object(entries) if self == Self::Deep => {
                let given = entries.iter().filter(|(_, value)| !value.is_null());
                given
                    .map(|(key, value)| Some(pair(&format!("{name}[{key}]"), &encode(&scalar(value)?))))
                    .collect()
            }
            one => Some(vec![pair(name, &encode(&scalar(one)?))]),
        }
    }
}

/// A string, number or boolean as the text that is sent.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn encode(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

/// Where a parameter stands in the URL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterLocation {
    Path,
    Query,
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn style(keys: Value) -> Option<Style> {
        Style::of(&keys, ParameterLocation::Query)
    }

    #[test]
    fn documents_name_styles() {
        for (keys, expected) in [
            (json!({}), Some(Style::Repeated)),
            (json!({"style": "form"}), Some(Style::Repeated)),
            (json!({"style": "form", "explode": false}), Some(Style::Joined(","))),
            (json!({"explode": false}), Some(Style::Joined(","))),
            (json!({"style": "spaceDelimited"}), Some(Style::Joined("%20"))),
            (json!({"style": "pipeDelimited"}), Some(Style::Joined("%7C"))),
            (json!({"style": "pipeDelimited", "explode": true}), Some(Style::Repeated)),
            (json!({"style": "deepObject"}), Some(Style::Deep)),
            (json!({"style": "matrix"}), None),
        ] {
            assert_eq!(style(keys.clone()), expected, "{keys}");
        }
        assert_eq!(Style::of(&json!({"explode": true}), ParameterLocation::Path), Some(Style::Joined(",")));
        assert_eq!(Style::of(&json!({"style": "label"}), ParameterLocation::Path), None);
    }

    #[test]
    fn values_are_written_as_their_style_says() {
        let list = json!(["a b", 2, true, "x,y|z"]);
        let written = |style: Style, value: &Value| style.query("t s", value).map(|all| all.join("&"));
        assert_eq!(
            written(Style::Repeated, &list).unwrap(),
            "t+s=a+b&t+s=2&t+s=true&t+s=x%2Cy%7Cz",
            "separators inside items are encoded"
        );
        assert_eq!(written(Style::Joined(","), &list).unwrap(), "t+s=a+b,2,true,x%2Cy%7Cz");
        assert_eq!(written(Style::Joined("%7C"), &json!(["a", "b"])).unwrap(), "t+s=a%7Cb");
        assert_eq!(
            written(Style::Deep, &json!({"gt": 5, "name": "a&b", "left": null})).unwrap(),
            "t+s%5Bgt%5D=5&t+s%5Bname%5D=a%26b"
        );
        for style in [Style::Repeated, Style::Joined(","), Style::Deep] {
            assert_eq!(written(style, &json!("x")).unwrap(), "t+s=x");
            assert_eq!(written(style, &Value::Null).unwrap(), "");
            assert_eq!(written(style, &json!([["nested"]])), None);
            assert_eq!(written(style, &json!({"a": {"b": 1}})), None);
        }
        assert_eq!(written(Style::Joined(","), &json!([])).unwrap(), "");
        assert_eq!(written(Style::Deep, &json!([1])), None);
        assert_eq!(written(Style::Repeated, &json!({"a": 1})), None);
    }
}
