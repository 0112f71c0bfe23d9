//! The sign-ins of one caller at upstreams that require one, read from the store alone.

use std::sync::Arc;

use ptc_host::aggregator::Aggregator;
use ptc_host::sign_in::{NextStep, Site};
use ptc_mcp::json::{Value, json};

use ptc_protocol::principal::Principal;

/// Each upstream with sign-ins: whether the account that `principal` uses is signed in, and otherwise how to sign in.
pub(crate) async fn sign_ins(upstreams: Option<Arc<Aggregator>>, principal: Principal) -> String {
    let mut rows = Vec::new();
    if let Some(upstreams) = upstreams {
        let view = upstreams.view(principal.authority()).of(principal.known_name());
        for (site, account) in view.sign_ins() {
            rows.push(row(site, account).await);
        }
    }
    json!({"sign_ins": rows}).to_string()
}

async fn row(site: &Site, account: &str) -> Value {
    let mut row = json!({"server": site.name()});
    let status = match site.status_of(account).await {
        Ok(status) => status,
        Err(error) => {
            row["state"] = "unknown".into();
            row["error"] = error.to_string().into();
            return row;
        }
    };
    row["state"] = if status.signed_in { "signed_in" } else { "sign_in_needed" }.into();
    row["issuer"] = json!(status.issuer);
    row["scopes"] = json!(status.scopes);
    row["expires_at"] = json!(status.expires_at);
    row["last_error"] = json!(status.last_error.map(|(code, _)| code));
    if !status.signed_in {
        match site.next_step(account) {
            NextStep::Run(command) => row["run"] = command.into(),
            NextStep::Open(url) => row["open"] = url.into(),
        }
    }
    row
}
