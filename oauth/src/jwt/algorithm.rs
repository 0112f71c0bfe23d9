//! The signature algorithms that are accepted.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, VerificationAlgorithm,
};

/// A signature algorithm of JWS with a public key. There are no others: `none` and HMAC have no value here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RSA PKCS#1 1.5, SHA-256.
    Rs256,
    /// RSA PKCS#1 1.5, SHA-384.
    Rs384,
    /// RSA PKCS#1 1.5, SHA-512.
    Rs512,
    /// RSA PSS, SHA-256.
    Ps256,
    /// RSA PSS, SHA-384.
    Ps384,
    /// RSA PSS, SHA-512.
    Ps512,
    /// ECDSA on P-256, SHA-256.
    Es256,
    /// ECDSA on P-384, SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

/// The kind of key that an algorithm needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    /// The value of `alg`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The algorithm of that name. `Ed25519` (RFC 9864) is another name of `EdDSA` here.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if name == "Ed25519" {
            return Some(Self::EdDsa);
        }
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    pub(super) fn kind(self) -> KeyKind {
        match self {
            Self::Es256 => KeyKind::P256,
            Self::Es384 => KeyKind::P384,
            Self::EdDsa => KeyKind::Ed25519,
            _ => KeyKind::Rsa,
        }
    }

    /// How an RSA key verifies; `None` for other kinds.
    pub(super) fn of_rsa(self) -> Option<&'static RsaParameters> {
        match self {
            Self::Rs256 => Some(&RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Some(&RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Some(&RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Some(&RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Some(&RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Some(&RSA_PSS_2048_8192_SHA512),
            _ => None,
        }
    }

    /// How a key of another kind verifies; `None` for RSA.
    pub(super) fn of_curve(self) -> Option<&'static dyn VerificationAlgorithm> {
        match self {
            Self::Es256 => Some(&ECDSA_P256_SHA256_FIXED),
            Self::Es384 => Some(&ECDSA_P384_SHA384_FIXED),
            Self::EdDsa => Some(&ED25519),
            _ => None,
        }
    }
}
