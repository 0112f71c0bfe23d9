//! The sign-in of each principal, made on first use, and the action for a person if one is missing.

use std::fmt;
use std::sync::Arc;

use super::bearer::SignIn;
use super::site::Site;
use crate::config::OAuthIdentity;

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
    /// The action that gives calls of `principal` a token.
    pub fn next_step(&self, principal: &str) -> NextStep {
        let is_caller = self.oauth.identity == OAuthIdentity::PerPrincipal && principal != PROCESS;
        let command = format!("ptc login {}", self.name);
        match &self.context.page {
            Some(origin) if is_caller => {
                let mut query = url::form_urlencoded::Serializer::new(String::new());
                query.append_pair("upstream", &self.name);
                NextStep::Open(format!("{origin}/oauth/start?{}", query.finish()))
            }
            _ if is_caller => NextStep::Run(format!("{command} --principal {principal}")),
            _ => NextStep::Run(command),
        }
    }

    /// The page on which `principal` signs in, if there is one.
    pub fn page_of(&self, principal: Option<&str>) -> Option<String> {
        match self.next_step(principal.unwrap_or(PROCESS)) {
            NextStep::Open(page) if self.oauth.grant.has_person() => Some(page),
            NextStep::Open(_) | NextStep::Run(_) => None,
        }
    }

    /// The sign-in that calls of `principal` use.
    pub fn sign_in(self: &Arc<Self>, principal: Option<&str>) -> Arc<SignIn> {
        let principal = principal.unwrap_or(PROCESS);
        SignIn::new(self.clone(), self.principal_of(principal), self.next_step(principal).to_string())
    }
}
