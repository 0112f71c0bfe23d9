//! The crate as its users see it.

mod explained;
mod files;
mod grants;
mod paths;

use super::{Caller, Claim, Policy};

fn policy(text: &str) -> Policy {
    Policy::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A caller with an access token.
fn bearer(scopes: &[&str], claims: &[(&str, &[&str])]) -> Caller {
    let texts = |texts: &[&str]| texts.iter().map(|text| Box::from(*text)).collect();
    let claim = |(name, values): &(&str, &[&str])| Claim { name: Box::from(*name), values: texts(values) };
    Caller {
        principal: "https://login.example|ann".into(),
        issuer: Some("https://login.example".into()),
        subject: Some("ann".into()),
        scopes: texts(scopes),
        claims: claims.iter().map(claim).collect(),
        ..Caller::default()
    }
}
