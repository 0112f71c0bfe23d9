//! Callers as people write them: on the command line, and in the cases of a file.

use std::sync::Arc;

use clap::Args;
use ptc_host::policy::{Caller, Claim};
use ptc_mcp::json::Value;

/// What is known of the caller beside its name.
#[derive(Args, Debug, Default)]
pub(super) struct CallerArgs {
    /// The issuer of its access token [default: that of PRINCIPAL, if that is ISSUER|SUBJECT]
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,

    /// The subject of its access token [default: that of PRINCIPAL]
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,

    /// A scope of its access token; may be given several times
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,

    /// A claim of its access token; one that is given several times is a list
    #[arg(long = "claim", value_name = "NAME=VALUE")]
    claims: Vec<String>,
}

impl CallerArgs {
    /// The caller of that name.
    ///
    /// # Errors
    /// One sentence: a claim is no `NAME=VALUE`.
    pub(super) fn caller(&self, principal: &str) -> Result<Caller, String> {
        let mut caller = of_principal(principal);
        let given = |text: &Option<String>, known: Option<Arc<str>>| text.as_deref().map(Arc::from).or(known);
        caller.issuer = given(&self.issuer, caller.issuer);
        caller.subject = given(&self.subject, caller.subject);
        caller.scopes =
            self.scopes.iter().flat_map(|scopes| scopes.split_whitespace()).map(Box::from).collect();
        let mut claims: Vec<(&str, Vec<Box<str>>)> = Vec::new();
        for claim in &self.claims {
            let pair = claim.split_once('=').filter(|(name, _)| !name.is_empty());
            let (name, value) = pair.ok_or_else(|| format!("{claim} is no claim: write NAME=VALUE"))?;
            match claims.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value.into()),
                None => claims.push((name, vec![value.into()])),
            }
        }
        let claim =
            |(name, values): (&str, Vec<Box<str>>)| Claim { name: name.into(), values: values.into() };
        caller.claims = claims.into_iter().map(claim).collect();
        Ok(caller)
    }
}

/// The caller of that name. `ISSUER|SUBJECT` has both; the subject may have further bars.
fn of_principal(principal: &str) -> Caller {
    let pair = principal.split_once('|').filter(|(issuer, _)| issuer.contains("://"));
    let (issuer, subject) = pair.unzip();
    Caller { issuer: issuer.map(Arc::from), subject: subject.map(Arc::from), ..Caller::named(principal) }
}

/// The caller of a case: its name, or an object with `principal`, `issuer`, `subject`, `scopes` and `claims`.
///
/// # Errors
/// What must be otherwise, beginning with the key.
pub(super) fn of_json(value: &Value) -> Result<Caller, String> {
    const KEYS: [&str; 5] = ["principal", "issuer", "subject", "scopes", "claims"];
    if let Some(name) = value.as_str() {
        return Ok(of_principal(name));
    }
    let map = value.as_object().ok_or("as must be a name or an object")?;
    if let Some(key) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("as.{key} is no known key; it has {}", KEYS.join(", ")));
    }
    let text = |key: &str| match map.get(key) {
        None => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or_else(|| format!("as.{key} must be a string")),
    };
    let (issuer, subject) = (text("issuer")?, text("subject")?);
    let name = match (text("principal")?, issuer, subject) {
        (Some(name), ..) => name.to_owned(),
        (None, Some(issuer), Some(subject)) => format!("{issuer}|{subject}"),
        (None, ..) => return Err("as must have principal, or issuer and subject".to_owned()),
    };
    let mut caller = of_principal(&name);
    caller.issuer = issuer.map(Arc::from).or(caller.issuer);
    caller.subject = subject.map(Arc::from).or(caller.subject);
    if let Some(scopes) = map.get("scopes") {
        caller.scopes = texts(scopes).ok_or("as.scopes must be a string or a list of strings")?;
    }
    if let Some(claims) = map.get("claims") {
        let claims = claims.as_object().ok_or("as.claims must be an object")?;
        let claim = |(name, value): (&String, &Value)| {
            let values = texts(value);
            let values =
                values.ok_or_else(|| format!("as.claims.{name} must be a string or a list of strings"))?;
            Ok(Claim { name: name.as_str().into(), values })
        };
        caller.claims = claims.iter().map(claim).collect::<Result<_, String>>()?;
    }
    check_possible(&caller, map.keys().map(String::as_str))?;
    Ok(caller)
}

/// Checks that there can be such a caller: facts of access tokens are those of callers that are called `ISSUER|SUBJECT`.
///
/// # Errors
/// The key that no such caller has, or has otherwise.
fn check_possible<'k>(caller: &Caller, mut given: impl Iterator<Item = &'k str>) -> Result<(), String> {
    let name = &*caller.principal;
    let Some((issuer, subject)) = name.split_once('|') else {
        return match given.find(|key| *key != "principal") {
            None => Ok(()),
            Some(key) => Err(format!(
                "as.{key} is a fact of an access token, and the caller {name:?} has none: its principal would be ISSUER|SUBJECT"
            )),
        };
    };
    let own = [("issuer", issuer, &caller.issuer), ("subject", subject, &caller.subject)];
    match own.into_iter().find(|(_, own, fact)| fact.as_deref().is_some_and(|fact| fact != *own)) {
        None => Ok(()),
        Some((key, own, _)) => Err(format!("as.{key} is not that of the caller {name:?}, which is {own:?}")),
    }
}

/// A text, or the texts of a list.
fn texts(value: &Value) -> Option<Box<[Box<str>]>> {
    match value {
        Value::String(text) => Some([text.as_str().into()].into()),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(Box::from)).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    #[test]
    fn a_principal_of_an_access_token_has_issuer_and_subject() {
        let ann = of_principal("https://login.example|auth0|ann");
        assert_eq!(ann.issuer.as_deref(), Some("https://login.example"));
        assert_eq!(ann.subject.as_deref(), Some("auth0|ann"));
        assert_eq!(of_principal("ci"), Caller::named("ci"));
        assert_eq!(of_principal("a|b"), Caller::named("a|b"));
    }

    #[test]
    fn both_notations_give_the_same_caller() {
        let args = CallerArgs {
            scopes: vec!["read write".to_owned()],
            claims: ["groups=a", "groups=b=c", "tier="].map(str::to_owned).to_vec(),
            ..CallerArgs::default()
        };
        let written = json!({"issuer": "https://i.example", "subject": "ann", "scopes": ["read", "write"],
            "claims": {"groups": ["a", "b=c"], "tier": ""}});
        assert_eq!(args.caller("https://i.example|ann"), of_json(&written));
        let args = CallerArgs { claims: vec!["groups".to_owned()], ..CallerArgs::default() };
        assert_eq!(args.caller("x").unwrap_err(), "groups is no claim: write NAME=VALUE");
    }

    #[test]
    fn a_wrong_caller_is_told() {
        for (written, fault) in [
            (json!(1), "as must be a name or an object"),
            (json!({}), "as must have principal, or issuer and subject"),
            (json!({"subject": "ann"}), "as must have principal, or issuer and subject"),
            (json!({"principal": 1}), "as.principal must be a string"),
            (
                json!({"principal": "a", "scope": "b"}),
                "as.scope is no known key; it has principal, issuer, subject, scopes, claims",
            ),
            (json!({"principal": "a", "scopes": [1]}), "as.scopes must be a string or a list of strings"),
            (json!({"principal": "a", "claims": "b"}), "as.claims must be an object"),
            (
                json!({"principal": "a", "claims": {"b": 1}}),
                "as.claims.b must be a string or a list of strings",
            ),
            (
                json!({"principal": "ci", "scopes": "a"}),
                "as.scopes is a fact of an access token, and the caller \"ci\" has none: its principal would be ISSUER|SUBJECT",
            ),
            (
                json!({"principal": "https://i|ann", "issuer": "https://j"}),
                "as.issuer is not that of the caller \"https://i|ann\", which is \"https://i\"",
            ),
            (
                json!({"principal": "https://i|ann", "subject": "ben"}),
                "as.subject is not that of the caller \"https://i|ann\", which is \"ann\"",
            ),
        ] {
            assert_eq!(of_json(&written).unwrap_err(), fault, "{written}");
        }
    }
}
