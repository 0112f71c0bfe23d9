//! Why a token is refused: for its bearer in four sentences, for the operator in as many as there are reasons.

/// Why a token is refused. `Display` is for the operator's log; [`description`](Self::description) is for the bearer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// `exp` has passed. Signature, issuer and audience are good.
    #[error("it has expired")]
    Expired,
    /// `aud` has none of ours.
    #[error("its audience is {found}; --audience accepts another than --public-url")]
    Audience {
        /// What it has, for people.
        found: String,
    },
    /// `iss` is no configured issuer.
    #[error("its issuer is {found}; --issuer must be equal to it, byte for byte")]
    Issuer {
        /// What it has, for people.
        found: String,
    },
    /// Anything else.
    #[error("{0}")]
    Unverifiable(#[from] TokenFault),
}

/// What is wrong with a token that cannot be verified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// It breaks a rule of the format.
    #[error("it is no usable JWT: {0}")]
    Form(&'static str),
    /// `alg` is missing or not accepted.
    #[error(
        "its algorithm is not accepted; accepted are RS, PS with 256, 384 or 512, ES256, ES384 and EdDSA"
    )]
    Algorithm,
    /// `typ` is not that of an access token.
    #[error("its type is not at+jwt; --jwt-typ-any accepts JWT or none")]
    Type,
    /// It says that it is an ID token.
    #[error("it is an ID token, no access token")]
    IdToken,
    /// `typ` says that it is no ID token.
    #[error("it is no ID token")]
    NoIdToken,
    /// It is the ID token of another client.
    #[error("it was issued to another client than that of --http-login-client")]
    OtherClient,
    /// `nonce` is not that of the sign-in.
    #[error("it belongs to another sign-in")]
    Nonce,
    /// No key of its issuer has its `kid` and algorithm.
    #[error("its issuer publishes no key with its kid and algorithm")]
    UnknownKey,
    /// The signature is of another key or another text.
    #[error("its signature is wrong")]
    Signature,
    /// `nbf` or `iat` lies in the future.
    #[error("it is not valid yet; compare the clocks of this server and its issuer")]
    NotYet,
    /// `exp` is missing.
    #[error("it has no exp")]
    NoExpiry,
    /// `sub` is missing, empty, too long or not printable.
    #[error("it has no usable sub")]
    Subject,
    /// The issuer says that it is not active.
    #[error("its issuer says that it is not active")]
    Inactive,
    /// It is opaque, and nobody can be asked about it.
    #[error("it is no JWT; --introspection-client is needed to ask the issuer about opaque tokens")]
    Opaque,
}

impl Rejection {
    /// A token of an issuer that is none of ours.
    #[must_use]
    pub fn other_issuer(found: &str) -> Self {
        Self::Issuer { found: quoted(found) }
    }

    /// The `error_description` of the challenge (`auth.md` 13.3).
    #[must_use]
    pub fn description(&self) -> &'static str {
        match self {
            Self::Expired => "the token has expired",
            Self::Audience { .. } => "the token is for another audience",
            Self::Issuer { .. } => "the token is from another issuer",
            Self::Unverifiable(_) => "the token cannot be verified",
        }
    }
}

impl From<&'static str> for TokenFault {
    fn from(rule: &'static str) -> Self {
        Self::Form(rule)
    }
}

/// Most characters of a foreign text that is told.
const MAX_TOLD: usize = 200;

/// A foreign text in quotes, cut and escaped.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", text.chars().take(MAX_TOLD).collect::<String>())
}
