//! Access tokens that callers bring to us (`auth.md` 13.4 and 13.5): JWTs (RFC 9068) and the keys that verify them, and opaque
//! ones that their issuer is asked about (RFC 7662).
//!
//! A token goes through [`Jws::parse`], [`KeyCache::ask`] for keys, [`Jws::verify`] and [`AccessToken::read`]. An opaque one goes
//! through [`introspection`] and [`AccessToken::read`].

mod access_token;
mod algorithm;
mod id_token;
pub mod introspection;
mod issuer;
mod jws;
mod key_cache;
mod key_set;
pub mod login;
mod rejection;

pub use access_token::{AccessToken, Expectation, LEEWAY, MAX_SUBJECT_BYTES};
pub use algorithm::Algorithm;
pub use id_token::{IdToken, IdTokenExpectation};
pub use issuer::{IssuerDiscovery, IssuerError, IssuerMetadata, KeyFetch};
pub use jws::{Jws, MAX_KEY_ID_BYTES, has_jwt_form};
pub use key_cache::{KeyAnswer, KeyCache, MAX_STALE, RETRY, UNKNOWN_KEY_PAUSE};
pub use key_set::{Key, KeySet, KeySetError, MAX_KEYS, MAX_SET_BYTES};
pub use rejection::{Rejection, TokenFault};
