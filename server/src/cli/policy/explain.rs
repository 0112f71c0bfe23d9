//! `ptc policy explain PRINCIPAL UPSTREAM.TOOL [ARGS]`

use std::fmt::Write as _;
use std::process::ExitCode;

use ptc_host::policy::explain::RuleMatch;
use ptc_host::policy::{Explanation, Identity, Verdict};
use ptc_host::visible::visible;
use ptc_mcp::json::{Value, json};

use super::{ExplainArgs, print_json, read, unusable, upstream_and_tool};
use crate::cli::{json as json_argument, output, report};

/// Rules that do not match of which people are told.
const MOST_UNMET: usize = 20;

pub(super) fn run(args: &ExplainArgs, as_json: bool) -> ExitCode {
    let arguments = match args.arguments.as_deref().map(json_argument::object).transpose() {
        Ok(arguments) => arguments,
        Err(fault) => return report::refused(&format!("ARGS: {fault}")),
    };
    let call = upstream_and_tool(&args.tool);
    let (caller, (upstream, tool)) = match (args.caller.caller(&args.principal), call) {
        (Ok(caller), Ok(call)) => (caller, call),
        (Err(fault), _) | (_, Err(fault)) => return report::refused(&fault),
    };
    let policy = match read(&args.policy) {
        Ok(policy) => policy,
        Err(fault) => return unusable(&fault, as_json),
    };
    let told = policy.explain(&caller, upstream, tool, arguments.as_deref());
    // Without arguments the tool is asked about; whether they matter shows where none are given.
    let depends = arguments.is_none()
        && told.verdict == Verdict::Allowed
        && policy.explain(&caller, upstream, tool, Some("{}")).verdict != Verdict::Allowed;
    if as_json {
        print_json(&object(&told, depends));
    } else {
        output::write(format_args!("{}", visible(&text(&told, depends))));
    }
    ExitCode::SUCCESS
}

fn object(told: &Explanation, depends: bool) -> Value {
    let rules = told.rules.iter().map(
        |rule| json!({"place": &*rule.place, "name": rule.name.as_deref(), "matches": rule.unmet.is_none(), "unmet": rule.unmet.as_deref()}),
    );
    let patterns = told
        .patterns
        .iter()
        .map(|found| json!({"place": &*found.place, "list": found.list, "pattern": &*found.pattern}));
    let arguments = told.arguments.iter().map(
        |found| json!({"place": &*found.place, "permits": found.refusal.is_none(), "reason": found.refusal.as_deref()}),
    );
    let identities = told
        .identities
        .iter()
        .map(|found| json!({"place": &*found.place, "identity": found.identity.as_str()}));
    json!({
        "identity": told.identity.map(Identity::as_str), "identities": identities.collect::<Vec<_>>(),
        "verdict": told.verdict.as_str(), "reason": reason(&told.verdict), "depends_on_arguments": depends,
        "rules": rules.collect::<Vec<_>>(), "patterns": patterns.collect::<Vec<_>>(),
        "arguments": arguments.collect::<Vec<_>>(), "default": told.by_default.map(default_word),
    })
}

/// What the caller is told, for a call whose arguments are refused.
pub(super) fn reason(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Refused(refusal) => Some(refusal.to_string()),
        _ => None,
    }
}

fn default_word(allows: bool) -> &'static str {
    if allows { "allow" } else { "deny" }
}

/// The verdict, the rules, and below each what of it fits.
fn text(told: &Explanation, depends: bool) -> String {
    let mut out = match (reason(&told.verdict), depends) {
        (Some(reason), _) => format!("refused: {reason}\n"),
        (None, true) => "allowed, depending on its arguments: give them as the third word\n".to_owned(),
        (None, false) => format!("{}\n", told.verdict.as_str()),
    };
    let (mut unmet, mut left_out) = (0, 0);
    for rule in &told.rules {
        if let Some(condition) = &rule.unmet {
            unmet += 1;
            if unmet > MOST_UNMET {
                left_out += 1;
            } else {
                let _ = writeln!(out, "{} does not match: {condition}", named(rule));
            }
            continue;
        }
        let _ = writeln!(out, "{} matches", named(rule));
        let below = format!("{}.", rule.place);
        for found in told.patterns.iter().filter(|found| found.place.starts_with(&*below)) {
            let _ = writeln!(out, "  {} {:?}", found.place, found.pattern);
        }
        for found in told.arguments.iter().filter(|found| found.place.starts_with(&*below)) {
            let judged = found.refusal.as_deref().unwrap_or("permits the arguments");
            let _ = writeln!(out, "  {}: {judged}", found.place);
        }
        for found in told.identities.iter().filter(|found| found.place.starts_with(&*below)) {
            let _ = writeln!(out, "  {} {:?}", found.place, found.identity.as_str());
        }
    }
    if left_out > 0 {
        let _ = writeln!(out, "{left_out} more do not match");
    }
    match told.identity {
        Some(Identity::PerPrincipal) => out.push_str("calls use the caller's own sign-in\n"),
        Some(Identity::Shared) => out.push_str("calls use the sign-in of all callers\n"),
        None => {}
    }
    if let Some(allows) = told.by_default {
        let _ = writeln!(out, "no rule matches: default {}", default_word(allows));
    }
    out
}

fn named(rule: &RuleMatch) -> String {
    match &rule.name {
        Some(name) => format!("{} ({name})", rule.place),
        None => rule.place.to_string(),
    }
}
