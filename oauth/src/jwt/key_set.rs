//! Sets of public keys (RFC 7517).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::{Map, Value};

use super::algorithm::{Algorithm, KeyKind};
use crate::json;

/// Largest set that is read, in bytes.
pub const MAX_SET_BYTES: usize = 256 << 10;
/// Most keys of a set.
pub const MAX_KEYS: usize = 100;

/// Bits of the modulus of an RSA key.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// Why a set of keys cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySetError {
    /// Over [`MAX_SET_BYTES`].
    #[error("it is over 256 KiB")]
    TooLarge,
    /// No object with a list `keys`.
    #[error("it is no JSON object with a list of keys")]
    NoSet,
    /// Over [`MAX_KEYS`].
    #[error("it has over 100 keys")]
    TooMany,
    /// None of its keys can verify a signature.
    #[error("it has no public key that can be used (RSA of at least 2048 bits, P-256, P-384, Ed25519)")]
    NoKeys,
}

/// The public keys of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySet(Vec<Key>);

/// A public key that verifies signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    id: Option<String>,
    /// The only algorithm that it is for.
    algorithm: Option<Algorithm>,
    material: Material,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Material {
    /// Modulus and exponent, big-endian, without leading zeros.
    Rsa { n: Vec<u8>, e: Vec<u8> },
    /// A point: uncompressed for P-256 and P-384, 32 bytes for Ed25519.
    Point(KeyKind, Vec<u8>),
}

impl KeySet {
    /// Reads a set. Keys that cannot verify signatures of accepted algorithms are left out, and so is a key of which the private
    /// half is published.
    ///
    /// # Errors
    /// Why it cannot be used as a whole.
    pub fn parse(text: &str) -> Result<Self, KeySetError> {
        if text.len() > MAX_SET_BYTES {
            return Err(KeySetError::TooLarge);
        }
        let document = json::strict_object(text).ok_or(KeySetError::NoSet)?;
        let keys = document.get("keys").and_then(Value::as_array).ok_or(KeySetError::NoSet)?;
        if keys.len() > MAX_KEYS {
            return Err(KeySetError::TooMany);
        }
        let usable: Vec<Key> = keys.iter().filter_map(|key| Key::read(key.as_object()?)).collect();
        if usable.is_empty() { Err(KeySetError::NoKeys) } else { Ok(Self(usable)) }
    }

    /// The keys that may have made a signature. Without `kid` there must be exactly one that fits.
    pub(super) fn candidates<'k>(
        &'k self,
        algorithm: Algorithm,
        id: Option<&'k str>,
    ) -> impl Iterator<Item = &'k Key> {
        let fitting = move || self.0.iter().filter(move |key| key.fits(algorithm, id));
        let is_clear = id.is_some() || fitting().nth(1).is_none();
        fitting().filter(move |_| is_clear)
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none, which [`parse`](Self::parse) does not accept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Key {
    /// Reads a key; `None` if it cannot verify signatures.
    fn read(key: &Map<String, Value>) -> Option<Self> {
        // Whoever publishes the private half, or a shared secret, lets everybody sign.
        if ["d", "k", "p", "q"].iter().any(|name| key.contains_key(*name)) {
            return None;
        }
        if key.get("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let operations = key.get("key_ops");
        if operations.is_some_and(|list| !list.as_array().is_some_and(|all| all.contains(&"verify".into()))) {
            return None;
        }
        let algorithm = match key.get("alg") {
            None => None,
            Some(name) => Some(Algorithm::named(name.as_str()?)?),
        };
        let bytes = |name| URL_SAFE_NO_PAD.decode(json::text(key, name)?).ok();
        let curve = || json::text(key, "crv");
        let material = match json::text(key, "kty")? {
            "RSA" => {
                let (n, e) = (without_zeros(bytes("n")?), without_zeros(bytes("e")?));
                let bits = n.len() * 8 - n.first()?.leading_zeros() as usize;
                RSA_BITS.contains(&bits).then_some(Material::Rsa { n, e })?
            }
            "EC" => {
                let (kind, half) = match curve()? {
                    "P-256" => (KeyKind::P256, 32),
                    "P-384" => (KeyKind::P384, 48),
                    _ => return None,
                };
                let (x, y) = (bytes("x")?, bytes("y")?);
                let is_whole = x.len() == half && y.len() == half;
                is_whole.then(|| Material::Point(kind, [&[4], &x[..], &y[..]].concat()))?
            }
            "OKP" if curve()? == "Ed25519" => {
                Material::Point(KeyKind::Ed25519, bytes("x").filter(|x| x.len() == 32)?)
            }
            _ => return None,
        };
        let id = match key.get("kid") {
            None => None,
            Some(id) => Some(id.as_str()?.to_owned()),
        };
        let key = Self { id, algorithm, material };
        // An algorithm of another kind of key says that the document is wrong about one of them.
        key.algorithm.is_none_or(|algorithm| algorithm.kind() == key.kind()).then_some(key)
    }

    fn kind(&self) -> KeyKind {
        match self.material {
            Material::Rsa { .. } => KeyKind::Rsa,
            Material::Point(kind, _) => kind,
        }
    }

    fn fits(&self, algorithm: Algorithm, id: Option<&str>) -> bool {
        self.kind() == algorithm.kind()
            && self.algorithm.is_none_or(|only| only == algorithm)
            && id.is_none_or(|id| self.id.as_deref() == Some(id))
    }

    /// Whether it made `signature`.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if algorithm.kind() != self.kind() {
            return false;
        }
        match &self.material {
            Material::Rsa { n, e } => algorithm.of_rsa().is_some_and(|parameters| {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).is_ok()
            }),
            Material::Point(_, point) => algorithm
                .of_curve()
                .is_some_and(|curve| UnparsedPublicKey::new(curve, point).verify(message, signature).is_ok()),
        }
    }
}

/// Some providers write a zero in front, as DER does.
fn without_zeros(mut bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..zeros);
    bytes
}
