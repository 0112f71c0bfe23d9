//! Model names and the clients they resolve to. A name is `provider:model`, `ollama:model`,
//! `openai-compat:BASE_URL|model`, or an alias such as `haiku` (agent.md 11, server.md 9.3).

mod alias;
mod provider;

pub use provider::Provider;

use super::endpoint::Address;
use super::{Llm, LlmError, LlmErrorKind, OnRetry, RetryPolicy, Retrying, TimeLimits};
use ptc_base::environment::ProcessEnv;
use ptc_base::redactor::Redactor;
use ptc_base::secret::Secret;
use ptc_http::Client;
use std::fmt;
use std::sync::Arc;

/// Says which provider an alias means.
const DEFAULT_PROVIDER: &str = "LLM_DEFAULT_PROVIDER";

/// Why a model's name does not resolve to a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Neither an alias nor `provider:model`.
    #[error(
        "unknown model '{name}': write provider:model, such as openrouter:anthropic/claude-haiku-4.5, or one of the aliases {}",
        alias::names().join(", ")
    )]
    UnknownModel {
        /// The name as given.
        name: String,
    },
    /// No provider of this name.
    #[error("unknown provider '{name}': there are {}", Provider::names().join(", "))]
    UnknownProvider {
        /// The name as given.
        name: String,
    },
    /// The provider has no model for the alias.
    #[error("model '{alias}' is not available on {provider}: it is on {}", .on.join(", "))]
    NotOnProvider {
        /// The alias.
        alias: String,
        /// The provider.
        provider: Provider,
        /// Where it is.
        on: Vec<&'static str>,
    },
    /// The environment holds nothing that authorizes requests to AWS.
    #[error(
        "AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, are required for Bedrock models"
    )]
    NoAwsKeys,
    /// No region is set for a model of Bedrock.
    #[error("bedrock:{model} names no region: write bedrock:REGION/MODEL, or set AWS_REGION")]
    NoRegion {
        /// The model.
        model: String,
    },
    /// `openai-compat:` without its two parts.
    #[error("'{name}' names no endpoint: write openai-compat:BASE_URL|MODEL")]
    NoEndpoint {
        /// The name as given.
        name: String,
    },
    /// The environment holds no key for the provider.
    #[error("{} is required for {} models", .provider.keys().join(" or "), .provider.title())]
    NoKey {
        /// The provider.
        provider: Provider,
    },
    /// The program was built without the provider's client.
    #[error(
        "this program is built without {feature} models: the feature `{feature}` of ptc-agent brings them"
    )]
    NotBuilt {
        /// The missing feature.
        feature: &'static str,
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

/// Prints `provider:model`, or `openai-compat:BASE_URL|model` without the parts of a URL that may be secret.
impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModelRef { provider, model, base_url } = self;
        match (provider, base_url) {
            (Provider::OpenAiCompat, Some(base)) => {
                let display = Address::parse(base).ok().map(|address| address.bare().to_string());
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
    /// The HTTP client, with its trusted certificates.
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
    /// The name does not resolve.
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
            Some((Some(provider), _, model)) => {
                match alias::ids(model).filter(|_| provider != Provider::Ollama) {
                    None => Ok(at(provider, model)),
                    Some(ids) => pick(model, ids, provider).map(|(provider, id)| at(provider, id)),
                }
            }
            _ if base_url.is_some() && !name.is_empty() => Ok(at(Provider::OpenAiCompat, name)),
            Some((None, provider, _)) => Err(ModelError::UnknownProvider { name: provider.to_owned() }),
            None => {
                let ids = alias::ids(name).ok_or_else(unknown)?;
                let provider = match env.text(DEFAULT_PROVIDER) {
                    None => Provider::OpenRouter,
                    Some(given) => Provider::named(given)
                        .ok_or_else(|| ModelError::UnknownProvider { name: given.to_owned() })?,
                };
                pick(name, ids, provider).map(|(provider, id)| at(provider, id))
            }
        }
    }

    /// The model's client. The key is read from the environment, as is the address unless the name has one.
    ///
    /// # Errors
    /// No key for a provider that needs one, or an invalid base URL. No text shows a key.
    pub fn connect(&self, env: &ProcessEnv, connect: &Connect) -> Result<Arc<dyn Llm>, ModelError> {
        let provider = self.provider;
        let key = provider.key(env);
        if key.is_none() && provider.needs_key() {
            return Err(ModelError::NoKey { provider });
        }
        connect.redactor.register(&provider.secrets(env)).map_err(|no_room| {
            LlmError::new(LlmErrorKind::Auth, format!("the keys cannot be kept out of errors: {no_room}"))
        })?;
        let base = match &self.base_url {
            Some(base) => base.clone(),
            None => provider.base_url(env),
        };
        let place = ModelEndpoint { base: &base, model: &self.model, key: key.as_ref(), env };
        match provider {
            Provider::Anthropic => anthropic(&place, connect),
            Provider::Google if !speaks_openai(&base) => gemini(&place, connect),
            Provider::Bedrock => bedrock(&place, connect),
            _ => openai(&place, connect),
        }
    }
}

/// A model on this provider, or on its only one.
fn pick(alias: &str, ids: alias::Ids, provider: Provider) -> Result<(Provider, &'static str), ModelError> {
    let here = ids.iter().copied().find(|(on, _)| *on == provider);
    here.or_else(|| alias::only(ids)).ok_or_else(|| ModelError::NotOnProvider {
        alias: alias.to_owned(),
        provider,
        on: ids.iter().map(|(on, _)| on.name()).collect(),
    })
}

/// Where a model is, and how it is let in.
#[cfg_attr(
    not(feature = "bedrock"),
    expect(dead_code, reason = "Bedrock alone looks for more in the environment")
)]
struct ModelEndpoint<'a> {
    base: &'a str,
    model: &'a str,
    key: Option<&'a Secret>,
    env: &'a ProcessEnv,
}

/// The client of one protocol: made where its feature is on, refused where it is not.
macro_rules! protocols {
    ($($name:ident $feature:literal $make:expr;)+) => {
        $(
            #[cfg(feature = $feature)]
            fn $name(place: &ModelEndpoint<'_>, connect: &Connect) -> Result<Arc<dyn Llm>, ModelError> {
                let make: fn(&ModelEndpoint<'_>) -> Result<_, ModelError> = $make;
                let client = make(place)?.http(connect.http.clone()).limits(connect.limits);
                let retrying = Retrying::new(client, connect.retry.clone());
                Ok(Arc::new(retrying.on_retry(connect.on_retry.clone())))
            }

            #[cfg(not(feature = $feature))]
            fn $name(_: &ModelEndpoint<'_>, _: &Connect) -> Result<Arc<dyn Llm>, ModelError> {
                Err(ModelError::NotBuilt { feature: $feature })
            }
        )+
    };
}

protocols! {
    anthropic "anthropic" |place| Ok(super::Anthropic::new(place.base, place.model, place.key)?);
    gemini "gemini" |place| Ok(super::Gemini::new(place.base, place.model, place.key)?);
    openai "openai" |place| Ok(super::OpenAi::new(place.base, place.model, place.key)?);
    bedrock "bedrock" client_of_bedrock;
}

/// A client for `REGION/MODEL`, or for `MODEL` in the environment's region.
#[cfg(feature = "bedrock")]
fn client_of_bedrock(place: &ModelEndpoint<'_>) -> Result<super::Bedrock, ModelError> {
    let ModelEndpoint { base, model, env, .. } = *place;
    let credentials = super::AwsCredentials::from_env(env).ok_or(ModelError::NoAwsKeys)?;
    let named = model.split_once('/').filter(|(region, _)| is_region(region));
    let (region, model) = match named {
        Some((region, model)) => (Some(region), model),
        None => (env.text("AWS_REGION").or_else(|| env.text("AWS_DEFAULT_REGION")), model),
    };
    let region = region.ok_or_else(|| ModelError::NoRegion { model: model.to_owned() })?;
    let base = Some(base).filter(|base| !base.is_empty());
    Ok(super::Bedrock::new(region.trim(), model, base, credentials)?)
}

/// Whether an address of Google's is the one that speaks OpenAI's protocol.
fn speaks_openai(base: &str) -> bool {
    let path = base.split(['?', '#']).next().unwrap_or(base);
    path.trim_end_matches('/').ends_with("/openai")
}

/// Whether a text is the name of a region of AWS: `eu-central-1`, `us-gov-west-1`.
#[cfg(feature = "bedrock")]
fn is_region(text: &str) -> bool {
    let mut parts = text.split('-').rev();
    let number = parts.next().is_some_and(|part| part.parse::<u8>().is_ok());
    let words: Vec<&str> = parts.collect();
    number && words.len() >= 2 && words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))
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
            ("nova-micro", "bedrock:amazon.nova-micro-v1:0"),
            ("bedrock:eu-central-1/anthropic.claude-x-v1:0", "bedrock:eu-central-1/anthropic.claude-x-v1:0"),
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
        assert_eq!(parse("gemini:gemini-2.5-pro", None, &[]), Ok("google:gemini-2.5-pro".to_owned()));
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
            ("bedrock:haiku", "model 'haiku' is not available on bedrock: it is on openrouter, anthropic"),
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
        for (name, given, text) in [
            (
                "bedrock:m",
                &[][..],
                "AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, are",
            ),
            (
                "bedrock:m",
                &[("AWS_ACCESS_KEY_ID", "AKIA")],
                "AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and",
            ),
            (
                "bedrock:m",
                &[("AWS_BEARER_TOKEN_BEDROCK", "k")],
                "bedrock:m names no region: write bedrock:REGION/MODEL",
            ),
            (
                "bedrock:arn:aws:x/m",
                &[("AWS_BEARER_TOKEN_BEDROCK", "k")],
                "bedrock:arn:aws:x/m names no region",
            ),
        ] {
            let error = ModelRef::parse(name, None, &env(&[])).unwrap().connect(&env(given), &connect);
            let error = error.map(|_| ()).unwrap_err().to_string();
            assert!(error.starts_with(text), "{error}");
        }
        let aws = env(&[
            ("AWS_ACCESS_KEY_ID", "AKIA"),
            ("AWS_SECRET_ACCESS_KEY", "aws-secret-key-0"),
            ("AWS_SESSION_TOKEN", "aws-session-token"),
            ("AWS_DEFAULT_REGION", "eu-west-1"),
        ]);
        for (name, id) in [("bedrock:us-gov-west-1/a/b", "a/b"), ("bedrock:a/b", "a/b")] {
            let model = ModelRef::parse(name, None, &env(&[])).unwrap().connect(&aws, &connect).unwrap();
            assert_eq!(model.model(), Some(id));
        }
        assert_eq!(connect.redactor.scrub("aws-secret-key-0 aws-session-token"), "[REDACTED] [REDACTED]");
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
