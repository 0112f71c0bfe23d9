//! The record of tokens in a store.

use serde::{Deserialize, Serialize};

use crate::grants::TokenAnswer;
use crate::scopes::Scopes;
use crate::secret::{Secret, stored_option};
use crate::timestamp::Timestamp;

/// Longest time before its end at which an access token is renewed, in seconds.
const RENEW_BEFORE: u64 = 60;

/// Why a sign-in does not work any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// A code of [`Failure`](crate::failure::Failure::code) or of the server. Untrusted on a terminal.
    pub code: String,
    /// When, in Unix seconds.
    pub at: u64,
}

/// The record `token` of `auth.md` 7.1. It serializes with its secrets in the clear: the store seals it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenRecord {
    /// For requests to the resource. Absent after sign-out, and where the sign-in has ended.
    #[serde(with = "stored_option")]
    pub access_token: Option<Secret>,
    /// For new tokens.
    #[serde(with = "stored_option")]
    pub refresh_token: Option<Secret>,
    /// When the access token came, in Unix seconds.
    pub obtained_at: u64,
    /// When the access token ends, in Unix seconds; `None` if unknown.
    pub expires_at: Option<u64>,
    /// The granted scopes, as far as the server named them.
    pub scope_granted: Option<Scopes>,
    /// All scopes requested so far, and those that calls were found to lack.
    pub scope_wanted: Scopes,
    /// One more with each write, sign-outs included.
    pub generation: u64,
    /// When a person signed in, in Unix milliseconds; the time of the first token where no person does.
    pub signed_in_at: u64,
    /// Why tokens are missing, or are refused.
    pub last_error: Option<LastError>,
    /// Whether the server was found by the fallback of `auth.md` 2.6.
    pub legacy: bool,
}

impl TokenRecord {
    /// The record of a new sign-in. `previous` is the stored one, so that generations continue.
    #[must_use]
    pub fn signed_in(answer: TokenAnswer, previous: Option<&Self>, wanted: Scopes, legacy: bool) -> Self {
        let blank = Self {
            generation: previous.map_or(0, |record| record.generation),
            scope_wanted: wanted,
            signed_in_at: answer.obtained_at.millis(),
            legacy,
            ..Self::default()
        };
        blank.renewed(answer)
    }

    /// The record after new tokens. Without a new refresh token the old one stays.
    #[must_use]
    pub fn renewed(&self, answer: TokenAnswer) -> Self {
        Self {
            access_token: Some(answer.access_token),
            refresh_token: answer.refresh_token.or_else(|| self.refresh_token.clone()),
            obtained_at: answer.obtained_at.seconds(),
            expires_at: answer.expires_at.map(Timestamp::seconds),
            scope_granted: answer.scope.or_else(|| self.scope_granted.clone()),
            generation: self.generation + 1,
            last_error: None,
            ..self.clone()
        }
    }

    /// The record without tokens, after sign-out or a refusal.
    #[must_use]
    pub fn without_tokens(&self, last_error: Option<LastError>) -> Self {
        Self {
            access_token: None,
            refresh_token: None,
            expires_at: None,
            scope_granted: None,
            generation: self.generation + 1,
            last_error,
            ..self.clone()
        }
    }

    /// The record with the same tokens, and a note that they are refused.
    #[must_use]
    pub fn with_error(&self, last_error: LastError) -> Self {
        Self { generation: self.generation + 1, last_error: Some(last_error), ..self.clone() }
    }

    /// The record with more scopes wanted.
    #[must_use]
    pub fn wanting(&self, scopes: &Scopes) -> Self {
        let scope_wanted = self.scope_wanted.union(scopes);
        Self { generation: self.generation + 1, scope_wanted, ..self.clone() }
    }

    /// Whether there is a usable sign-in: an access token that has not ended, or a refresh token.
    #[must_use]
    pub fn is_signed_in(&self, now: Timestamp) -> bool {
        self.refresh_token.is_some() || self.is_valid(now)
    }

    /// Whether the access token can be used, as far as its end is known.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.access_token.is_some() && self.expires_at.is_none_or(|end| now.seconds() < end)
    }

    /// Whether the access token is to be renewed before it is used: less is left than a minute, and than a fifth of its life.
    #[must_use]
    pub fn is_due(&self, now: Timestamp) -> bool {
        let Some(end) = self.expires_at else { return self.access_token.is_none() };
        let life = end.saturating_sub(self.obtained_at);
        let left = Timestamp::from_seconds(end).since(now);
        !self.is_valid(now) || left.as_millis() < u128::from((life * 200).min(RENEW_BEFORE * 1000))
    }

    /// Whether the tokens are others than those of `other`.
    pub(super) fn has_other_tokens(&self, other: &Self) -> bool {
        self.access_token != other.access_token || self.refresh_token != other.refresh_token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn record(obtained_at: u64, expires_at: Option<u64>) -> TokenRecord {
        TokenRecord {
            access_token: Some(Secret::new("access")),
            refresh_token: Some(Secret::new("refresh")),
            obtained_at,
            expires_at,
            generation: 4,
            ..TokenRecord::default()
        }
    }

    fn answer(refresh: Option<&str>, at: u64) -> TokenAnswer {
        let obtained_at = Timestamp::from_seconds(at);
        TokenAnswer {
            access_token: Secret::new("new"),
            refresh_token: refresh.map(Secret::new),
            obtained_at,
            expires_at: Some(obtained_at + Duration::from_secs(100)),
            scope: None,
        }
    }

    #[test]
    fn a_token_is_due_a_minute_or_a_fifth_of_its_life_before_its_end() {
        let due = |record: &TokenRecord, millis| record.is_due(Timestamp::from_millis(millis));
        let hour = record(1000, Some(4600));
        assert!(!due(&hour, 4_540_000));
        assert!(due(&hour, 4_540_001));
        let short = record(1000, Some(1100));
        assert!(!due(&short, 1_080_000));
        assert!(due(&short, 1_080_001));
        let forever = record(1000, None);
        assert!(!due(&forever, u64::MAX));
        assert!(record(1000, Some(1000)).is_due(Timestamp::from_seconds(1000)));
        assert!(TokenRecord::default().is_due(Timestamp::default()));
    }

    #[test]
    fn a_token_is_valid_until_its_end() {
        let short = record(1000, Some(1100));
        assert!(short.is_valid(Timestamp::from_millis(1_099_999)));
        assert!(!short.is_valid(Timestamp::from_seconds(1100)));
        assert!(short.is_signed_in(Timestamp::from_seconds(1100)), "it can be renewed");
        let alone = TokenRecord { refresh_token: None, ..short };
        assert!(!alone.is_signed_in(Timestamp::from_seconds(1100)));
    }

    #[test]
    fn a_refresh_token_stays_until_another_comes() {
        let old = record(1000, Some(1100));
        let kept = old.renewed(answer(None, 1090));
        assert_eq!(kept.refresh_token, Some(Secret::new("refresh")));
        assert_eq!((kept.obtained_at, kept.expires_at, kept.generation), (1090, Some(1190), 5));
        assert_eq!(old.renewed(answer(Some("other"), 1090)).refresh_token, Some(Secret::new("other")));
    }

    #[test]
    fn a_sign_in_goes_on_from_the_generation_of_the_record_before() {
        let out = record(1000, None).without_tokens(None);
        assert!(out.access_token.is_none() && out.refresh_token.is_none());
        let again = TokenRecord::signed_in(answer(None, 2000), Some(&out), Scopes::of_text("a"), false);
        assert_eq!((again.generation, again.signed_in_at, again.refresh_token), (6, 2_000_000, None));
    }

    #[test]
    fn records_are_json_and_unknown_members_do_not_matter() {
        let record = record(1000, Some(1100));
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<TokenRecord>(&text).unwrap(), record);
        assert!(text.contains(r#""access_token":"access""#), "{text}");
        assert!(!format!("{record:?}").contains("access\""), "{record:?}");
        assert_eq!(serde_json::from_str::<TokenRecord>(r#"{"later":1}"#).unwrap(), TokenRecord::default());
    }
}
