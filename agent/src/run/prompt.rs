//! What the model is told before its first turn (agent.md 8.1, 8.2).

use super::LISP_EVAL;
use crate::agent::{Config, Mode, SystemPrompt, native_name};
use crate::llm::ToolDef;
use crate::tool::JsonMap;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// Bytes of the inventory of program-callable tools.
const MAX_INVENTORY: usize = 4000;

const CARD: &str = r#"<ptc_lisp_reference>
Call `lisp_eval` with `program` (PTC-Lisp, an eager Clojure subset) to count, filter, join or transform data instead of doing it in your head.
- Several top-level forms; the last value is the result. `(return v)` and `(fail v)` end the program early. Either way you get a tool result and then answer.
- `let`, `fn`, `#()`, `def`, `defn`, `if`, `loop`/`recur`; `count filter map reduce get get-in`. `def`s stay for later programs.
- Literals: `[1 2]` `{:a 1}` `#{1}` `"s"` `nil`. Maps from JSON have string keys; `(get m "k")`.
- Context is `data/key`, e.g. `(count data/orders)`. Not `(data/orders)`, not bare `orders`, not bare `data`.
- Helpers: `json/parse-string`, `json/generate-string`, `str/join`, `set/union`, `Double/parseDouble`, `LocalDate/parse`. Inspect with `println`, `pr-str`, `keys`.
- Not there: `let*`, `lambda`, `equal?`, `length`, `ns`/`require`, macros, lazy or infinite sequences, atoms, futures, try/catch, transients, metadata, files, network.
- Tools listed in <ptc_tools> are `(tool/name {:arg value})` inside programs. Tools offered natively stay native; `lisp_eval` must be the only call of its turn.
- After a result with `full_result_cached: true`, the same call with the same arguments inside `lisp_eval` reuses the stored result.
Example:
(def rows (tool/search {:query "x"}))
(def bad (filter #(= "error" (get % "level")) rows))
(return {:errors (count bad)})
</ptc_lisp_reference>"#;

/// The system prompt.
pub(super) fn system(config: &Config) -> String {
    let text_answer = config.signature.as_ref().is_none_or(|signature| signature.returns.is_text());
    let own = match (config.mode, config.tools.is_empty(), text_answer) {
        (Mode::Text, true, true) => "You are a helpful assistant.",
        (Mode::Text, true, false) => {
            "You are a helpful assistant. Answer only with the value that is asked for."
        }
        (_, _, true) => "Use the tools you need, then answer in plain text.",
        (_, _, false) => {
            "Use the tools you need, then answer only with the value that is asked for, without prose around it."
        }
    };
    let mut system = match &config.system_prompt {
        None => own.to_owned(),
        Some(SystemPrompt::Replace(text)) => text.clone(),
        Some(SystemPrompt::Wrap { prefix, suffix }) => format!("{prefix}\n\n{own}\n\n{suffix}"),
    };
    if config.mode == Mode::Combined {
        let _ = write!(system, "\n\n{CARD}");
        inventory(config, &mut system);
    }
    system
}

fn inventory(config: &Config, out: &mut String) {
    let tools: Vec<_> = config.tools.iter().filter(|(_, tool)| config.exposure(tool).programs()).collect();
    if tools.is_empty() {
        return;
    }
    out.push_str("\n\n<ptc_tools>\nTools callable from inside `lisp_eval` as `(tool/name {...})`:\n");
    let start = out.len();
    for (at, (name, tool)) in tools.iter().enumerate() {
        let mut line = format!("- `(tool/{name} {{...}})`");
        if let Some(signature) = &tool.signature {
            let _ = write!(line, " — `{signature}`");
        }
        if let Some(description) = &tool.description {
            let _ = write!(line, " — {description}");
        }
        if out.len() - start + line.len() > MAX_INVENTORY {
            let _ = writeln!(out, "- and {} more", tools.len() - at);
            break;
        }
        out.push_str(&line);
        out.push('\n');
    }
    out.push_str("</ptc_tools>");
}

/// The tools that the provider offers: sorted by name, `lisp_eval` last.
pub(super) fn tools(config: &Config) -> Vec<ToolDef> {
    let mut tools: Vec<ToolDef> = config
        .tools
        .iter()
        .filter(|(_, tool)| config.exposure(tool).native())
        .map(|(name, tool)| ToolDef {
            name: native_name(name),
            description: tool.description.clone().unwrap_or_else(|| name.clone()),
            parameters: match &tool.signature {
                Some(signature) => signature.parameters_schema(),
                None => json!({"type": "object", "properties": {}}),
            },
        })
        .collect();
    if config.mode == Mode::Combined {
        tools.push(ToolDef {
            name: LISP_EVAL.into(),
            description: "Runs a PTC-Lisp program in a sandbox, for deterministic computing, filtering, aggregating and \
                transforming. Tools exposed to programs are called as (tool/name {...}) inside it. Tools that are also \
                offered natively may be called natively, but not in the same turn as lisp_eval."
                .into(),
            parameters: json!({"type": "object", "properties": {"program": {"type": "string", "description":
                "PTC-Lisp source, not empty. Call app tools as (tool/name {:arg value})."}},
                "required": ["program"], "additionalProperties": false}),
        });
    }
    tools
}

/// The first user message.
pub(super) fn user(config: &Config, context: &JsonMap) -> String {
    let mission = expand(&config.prompt, context);
    let wanted = config.signature.as_ref().map(|signature| &signature.returns).filter(|ty| !ty.is_text());
    let format = match wanted {
        None if config.mode == Mode::Text => return mission,
        None => "Answer in plain text.".to_owned(),
        Some(ty) if ty.is_structured() => {
            let kind = if ty.json_schema()["type"] == "array" { "array" } else { "object" };
            format!("Answer with a JSON {kind} matching this schema:\n{:#}", ty.json_schema())
        }
        Some(ty) => format!("Answer with the bare value only, of type {ty}."),
    };
    let mut out = String::new();
    if config.mode == Mode::Combined && !context.is_empty() {
        out.push_str("<context_data>\n");
        let mut keys: Vec<&String> = context.keys().collect();
        keys.sort_unstable();
        for key in keys {
            let text = context[key].to_string();
            let short: String = text.chars().take(200).collect();
            let dots = if short.len() < text.len() { "..." } else { "" };
            let _ = writeln!(out, "- {key} = {short}{dots}");
        }
        out.push_str("</context_data>\n\n");
    }
    let _ = write!(out, "<output_format>\n{format}\n</output_format>\n\n<mission>\n{mission}\n</mission>");
    out
}

/// `{{key}}` replaced by the context's value in one pass; what is missing stays as written.
fn expand(template: &str, context: &JsonMap) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, behind)) = after.split_once("}}") else {
            out.push_str("{{");
            rest = after;
            continue;
        };
        match context.get(name.trim()) {
            Some(Json::String(text)) => out.push_str(text),
            Some(value) => out.push_str(&value.to_string()),
            None => {
                let _ = write!(out, "{{{{{name}}}}}");
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_card_is_small_and_templates_expand_once() {
        assert!(CARD.len() <= 2200, "{}", CARD.len());
        let context = json!({"a": "{{b}}", "b": 1});
        assert_eq!(expand("{{a}} {{ b }} {{c}} {{", context.as_object().unwrap()), "{{b}} 1 {{c}} {{");
    }
}
