//! Tests on whole files: the exact text of each error, and the result of valid files.

use std::path::Path;
use std::time::Duration;

use ptc_mcp::json::{Value, json};

use super::*;
use ptc_secret::credentials::Redactor;

fn load_with(value: &Value, env: &[(&str, &str)]) -> Result<UpstreamsConfig, String> {
    let env = ProcessEnv::from_iter(env.iter().copied());
    let options = LoadOptions { env: &env, base_dir: Some(Path::new("/conf")), own_exe: None };
    UpstreamsConfig::from_value(value, &options).map_err(|e| e.to_string())
}

fn load(value: &Value) -> UpstreamsConfig {
    load_with(value, &[]).unwrap()
}

/// The error for a file whose only upstream is `x`.
fn entry_error(entry: Value) -> String {
    load_with(&json!({"upstreams": {"x": entry}}), &[]).unwrap_err()
}

#[test]
fn reads_the_three_transports() {
    let config = load_with(
        &json!({
            "credentials": {"github-pat": {"source": "env", "var": "GITHUB_PAT"}},
            "upstreams": {
                "github": {
                    "transport": "mcp_http",
                    "url": "https://api.example/mcp/",
                    "auth": [{"scheme": "bearer", "binding": "github-pat"}],
                    "static_headers": {"X-MCP-Readonly": "true"},
                    "timeout_ms": 1500,
                    "pool_size": 3,
                    "protocol": "handshake"
                },
                "fs": {
                    "transport": "mcp_stdio",
                    "command": "npx",
                    "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp/sandbox"],
                    "description": "Filesystem MCP server.",
                    "capabilities": ["files"],
                    "required": false,
                    "backoff_initial_ms": 5,
                    "tools": {"read": {"raw_envelope": true}}
                },
                "observatory": {
                    "transport": "openapi",
                    "base_url": "https://observatory.example/api",
                    "schema_file": "observatory.json",
                    "include_operations": ["list_traces", "get_trace"],
                    "operation_overrides": {"get_trace": {"default_args": {"summary": true}}}
                }
            }
        }),
        &[("GITHUB_PAT", "github_pat_11ABCDEFG0q8Zr2LxT0vKd")],
    )
    .unwrap();
    let names: Vec<_> = config.upstreams.iter().map(|u| (u.name.as_str(), u.transport.as_str())).collect();
    assert_eq!(names, [("fs", "mcp_stdio"), ("github", "mcp_http"), ("observatory", "openapi")]);
    assert_eq!(config.warnings, []);

    let fs = config.upstream("fs").unwrap();
    assert!(!fs.required);
    assert_eq!(
        (fs.description.as_str(), &fs.capabilities[..]),
        ("Filesystem MCP server.", &["files".to_owned()][..])
    );
    assert_eq!(fs.backoff, Backoff { initial: Duration::from_millis(5), max: Duration::from_secs(30) });
    assert!(fs.raw_envelope.for_tool("read") && !fs.raw_envelope.for_tool("write"));
    assert_eq!(fs.max_concurrency, 64);
    let Transport::Stdio(stdio) = &fs.transport else { panic!("stdio") };
    assert_eq!((stdio.command.as_str(), stdio.args.len(), stdio.protocol), ("npx", 3, Protocol::Auto));
    assert_eq!((stdio.handshake_timeout, stdio.request_timeout), (Duration::from_secs(60), None));

    let github = config.upstream("github").unwrap();
    assert_eq!(github.max_concurrency, 3);
    let Transport::Http(http) = &github.transport else { panic!("http") };
    assert_eq!((http.request_timeout, http.protocol), (Duration::from_millis(1500), Protocol::Handshake));
    let headers = http.auth.headers(&config.credentials).unwrap();
    let sent: Vec<_> = headers.iter().map(|(n, v)| format!("{n}: {}", v.to_str().unwrap())).collect();
    assert_eq!(sent, ["x-mcp-readonly: true", "authorization: Bearer github_pat_11ABCDEFG0q8Zr2LxT0vKd"]);

    let Transport::OpenApi(api) = &config.upstream("observatory").unwrap().transport else {
        panic!("openapi")
    };
    assert_eq!(api.schema, SchemaSource::File("/conf/observatory.json".into()));
    assert_eq!(api.include_operations, ["list_traces", "get_trace"]);
    assert_eq!(api.overrides["get_trace"].default_args, json!({"summary": true}).as_object().cloned());
    assert_eq!((api.request_timeout, api.schema_max_bytes), (Duration::from_secs(30), 2_097_152));
}

#[test]
fn nothing_resolved_shows_in_debug_output() {
    let config = load_with(
        &json!({
            "credentials": {"t": {"source": "literal", "value": "literal-sekrit"}},
            "upstreams": {
                "a": {"transport": "mcp_stdio", "command": "c", "env": {"K": "${V}"}},
                "b": {"transport": "mcp_http", "url": "https://h/", "auth": [{"scheme": "bearer", "binding": "t"}]}
            }
        }),
        &[("V", "resolved-sekrit")],
    )
    .unwrap();
    assert!(!format!("{config:?}").contains("sekrit"));
    let redactor = Redactor::new();
    config.register_secrets(&redactor).unwrap();
    assert_eq!(redactor.scrub("literal-sekrit resolved-sekrit"), "[REDACTED] [REDACTED]");
}

#[test]
fn file_level_errors() {
    let error = |value| load_with(&value, &[]).unwrap_err();
    assert_eq!(error(json!([1])), "upstreams config must be a JSON object");
    assert_eq!(error(json!({"upstreams": []})), "upstreams must be an object");
    assert_eq!(
        error(json!({})),
        "upstreams config: missing top-level :upstreams key; a client's file with mcpServers or servers is read too"
    );
    assert_eq!(error(json!({"upstreams": {"x": 1}})), "upstream x must be an object");
    assert_eq!(error(json!({"upstreams": {}, "raw_envelope": 1})), "raw_envelope must be a boolean");
    assert!(load(&json!({"upstreams": {}})).upstreams.is_empty());

    let env = ProcessEnv::default();
    let options = LoadOptions { env: &env, base_dir: None, own_exe: None };
    let error = |text| UpstreamsConfig::from_json(text, &options).unwrap_err().to_string();
    assert_eq!(
        error("{"),
        "upstreams config JSON decode failed: EOF while parsing an object at line 1 column 1"
    );
    assert!(error(r#"{"upstreams": {"a": {}, "a": {}}}"#).starts_with(
        r#"upstreams config JSON decode failed: the key "a" stands twice in one object at line 1"#
    ));
    assert!(error("{} x").starts_with("upstreams config JSON decode failed: trailing characters"));
}

#[test]
fn files_that_somebody_named_must_be_good() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("up.json");
    let env = ProcessEnv::default();
    let options = LoadOptions { env: &env, base_dir: None, own_exe: None };
    let load = |named_by| {
        UpstreamsConfig::load(&ConfigLocation { path: path.clone(), named_by }, &options)
            .map_err(|e| e.to_string())
    };
    let shown = path.display();
    assert!(load(NamedBy::Default).unwrap().is_none(), "only an absent default file means no upstreams");
    assert_eq!(
        load(NamedBy::Flag).unwrap_err(),
        format!("upstreams config: no such file or directory ({shown}, named by --upstreams-config)")
    );
    std::fs::write(&path, " \n").unwrap();
    for named_by in [NamedBy::Default, NamedBy::Variable(SERVER_VARIABLE[0])] {
        let text = load(named_by).unwrap_err();
        assert_eq!(
            text,
            format!("upstreams config JSON decode failed: the file is empty ({shown}, {named_by})")
        );
    }
    std::fs::write(
        &path,
        "\u{feff}{\"upstreams\": {\"a\": {\"transport\": \"openapi\", \"base_url\": \"https://h\", \
        \"schema_file\": \"s.json\", \"include_operations\": [\"x\"]}}}",
    )
    .unwrap();
    let config = load(NamedBy::Flag).unwrap().unwrap();
    let Transport::OpenApi(api) = &config.upstreams[0].transport else { panic!("openapi") };
    assert_eq!(api.schema, SchemaSource::File(dir.path().join("s.json")), "relative to the file's folder");
}

#[test]
fn transport_errors() {
    let transports = "mcp_stdio (with command), mcp_http (with url) or openapi (with base_url)";
    assert_eq!(
        entry_error(json!({"command": "x"})),
        format!("upstream x requires explicit transport; use {transports}")
    );
    assert_eq!(
        entry_error(json!({"transport": "http", "url": "https://x"})),
        r#"upstream x uses old transport "http"; use mcp_stdio or mcp_http"#
    );
    assert_eq!(
        entry_error(json!({"transport": "fake"})),
        format!(r#"upstream x has unsupported transport "fake"; use {transports}"#)
    );
    assert_eq!(
        entry_error(json!({"transport": 5})),
        format!("upstream x has unsupported transport 5; use {transports}")
    );
}

#[test]
fn stdio_errors() {
    let error = |mut entry: Value| {
        entry["transport"] = json!("mcp_stdio");
        entry_error(entry)
    };
    assert_eq!(error(json!({})), "upstream x requires command");
    assert_eq!(error(json!({"command": ""})), "upstream x requires command");
    assert_eq!(error(json!({"command": "c", "args": "a"})), "upstream x args must be a list of strings");
    assert_eq!(error(json!({"command": "c", "env": []})), "upstream x env must be an object");
    assert_eq!(error(json!({"command": "c", "cd": 1})), "upstream x cd must be a string");
    assert_eq!(
        error(json!({"command": "c", "handshake_timeout_ms": 0})),
        "upstream x handshake_timeout_ms must be a positive integer"
    );
    assert_eq!(
        error(json!({"command": "c", "protocol": "old"})),
        r#"upstream x protocol must be auto, handshake or modern, got "old""#
    );
    assert_eq!(
        error(json!({"command": "c", "timeout_ms": 1, "request_timeout_ms": 1})),
        "upstream x sets both request_timeout_ms and timeout_ms; they mean the same, keep one"
    );
    assert_eq!(error(json!({"command": "c", "required": "no"})), "upstream x required must be a boolean");
    assert_eq!(error(json!({"command": "c", "serial": 1})), "upstream x serial must be a boolean");
    assert_eq!(
        error(json!({"command": "c", "max_connections": 0})),
        "upstream x max_connections must be a positive integer"
    );
    assert_eq!(error(json!({"command": "c", "sampling": "yes"})), "upstream x sampling must be a boolean");
    assert_eq!(
        error(json!({"command": "c", "tools": {"t": true}})),
        r#"upstream x tools "t" must be an object {"raw_envelope": boolean}"#
    );
    assert_eq!(
        error(json!({"command": "c", "env": {"A": "${UNSET_VAR_X}"}})),
        r#"upstreams_config: env var UNSET_VAR_X is not set (referenced as ${UNSET_VAR_X}) in env "A" of upstream x"#
    );
}

#[test]
fn http_errors_in_their_order() {
    let mut file = json!({
        "credentials": {"tok": {"source": "literal", "value": "x"}},
        "upstreams": {"x": {"transport": "mcp_http", "auth": 5, "static_headers": 5}}
    });
    let mut step = |change: Value, expected: &str| {
        for (key, value) in change.as_object().unwrap() {
            file["upstreams"]["x"][key] = value.clone();
        }
        assert_eq!(load_with(&file, &[]).unwrap_err(), expected);
    };
    step(json!({}), "upstream x auth must be a list");
    step(
        json!({"auth": [{"scheme": "custom_header", "binding": "nope", "header": "X-K"}]}),
        "upstream x static_headers must be an object",
    );
    step(json!({"static_headers": {"x-k": "v"}}), "upstream x references unknown credential binding nope");
    step(
        json!({"auth": [{"scheme": "custom_header", "binding": "tok", "header": "X-K"}]}),
        "upstream x requires url",
    );
    step(
        json!({"url": "http://127.0.0.1:1/mcp"}),
        r#"upstream x url "http://127.0.0.1:1/mcp" uses http:// without allow_insecure_http; write https://, or "allow_insecure_http": true if nobody else can read along"#,
    );
    step(
        json!({"allow_insecure_http": true}),
        "upstream x uses http:// with auth but allow_insecure_auth is not true",
    );
    step(
        json!({"allow_insecure_auth": true}),
        r#"upstream x configures header "X-K" in both auth and static_headers"#,
    );
    step(
        json!({"static_headers": {}, "connect_timeout_ms": "5"}),
        "upstream x connect_timeout_ms must be a positive integer",
    );
    step(
        json!({"connect_timeout_ms": 5}),
        "credential tok is shorter than 8 bytes, too short to be scrubbed from text; use a longer secret, \
         or set \"allow_short\": true in its binding",
    );
}

#[test]
fn the_auth_gate_asks_whether_credentials_travel_in_the_clear() {
    let file = |url: &str, opt_in: Value| {
        json!({
            "credentials": {"tok": {"source": "literal", "value": "long-enough"}},
            "upstreams": {"x": {"transport": "mcp_http", "url": url, "allow_insecure_http": true,
                "allow_insecure_auth": opt_in, "auth": [{"scheme": "bearer", "binding": "tok"}]}}
        })
    };
    load(&file("https://h/", json!(false)));
    load(&file("http://h/", json!(true)));
    assert_eq!(
        load_with(&file("http://h/", json!("true")), &[]).unwrap_err(),
        "upstream x allow_insecure_auth must be a boolean",
        "a typo in a security opt-in does not pass unseen"
    );
}

#[test]
fn openapi_errors_in_their_order() {
    let mut file = json!({"upstreams": {"x": {"transport": "openapi", "schema_url": 5}}});
    let mut step = |change: Value, expected: &str| {
        for (key, value) in change.as_object().unwrap() {
            file["upstreams"]["x"][key] = value.clone();
        }
        assert_eq!(load_with(&file, &[]).unwrap_err(), expected);
    };
    step(json!({}), "upstream x requires base_url");
    step(json!({"base_url": "https://h/?q=1"}), "upstream x base_url must not have a query or a fragment");
    step(
        json!({"base_url": "h"}),
        r#"upstream x has malformed base_url "h"; write https:// before the host"#,
    );
    step(json!({"base_url": "https://h"}), "upstream x schema_url must be a string");
    step(
        json!({"schema_url": "http://h/s"}),
        r#"upstream x schema_url "http://h/s" uses http:// without allow_insecure_http; write https://, or "allow_insecure_http": true if nobody else can read along"#,
    );
    step(json!({"schema_url": "https://h/s"}), "upstream x requires non-empty include_operations");
    step(json!({"include_operations": []}), "upstream x requires non-empty include_operations");
    step(json!({"include_operations": [1]}), "upstream x requires non-empty include_operations");
    step(
        json!({"include_operations": ["a", "a"]}),
        r#"upstream x lists operation "a" twice in include_operations"#,
    );
    step(
        json!({"include_operations": ["a"], "schema_file": "f"}),
        "upstream x must set exactly one of schema_file or schema_url",
    );
    step(
        json!({"schema_url": "", "schema_file": ""}),
        "upstream x must set exactly one of schema_file or schema_url",
    );
    step(
        json!({"schema_file": "f", "operation_overrides": {"a": {"default_args": 5}}}),
        r#"upstream x operation_overrides "a" default_args must be an object"#,
    );
}

#[test]
fn a_key_that_guards_something_is_not_ignored() {
    let error = |key: &str, value: Value| {
        let mut entry = json!({"transport": "mcp_stdio", "command": "c"});
        entry[key] = value;
        entry_error(entry)
    };
    for (key, near) in [
        ("alow_tools", "allow_tools"),
        ("allowTools", "allow_tools"),
        ("deny_tool", "deny_tools"),
        ("aprove", "approve"),
        ("approveTools", "approve_tools"),
        ("Disabled", "disabled"),
        ("inheritEnv", "inherit_env"),
    ] {
        assert_eq!(
            error(key, json!(["read"])),
            format!("upstream x has unknown key {key:?}; did you mean {near}?")
        );
    }
    assert_eq!(
        error("headers", json!({})),
        "upstream x has headers, which is no key of an upstreams file; write static_headers, and auth with a credential binding \
         for a secret"
    );
    assert_eq!(
        error("Authorization", json!("Bearer x")),
        "upstream x has Authorization, which is no key of an upstreams file; write auth with a credential binding"
    );
    assert_eq!(error("auth", json!([])), "upstream x has auth, which means nothing for mcp_stdio; remove it");
    assert_eq!(
        error("approval_required_for", json!([])),
        "upstream x has approval_required_for, which this version does not know; remove it"
    );
    assert_eq!(error("disabled", json!("yes")), "upstream x disabled must be a boolean");
}

#[test]
fn a_disabled_upstream_is_not_looked_at() {
    let config = load(&json!({"upstreams": {"x": {"disabled": true, "transport": "none yet"}}}));
    assert_eq!(config.upstreams.len(), 0);
    assert_eq!(config.warnings[0].message, "upstream x is disabled in the upstreams file");
}

#[test]
fn commands_that_only_a_shell_understands() {
    let error =
        |entry: Value| load_with(&json!({"upstreams": {"x": entry}}), &[("HOME", "/home/u")]).unwrap_err();
    assert_eq!(
        error(json!({"transport": "mcp_stdio", "command": "npx -y foo", "args": ["--bar"]})),
        r#"upstream x command "npx -y foo" is no program: it holds arguments; write "command": "npx", "args": ["-y", "foo", "--bar"]"#
    );
    assert_eq!(
        error(json!({"transport": "mcp_stdio", "command": "~/bin/server"})),
        r#"upstream x command begins with ~, which only a shell replaces; write "/home/u/bin/server""#
    );
    assert_eq!(
        error(json!({"transport": "mcp_stdio", "command": "c", "cwd": "~/work"})),
        r#"upstream x cd begins with ~, which only a shell replaces; write "/home/u/work""#
    );
    let warned = |entry: Value| load(&json!({"upstreams": {"x": entry}})).warnings.len();
    for (args, warnings) in
        [(json!(["~/docs"]), 1), (json!(["${HOME}/x"]), 1), (json!(["a~b", "$x", "${"]), 0)]
    {
        assert_eq!(warned(json!({"transport": "mcp_stdio", "command": "c", "args": args})), warnings);
        assert_eq!(
            warned(json!({"transport": "mcp_stdio", "command": "/bin/sh", "args": ["-c", "${HOME}"]})),
            0
        );
    }
}

#[test]
fn oddities_are_warnings() {
    let events =
        |value: Value| load(&value).warnings.into_iter().map(|w| (w.event, w.message)).collect::<Vec<_>>();
    assert_eq!(
        events(
            json!({"upstreams": {"str": {"transport": "mcp_stdio", "command": "c", "url": "u", "comand": 1}},
            "$schema": "s", "upstream": 1})
        ),
        [
            (
                "upstreams_config_unknown_keys",
                "upstream str has unknown keys, which are ignored: url, comand (did you mean command?)"
                    .to_owned()
            ),
            (
                "upstream_name_shadowed",
                "upstream str has the name of a local namespace or class, which dir and doc show instead"
                    .to_owned()
            ),
            (
                "upstreams_config_unknown_keys",
                "the upstreams file has unknown keys, which are ignored: upstream".to_owned()
            ),
        ]
    );
    let other_origin = events(json!({
        "credentials": {"t": {"source": "literal", "value": "long-enough"}},
        "upstreams": {"x": {"transport": "openapi", "base_url": "https://h", "schema_url": "https://other/s",
            "include_operations": ["a"], "operation_overrides": {"b": {}},
            "auth": [{"scheme": "bearer", "binding": "t"}]}}
    }));
    let names: Vec<_> = other_origin.iter().map(|(event, _)| *event).collect();
    assert_eq!(
        names,
        [
            "credentials_literal_binding",
            "schema_url_other_origin",
            "operation_override_unused",
            "credential_guessable"
        ]
    );
    assert!(other_origin[1].1.contains("the schema host other too"), "{}", other_origin[1].1);
}

#[test]
fn every_upstream_at_fault_is_named() {
    let file = json!({"upstreams": {
        "b": {"transport": "mcp_stdio"},
        "a": {"transport": "stdio", "command": "x"},
        "good": {"transport": "mcp_stdio", "command": "x"}}});
    let options = LoadOptions { env: &ProcessEnv::default(), base_dir: None, own_exe: None };
    let error = UpstreamsConfig::from_value(&file, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "upstream a uses old transport \"stdio\"; use mcp_stdio or mcp_http\nupstream b requires command"
    );
    assert_eq!(error.part, ptc_base::config_error::ConfigPart::Upstream("a".to_owned()));
}

#[test]
fn the_first_error_is_that_of_the_credentials() {
    let text = load_with(
        &json!({
            "credentials": {"t": {"source": "env", "var": "UNSET_VAR_X"}},
            "upstreams": {"x": {"transport": "nonsense"}}
        }),
        &[],
    )
    .unwrap_err();
    assert_eq!(text, "credential t env UNSET_VAR_X is not set");
}

#[test]
fn the_documented_example_loads() {
    let text = include_str!("../../../docs/guide/upstreams.md");
    let example =
        text.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let config = load_with(
        &serde_json::from_str(example).unwrap(),
        &[("GITHUB_PAT", "github_pat_11ABCDEFG0q8Zr2LxT0vKd"), ("OBSERVATORY_TOKEN", "q8Zr2LxT0vKd5NfBw7Yc")],
    );
    let config = config.unwrap();
    assert_eq!((config.upstreams.len(), &config.warnings[..]), (3, &[][..]));
}

#[test]
fn what_is_not_set_takes_out_those_that_one_can_go_without() {
    let http = |required: bool, binding: &str| {
        json!({"transport": "mcp_http", "url": "https://h/mcp", "required": required,
            "auth": [{"scheme": "bearer", "binding": binding}]})
    };
    let credentials = json!({
        "here": {"source": "env", "var": "HERE"},
        "gone": {"source": "env", "var": "GONE"},
        "lost": {"source": "file", "path": "/nonexistent/token"},
    });
    let file = |upstreams: Value| json!({"credentials": credentials, "upstreams": upstreams});
    let env = [("HERE", "a-token-of-24-characters")];

    let config = load_with(
        &file(json!({
            "a": http(true, "here"), "b": http(false, "gone"), "c": http(false, "lost"),
            "d": {"transport": "mcp_stdio", "command": "c", "required": false, "env": {"K": "x${GONE}"}},
            "e": {"transport": "mcp_http", "url": "https://h/mcp", "required": false, "proxy": "http://p:1", "proxy_auth": "gone"},
        })),
        &env,
    )
    .unwrap();
    let unset: Vec<_> = config.upstreams.iter().map(|u| u.unset.as_deref()).collect();
    let sentences = [
        "credential gone env GONE is not set",
        "credential lost: no such file or directory (/nonexistent/token)",
        "upstreams_config: env var GONE is not set (referenced as ${GONE}) in env \"K\" of upstream d",
    ];
    assert_eq!(unset, [None, Some(sentences[0]), Some(sentences[1]), Some(sentences[2]), Some(sentences[0])]);
    let told: Vec<_> = config.warnings.iter().filter(|w| w.event == "upstream_not_loaded").collect();
    assert_eq!(told.len(), 4);
    assert_eq!(
        told[0].message,
        "upstream b is not required and is left out: credential gone env GONE is not set"
    );

    // All that is missing and needed is named at once; what nobody uses counts as needed.
    let needed = file(json!({"a": http(true, "gone"), "b": http(false, "gone")}));
    assert_eq!(load_with(&needed, &env).unwrap_err(), format!("{}\n{}", sentences[0], sentences[1]));
    let disabled = json!({"transport": "mcp_http", "disabled": true, "auth": [{"binding": "lost"}]});
    let unused = file(json!({"b": http(false, "gone"), "off": disabled}));
    assert!(load_with(&unused, &env).is_ok());
    // A binding that is wrong in itself is no matter of what is set.
    let wrong = json!({"credentials": {"t": {"source": "env"}}, "upstreams": {"b": http(false, "t")}});
    assert!(load_with(&wrong, &env).is_err());
}

#[test]
fn a_ca_file_is_read_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty.pem"), "no certificate").unwrap();
    let env = ProcessEnv::from_iter([("HOME", "/home/u")]);
    let options = LoadOptions { env: &env, base_dir: Some(folder.path()), own_exe: None };
    let error = |url: &str, text: Value| {
        let entry =
            json!({"transport": "mcp_http", "url": url, "allow_insecure_http": true, "ca_file": text});
        UpstreamsConfig::from_value(&json!({"upstreams": {"x": entry}}), &options).unwrap_err().to_string()
    };
    let missing = folder.path().join("missing.pem").display().to_string();
    for (url, text, expected) in [
        (
            "https://h/",
            json!("missing.pem"),
            format!("upstream x ca file {missing}: no such file or directory"),
        ),
        ("https://h/", json!(missing), format!("upstream x ca file {missing}: no such file or directory")),
        ("https://h/", json!(5), "upstream x ca_file must be a string".to_owned()),
        (
            "https://h/",
            json!("~/ca.pem"),
            "upstream x ca_file begins with ~, which only a shell replaces; write \"/home/u/ca.pem\""
                .to_owned(),
        ),
        (
            "http://h/",
            json!("empty.pem"),
            "upstream x sets ca_file, but without https there is no certificate; remove the key".to_owned(),
        ),
    ] {
        assert_eq!(error(url, text), expected);
    }
    assert!(error("https://h/", json!("empty.pem")).contains("no certificate in it; it must be PEM"));
}

#[test]
fn keys_that_would_choose_a_way_or_whom_to_trust_are_not_ignored() {
    let error = |key: &str, transport: &str| {
        let mut entry = json!({"transport": transport, "url": "https://h/", "command": "c"});
        entry.as_object_mut().unwrap().remove(if transport == "mcp_stdio" { "url" } else { "command" });
        entry[key] = json!("v");
        load_with(&json!({"upstreams": {"x": entry}}), &[]).unwrap_err()
    };
    for (key, words) in [
        ("cafile", "did you mean ca_file?"),
        ("ca_flie", "did you mean ca_file?"),
        ("proxi", "did you mean proxy?"),
        ("unix_sock", "did you mean unix_socket?"),
        ("https_proxy", "write proxy"),
        ("cacert", "write ca_file"),
        ("rejectUnauthorized", "certificates are always checked"),
        ("Insecure", "certificates are always checked"),
    ] {
        assert!(error(key, "mcp_http").contains(words), "{key}: {}", error(key, "mcp_http"));
    }
    for key in ["ca_file", "proxy", "unix_socket"] {
        assert_eq!(
            error(key, "mcp_stdio"),
            format!("upstream x has {key}, which means nothing for mcp_stdio; remove it")
        );
    }
}

/// The error for an HTTP entry with this `auth`.
fn auth_error(auth: Value) -> String {
    let file = json!({
        "credentials": {"secret": {"source": "literal", "value": "a-client-secret-of-32-characters"}},
        "upstreams": {"x": {"transport": "mcp_http", "url": "https://h/mcp", "auth": auth}}
    });
    load_with(&file, &[]).unwrap_err()
}

fn sign_in_of(auth: Value) -> OAuthConfig {
    let file = json!({
        "credentials": {"secret": {"source": "literal", "value": "a-client-secret-of-32-characters"}},
        "upstreams": {"x": {"transport": "mcp_http", "url": "https://h/mcp#part", "auth": auth}}
    });
    let config = load(&file);
    let Transport::Http(entry) = &config.upstreams[0].transport else { panic!("an mcp_http entry") };
    assert_eq!(entry.url_text, "https://h/mcp");
    (**entry.oauth.as_ref().unwrap()).clone()
}

#[test]
fn a_sign_in_has_defaults_for_all_but_its_type() {
    let plain = sign_in_of(json!({"type": "oauth"}));
    assert_eq!(plain.client, OAuthClient::Auto);
    assert_eq!((plain.scopes, plain.resource, plain.issuer, plain.idp), (None, None, None, None));
    assert_eq!(plain.redirect.uri(plain.redirect.port), "http://127.0.0.1:33418/callback");
    assert_eq!((plain.grant, plain.identity), (OAuthGrant::AuthorizationCode, OAuthIdentity::PerPrincipal));
    assert!(plain.legacy_discovery && plain.allow_hosts.is_empty());
    let machine = sign_in_of(json!({
        "type": "oauth", "grant": "client_credentials", "client": {"id": "i", "secret": "secret"}, "scopes": [],
        "redirect": {"host": "::1", "port": 0}, "resource": "", "relax": ["missing_pkce"], "allow_hosts": ["AS.internal"]
    }));
    assert_eq!(machine.identity, OAuthIdentity::Shared);
    assert_eq!(machine.scopes, Some(Vec::new()));
    assert_eq!(machine.redirect.uri(7), "http://[::1]:7/callback");
    assert_eq!(machine.allow_hosts, ["as.internal"]);
    assert_eq!(machine.remarks().len(), 2);
    assert_eq!(machine.bindings().collect::<Vec<_>>(), ["secret"]);
}

#[test]
fn sign_ins_are_refused_with_the_texts_of_their_table() {
    for (auth, text) in [
        (json!(5), " must be a list"),
        (json!({"type": "basic"}), ".type must be \"oauth\", got \"basic\""),
        (json!({}), ".type must be \"oauth\", got nothing"),
        (json!({"type": "oauth", "scops": []}), " has unknown key \"scops\"; did you mean scopes?"),
        (
            json!({"type": "oauth", "client": {"id": "i", "secret": "secret", "key_file": "k"}}),
            ".client must not have both secret and key_file",
        ),
        (
            json!({"type": "oauth", "client": "x"}),
            ".client must be \"auto\", {\"id\": …} or {\"metadata_url\": …}, got \"x\"",
        ),
        (
            json!({"type": "oauth", "client": {"metadata_url": "http://h/c"}}),
            ".client.metadata_url must be an https URL with a path, got \"http://h/c\"",
        ),
        (
            json!({"type": "oauth", "scopes": ["a b"]}),
            ".scopes must be null or a list of scopes, each without spaces, got [\"a b\"]",
        ),
        (json!({"type": "oauth", "resource": 1}), ".resource must be null or a string, got 1"),
        (
            json!({"type": "oauth", "redirect": {"host": "h.example"}}),
            ".redirect.host must be localhost or a loopback address, got \"h.example\"",
        ),
        (
            json!({"type": "oauth", "redirect": {"port": 65536}}),
            ".redirect.port must be an integer from 0 to 65535, got 65536",
        ),
        (
            json!({"type": "oauth", "redirect": {"path": "c"}}),
            ".redirect.path must be a path that begins with /, got \"c\"",
        ),
        (
            json!({"type": "oauth", "grant": "password"}),
            ".grant must be \"authorization_code\", \"device_code\", \"client_credentials\" or \"id_jag\", got \"password\"",
        ),
        (
            json!({"type": "oauth", "identity": "mine"}),
            ".identity must be \"per_principal\" or \"shared\", got \"mine\"",
        ),
        (
            json!({"type": "oauth", "legacy_discovery": true}),
            ".legacy_discovery must be \"login_only\" or \"never\", got true",
        ),
        (
            json!({"type": "oauth", "issuer": "http://as"}),
            ".issuer must be null or an https URL without query, got \"http://as\"",
        ),
        (
            json!({"type": "oauth", "relax": ["pkce"]}),
            ".relax must be a list of \"missing_issuer\" and \"missing_pkce\", got [\"pkce\"]",
        ),
        (
            json!({"type": "oauth", "allow_hosts": ["https://h"]}),
            ".allow_hosts must be a list of host names, without scheme and port, got [\"https://h\"]",
        ),
        (
            json!({"type": "oauth", "grant": "client_credentials", "client": {"id": "i"}}),
            ".grant \"client_credentials\" needs auth.client with an id and a secret or key_file",
        ),
        (
            json!({"type": "oauth", "grant": "id_jag", "client": {"id": "i", "secret": "secret"}}),
            ".grant \"id_jag\" needs auth.idp with token_endpoint, client, subject_token and subject_token_type",
        ),
        (
            json!({"type": "oauth", "grant": "client_credentials", "identity": "per_principal", "client": {"id": "i", "secret": "secret"}}),
            ".grant \"client_credentials\" acts for no person; identity must be \"shared\"",
        ),
    ] {
        assert_eq!(auth_error(auth.clone()), format!("upstream x auth{text}"), "{auth}");
    }
    assert_eq!(
        auth_error(json!({"type": "oauth", "client": {"id": "i", "secret": "other"}})),
        "upstream x references unknown credential binding other"
    );
    assert_eq!(
        entry_error(json!({"transport": "mcp_stdio", "command": "c", "auth": {"type": "oauth"}})),
        "upstream x auth of type \"oauth\" needs transport mcp_http or openapi"
    );
    let plain = |url: &str| json!({"transport": "mcp_http", "url": url, "auth": {"type": "oauth"}, "allow_insecure_http": true, "allow_insecure_auth": true});
    assert_eq!(
        entry_error(plain("http://h/mcp")),
        "upstream x uses http:// with OAuth; only loopback hosts may"
    );
    for url in ["http://localhost:1/mcp", "http://127.8.0.1/mcp", "http://[::1]:1/mcp"] {
        load(&json!({"upstreams": {"x": plain(url)}}));
    }
}

#[test]
fn the_private_key_of_a_client_is_read_once_and_scrubbed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key.pem");
    let line = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgabcdefghijklmnop";
    std::fs::write(&path, format!("-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----\n"))
        .unwrap();
    let file = |path: &Path| {
        json!({"upstreams": {"x": {"transport": "mcp_http", "url": "https://h/mcp", "auth": {
            "type": "oauth", "grant": "client_credentials", "client": {"id": "i", "key_file": path}}}}})
    };
    let config = load(&file(&path));
    let redactor = Redactor::new();
    config.register_secrets(&redactor).unwrap();
    assert_eq!(redactor.scrub(&format!("<{line}>")), "<[REDACTED]>");
    assert_eq!(
        load_with(&file(Path::new("no-such.pem")), &[]).unwrap_err(),
        "upstream x auth.client.key_file: no such file or directory (/conf/no-such.pem)"
    );
    std::fs::write(&path, "-----BEGIN EC PRIVATE KEY-----").unwrap();
    assert!(load_with(&file(&path), &[]).unwrap_err().contains("must be a private key in PEM of PKCS#8"));
}

#[test]
fn an_entry_is_the_same_as_long_as_its_keys_secrets_and_files_are() {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("key.pem");
    let is_same = |value: [&Value; 2], pat: [&str; 2], pem: [&str; 2]| {
        let [one, other] = [0, 1].map(|at| {
            let text = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", pem[at]);
            std::fs::write(&key, text).unwrap();
            load_with(value[at], &[("PAT", pat[at]), ("OTHER", "unused-unused-unused")]).unwrap()
        });
        let [entry, others] = [&one, &other].map(|config| config.upstream("x").unwrap());
        let others = (others, &other.credentials);
        let is_same = entry.is_same(&one.credentials, others);
        assert!(
            entry.connects_as(&one.credentials, others) || !is_same,
            "one that is the same connects as it did"
        );
        is_same
    };
    let (pat, line) =
        ("0123456789abcdef", "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgabcdefghijklmnop");
    let bearer = json!({"credentials": {"pat": {"source": "env", "var": "PAT"}}, "upstreams": {"x":
        {"transport": "mcp_http", "url": "https://h/mcp", "auth": [{"scheme": "bearer", "binding": "pat"}]}}});
    let child =
        json!({"upstreams": {"x": {"transport": "mcp_stdio", "command": "c", "env": {"KEY": "${PAT}"}}}});
    for value in [&bearer, &child] {
        assert!(is_same([value; 2], [pat; 2], [line; 2]), "{value}");
        assert!(!is_same([value; 2], [pat, "fedcba9876543210"], [line; 2]), "{value}");
        let mut described = value.clone();
        described["upstreams"]["x"]["description"] = "another".into();
        assert!(!is_same([value, &described], [pat; 2], [line; 2]), "{value}");
    }
    let mut more = bearer.clone();
    more["credentials"]["unused"] = json!({"source": "env", "var": "OTHER"});
    assert!(is_same([&bearer, &more], [pat; 2], [line; 2]), "it names no other secret");
    let oauth = json!({"upstreams": {"x": {"transport": "mcp_http", "url": "https://h/mcp", "auth": {
        "type": "oauth", "grant": "client_credentials", "client": {"id": "i", "key_file": key}}}}});
    assert!(is_same([&oauth; 2], [pat; 2], [line; 2]));
    assert!(!is_same([&oauth; 2], [pat; 2], [line, &line.replace('a', "b")]), "the file holds another key");
}
