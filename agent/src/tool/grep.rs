//! `grep` and `grep-n`: the lines of a text that contain a string.

use super::{JsonMap, ToolError, ToolSpec};
use crate::signature::{Field, Signature, Type};
use ptc_base::json::{Value as Json, json};

/// Both tools. Case does not matter.
pub(crate) fn grep_tools() -> Vec<(String, ToolSpec)> {
    let text = |name: &str| Field { name: name.into(), ty: Type::String };
    let signature = |returns| Signature {
        params: vec![text("pattern"), text("text")],
        returns: Type::List(Box::new(returns)),
    };
    let numbered = Type::Record(vec![Field { name: "line".into(), ty: Type::Int }, text("text")]);
    vec![
        (
            "grep".into(),
            ToolSpec::new(|arguments: JsonMap| async move {
                Ok::<_, ToolError>(matches(&arguments)?.map(|(_, line)| Json::from(line)).collect())
            })
            .signature(signature(Type::String))
            .description("The lines of text that contain pattern, whatever the case."),
        ),
        (
            "grep-n".into(),
            ToolSpec::new(|arguments: JsonMap| async move {
                let found = matches(&arguments)?;
                Ok::<_, ToolError>(found.map(|(at, line)| json!({"line": at, "text": line})).collect())
            })
            .signature(signature(numbered))
            .description("As grep, with the number of each line, from 1."),
        ),
    ]
}

/// Number and text of the lines that match.
fn matches(arguments: &JsonMap) -> Result<impl Iterator<Item = (usize, String)>, ToolError> {
    let (pattern, text) = (text_argument(arguments, "pattern")?, text_argument(arguments, "text")?);
    let pattern = pattern.to_lowercase();
    let lines = text.lines().enumerate().filter(|(_, line)| line.to_lowercase().contains(&pattern));
    Ok(lines.map(|(at, line)| (at + 1, line.to_owned())).collect::<Vec<_>>().into_iter())
}

/// A text among the arguments.
fn text_argument(arguments: &JsonMap, key: &str) -> Result<String, ToolError> {
    match arguments.get(key) {
        Some(Json::String(text)) => Ok(text.clone()),
        other => {
            let got = other.map_or_else(|| json!(null).to_string(), Json::to_string);
            Err(ToolError(format!("`{key}` must be text, got {}", ptc_base::text::clip(&got, 80))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{Layer, ToolContext, invoke};
    use std::time::Duration;

    #[tokio::test]
    async fn lines_are_found_whatever_their_case() {
        let arguments = json!({"pattern": "err", "text": "ok\nERROR a\nno\nerr b"});
        let mut found = Vec::new();
        for (_, tool) in grep_tools() {
            let handle = tokio::runtime::Handle::current();
            let arguments = arguments.as_object().unwrap().clone();
            let context = ToolContext::detached(Layer::PtcLisp);
            found.push(invoke(&handle, &tool, arguments, context, Duration::from_secs(5)).await.unwrap());
        }
        assert_eq!(found[0], json!(["ERROR a", "err b"]));
        assert_eq!(found[1], json!([{"line": 2, "text": "ERROR a"}, {"line": 4, "text": "err b"}]));
    }
}
