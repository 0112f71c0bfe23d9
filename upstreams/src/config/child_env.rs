//! The environment of a stdio child: a short inherited list, then `inherit_env`, then `env` (rulings 32 and 33).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

use ptc_mcp::json::Value;

use super::fields::Fields;
use crate::child::ChildEnv;
use ptc_base::config_error::ConfigError;
use ptc_base::environment::{ProcessEnv, is_proxy_name, is_variable_name};
use ptc_secret::credentials::Secret;

/// Inherited by every child, besides prefixes, proxies and certificate authorities.
const INHERITED: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "TZ"];
const INHERITED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];
const CERTIFICATE_AUTHORITIES: [&str; 7] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
];

/// Builds the environment from the entry's `inherit_env` and `env`. `withheld` are the variables that credentials
/// are read from: a child gets one only if its entry names it. Values that `${VAR}` brought in are added to
/// `resolved`, for the redactor.
pub(super) fn child_env(
    fields: &Fields<'_>,
    env: &ProcessEnv,
    withheld: &BTreeSet<String>,
    resolved: &mut Vec<Secret>,
) -> Result<ChildEnv, ConfigError> {
    let mut vars: BTreeMap<OsString, OsString> = env
        .iter()
        .filter(|(name, _)| name.to_str().is_some_and(|name| is_inherited(name) && !withheld.contains(name)))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for name in fields.strings("inherit_env")?.unwrap_or_default() {
        if !is_variable_name(&name) {
            return Err(fields.error(format_args!("inherit_env has {name:?}, which is not a variable name")));
        }
        if let Some(value) = env.get(&name) {
            vars.insert(name.into(), value.to_owned());
        }
    }
    for (name, value) in fields.object("env")?.into_iter().flatten() {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(fields.error(format_args!("env has {name:?}, which is not a variable name")));
        }
        let value = match value {
            Value::String(text) => substitute(fields, name, text, env, resolved)?,
            Value::Number(number) => number.to_string().into(),
            Value::Bool(flag) => flag.to_string().into(),
            _ => {
                return Err(
                    fields.error(format_args!("env {name:?} must be a string, a number or a boolean"))
                );
            }
        };
        if value.as_encoded_bytes().contains(&0) {
            return Err(fields.error(format_args!("env {name:?} contains NUL")));
        }
        vars.insert(name.into(), value);
    }
    Ok(vars.into_iter().collect())
}

/// The variables of a child without those that every child inherits.
pub fn named_variables(env: &ChildEnv) -> ChildEnv {
    let is_named = |name: &OsStr| !name.to_str().is_some_and(is_inherited);
    env.vars()
        .filter(|(name, _)| is_named(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn is_inherited(name: &str) -> bool {
    INHERITED.contains(&name)
        || CERTIFICATE_AUTHORITIES.contains(&name)
        || INHERITED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || is_proxy_name(&name.to_ascii_uppercase())
}

/// Replaces every `${NAME}` and `${NAME:-default}` of an `env` value, in one pass: inserted values are not expanded again.
fn substitute(
    fields: &Fields<'_>,
    key: &str,
    text: &str,
    env: &ProcessEnv,
    resolved: &mut Vec<Secret>,
) -> Result<OsString, ConfigError> {
    let mut out = OsString::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push(before);
        let inside = after.split_once('}').map(|(inside, behind)| match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default), behind),
            None => (inside, None, behind),
        });
        let Some((name, default, behind)) = inside.filter(|(name, ..)| is_variable_name(name)) else {
            return Err(fields.error(format_args!(
                "env {key:?} has a malformed ${{ placeholder; write ${{NAME}}, a name of letters, digits and _"
            )));
        };
        let Some(value) = env.get(name) else {
            if let Some(default) = default {
                out.push(default);
                rest = behind;
                continue;
            }
            fields.lacks(format!(
                "upstreams_config: env var {name} is not set (referenced as ${{{name}}}) in env {key:?} of upstream {}",
                fields.upstream
            ))?;
            rest = behind;
            continue;
        };
        if let Some(value) = value.to_str() {
            resolved.push(Secret::new(value));
        }
        out.push(value);
        rest = behind;
    }
    out.push(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn build(
        entry: Value,
        env: &[(&str, &str)],
        withheld: &[&str],
    ) -> Result<(Vec<String>, Vec<Secret>), String> {
        let Value::Object(map) = entry else { panic!("an object") };
        let mut resolved = Vec::new();
        let child = child_env(
            &Fields::new("x", &map),
            &ProcessEnv::from_iter(env.iter().copied()),
            &withheld.iter().map(|s| (*s).to_owned()).collect(),
            &mut resolved,
        )
        .map_err(|e| e.to_string())?;
        let vars =
            child.vars().map(|(n, v)| format!("{}={}", n.to_str().unwrap(), v.to_str().unwrap())).collect();
        Ok((vars, resolved))
    }

    fn value_of(text: &str, env: &[(&str, &str)]) -> Result<String, String> {
        build(json!({"env": {"K": text}}), env, &[])
            .map(|(vars, _)| vars.iter().find_map(|v| v.strip_prefix("K=")).expect("K is set").to_owned())
    }

    #[test]
    fn inherits_a_short_list() {
        let parent = [
            ("PATH", "/bin"),
            ("HOME", "/h"),
            ("LC_ALL", "C"),
            ("XDG_RUNTIME_DIR", "/r"),
            ("TZ", "UTC"),
            ("https_proxy", "p"),
            ("NODE_EXTRA_CA_CERTS", "c"),
            ("SSL_CERT_FILE", "c"),
            ("PTC_RUNNER_MCP_HTTP_AUTH_TOKEN", "t"),
            ("PTC_HTTP_AUTH_TOKEN", "t"),
            ("OPENAI_API_KEY", "k"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("LD_PRELOAD", "x"),
            ("SSH_AUTH_SOCK", "s"),
        ];
        let (vars, _) = build(json!({}), &parent, &[]).unwrap();
        assert_eq!(
            vars,
            [
                "HOME=/h",
                "LC_ALL=C",
                "NODE_EXTRA_CA_CERTS=c",
                "PATH=/bin",
                "SSL_CERT_FILE=c",
                "TZ=UTC",
                "XDG_RUNTIME_DIR=/r",
                "https_proxy=p"
            ]
        );
    }

    #[test]
    fn named_variables_come_along_and_env_wins() {
        let parent = [("PATH", "/bin"), ("EXTRA", "e"), ("XDG_TOKEN", "cred"), ("PTC_RUNNER_X", "1")];
        let (vars, _) = build(json!({}), &parent, &["XDG_TOKEN"]).unwrap();
        assert_eq!(
            vars,
            ["PATH=/bin"],
            "a credential's variable is withheld even if a prefix would let it through"
        );
        let entry =
            json!({"inherit_env": ["EXTRA", "XDG_TOKEN", "UNSET", "PTC_RUNNER_X"], "env": {"PATH": "/opt"}});
        let (vars, _) = build(entry, &parent, &["XDG_TOKEN"]).unwrap();
        assert_eq!(vars, ["EXTRA=e", "PATH=/opt", "PTC_RUNNER_X=1", "XDG_TOKEN=cred"]);
    }

    #[test]
    fn placeholders_are_replaced_anywhere_in_one_pass() {
        let env = [("A", "${B}"), ("B", "b"), ("EMPTY", "")];
        assert_eq!(value_of("${A}", &env).unwrap(), "${B}", "no second pass");
        assert_eq!(value_of("x-${B}-${B}${EMPTY}.", &env).unwrap(), "x-b-b.");
        assert_eq!(
            value_of("${B:-d}${NONE:-d e}${NONE:-}", &env).unwrap(),
            "bd e",
            "defaults where nothing is set"
        );
        assert_eq!(value_of("$B $ {B} } $", &env).unwrap(), "$B $ {B} } $", "not placeholders");
    }

    #[test]
    fn unset_and_malformed_placeholders_abort() {
        let text = value_of("a${NOPE}b", &[]).unwrap_err();
        assert!(
            text.starts_with("upstreams_config: env var NOPE is not set (referenced as ${NOPE})"),
            "{text}"
        );
        for bad in ["${", "${A", "${}", "${9A}", "${A-B}", "${:-d}", "x${ A}"] {
            let text = value_of(bad, &[("A", "1")]).unwrap_err();
            assert!(text.starts_with("upstream x env \"K\" has a malformed ${ placeholder"), "{text}");
        }
    }

    #[test]
    fn resolved_values_go_to_the_redactor() {
        let (_, resolved) =
            build(json!({"env": {"K": "Bearer ${T}", "L": "plain"}}), &[("T", "token-123")], &[]).unwrap();
        assert_eq!(resolved.iter().map(Secret::open).collect::<Vec<_>>(), ["token-123"]);
    }

    #[test]
    fn values_become_strings() {
        let (vars, _) = build(json!({"env": {"N": 5, "B": true, "S": ""}}), &[], &[]).unwrap();
        assert_eq!(vars, ["B=true", "N=5", "S="]);
        assert_eq!(
            build(json!({"env": {"N": null}}), &[], &[]).unwrap_err(),
            "upstream x env \"N\" must be a string, a number or a boolean"
        );
        assert_eq!(build(json!({"env": []}), &[], &[]).unwrap_err(), "upstream x env must be an object");
        assert_eq!(
            build(json!({"env": {"A=B": "1"}}), &[], &[]).unwrap_err(),
            "upstream x env has \"A=B\", which is not a variable name"
        );
    }
}
