//! The sign-ins of one caller at upstreams that require one, read from the store alone.

use std::sync::Arc;

use ptc_host::aggregator::Aggregator;
use ptc_host::sign_in::{NextStep, Site};
use ptc_mcp::json::{Value, json};

use ptc_protocol::principal::Principal;

/// Each upstream with sign-ins: whether `principal` is signed in, and otherwise how to sign in.
pub(crate) async fn sign_ins(upstreams: Option<Arc<Aggregator>>, principal: Principal) -> String {
    let mut rows = Vec::new();
    if let Some(upstreams) = upstreams {
        for site in upstreams.view(principal.authority()).sites() {
            rows.push(row(site, principal.name()).await);
        }
    }
    json!({"sign_ins": rows}).to_string()
}

async fn row(site: &Site, principal: &str) -> Value {
    let mut row = json!({"server": site.name()});
    let status = match site.status_of(principal).await {
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
        match site.next_step(principal) {
            NextStep::Run(command) => row["run"] = command.into(),
            NextStep::Open(url) => row["open"] = url.into(),
        }
    }
    row
}
