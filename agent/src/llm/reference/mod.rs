//! Model names and the clients they resolve to. A name is `provider:model`, `ollama:model`,
//! `openai-compat:BASE_URL|model`, or an alias such as `haiku` (agent.md 11, server.md 9.3).

mod alias;
mod provider;

pub use provider::Provider;

use super::{Anthropic, Llm, LlmError, OnRetry, OpenAi, RetryPolicy, Retrying, TimeLimits};
use ptc_host::config::ProcessEnv;
use ptc_host::credentials::Redactor;
use ptc_host::http::Client;
use std::fmt;
use std::sync::Arc;

/// Says which provider an alias means.
const DEFAULT_PROVIDER: &str = "LLM_DEFAULT_PROVIDER";

/// Why a name of a model stands for no client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Neither an alias nor `provider:model`.
    #[error(
        "unknown model '{name}': write provider:model, such as openrouter:anthropic/claude-haiku-4.5, or one of the aliases {}",
        alias::names().join(", ")
    )]
    UnknownModel {
        /// What was given.
        name: String,
    },
    /// No provider of this name.
    #[error("unknown provider '{name}': there are {}", Provider::names().join(", "))]
    UnknownProvider {
        /// What was given.
        name: String,
    },
    /// The provider does not have what the alias means.
    #[error("model '{alias}' is not available on {provider}: it is on {}", .on.join(", "))]
    NotOnProvider {
        /// The alias.
        alias: String,
        /// The provider.
        provider: Provider,
        /// Where it is.
        on: Vec<&'static str>,
    },
    /// A provider whose requests must be signed.
    #[error(
        "bedrock requests are signed with AWS keys, which ptc does not do: use a gateway that speaks OpenAI's protocol, \
         as openai-compat:BASE_URL|MODEL"
    )]
    Bedrock,
    /// `openai-compat:` without its two parts.
    #[error("'{name}' names no endpoint: write openai-compat:BASE_URL|MODEL")]
    NoEndpoint {
        /// What was given.
        name: String,
    },
    /// The environment holds no key for the provider.
    #[error("{} is required for {} models", .provider.keys().join(" or "), .provider.title())]
    NoKey {
        /// The provider.
        provider: Provider,
    },
    /// The base URL or the key cannot be used.
    #[error(transparent)]
    Client(#[from] LlmError),
}

/// A model and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRef {
    /// Its provider.
    pub provider: Provider,
    /// Its name there.
    pub model: String,
    /// Another address than the provider's own.
    pub base_url: Option<String>,
}

/// Prints `provider:model`, or `openai-compat:BASE_URL|model` without what a URL may hide.
impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModelRef { provider, model, base_url } = self;
        match (provider, base_url) {
            (Provider::OpenAiCompat, Some(base)) => {
                let display = url::Url::parse(base).ok().map(|mut url| {
                    url.set_query(None);
                    let _ = url.set_password(None);
                    let _ = url.set_username("");
                    url.to_string()
                });
                write!(f, "{provider}:{}|{model}", display.unwrap_or_default())
            }
            _ => write!(f, "{provider}:{model}"),
        }
    }
}

/// How clients reach their endpoints.
#[derive(Clone, Default)]
pub struct Connect {
    /// Time limits and the size of the largest answer.
    pub limits: TimeLimits,
    /// When failed requests are repeated; by default never.
    pub retry: RetryPolicy,
    /// Is notified of each retry.
    pub on_retry: Option<OnRetry>,
    /// The connections; knows whose certificates are trusted.
    pub http: Client,
    /// Learns the provider's key.
    pub redactor: Redactor,
}

impl fmt::Debug for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connect")
            .field("limits", &self.limits)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

impl ModelRef {
    /// Reads a name. An alias means the model of the provider that `LLM_DEFAULT_PROVIDER` names (`openrouter` if it is not
    /// set), or of its only provider.
    ///
    /// With a `base_url` the provider is asked there, and a name without a provider is the endpoint's own name of a model.
    ///
    /// # Errors
    /// The name stands for nothing.
    pub fn parse(name: &str, base_url: Option<&str>, env: &ProcessEnv) -> Result<ModelRef, ModelError> {
        let name = name.trim();
        let unknown = || ModelError::UnknownModel { name: name.to_owned() };
        let at = |provider: Provider, model: &str| ModelRef {
            provider,
            model: model.to_owned(),
            base_url: base_url.map(str::to_owned),
        };
        if let Some(place) = name.strip_prefix("openai-compat:") {
            return match (place.split_once('|'), base_url) {
                (Some((base, model)), None) if !base.is_empty() && !model.is_empty() => {
                    Ok(ModelRef { base_url: Some(base.to_owned()), ..at(Provider::OpenAiCompat, model) })
                }
                (None, Some(_)) if !place.is_empty() => Ok(at(Provider::OpenAiCompat, place)),
                (Some((_, model)), Some(_)) if !model.is_empty() => Ok(at(Provider::OpenAiCompat, model)),
                _ => Err(ModelError::NoEndpoint { name: name.to_owned() }),
            };
        }
        let split =
            name.split_once(':').filter(|(provider, model)| !provider.is_empty() && !model.is_empty());
        let split = split.map(|(provider, model)| (Provider::named(provider), provider, model));
        match split {
            Some((Some(Ok(provider)), _, model)) => {
                match alias::ids(model).filter(|_| provider != Provider::Ollama) {
                    None => Ok(at(provider, model)),
                    Some(ids) => alias::pick(model, ids, provider).map(|(provider, id)| at(provider, id)),
                }
            }
            Some((Some(Err(error)), ..)) => Err(error),
            _ if base_url.is_some() && !name.is_empty() => Ok(at(Provider::OpenAiCompat, name)),
            Some((None, provider, _)) => Err(ModelError::UnknownProvider { name: provider.to_owned() }),
            None => {
                let ids = alias::ids(name).ok_or_else(unknown)?;
                let provider = match env.text(DEFAULT_PROVIDER) {
                    None => Provider::OpenRouter,
                    Some("bedrock") => {
                        return alias::only(ids)
                            .map_or(Err(ModelError::Bedrock), |(provider, id)| Ok(at(provider, id)));
                    }
                    Some(given) => Provider::named(given)
                        .unwrap_or_else(|| Err(ModelError::UnknownProvider { name: given.to_owned() }))?,
                };
                alias::pick(name, ids, provider).map(|(provider, id)| at(provider, id))
            }
        }
    }

    /// The model's client. The key comes from the environment, as does the address unless the name has one.
    ///
    /// # Errors
    /// No key for a provider that wants one, or a base URL that is none. No text shows a key.
    pub fn connect(&self, env: &ProcessEnv, connect: &Connect) -> Result<Arc<dyn Llm>, ModelError> {
        let provider = self.provider;
        let key = provider.key(env);
        if key.is_none() && provider.needs_key() {
            return Err(ModelError::NoKey { provider });
        }
        connect.redactor.register(&key);
        let base = match &self.base_url {
            Some(base) => base.clone(),
            None => provider.base_url(env),
        };
        let (http, limits, retry) = (connect.http.clone(), connect.limits, connect.retry.clone());
        Ok(if provider == Provider::Anthropic {
            let client = Anthropic::new(&base, &self.model, key.as_ref())?.http(http).limits(limits);
            Arc::new(Retrying::new(client, retry).on_retry(connect.on_retry.clone()))
        } else {
            let client = OpenAi::new(&base, &self.model, key.as_ref())?.http(http).limits(limits);
            Arc::new(Retrying::new(client, retry).on_retry(connect.on_retry.clone()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, base: Option<&str>, env: &[(&str, &str)]) -> Result<String, String> {
        let env = env.iter().copied().collect();
        ModelRef::parse(name, base, &env).map(|model| model.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn names_stand_for_models() {
        let compat = "openai-compat:http://h:8000/v1|my/model:7b";
        for (given, expected) in [
            ("gemini-flash-lite", "openrouter:google/gemini-3.1-flash-lite"),
            ("haiku", "openrouter:anthropic/claude-haiku-4.5"),
            ("anthropic:haiku", "anthropic:claude-haiku-4-5-20251001"),
            ("gpt-oss", "groq:openai/gpt-oss-120b"),
            ("llama-local", "ollama:llama3.2:3b"),
            ("openai:gpt-4.1", "openai:gpt-4.1"),
            ("openrouter:x/y:free", "openrouter:x/y:free"),
            ("ollama:gpt", "ollama:gpt"),
            (compat, compat),
        ] {
            assert_eq!(parse(given, None, &[]), Ok(expected.to_owned()), "{given}");
        }
        let openai = [("LLM_DEFAULT_PROVIDER", "openai")];
        assert_eq!(parse("gpt", None, &openai), Ok("openai:gpt-4.1-mini".to_owned()));
        let bedrock = [("LLM_DEFAULT_PROVIDER", "bedrock")];
        assert_eq!(
            parse("deepseek", None, &bedrock),
            Ok("openrouter:deepseek/deepseek-chat-v3-0324".to_owned())
        );
    }

    #[test]
    fn a_base_url_takes_any_name() {
        let base = Some("http://u:pw@h:8000/v1?token=t");
        for name in ["gpt", "llama3:8b", "openai-compat:gpt", "openai-compat:http://other|gpt"] {
            let model = name.strip_prefix("openai-compat:").unwrap_or(name).rsplit('|').next().unwrap();
            let expected = format!("openai-compat:http://h:8000/v1|{model}");
            assert_eq!(parse(name, base, &[]), Ok(expected), "{name}");
        }
        assert_eq!(parse("anthropic:m", base, &[]), Ok("anthropic:m".to_owned()));
    }

    #[test]
    fn names_that_mean_nothing_say_what_would() {
        for (given, text) in [
            ("gpt-99", "unknown model 'gpt-99': write provider:model"),
            ("", "unknown model ''"),
            ("openai:", "unknown model 'openai:'"),
            ("acme:m", "unknown provider 'acme': there are openrouter, openai, anthropic"),
            ("openai:haiku", "model 'haiku' is not available on openai: it is on openrouter, anthropic"),
            ("bedrock:haiku", "bedrock requests are signed"),
            ("nova-micro", "bedrock requests are signed"),
            ("openai-compat:http://h", "'openai-compat:http://h' names no endpoint"),
        ] {
            let error = parse(given, None, &[]).unwrap_err();
            assert!(error.starts_with(text), "{error} instead of {text}");
        }
        let error = parse("haiku", None, &[("LLM_DEFAULT_PROVIDER", "acme")]).unwrap_err();
        assert!(error.starts_with("unknown provider 'acme'"), "{error}");
    }

    #[test]
    fn keys_come_from_the_environment_and_do_not_show() {
        let env = |pairs: &[(&str, &str)]| pairs.iter().copied().collect::<ProcessEnv>();
        let connect = Connect::default();
        for (name, text) in [
            ("haiku", "OPENROUTER_API_KEY is required for OpenRouter models"),
            ("google:gemini", "GEMINI_API_KEY or GOOGLE_API_KEY is required for Google models"),
        ] {
            let model = ModelRef::parse(name, None, &env(&[])).unwrap();
            assert_eq!(model.connect(&env(&[]), &connect).map(|_| ()).unwrap_err().to_string(), text);
        }
        let ollama = ModelRef::parse("ollama:m", None, &env(&[])).unwrap();
        assert_eq!(ollama.connect(&env(&[]), &connect).unwrap().model(), Some("m"));
        let secret = env(&[("OPENAI_API_KEY", "sk-a-long-secret\n")]);
        let model = ModelRef::parse("openai:m", None, &secret).unwrap();
        model.connect(&secret, &connect).unwrap();
        assert_eq!(connect.redactor.scrub("sk-a-long-secret"), "[REDACTED]");
        let broken = env(&[("OPENAI_API_KEY", "sk-a-long\u{7}secret")]);
        let error = model.connect(&broken, &connect).map(|_| ()).unwrap_err().to_string();
        assert!(!error.contains("sk-a"), "{error}");
    }
}
