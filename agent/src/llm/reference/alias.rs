//! Short aliases for models. Their targets change with the providers' offers; `provider:model` always works.

use super::Provider;
use Provider::{Anthropic, Bedrock, Google, Groq, Ollama, OpenAi, OpenRouter};

/// An alias's model name at each provider.
pub(super) type Ids = &'static [(Provider, &'static str)];

const ALIASES: [(&str, Ids); 19] = [
    ("haiku", &[(OpenRouter, "anthropic/claude-haiku-4.5"), (Anthropic, "claude-haiku-4-5-20251001")]),
    ("sonnet", &[(OpenRouter, "anthropic/claude-sonnet-4.5"), (Anthropic, "claude-sonnet-4-5-20250929")]),
    ("gemini", &[(OpenRouter, "google/gemini-2.5-flash"), (Google, "gemini-2.5-flash")]),
    ("gemini-flash-lite", &[(OpenRouter, "google/gemini-3.1-flash-lite"), (Google, "gemini-3.1-flash-lite")]),
    ("gpt", &[(OpenRouter, "openai/gpt-4.1-mini"), (OpenAi, "gpt-4.1-mini")]),
    ("gpt-nano", &[(OpenRouter, "openai/gpt-4.1-nano"), (OpenAi, "gpt-4.1-nano")]),
    ("gpt-oss", &[(Groq, "openai/gpt-oss-120b")]),
    ("deepseek", &[(OpenRouter, "deepseek/deepseek-chat-v3-0324")]),
    ("devstral", &[(OpenRouter, "mistralai/devstral-2512:free")]),
    ("kimi", &[(OpenRouter, "moonshotai/kimi-k2")]),
    ("deepseek-local", &[(Ollama, "deepseek-coder:6.7b")]),
    ("qwen-local", &[(Ollama, "qwen2.5-coder:7b")]),
    ("llama-local", &[(Ollama, "llama3.2:3b")]),
    ("embed", &[(Ollama, "nomic-embed-text")]),
    ("ministral", &[(Bedrock, "mistral.ministral-3-8b-instruct")]),
    ("nova-micro", &[(Bedrock, "amazon.nova-micro-v1:0")]),
    ("nova-lite", &[(Bedrock, "amazon.nova-lite-v1:0")]),
    ("qwen-coder", &[(Bedrock, "qwen.qwen3-coder-30b-a3b-v1:0")]),
    ("qwen-coder-480b", &[(Bedrock, "qwen.qwen3-coder-480b-a35b-v1:0")]),
];

/// The target of an alias.
pub(super) fn ids(alias: &str) -> Option<Ids> {
    ALIASES.iter().find(|(name, _)| *name == alias).map(|(_, ids)| *ids)
}

/// All aliases.
pub(super) fn names() -> Vec<&'static str> {
    ALIASES.iter().map(|(name, _)| *name).collect()
}

/// The only provider of a model.
pub(super) fn only(ids: Ids) -> Option<(Provider, &'static str)> {
    match ids {
        [only] => Some(*only),
        _ => None,
    }
}
