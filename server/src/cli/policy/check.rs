//! `ptc policy check FILE`

use std::path::Path;
use std::process::ExitCode;

use ptc_host::visible::visible;
use ptc_mcp::json::json;

use super::{print_json, read, unusable};
use crate::cli::output::outln;

pub(super) fn run(path: &Path, json: bool) -> ExitCode {
    let policy = match read(path) {
        Ok(policy) => policy,
        Err(fault) => return unusable(&fault, json),
    };
    let (rules, remarks) = (policy.rules(), policy.remarks());
    let default = if policy.default_allows() { "allow" } else { "deny" };
    if json {
        print_json(
            &json!({"ok": true, "rules": rules, "default": default, "claims": policy.claims(), "remarks": remarks}),
        );
        return ExitCode::SUCCESS;
    }
    let plural = if rules == 1 { "" } else { "s" };
    outln!("{}: {rules} rule{plural}, default {default}", visible(&path.display().to_string()));
    let claims = policy.claims();
    if !claims.is_empty() {
        outln!("claims of tokens that rules ask for: {}", visible(&claims.join(", ")));
    }
    for remark in remarks {
        outln!("{}", visible(&remark));
    }
    ExitCode::SUCCESS
}
