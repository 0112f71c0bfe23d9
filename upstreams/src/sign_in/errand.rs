//! Carrying an errand out: the lock, the store and the token endpoint, as the core wants them (auth.md 6.2, 6.3).

use super::owner_hash::owner_hash;
use std::sync::Arc;

use ptc_oauth::client::{Client, ClientOrigin, Credential, Method, Signing};
use ptc_oauth::error_code::ErrorCode;
use ptc_oauth::failure::Failure;
use ptc_oauth::grants::{GrantContext, GrantError, IdJag, Subject, SubjectTokenType, TokenAnswer, read};
use ptc_oauth::metadata::ServerMetadata;
use ptc_oauth::secret::Secret;
use ptc_oauth::tokens::{Errand, ErrandOutcome, ErrandStep, TokenRecord};
use ring::rand::SystemRandom;

use super::fault::SignInError;
use super::records::{self, TokenBinding};
use super::site::{Site, random};
use super::store::{Guard, StoreError};
use crate::config::{OAuthGrant, OAuthSubject};
use ptc_base::ordinary_file;
use ptc_base::time;
use ptc_secret::credentials::NoRoom;

/// Largest file with a person's token.
const MAX_SUBJECT_BYTES: u64 = 48 << 10;

/// An errand and who it is for.
pub(super) struct Carrier {
    pub(super) site: Arc<Site>,
    pub(super) principal: Arc<str>,
    pub(super) bound: Option<TokenBinding>,
    pub(super) errand: Errand,
}

impl Carrier {
    pub(super) async fn run(mut self) -> ErrandOutcome {
        let outcome = self.carry_out().await;
        self.tell(&outcome);
        outcome
    }

    async fn carry_out(&mut self) -> ErrandOutcome {
        let Some(binding) = self.bound.clone() else { return ErrandOutcome::Absent };
        let site = self.site.clone();
        let store = site.store();
        let key = binding.token_key(&self.principal);
        let mut guard: Option<Guard> = None;
        loop {
            match self.errand.step().clone() {
                ErrandStep::Lock => match store.lock(&key).await {
                    Ok(held) => {
                        guard = Some(held);
                        self.errand.locked(true);
                    }
                    Err(StoreError::Busy) => drop(self.errand.locked(false)),
                    Err(error) => {
                        return ErrandOutcome::Unavailable { reason: error.to_string(), retry_after: None };
                    }
                },
                ErrandStep::Read => {
                    let stored = records::read::<TokenRecord>(store, &key).await;
                    self.errand.read(site.now(), stored.map_err(|error| error.to_string()));
                }
                ErrandStep::Ask(record) => {
                    let answer = ask(&site, &binding, &self.principal, record.as_deref()).await;
                    // Known to the redactor before anybody else can have it.
                    let answer = answer.and_then(|answer| {
                        let tokens = TokenRecord::default().renewed(answer.clone());
                        site.learn_tokens(&self.principal, &tokens).map_err(no_room)?;
                        Ok(answer)
                    });
                    self.errand.answered(site.now(), answer);
                }
                ErrandStep::Write(record) => {
                    let written = match &guard {
                        Some(guard) => records::write(store, guard, &*record).await,
                        None => Err(StoreError::OtherLock),
                    };
                    if let Err(error) = &written {
                        tracing::error!(event = "auth_store_write_failed", upstream = site.name(), issuer = %binding.issuer,
                            owner_hash = owner_hash(&self.principal), error = %error);
                    }
                    self.errand.written(written.is_ok());
                }
                ErrandStep::DropClient => {
                    if let Ok(guard) = store.lock(&binding.client_key()).await {
                        let _ = store.delete(&guard).await;
                    }
                    self.errand.dropped();
                }
                ErrandStep::Done(outcome) => {
                    if let ErrandOutcome::Record { record, .. } = &outcome
                        && let Err(error) = site.learn_tokens(&self.principal, record)
                    {
                        let reason = SignInError::from(error).to_string();
                        return ErrandOutcome::Unavailable { reason, retry_after: None };
                    }
                    return outcome;
                }
            }
        }
    }

    /// Counts and logs the outcome.
    fn tell(&self, outcome: &ErrandOutcome) {
        let site = &self.site;
        let (upstream, issuer) = (site.name(), self.bound.as_ref().map_or("", |binding| &binding.issuer));
        let owner_hash = owner_hash(&self.principal);
        match outcome {
            ErrandOutcome::Record { renewed: true, .. } => {
                site.counts.note_refreshed();
                tracing::info!(event = "auth_refreshed", upstream, issuer, owner_hash);
            }
            ErrandOutcome::Refused { code, .. } => {
                site.counts.note_refused();
                tracing::warn!(
                    event = "auth_refresh_failed",
                    upstream,
                    issuer,
                    owner_hash,
                    error = code.registered()
                );
            }
            ErrandOutcome::Unavailable { reason, .. } => {
                site.counts.note_unavailable();
                tracing::warn!(event = "auth_refresh_failed", upstream, issuer, owner_hash, reason = %reason);
            }
            ErrandOutcome::Record { .. } | ErrandOutcome::Absent => {}
        }
    }
}

/// Asks for tokens: with the refresh token, or by the grant.
async fn ask(
    site: &Site,
    binding: &TokenBinding,
    principal: &str,
    record: Option<&TokenRecord>,
) -> Result<TokenAnswer, GrantError> {
    let server = site.server_of(binding).await.map_err(fault)?;
    let client = match site.client_of(&server, binding, principal).await {
        Ok(Some(client)) => client,
        // What it was registered as is gone: it has to register anew, which a person begins.
        Ok(None) => {
            return Err(GrantError::Refused { code: ErrorCode::new("invalid_client"), description: None });
        }
        Err(SignInError::Failure(failure)) => return Err(fault(failure)),
        Err(error @ (SignInError::Store(_) | SignInError::NoRoom(_))) => {
            return Err(GrantError::Unavailable { reason: error.to_string(), retry_after: None });
        }
    };
    let random_source = SystemRandom::new();
    let signing = || -> Result<Signing<'_>, GrantError> {
        let jti = random().map_err(fault)?;
        Ok(Signing { issuer: &server.issuer, now: site.now(), jti, random: &random_source })
    };
    let asking = GrantContext {
        endpoint: &server.token_endpoint,
        client: &client,
        signing: signing()?,
        resource: binding.resource.as_deref(),
    };
    let wanted = record.map(|record| record.scope_wanted.clone()).unwrap_or_default();
    match site.oauth.grant {
        OAuthGrant::AuthorizationCode | OAuthGrant::DeviceCode => {
            let token = record.and_then(|record| record.refresh_token.as_ref());
            let Some(token) = token else { return Err(GrantError::Bad("no refresh token")) };
            read(&site.fetcher.send(asking.refresh(token)).await)
        }
        OAuthGrant::ClientCredentials => read(&site.fetcher.send(asking.client_credentials(&wanted)).await),
        OAuthGrant::IdJag => {
            let Some(idp) = &site.oauth.idp else { return Err(GrantError::Bad("no identity provider")) };
            let provider = provider_client(site, idp);
            let kind = SubjectTokenType::of(&idp.subject_token_type)
                .ok_or(GrantError::Bad("a subject_token_type that is neither id_token nor saml2"))?;
            let subject = Subject { token: subject_token(site, &idp.subject_token, principal).await?, kind };
            let grant = IdJag {
                provider: GrantContext {
                    endpoint: &idp.token_endpoint,
                    client: &provider,
                    signing: signing()?,
                    resource: binding.resource.as_deref(),
                },
                server: asking,
                audience: &server.issuer,
                scopes: &wanted,
                subject: &subject,
            };
            site.fetcher.run(grant.flow()).await
        }
    }
}

/// Our client at the identity provider.
fn provider_client(site: &Site, idp: &crate::config::OAuthIdp) -> Client {
    let secret = idp.client_secret.as_deref().and_then(|binding| site.credential(binding));
    let (credential, method) = match secret {
        Some(secret) => (Credential::Secret(secret), Method::ClientSecretBasic),
        None => (Credential::None, Method::None),
    };
    Client { id: idp.client_id.clone(), origin: ClientOrigin::Configured, credential, method }
}

/// The token of the person, which a file has anew at each exchange (ruling 81).
#[expect(clippy::disallowed_methods, reason = "entry point: subject_token()")]
async fn subject_token(site: &Site, subject: &OAuthSubject, principal: &str) -> Result<Secret, GrantError> {
    let path = match subject {
        OAuthSubject::Binding(binding) => {
            return site.credential(binding).ok_or(GrantError::Bad("no subject token"));
        }
        OAuthSubject::File(path) => path.clone(),
    };
    let read = time::spawn_blocking(move || {
        ordinary_file::read_text(&path, MAX_SUBJECT_BYTES).map(|text| Secret::new(text.trim()))
    });
    match read.await {
        Ok(Ok(token)) if !token.expose().is_empty() => {
            site.learn(&format!("subject token {}", site.name()), principal, std::iter::once(&token))
                .map_err(no_room)?;
            Ok(token)
        }
        _ => Err(GrantError::Unavailable {
            reason: "auth.idp.subject_token_file cannot be read".to_owned(),
            retry_after: None,
        }),
    }
}

fn no_room(error: NoRoom) -> GrantError {
    GrantError::Unavailable { reason: SignInError::from(error).to_string(), retry_after: None }
}

/// The fault for a failure before the token request.
fn fault(failure: Failure) -> GrantError {
    match failure {
        Failure::AddressRefused { url } => GrantError::AddressRefused { url },
        other => GrantError::Unavailable { reason: other.to_string(), retry_after: None },
    }
}

/// Asks `server` to forget the tokens of a record, the refresh token first. `None`: it cannot be asked.
pub(super) async fn revoke(
    site: &Site,
    server: &ServerMetadata,
    client: &Client,
    record: &TokenRecord,
) -> Option<Result<(), String>> {
    use ptc_oauth::grants::TokenKind;
    let endpoint = server.revocation_endpoint.as_ref()?;
    let random_source = SystemRandom::new();
    let mut outcome = Ok(());
    let tokens = [(&record.refresh_token, TokenKind::Refresh), (&record.access_token, TokenKind::Access)];
    for (token, kind) in tokens.into_iter().filter_map(|(token, kind)| Some((token.as_ref()?, kind))) {
        let jti = random().ok()?;
        let signing = Signing { issuer: &server.issuer, now: site.now(), jti, random: &random_source };
        let asking = GrantContext { endpoint: &server.token_endpoint, client, signing, resource: None };
        let answer = site.fetcher.send(asking.revoke(endpoint, token, kind)).await;
        let told = match answer.result {
            Ok(response) if response.status == 200 => Ok(()),
            // Access tokens that nobody looks up cannot be revoked; without their refresh token they end by themselves.
            Ok(response)
                if kind == TokenKind::Access
                    && is_unsupported(&response)
                    && record.refresh_token.is_some() =>
            {
                Ok(())
            }
            Ok(response) => Err(format!("http {}", response.status)),
            Err(trouble) => Err(trouble.to_string()),
        };
        outcome = outcome.and(told);
    }
    Some(outcome)
}

/// Whether a server cannot revoke tokens of this kind (RFC 7009 2.2.1).
#[expect(clippy::disallowed_methods, reason = "entry point: is_unsupported()")]
fn is_unsupported(response: &ptc_oauth::message::Response) -> bool {
    let told: Option<ptc_mcp::json::Value> = serde_json::from_str(response.body.expose()).ok();
    told.is_some_and(|told| told["error"] == "unsupported_token_type")
}
