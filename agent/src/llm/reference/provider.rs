//! Model providers: their base URLs, and the environment variables for keys and addresses.

#[cfg(feature = "bedrock")]
use super::super::AwsCredentials;
use super::super::endpoint::Address;
use ptc_base::environment::ProcessEnv;
use ptc_base::secret::Secret;
use std::fmt;

/// A model provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// <https://openrouter.ai>
    OpenRouter,
    /// <https://platform.openai.com>
    OpenAi,
    /// <https://platform.claude.com>
    Anthropic,
    /// Gemini, by its own protocol.
    Google,
    /// <https://groq.com>
    Groq,
    /// Amazon Bedrock.
    Bedrock,
    /// An Ollama server, usually on this machine.
    Ollama,
    /// Any other server that speaks OpenAI's protocol: vLLM, llama.cpp, a gateway.
    OpenAiCompat,
}

use Provider::{Anthropic, Bedrock, Google, Groq, Ollama, OpenAi, OpenAiCompat, OpenRouter};

const ALL: [Provider; 8] = [OpenRouter, OpenAi, Anthropic, Google, Groq, Bedrock, Ollama, OpenAiCompat];

impl Provider {
    /// The word in names of models.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            OpenRouter => "openrouter",
            OpenAi => "openai",
            Anthropic => "anthropic",
            Google => "google",
            Groq => "groq",
            Bedrock => "bedrock",
            Ollama => "ollama",
            OpenAiCompat => "openai-compat",
        }
    }

    /// The name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            OpenRouter => "OpenRouter",
            OpenAi => "OpenAI",
            Anthropic => "Anthropic",
            Google => "Google",
            Groq => "Groq",
            Bedrock => "Bedrock",
            Ollama => "Ollama",
            OpenAiCompat => "OpenAI-compatible",
        }
    }

    /// The variables that may hold its key; the first one that is set counts.
    #[must_use]
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            OpenRouter => &["OPENROUTER_API_KEY"],
            OpenAi => &["OPENAI_API_KEY"],
            Anthropic => &["ANTHROPIC_API_KEY"],
            Google => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Groq => &["GROQ_API_KEY"],
            // Or the keys that sign requests.
            Bedrock => &["AWS_BEARER_TOKEN_BEDROCK"],
            Ollama => &["OLLAMA_API_KEY"],
            // Never OpenAI's own key: the address may be anybody's.
            OpenAiCompat => &["OPENAI_COMPAT_API_KEY"],
        }
    }

    /// Its key, if the environment holds one.
    #[must_use]
    pub fn key(self, env: &ProcessEnv) -> Option<Secret> {
        self.keys().iter().find_map(|name| env.text(name)).map(|key| Secret::new(key.trim()))
    }

    /// Everything in the environment that its requests are authorized with and that must not show.
    #[must_use]
    pub fn secrets(self, env: &ProcessEnv) -> Vec<Secret> {
        match self {
            #[cfg(feature = "bedrock")]
            Bedrock => AwsCredentials::from_env(env).iter().flat_map(AwsCredentials::secrets).collect(),
            _ => self.key(env).into_iter().collect(),
        }
    }

    /// Whether it requires a key.
    #[must_use]
    pub(super) fn needs_key(self) -> bool {
        !matches!(self, Bedrock | Ollama | OpenAiCompat)
    }

    pub(super) fn names() -> Vec<&'static str> {
        ALL.iter().map(|provider| provider.name()).collect()
    }

    /// The provider of this name.
    pub(super) fn named(name: &str) -> Option<Provider> {
        match name {
            "gemini" => Some(Google),
            "amazon_bedrock" => Some(Bedrock),
            _ => ALL.into_iter().find(|provider| provider.name() == name),
        }
    }

    /// Its address: the value of its variable, else its own. Bedrock's is that of its region if this is empty.
    pub(super) fn base_url(self, env: &ProcessEnv) -> String {
        let (variable, own) = match self {
            OpenRouter => ("OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1"),
            OpenAi => ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
            Anthropic => ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
            Google => ("GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
            Groq => ("GROQ_BASE_URL", "https://api.groq.com/openai/v1"),
            Bedrock => ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", ""),
            Ollama => ("OLLAMA_HOST", "http://localhost:11434"),
            OpenAiCompat => ("OPENAI_COMPAT_BASE_URL", ""),
        };
        match env.text(variable) {
            Some(given) if self == Ollama => ollama_host(given),
            Some(given) => given.to_owned(),
            None => own.to_owned(),
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The meaning of `OLLAMA_HOST` for a client: scheme and port may be missing, and a server's listening address for all
/// interfaces becomes the local one.
fn ollama_host(given: &str) -> String {
    let has_scheme = given.contains("://");
    let full = if has_scheme { given.to_owned() } else { format!("http://{given}") };
    let Ok(address) = Address::parse(&full) else { return full };
    let host = (address.host() == "0.0.0.0").then_some("127.0.0.1");
    let port = (!has_scheme).then_some(11434);
    address.moved(host, port).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_from_the_environment() {
        let base = |provider: Provider, pairs: &[(&str, &str)]| {
            provider.base_url(&pairs.iter().copied().collect::<ProcessEnv>())
        };
        assert_eq!(base(OpenAi, &[]), "https://api.openai.com/v1");
        assert_eq!(base(OpenAi, &[("OPENAI_BASE_URL", "http://proxy/v1")]), "http://proxy/v1");
        for (given, expected) in [
            ("0.0.0.0", "http://127.0.0.1:11434/"),
            ("box:1234", "http://box:1234/"),
            ("https://ollama.example", "https://ollama.example/"),
        ] {
            assert_eq!(base(Ollama, &[("OLLAMA_HOST", given)]), expected);
        }
    }
}
