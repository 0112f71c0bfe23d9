//! The provider of tokens, with rotation and reuse detection, and the resource that takes them.

use std::time::Duration;

use ptc_oauth::error_code::ErrorCode;
use ptc_oauth::grants::{GrantError, TokenAnswer};
use ptc_oauth::secret::Secret;
use ptc_oauth::timestamp::Timestamp;
use ptc_oauth::tokens::{Renewal, TokenRecord};

/// The state of one sign-in.
struct Family {
    /// The refresh token that is good; the others have been replaced.
    refresh: Option<String>,
    /// All refresh tokens that there were.
    replaced: Vec<String>,
    /// Access tokens and their ends.
    access: Vec<(String, Option<Timestamp>)>,
    alive: bool,
}

pub(super) struct Provider {
    rotates: bool,
    /// Seconds of an access token.
    life: Option<u64>,
    families: Vec<Family>,
    made: u64,
    knows_client: bool,
    /// Whether it answers with 503.
    pub(super) away: bool,
    /// Whether a replaced refresh token was used.
    pub(super) reuse_detected: bool,
}

impl Provider {
    pub(super) fn new(rotates: bool, life: Option<u64>) -> Self {
        Self {
            rotates,
            life,
            families: Vec::new(),
            made: 0,
            knows_client: true,
            away: false,
            reuse_detected: false,
        }
    }

    fn name(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{kind}{}", self.made)
    }

    /// New tokens of a family.
    fn give(&mut self, family: usize, refresh: bool, now: Timestamp) -> TokenAnswer {
        let access = self.name("access");
        let end = self.life.map(|life| now + Duration::from_secs(life));
        self.families[family].access.push((access.clone(), end));
        let refresh = refresh.then(|| self.name("refresh"));
        if refresh.is_some() {
            let old = std::mem::replace(&mut self.families[family].refresh, refresh.clone());
            self.families[family].replaced.extend(old);
        }
        TokenAnswer {
            access_token: Secret::new(access),
            refresh_token: refresh.map(Secret::new),
            obtained_at: now,
            expires_at: end,
            scope: None,
        }
    }

    fn new_family(&mut self) -> usize {
        self.families.push(Family { refresh: None, replaced: Vec::new(), access: Vec::new(), alive: true });
        self.families.len() - 1
    }

    /// A person signs in, with a client that is registered anew if need be.
    pub(super) fn sign_in(&mut self, now: Timestamp) -> TokenAnswer {
        if !self.knows_client {
            self.families.iter_mut().for_each(|family| family.alive = false);
            self.knows_client = true;
        }
        let family = self.new_family();
        self.give(family, true, now)
    }

    /// The token endpoint.
    pub(super) fn ask(
        &mut self,
        record: Option<&TokenRecord>,
        renewal: Renewal,
        now: Timestamp,
    ) -> Result<TokenAnswer, GrantError> {
        if self.away {
            return Err(GrantError::Unavailable { reason: "http 503".to_owned(), retry_after: None });
        }
        let refused = |code| Err(GrantError::Refused { code: ErrorCode::new(code), description: None });
        if !self.knows_client {
            return refused("invalid_client");
        }
        if renewal == Renewal::Grant {
            let family = self.new_family();
            return Ok(self.give(family, false, now));
        }
        let token =
            record.and_then(|record| record.refresh_token.as_ref()).expect("a refresh needs its token");
        let token = token.expose().to_owned();
        let is_of =
            |family: &Family| family.refresh.as_ref() == Some(&token) || family.replaced.contains(&token);
        let Some(family) = self.families.iter().position(is_of) else { return refused("invalid_grant") };
        if self.families[family].replaced.contains(&token) {
            self.reuse_detected |= self.families[family].alive;
            self.families[family].alive = false;
        }
        if !self.families[family].alive {
            return refused("invalid_grant");
        }
        Ok(self.give(family, self.rotates, now))
    }

    /// Whether the resource takes an access token.
    pub(super) fn is_good(&self, access: &str, now: Timestamp) -> bool {
        let has = |family: &Family| {
            family.access.iter().any(|(token, end)| token == access && end.is_none_or(|end| now < end))
        };
        self.families.iter().any(|family| family.alive && has(family))
    }

    fn family_of(&self, record: Option<&TokenRecord>) -> Option<usize> {
        let token = record?.refresh_token.as_ref()?;
        self.families.iter().position(|family| family.refresh.as_deref() == Some(token.expose()))
    }

    /// The sign-in of a record ends.
    pub(super) fn revoke(&mut self, record: Option<&TokenRecord>) {
        if let Some(family) = self.family_of(record) {
            self.families[family].alive = false;
        }
    }

    pub(super) fn forget_client(&mut self) {
        self.knows_client = false;
    }

    /// Whether a token that it gives can be used at all, and its client is known.
    pub(super) fn can_satisfy(&self) -> bool {
        self.knows_client && self.life != Some(0)
    }

    /// Whether the sign-in of a record is good.
    pub(super) fn knows(&self, record: Option<&TokenRecord>, now: Timestamp) -> bool {
        let refreshes = self.family_of(record).is_some_and(|family| self.families[family].alive);
        let access = record.and_then(|record| record.access_token.as_ref());
        refreshes || access.is_some_and(|token| self.is_good(token.expose(), now))
    }
}
