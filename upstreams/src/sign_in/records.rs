//! The records that the driver reads and writes, over the texts of the store.

use ptc_mcp::json::Value;
use ptc_oauth::client::ClientOrigin;
use ptc_oauth::tokens::TokenRecord;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::store::{AuthStore, Guard, RecordKey, StoreError};

/// Which tokens an upstream and a principal use: they are found without the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TokenBinding {
    /// The upstream's name when the sign-in was made.
    pub upstream: String,
    /// The authorization server.
    pub issuer: String,
    /// Our client there.
    pub client_id: String,
    /// The origin of that client.
    pub origin: ClientOrigin,
    /// The value of `resource`.
    pub resource: Option<String>,
    /// The redirect URIs of the registration.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    /// Metadata of a server that does not publish them in the usual place (auth.md 2.6).
    #[serde(default)]
    pub legacy_server: Option<Value>,
}

impl TokenBinding {
    /// The key of the tokens.
    pub(super) fn token_key(&self, principal: &str) -> RecordKey {
        let resource = self.resource.as_deref().unwrap_or_default();
        RecordKey::token(&self.upstream, &self.issuer, &self.client_id, resource, principal)
    }

    /// The key of the registration.
    pub(super) fn client_key(&self) -> RecordKey {
        RecordKey::client(&self.issuer, self.redirect_uris.iter().map(String::as_str))
    }
}

/// A record of this kind; `None` if there is none, or no key opens it: it counts as absent then.
#[expect(clippy::disallowed_methods, reason = "entry point: read()")]
pub(super) async fn read<T: DeserializeOwned>(
    store: &dyn AuthStore,
    key: &RecordKey,
) -> Result<Option<T>, StoreError> {
    match store.read(key).await {
        Ok(Some(text)) => match serde_json::from_str(&text) {
            Ok(record) => Ok(Some(record)),
            Err(_) => Err(StoreError::Malformed { path: format!("{key:?}") }),
        },
        Ok(None) | Err(StoreError::SealedWithAnotherKey) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a record whose lock is held.
pub(super) async fn write<T: Serialize>(
    store: &dyn AuthStore,
    guard: &Guard,
    record: &T,
) -> Result<(), StoreError> {
    let text = serde_json::to_string(record).map(Zeroizing::new);
    let text = text.map_err(|_| StoreError::Malformed { path: format!("{:?}", guard.key()) })?;
    store.write(guard, &text).await
}

/// Locks and writes.
pub(super) async fn put<T: Serialize>(
    store: &dyn AuthStore,
    key: &RecordKey,
    record: &T,
) -> Result<(), StoreError> {
    let guard = store.lock(key).await?;
    write(store, &guard, record).await
}

/// The tokens that belong to a binding.
pub(super) async fn tokens(
    store: &dyn AuthStore,
    binding: &TokenBinding,
    principal: &str,
) -> Result<Option<TokenRecord>, StoreError> {
    read(store, &binding.token_key(principal)).await
}
