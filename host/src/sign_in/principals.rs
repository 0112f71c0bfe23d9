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
        let is_caller = self.oauth.identity == OAuthIdentity::PerPrincipal && principal != PROCESS;
        let how = match &self.context.page {
            Some(origin) if is_caller => {
                let mut query = url::form_urlencoded::Serializer::new(String::new());
                format!("open: {origin}/oauth/start?{}", query.append_pair("upstream", &self.name).finish())
            }
            _ if is_caller => format!("run: ptc login {} --principal {principal}", self.name),
            _ => format!("run: ptc login {}", self.name),
        };
        SignIn::new(self.clone(), self.principal_of(principal), how)
    }
}
