//! Validation of an agent's options, one by one, with the messages of agent.md 3.

use super::AgentBuilder;
use crate::settings::{Agent, Config, ConfigError, Mode, Output, native_name};
use crate::signature::{Signature, Type};
use crate::template::Template;
use crate::tool::{Expose, NativeResult, ToolSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

fn refuse(wrong: bool, text: &str) -> Result<(), ConfigError> {
    if wrong { Err(ConfigError::new(text)) } else { Ok(()) }
}

impl AgentBuilder {
    /// The agent.
    ///
    /// # Errors
    /// The first option that is wrong.
    pub fn build(self) -> Result<Agent, ConfigError> {
        config(self).map(|config| Agent(Arc::new(config)))
    }
}

/// The checked options of a builder.
fn config(builder: AgentBuilder) -> Result<Config, ConfigError> {
    let AgentBuilder {
        prompt,
        literal,
        output,
        transport,
        signature,
        json_schema,
        mut tools,
        self_tools,
        grep,
        llm_query,
        mut config,
    } = builder;
    refuse(prompt.trim().is_empty(), "prompt is required")?;
    config.mode = Mode::of(output, transport)?;
    config.signature = match (signature, json_schema) {
        (None, None) => None,
        (Some(_), Some(_)) => return Err(ConfigError::new("signature and json_schema cannot both be given")),
        (Some(signature), None) => Some(signature.map_err(invalid)?),
        (None, Some(schema)) => {
            config.describe(&schema);
            let returns = Type::from_json_schema(&schema).map_err(invalid)?;
            Some(Signature { params: Vec::new(), returns })
        }
    };
    numbers(&config)?;
    for (text, option) in [(&config.name, "name"), (&config.description, "description")] {
        let blank = text.as_ref().is_some_and(|text| text.trim().is_empty());
        refuse(blank, &format!("{option} must be a non-empty string or nil"))?;
    }
    refuse(
        config.compaction.is_some() && config.mode.output() == Output::Text,
        "output: :text cannot be used with compaction",
    )?;
    if let Some(compaction) = &config.compaction {
        refuse(
            compaction.trigger_turns.is_none() && compaction.trigger_tokens.is_none(),
            "compaction needs a trigger: turns, tokens or both",
        )?;
        refuse(compaction.keep_recent_turns == 0, "compaction keep_recent_turns must be a positive integer")?;
    }
    config.prompt = template(&config, &prompt, literal)?;
    refuse(self_tools && config.signature.is_none(), "agents with :self tools must have a signature")?;
    if grep {
        tools.extend(crate::tool::grep_tools().into_iter().map(|(name, tool)| (Some(name), tool)));
    }
    if llm_query {
        tools.push((Some("llm-query".into()), crate::nested::llm_query()));
    }
    config.tools = checked_tools(&config, tools)?;
    Ok(config)
}

fn invalid(error: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(format!("invalid signature: {error}"))
}

fn numbers(config: &Config) -> Result<(), ConfigError> {
    let positive = |wrong: bool, option: &str| refuse(wrong, &format!("{option} must be a positive integer"));
    positive(config.max_turns == 0, "max_turns")?;
    positive(config.timeout.is_zero(), "timeout")?;
    positive(config.tool_timeout.is_zero(), "tool_timeout")?;
    positive(config.max_heap == 0, "max_heap")?;
    positive(config.max_steps == Some(0), "max_steps")?;
    positive(config.max_program_bytes == 0, "max_program_bytes")?;
    refuse(
        config.mission_timeout.is_some_and(|time| time.is_zero()),
        "mission_timeout must be a positive integer or nil",
    )?;
    refuse(config.memory_limit == Some(0), "memory_limit must be a positive integer or nil")?;
    positive(config.max_depth == 0, "max_depth")?;
    positive(config.turn_budget == 0, "turn_budget")?;
    positive(config.max_tool_calls == Some(0), "max_tool_calls")?;
    positive(config.parallel_tool_calls == 0, "parallel_tool_calls")?;
    positive(config.max_tool_bytes == 0, "max_tool_bytes")?;
    positive(config.prompt_limit == Some(0), "prompt_limit")?;
    let attempts = config.llm_retry.as_ref().map(|retry| retry.max_attempts);
    positive(attempts == Some(0), "llm_retry.max_attempts")?;
    config.format.zeros().try_for_each(|option| positive(true, &format!("format_options.{option}")))
}

/// The prompt as a template that fits the signature.
fn template(config: &Config, prompt: &str, literal: bool) -> Result<Template, ConfigError> {
    if literal {
        return Ok(Template::literal(prompt));
    }
    let template = Template::parse(prompt).map_err(ConfigError::new)?;
    template.check_items().map_err(ConfigError::new)?;
    let params = config.signature.as_ref().map_or(&[][..], |signature| &signature.params);
    if params.is_empty() {
        return Ok(template);
    }
    template.check(params).map_err(ConfigError::new)?;
    let unused = template.unused(params);
    if config.mode.output() == Output::Text && !unused.is_empty() {
        let text = format!("Text mode requires all signature params in prompt. Unused: {unused:?}");
        return Err(ConfigError::new(text));
    }
    Ok(template)
}

fn checked_tools(
    config: &Config,
    tools: Vec<(Option<String>, ToolSpec)>,
) -> Result<BTreeMap<String, ToolSpec>, ConfigError> {
    let mut checked = BTreeMap::new();
    let mut natives: BTreeMap<String, String> = BTreeMap::new();
    for (name, tool) in tools {
        let name = name.or_else(|| tool.name.clone()).unwrap_or_default();
        check_tool(&name, &tool)?;
        check_name(config, &name, &tool)?;
        if config.exposure(&tool).native()
            && let Some(other) = natives.insert(native_name(&name), name.clone())
        {
            return Err(ConfigError::new(format!(
                "tool \"{name}\": providers would see the same name as for tool \"{other}\" — rename one"
            )));
        }
        if checked.insert(name.clone(), tool).is_some() {
            return Err(ConfigError::new(format!("tool \"{name}\" is given twice — rename one")));
        }
    }
    Ok(checked)
}

/// Longest name of a tool that providers take.
const MAX_NATIVE_NAME: usize = 64;

/// Whether each side that may call the tool can say its name.
fn check_name(config: &Config, name: &str, tool: &ToolSpec) -> Result<(), ConfigError> {
    let expose = config.exposure(tool);
    let offered = config.mode.output() == Output::Text && expose.native();
    // Punctuation is cleaned for providers; anything else would leave a name that says nothing.
    if offered && (name.len() > MAX_NATIVE_NAME || !name.bytes().all(|byte| byte.is_ascii_graphic())) {
        return Err(ConfigError::new(format!(
            "tool name \"{name}\" is none for providers: use at most {MAX_NATIVE_NAME} letters, digits, `_` and `-`"
        )));
    }
    if config.mode != Mode::Text && expose.programs() && !callable(name) {
        return Err(ConfigError::new(format!(
            "tool name \"{name}\" is none for programs: `(tool/{name} {{}})` calls no tool of that name; use letters, \
             digits, `_` and `-`, and neither `call` nor `servers`"
        )));
    }
    Ok(())
}

/// Whether `(tool/NAME {})` is a call of this tool and nothing else.
fn callable(name: &str) -> bool {
    let program = format!("(tool/{name} {{}})");
    let options = ptc_compiler::CompileOptions::default();
    let compiled = ptc_compiler::compile(&program, ptc_vm::builtins::library(), &options);
    compiled.is_ok_and(|compiled| matches!(compiled.tools.as_slice(), [tool] if *tool.name == *name))
}

fn check_tool(name: &str, tool: &ToolSpec) -> Result<(), ConfigError> {
    let refuse = |text: String| Err(ConfigError::new(text));
    if name.is_empty() {
        return refuse("tool name must be a non-empty string".into());
    }
    if native_name(name) == crate::tool::LISP_EVAL {
        return refuse(format!("tool name \"{name}\" is reserved by PtcRunner — choose a different name"));
    }
    if let Some(wrong) = &tool.wrong {
        return refuse(format!("tool \"{name}\": invalid signature: {wrong}"));
    }
    let Some(preview) = &tool.native_result else { return Ok(()) };
    if tool.expose != Some(Expose::Both) || !tool.cache {
        let expose = match tool.expose {
            None => "nil",
            Some(Expose::Native) => ":native",
            Some(Expose::PtcLisp) => ":ptc_lisp",
            Some(Expose::Both) => ":both",
        };
        let cache = tool.cache;
        return refuse(format!(
            "tool \"{name}\": native_result: requires expose: :both AND cache: true (got expose: {expose}, cache: {cache})"
        ));
    }
    if matches!(preview, NativeResult::Rows { limit: 0 }) {
        return refuse(format!("tool \"{name}\": native_result.limit: must be a positive integer, got 0"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::FormatOptions;
    use crate::agent::{Agent, Compaction, Transport};
    use crate::llm::RetryPolicy;
    use crate::tool::JsonMap;
    use ptc_base::json::{Value as Json, json};
    use std::time::Duration;

    fn tool() -> ToolSpec {
        ToolSpec::new(|_: JsonMap| async { Ok::<_, String>(Json::Null) })
    }

    #[test]
    fn names_can_be_said_by_whoever_may_call() {
        let both = |name: &str| {
            let agent = Agent::builder("p").output(Output::Text).transport(Transport::ToolCall);
            agent.tool(name, tool().expose(Expose::Both)).build().map(drop).map_err(|error| error.to_string())
        };
        let native = |name: &str| {
            let agent = Agent::builder("p").output(Output::Text).tool(name, tool());
            agent.build().map(drop).map_err(|error| error.to_string())
        };
        for name in ["search_logs", "llm-query", "v2", "getIssue", "a"] {
            assert_eq!((both(name), native(name)), (Ok(()), Ok(())), "{name}");
        }
        assert_eq!(native("fs.read"), Ok(()));
        assert_eq!(native(&"x".repeat(64)), Ok(()));
        for name in ["a b", "größe", "日本", "a\n"] {
            assert_eq!(
                native(name),
                Err(format!(
                    "tool name \"{name}\" is none for providers: use at most 64 letters, digits, `_` and `-`"
                ))
            );
        }
        assert!(native(&"x".repeat(65)).is_err());
        for name in ["a(b", "call", "servers", "a;b", "a[])(tool/b", "a\"b"] {
            let error = both(name).unwrap_err();
            assert!(error.contains("is none for programs"), "{name}: {error}");
        }
    }

    #[test]
    fn texts_are_exact() {
        let agent = || Agent::builder("p");
        let text = |prompt: &str| Agent::builder(prompt).output(Output::Text);
        let both = || tool().expose(Expose::Both).cache(true);
        for (builder, expected) in [
            (Agent::builder(""), "prompt is required"),
            (agent().max_turns(0), "max_turns must be a positive integer"),
            (agent().timeout(Duration::ZERO), "timeout must be a positive integer"),
            (agent().mission_timeout(Duration::ZERO), "mission_timeout must be a positive integer or nil"),
            (agent().memory_limit(Some(0)), "memory_limit must be a positive integer or nil"),
            (agent().max_depth(0), "max_depth must be a positive integer"),
            (agent().turn_budget(0), "turn_budget must be a positive integer"),
            (agent().max_tool_calls(0), "max_tool_calls must be a positive integer"),
            (agent().prompt_limit(0), "prompt_limit must be a positive integer"),
            (
                agent().llm_retry(RetryPolicy::attempts(0)),
                "llm_retry.max_attempts must be a positive integer",
            ),
            (
                agent().format_options(FormatOptions { feedback_limit: Some(0), ..FormatOptions::default() }),
                "format_options.feedback_limit must be a positive integer",
            ),
            (
                agent().json_schema(json!({"type": "object"})).signature(":int"),
                "signature and json_schema cannot both be given",
            ),
            (
                agent().json_schema(json!({"type": "integer", "minimun": 1})),
                "invalid signature: JSON Schema at #: `minimun` is not supported and would not be checked",
            ),
            (agent().name(" "), "name must be a non-empty string or nil"),
            (agent().description(""), "description must be a non-empty string or nil"),
            (text("p").compaction(Compaction::default()), "output: :text cannot be used with compaction"),
            (
                text("p").transport(Transport::Content),
                "ptc_transport: :content is not supported with output: :text — use ptc_transport: :tool_call for \
                 combined mode, or omit ptc_transport",
            ),
            (
                agent().tool("lisp_eval", tool()),
                "tool name \"lisp_eval\" is reserved by PtcRunner — choose a different name",
            ),
            (
                agent().tool("t", tool().native_result(NativeResult::Metadata)),
                "tool \"t\": native_result: requires expose: :both AND cache: true (got expose: nil, cache: false)",
            ),
            (
                agent().tool("t", both().native_result(NativeResult::Rows { limit: 0 })),
                "tool \"t\": native_result.limit: must be a positive integer, got 0",
            ),
            (agent().add_tool(tool()), "tool name must be a non-empty string"),
            (
                agent().tool("t", tool().signature("(a :int")),
                "tool \"t\": invalid signature: parse error at line 1, column 7: \"expected `,` or `)`, got the end\"",
            ),
            (agent().self_tool("again"), "agents with :self tools must have a signature"),
            (
                text("{{c}}").signature("(a :int, b :int, c :int) -> :int"),
                "Text mode requires all signature params in prompt. Unused: [\"a\", \"b\"]",
            ),
            (
                agent().signature("(a :int) -> :int").literal_prompt().tool("t", tool()).tool("t", tool()),
                "tool \"t\" is given twice — rename one",
            ),
            (
                Agent::builder("{{x}}").signature("(a :int) -> :int"),
                "{{x}} not found in signature parameters",
            ),
            (Agent::builder("a\n{{.}}"), "{{.}} at line 2 can only be used inside sections"),
        ] {
            assert_eq!(builder.build().unwrap_err().to_string(), expected);
        }
        let clash = text("p").tool("a-b", tool()).tool("a_b", tool()).build().unwrap_err().to_string();
        assert!(clash.contains("rename one"), "{clash}");
        let signature = agent().signature("oops").build().unwrap_err().to_string();
        assert!(signature.starts_with("invalid signature: parse error at line 1"), "{signature}");
    }
}
