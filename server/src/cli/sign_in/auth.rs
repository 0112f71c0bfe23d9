//! `ptc auth`: lists sign-ins, from the store alone.

use ptc_host::config::ProcessEnv;
use ptc_host::text::shell_word;
use ptc_host::visible::visible;
use std::process::ExitCode;

use clap::Args;
use ptc_host::sign_in::{PROCESS, SignInStatus};
use ptc_mcp::json::{Value, json};

pub(crate) use super::desk::DeskArgs;
use super::desk::{self, now};
use super::progress::ends;
use super::span::from;
use crate::cli::output;
use crate::cli::report;

/// Arguments of `ptc auth`.
#[derive(Args, Debug)]
pub struct AuthArgs {
    /// Print JSON for programs instead of a table for people
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    desk: DeskArgs,
}

/// Runs the sub-command.
pub fn run(args: &AuthArgs) -> ExitCode {
    let runtime = match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime,
        Err(error) => return report::fault(&format!("cannot start the event loop: {error}")),
    };
    match runtime.block_on(statuses(&args.desk, &ProcessEnv::current())) {
        Ok(states) if args.json => {
            let rows: Vec<_> = states.iter().map(row).collect();
            output::print_json(&json!({"upstreams": rows}));
            ExitCode::SUCCESS
        }
        Ok(states) => {
            output::write(format_args!("{}", visible(&table(&states, now()))));
            ExitCode::SUCCESS
        }
        Err(error) => report::fault(&error),
    }
}

/// The sign-ins at all upstreams, in the order of the file.
pub(crate) async fn statuses(args: &DeskArgs, env: &ProcessEnv) -> Result<Vec<SignInStatus>, String> {
    let mut all = Vec::new();
    for site in desk::sites(args, env)? {
        all.extend(site.statuses(PROCESS).await.map_err(|error| error.to_string())?);
    }
    Ok(all)
}

/// The fields of auth.md 11.
fn row(state: &SignInStatus) -> Value {
    let last_error = state.last_error.as_ref().map(|(code, at)| json!({"code": code, "at": at}));
    json!({
        "name": &*state.name, "principal": state.principal, "issuer": state.issuer, "client_id": state.client_id,
        "resource": state.resource, "scopes": state.scopes, "expires_at": state.expires_at, "refreshable": state.refreshable,
        "legacy": state.legacy, "store": state.store.as_str(), "state": if state.signed_in { "signed_in" } else { "sign_in_needed" },
        "last_error": last_error, "next_step": next_step(state),
    })
}

/// The next command for a person, if there is something to do.
pub(crate) fn next_step(state: &SignInStatus) -> Option<String> {
    let needed = !state.signed_in;
    needed.then(|| {
        let of = match names_principal(state) {
            true => format!(" --principal {}", shell_word(&state.principal)),
            false => String::new(),
        };
        format!("ptc login {}{of}", shell_word(&state.name))
    })
}

/// True if the sign-in belongs to a caller of `ptc start --http`, rather than to the process or to all callers.
fn names_principal(state: &SignInStatus) -> bool {
    !matches!(state.principal.as_str(), PROCESS | "*")
}

/// The states as aligned columns. The column of callers is shown only if there are several.
fn table(states: &[SignInStatus], now: u64) -> String {
    let several = states.iter().any(names_principal);
    let mut rows: Vec<Vec<String>> = vec![headings(several)];
    rows.extend(states.iter().map(|state| columns(state, several, now)));
    output::aligned(&rows)
}

fn headings(several: bool) -> Vec<String> {
    let all = ["server", "principal", "issuer", "scopes", "expires", "store", "state"];
    all.into_iter().filter(|&heading| several || heading != "principal").map(str::to_owned).collect()
}

fn columns(state: &SignInStatus, several: bool, now: u64) -> Vec<String> {
    let scopes = if state.scopes.is_empty() { "-".to_owned() } else { state.scopes.join(" ") };
    let mut said = match next_step(state) {
        Some(step) => format!("sign in with: {step}"),
        None => "signed in".to_owned(),
    };
    let mut remarks = Vec::new();
    if let Some((code, at)) = &state.last_error {
        remarks.push(at.map_or_else(|| code.clone(), |at| format!("{code}, {}", from(now, at))));
    }
    if state.legacy {
        remarks.push("legacy".to_owned());
    }
    if !remarks.is_empty() {
        said += &format!(" ({})", remarks.join("; "));
    }
    let mut row = vec![state.name.to_string()];
    if several {
        row.push(state.principal.clone());
    }
    let expires = if state.signed_in { ends(now, state.expires_at) } else { "-".to_owned() };
    row.extend([
        state.issuer.clone().unwrap_or_else(|| "-".into()),
        scopes,
        expires,
        state.store.as_str().to_owned(),
        said,
    ]);
    row
}

#[cfg(test)]
mod tests {
    use ptc_host::sign_in::store::Protection;

    use super::*;

    fn state(name: &str) -> SignInStatus {
        SignInStatus {
            name: name.into(),
            principal: "process".into(),
            issuer: Some("https://mcp.linear.app".into()),
            client_id: Some("abc".into()),
            resource: Some("https://mcp.linear.app/mcp".into()),
            scopes: vec!["read".into(), "write".into()],
            expires_at: Some(10_000 + 52 * 60),
            refreshable: true,
            legacy: false,
            store: Protection::Sealed,
            signed_in: true,
            last_error: None,
        }
    }

    #[test]
    fn the_table_is_as_the_specification_prints_it() {
        let slack = SignInStatus {
            issuer: Some("https://slack.com".into()),
            scopes: vec![],
            expires_at: None,
            signed_in: false,
            last_error: Some(("invalid_grant".into(), Some(10_000 - 7200))),
            ..state("slack")
        };
        assert_eq!(
            table(&[state("linear"), slack], 10_000),
            "server  issuer                  scopes      expires    store   state\n\
             linear  https://mcp.linear.app  read write  in 52 min  sealed  signed in\n\
             slack   https://slack.com       -           -          sealed  sign in with: ptc login slack (invalid_grant, 2 h ago)\n"
        );
    }

    #[test]
    fn callers_have_a_column_if_there_are_several() {
        let other = SignInStatus { principal: "ci".into(), legacy: true, ..state("linear") };
        let sealed = SignInStatus {
            signed_in: false,
            last_error: Some(("sealed_with_another_key".into(), None)),
            ..state("notion")
        };
        let table = table(&[state("linear"), other, sealed], 10_000);
        assert!(table.starts_with("server  principal  issuer"), "{table}");
        assert!(table.contains("linear  ci         https"), "{table}");
        assert!(table.contains("signed in (legacy)\n"), "{table}");
        assert!(table.contains("sign in with: ptc login notion (sealed_with_another_key)\n"), "{table}");
    }

    #[test]
    fn programs_get_every_field() {
        let row = row(&state("linear"));
        let expected = json!({
            "name": "linear", "principal": "process", "issuer": "https://mcp.linear.app", "client_id": "abc",
            "resource": "https://mcp.linear.app/mcp", "scopes": ["read", "write"], "expires_at": 13_120, "refreshable": true,
            "legacy": false, "store": "sealed", "state": "signed_in", "last_error": null, "next_step": null,
        });
        assert_eq!(row, expected);
    }
}
