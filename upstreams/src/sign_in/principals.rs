//! The sign-in of each account, made on first use, and the action for a person if one is missing.

use std::fmt;
use std::sync::Arc;

use super::bearer::SignIn;
use super::site::Site;
use crate::config::OAuthIdentity;

use ptc_base::text::shell_word;
use ptc_secret::credentials::EVERYONE;
pub use ptc_secret::credentials::PROCESS;

/// The action by which a person signs in. Neither form holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Runs this command: `ptc login linear`.
    Run(String),
    /// Opens this address.
    Open(String),
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(command) => write!(f, "run: {command}"),
            Self::Open(url) => write!(f, "open: {url}"),
        }
    }
}

impl Site {
    /// The action that gives calls with this account a token: that of a principal, of this process, or of all (`*`). A page is of no
    /// use to the bearers of access tokens, whose names alone have a `|`, if they cannot show there who they are.
    pub fn next_step(&self, account: &str) -> NextStep {
        let command = format!("ptc login {}", shell_word(&self.name));
        let for_account = |account: &str| format!("{command} --principal {}", shell_word(account));
        match (account, &self.context.page) {
            (PROCESS, _) => NextStep::Run(command),
            (EVERYONE, _) if self.oauth.identity == OAuthIdentity::Shared => NextStep::Run(command),
            (EVERYONE, _) => NextStep::Run(for_account(EVERYONE)),
            (account, Some(origin)) if !account.contains('|') || self.context.page_has_login => {
                let mut query = url::form_urlencoded::Serializer::new(String::new());
                query.append_pair("upstream", &self.name);
                NextStep::Open(format!("{origin}/oauth/start?{}", query.finish()))
            }
            (account, _) => NextStep::Run(for_account(account)),
        }
    }

    /// The page on which a person signs in to this account, if there is one.
    pub fn page_of(&self, account: &str) -> Option<String> {
        match self.next_step(account) {
            NextStep::Open(page) if self.oauth.grant.has_person() => Some(page),
            NextStep::Open(_) | NextStep::Run(_) => None,
        }
    }

    /// The sign-in that calls with this account use.
    pub fn sign_in(self: &Arc<Self>, account: &str) -> Arc<SignIn> {
        let account = self.account(account);
        let step = self.next_step(account);
        SignIn::new(self.clone(), account, step.to_string())
    }
}
