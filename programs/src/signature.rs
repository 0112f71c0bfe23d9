//! Signatures of locks: Ed25519, with keys in PEM as `openssl genpkey -algorithm ed25519` writes them.

use std::fmt;
use std::path::Path;

use ptc_host::digest::hex;
use ptc_host::ordinary_file;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// Largest key file, in bytes.
const MAX_KEY_BYTES: u64 = 16 << 10;

/// What stands in front of the 32 bytes of a public key (RFC 8410).
const PUBLIC_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// A private key, with which locks are signed.
pub struct SigningKey(Ed25519KeyPair);

/// A public key, by which signatures are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKey([u8; 32]);

/// The signature of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockSignature(Vec<u8>);

/// A key file: a private key, or a public one alone.
pub enum ProgramsKey {
    /// Who has it can approve.
    Private(SigningKey),
    /// Who has it can check approvals.
    Public(VerifyingKey),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

impl SigningKey {
    /// A new one.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn generate() -> Result<SigningKey, &'static str> {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).ok();
        made.and_then(|made| Ed25519KeyPair::from_pkcs8(made.as_ref()).ok())
            .map(SigningKey)
            .ok_or("the system gives no random bytes")
    }

    /// The public key of it.
    #[must_use]
    pub fn verifying(&self) -> VerifyingKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        VerifyingKey(bytes)
    }

    pub(crate) fn sign(&self, text: &str) -> LockSignature {
        LockSignature(self.0.sign(text.as_bytes()).as_ref().to_vec())
    }
}

impl VerifyingKey {
    pub(crate) fn verifies(&self, text: &str, signature: &LockSignature) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(text.as_bytes(), &signature.0).is_ok()
    }
}

/// `ed25519:` and 128 hex digits.
impl fmt::Display for LockSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ed25519:{}", hex(&self.0))
    }
}

impl LockSignature {
    pub(crate) fn parse(text: &str) -> Option<LockSignature> {
        let digits =
            text.strip_prefix("ed25519:").filter(|digits| digits.len() == 128 && digits.is_ascii())?;
        let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        (0..128).step_by(2).map(byte).collect::<Option<Vec<u8>>>().map(LockSignature)
    }
}

impl ProgramsKey {
    /// Reads a key from a file in PEM.
    ///
    /// # Errors
    /// It has none: a sentence with the file.
    #[expect(clippy::disallowed_methods, reason = "entry point: ProgramsKey.read")]
    pub fn read(path: &Path) -> Result<ProgramsKey, String> {
        let fault = |text: &str| format!("{}: {text}", path.display());
        let bytes = ordinary_file::read(path, MAX_KEY_BYTES).map_err(|error| fault(&error.to_string()))?;
        ProgramsKey::parse(&bytes).map_err(fault)
    }

    /// The key of a PEM file.
    ///
    /// # Errors
    /// One sentence: it has none.
    pub fn parse(pem: &[u8]) -> Result<ProgramsKey, &'static str> {
        const NONE: &str = "it has no Ed25519 key in PEM, as `openssl genpkey -algorithm ed25519` writes it";
        if let Some(der) = block(pem, "PRIVATE KEY") {
            let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map_err(|_| NONE)?;
            return Ok(ProgramsKey::Private(SigningKey(pair)));
        }
        let der = block(pem, "PUBLIC KEY").ok_or(NONE)?;
        let bytes = der
            .strip_prefix(&PUBLIC_PREFIX)
            .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
            .ok_or(NONE)?;
        Ok(ProgramsKey::Public(VerifyingKey(bytes)))
    }

    /// The public key of it.
    #[must_use]
    pub fn verifying(&self) -> VerifyingKey {
        match self {
            ProgramsKey::Private(key) => key.verifying(),
            ProgramsKey::Public(key) => key.clone(),
        }
    }

    /// The private key, if it is one.
    #[must_use]
    pub fn signing(&self) -> Option<&SigningKey> {
        match self {
            ProgramsKey::Private(key) => Some(key),
            ProgramsKey::Public(_) => None,
        }
    }
}

/// The bytes of the first block of a PEM text with this label.
fn block(pem: &[u8], label: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let text = std::str::from_utf8(pem).ok()?;
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once("-----END")?;
    let body: String = body.split_ascii_whitespace().collect();
    base64::engine::general_purpose::STANDARD.decode(body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // `openssl genpkey -algorithm ed25519`, and `openssl pkey -pubout` of that; the key of RFC 8410, appendix A.
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";

    #[test]
    fn keys_of_openssl_are_read() {
        let key = ProgramsKey::parse(PRIVATE.as_bytes()).unwrap();
        let public = ProgramsKey::parse(PUBLIC.as_bytes()).unwrap();
        assert_eq!(key.verifying(), public.verifying());
        assert!(key.signing().is_some() && public.signing().is_none());
        for bad in ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "x"] {
            assert!(ProgramsKey::parse(bad.as_bytes()).is_err());
        }
    }

    #[test]
    fn a_signature_is_read_as_it_is_written() {
        let key = SigningKey::generate().unwrap();
        let signature = key.sign("text");
        assert_eq!(LockSignature::parse(&signature.to_string()), Some(signature.clone()));
        assert!(
            key.verifying().verifies("text", &signature) && !key.verifying().verifies("texts", &signature)
        );
        assert_eq!(LockSignature::parse("ed25519:é"), None);
    }
}
