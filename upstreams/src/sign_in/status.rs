//! The state of sign-ins, without the network; and signing out (auth.md 11).

use super::owner_hash::owner_hash;
use std::sync::Arc;

use ptc_oauth::tokens::TokenRecord;

use super::errand::revoke;
use super::fault::SignInError;
use super::records::{self, TokenBinding};
use super::site::Site;
use super::store::{Protection, RecordKey, RecordKind, StoreError};

/// The sign-in of one principal at one upstream, as `ptc auth` shows it. It contains no part of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInStatus {
    /// The upstream.
    pub name: Arc<str>,
    /// Whose it is; `*` for everybody's.
    pub principal: String,
    /// The authorization server.
    pub issuer: Option<String>,
    /// Our client there.
    pub client_id: Option<String>,
    /// The value of `resource`.
    pub resource: Option<String>,
    /// Scopes that were granted, or asked for if the server did not say.
    pub scopes: Vec<String>,
    /// When the access token ends, in Unix seconds.
    pub expires_at: Option<u64>,
    /// Whether it is renewed without a person.
    pub refreshable: bool,
    /// Whether the server was found by the fallback of auth.md 2.6.
    pub legacy: bool,
    /// How it is protected.
    pub store: Protection,
    /// Whether calls have a token.
    pub signed_in: bool,
    /// Why they no longer have one: a code, and its time (in Unix seconds) if it is known.
    pub last_error: Option<(String, Option<u64>)>,
}

/// The outcome of signing out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignedOut {
    /// There was no sign-in.
    WasNot,
    /// The server has revoked the tokens.
    Revoked,
    /// The server revokes nothing; the tokens are deleted here.
    Deleted,
    /// The tokens are deleted here, and the server did not confirm: why.
    Unconfirmed(String),
}

impl Site {
    /// The sign-ins at this upstream, one a principal. If there has never been one, there is one row for `principal`.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn statuses(&self, principal: &str) -> Result<Vec<SignInStatus>, SignInError> {
        let mut all = Vec::new();
        for listed in self.store().list(RecordKind::Binding).await? {
            let [upstream, url, principal] = listed.key.parts() else { continue };
            if *upstream == *self.name && *url == self.url {
                all.push(self.status(principal).await?);
            }
        }
        if all.is_empty() {
            all.push(self.status(self.account(principal)).await?);
        }
        all.sort_by(|a, b| a.principal.cmp(&b.principal));
        Ok(all)
    }

    /// The sign-in that calls of `principal` use.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn status_of(&self, principal: &str) -> Result<SignInStatus, SignInError> {
        self.status(self.account(principal)).await
    }

    async fn status(&self, principal: &str) -> Result<SignInStatus, SignInError> {
        let key = RecordKey::binding(&self.name, &self.url, principal);
        let sealed = matches!(self.store().read(&key).await, Err(StoreError::SealedWithAnotherKey));
        let binding = self.binding(principal).await?;
        let record = match &binding {
            Some(binding) => records::tokens(self.store(), binding, principal).await?,
            None => None,
        };
        let record = record.unwrap_or_default();
        let scopes = record.scope_granted.as_ref().unwrap_or(&record.scope_wanted);
        let sealed = sealed.then(|| (StoreError::SealedWithAnotherKey.to_string(), None));
        let signs_itself = !self.oauth.grant.has_person();
        Ok(SignInStatus {
            name: self.name.clone(),
            principal: principal.to_owned(),
            issuer: binding.as_ref().map(|binding| binding.issuer.clone()),
            client_id: binding.as_ref().map(|binding| binding.client_id.clone()),
            resource: binding.as_ref().and_then(|binding| binding.resource.clone()),
            scopes: scopes.iter().map(str::to_owned).collect(),
            expires_at: record.expires_at,
            refreshable: record.refresh_token.is_some() || signs_itself,
            legacy: record.legacy,
            store: self.store().protection(),
            signed_in: signs_itself || (record.is_signed_in(self.now()) && record.last_error.is_none()),
            last_error: record.last_error.map(|error| (error.code, Some(error.at))).or(sealed),
        })
    }

    /// Signs `principal` out: revokes the tokens as far as the server does that, and deletes them in any case. A registration
    /// that no other sign-in uses is forgotten with them.
    ///
    /// # Errors
    /// The store does not delete.
    pub async fn sign_out(&self, principal: &str) -> Result<SignedOut, SignInError> {
        let principal = self.account(principal);
        let Some(binding) = self.binding(principal).await? else { return Ok(SignedOut::WasNot) };
        let signed_out = self.delete_tokens(&binding, principal).await?;
        if !self.is_used_by_others(&binding, principal).await? {
            self.forget_client(&binding).await?;
        }
        Ok(signed_out)
    }

    /// Whether another sign-in has tokens that our client of this one renews.
    async fn is_used_by_others(&self, binding: &TokenBinding, principal: &str) -> Result<bool, SignInError> {
        let own = binding.token_key(principal);
        for listed in self.store().list(RecordKind::Binding).await? {
            let [_, _, principal] = listed.key.parts() else { continue };
            let Some(other) = records::read::<TokenBinding>(self.store(), &listed.key).await? else {
                continue;
            };
            let is_same = other.issuer == binding.issuer && other.client_id == binding.client_id;
            if is_same && other.token_key(principal) != own {
                let record = records::tokens(self.store(), &other, principal).await?;
                if record.is_some_and(|record| record.is_signed_in(self.now())) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    async fn delete_tokens(&self, binding: &TokenBinding, principal: &str) -> Result<SignedOut, SignInError> {
        let key = binding.token_key(principal);
        let guard = self.store().lock(&key).await?;
        let record: Option<TokenRecord> = records::read(self.store(), &key).await?;
        let Some(record) =
            record.filter(|record| record.access_token.is_some() || record.refresh_token.is_some())
        else {
            return Ok(SignedOut::WasNot);
        };
        let revoked = self.revoke(binding, principal, &record).await;
        // Scopes that were asked for stay known, and generations go on.
        records::write(self.store(), &guard, &record.without_tokens(None)).await?;
        let owner_hash = owner_hash(principal);
        tracing::info!(event = "auth_signed_out", upstream = &*self.name, issuer = %binding.issuer, owner_hash);
        Ok(match revoked {
            None => SignedOut::Deleted,
            Some(Ok(())) => SignedOut::Revoked,
            Some(Err(reason)) => SignedOut::Unconfirmed(reason),
        })
    }

    async fn revoke(
        &self,
        binding: &TokenBinding,
        principal: &str,
        record: &TokenRecord,
    ) -> Option<Result<(), String>> {
        let server = match self.server_of(binding).await {
            Ok(server) => server,
            Err(failure) => return Some(Err(failure.to_string())),
        };
        match self.client_of(&server, binding, principal).await {
            Ok(Some(client)) => revoke(self, &server, &client, record).await,
            Ok(None) => Some(Err("its registration is gone".to_owned())),
            Err(error) => Some(Err(error.to_string())),
        }
    }
}
