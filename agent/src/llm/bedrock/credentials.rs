//! Credentials that authorize requests to AWS.

use ptc_base::environment::ProcessEnv;
use ptc_base::secret::Secret;

/// Keys that sign requests, or a token in their place.
#[derive(Debug, Clone)]
pub enum AwsCredentials {
    /// An API key of Bedrock, sent as it is.
    Bearer(Secret),
    /// Keys for Signature Version 4.
    Keys {
        /// Which key; no secret.
        access_key_id: String,
        /// The key itself.
        secret_key: Secret,
        /// Of temporary keys.
        session_token: Option<Secret>,
    },
}

impl AwsCredentials {
    /// Those of the environment: `AWS_BEARER_TOKEN_BEDROCK`, else `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
    /// `AWS_SESSION_TOKEN`. Files and roles of a machine are not looked at.
    #[must_use]
    pub fn from_env(env: &ProcessEnv) -> Option<AwsCredentials> {
        let secret = |name: &str| env.text(name).map(|text| Secret::new(text.trim()));
        if let Some(token) = secret("AWS_BEARER_TOKEN_BEDROCK") {
            return Some(AwsCredentials::Bearer(token));
        }
        Some(AwsCredentials::Keys {
            access_key_id: env.text("AWS_ACCESS_KEY_ID")?.trim().to_owned(),
            secret_key: secret("AWS_SECRET_ACCESS_KEY")?,
            session_token: secret("AWS_SESSION_TOKEN"),
        })
    }

    /// Everything in them that must not show.
    #[must_use]
    pub fn secrets(&self) -> Vec<Secret> {
        match self {
            AwsCredentials::Bearer(token) => vec![token.clone()],
            AwsCredentials::Keys { secret_key, session_token, .. } => {
                std::iter::once(secret_key.clone()).chain(session_token.clone()).collect()
            }
        }
    }
}
