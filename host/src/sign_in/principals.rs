//! The sign-in of each principal, made when it is first asked for.

use std::sync::Arc;

use super::bearer::SignIn;
use super::site::Site;
use crate::config::OAuthIdentity;

/// The principal of a pipe, of the command line, and of whoever has no name.
pub const PROCESS: &str = "process";

impl Site {
    /// The sign-in that calls of `principal` use.
    pub(crate) fn sign_in(self: &Arc<Self>, principal: Option<&str>) -> Arc<SignIn> {
        let principal = principal.unwrap_or(PROCESS);
        let mut how = format!("run: ptc login {}", self.name);
        if self.oauth.identity == OAuthIdentity::PerPrincipal && principal != PROCESS {
            how.push_str(" --principal ");
            how.push_str(principal);
        }
        SignIn::new(self.clone(), self.principal_of(principal), how)
    }
}
