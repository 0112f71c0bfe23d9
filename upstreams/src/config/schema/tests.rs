//! The schema, our validator of it, a validator that others wrote, and what reads the file agree.

use std::collections::BTreeSet;

use ptc_mcp::json::json;

use super::*;
use crate::config::{LoadOptions, ProcessEnv, UpstreamsConfig};

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn read(file: &Value) -> Result<UpstreamsConfig, ConfigError> {
    let env = ProcessEnv::from_iter([("TOKEN", "a-token-of-24-characters"), ("HOME", "/home/u")]);
    UpstreamsConfig::from_value(file, &LoadOptions { env: &env, base_dir: None, own_exe: None })
}

fn with(entry: Value) -> Value {
    json!({"upstreams": {"x": entry}})
}

/// A whole entry of each transport.
fn entries() -> [Value; 4] {
    [
        json!({"transport": "mcp_stdio", "command": "c"}),
        json!({"transport": "mcp_http", "url": "https://h/mcp"}),
        json!({"transport": "mcp_sse", "url": "https://h/sse"}),
        json!({"transport": "openapi", "base_url": "https://h", "schema_file": "s", "include_operations": ["a"]}),
    ]
}

/// Objects that may stand under `auth`: a whole one, and it with one key left out, added or changed.
fn sign_ins() -> Vec<Value> {
    let whole = json!({
        "type": "oauth", "client": {"id": "c", "secret": "t"}, "scopes": ["a:b"], "resource": "r", "redirect": {"host": "localhost", "port": 1, "path": "/c"},
        "grant": "client_credentials", "identity": "shared", "legacy_discovery": "never", "issuer": "https://as/t", "relax": ["missing_pkce"], "allow_hosts": ["h"]
    });
    let odd = [
        json!(null),
        json!(5),
        json!(""),
        json!("auto"),
        json!("shared"),
        json!("device_code"),
        json!("https://as"),
        json!("https://as?q"),
        json!([]),
        json!(["a b"]),
        json!(["a"]),
        json!({}),
        json!({"id": "c"}),
        json!({"id": "c", "secret": "t", "key_file": "k"}),
        json!({"id": "c", "metadata_url": "https://h/x"}),
        json!({"metadata_url": "https://h/x"}),
        json!({"metadata_url": "https://h"}),
        json!({"host": "h"}),
        json!({"port": 70000}),
        json!({"port": -1}),
        json!({"path": "c"}),
        json!({"token_endpoint": "https://i/t", "client": {"id": "c"}, "subject_token": "t", "subject_token_type": "x"}),
        json!({"token_endpoint": "https://i/t", "client": {"id": "c"}, "subject_token_type": "x"}),
    ];
    let mut all = vec![
        whole.clone(),
        json!({"type": "oauth"}),
        json!({"type": "basic"}),
        json!({"type": "oauth", "scops": []}),
    ];
    for key in whole.as_object().unwrap().keys().map(String::as_str).chain(["idp"]) {
        for value in &odd {
            let mut changed = whole.clone();
            changed[key] = value.clone();
            all.push(changed);
        }
        let mut less = whole.clone();
        less.as_object_mut().unwrap().remove(key);
        all.push(less);
    }
    all
}

/// Files of all kinds, and each with one key left out, added or changed.
fn files() -> Vec<Value> {
    let odd = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(7),
        json!(""),
        json!("x"),
        json!("client"),
        json!("/a"),
        json!("https://other/x"),
        json!("ftp://h/x"),
        json!("https:///x"),
        json!([]),
        json!(["a"]),
        json!(["a", "a"]),
        json!([""]),
        json!(["/a"]),
        json!([1]),
        json!({}),
        json!({"a": "b"}),
        json!({"a": 1}),
        json!({"a": null}),
        json!({"a": {"raw_envelope": true}}),
        json!({"a": {"raw_envelope": 1}}),
        json!({"a": {"default_args": {}, "name": null}}),
        json!({"a": {"unknown": 1}}),
        json!([{"scheme": "bearer", "binding": "t"}]),
        json!([{"scheme": "bearer"}]),
        json!([{"scheme": "digest", "binding": "t"}]),
        json!([{"scheme": "api_key", "binding": "t"}]),
        json!([{"scheme": "api_key", "binding": "t", "header": "X-Key"}]),
    ];
    let token = json!({"t": {"source": "env", "var": "TOKEN"}});
    let whole = |entry: &Value| json!({"credentials": token, "upstreams": {"x": entry}});
    let schema = schema();
    let mut files =
        vec![json!({"$schema": "s", "upstreams": {}}), json!({}), json!([]), json!({"upstreams": {"": {}}})];
    for (key, value) in [("upstreams", 5), ("credentials", 5), ("raw_envelope", 5), ("approval", 5)] {
        files.push(json!({"upstreams": {}, key: value}));
    }
    for key in ["approve", "approve_tools", "approve_level", "approve_all"] {
        for value in odd.iter().chain(&[json!("writes"), json!("out_of_band")]) {
            files.push(json!({"upstreams": {}, "approval": {key: value.clone()}}));
        }
    }
    for entry in entries() {
        files.push(whole(&entry));
        let transport = entry["transport"].as_str().unwrap();
        for key in entry.as_object().unwrap().keys() {
            let mut less = entry.clone();
            less.as_object_mut().unwrap().remove(key);
            files.push(whole(&less));
        }
        let keys = |name: &str| schema["$defs"][name]["properties"].as_object().unwrap().keys().cloned();
        let keys: BTreeSet<String> = keys("upstream").chain(keys("enabled")).chain(keys(transport)).collect();
        for key in keys {
            let sign_ins = if key == "auth" { sign_ins() } else { Vec::new() };
            for value in odd.iter().chain(&sign_ins) {
                let mut changed = entry.clone();
                changed[key.as_str()] = value.clone();
                files.push(whole(&changed));
            }
        }
        for word in [
            "mcp_stdio",
            "mcp_http",
            "stdio",
            "http",
            "auto",
            "debug",
            "handshake",
            "environment",
            "http://p:1",
        ] {
            for key in ["transport", "protocol", "log_level", "proxy"] {
                let mut changed = entry.clone();
                changed[key] = json!(word);
                files.push(whole(&changed));
            }
        }
        for twins in [
            ["max_concurrency", "pool_size"],
            ["timeout_ms", "request_timeout_ms"],
            ["cd", "cwd"],
            ["schema_file", "schema_url"],
        ] {
            let mut changed = entry.clone();
            for key in twins {
                changed[key] = if key.ends_with("url") {
                    json!("https://h/s")
                } else if twins[0] == "cd" {
                    json!("/a")
                } else {
                    json!(7)
                };
            }
            files.push(whole(&changed));
        }
    }
    for source in ["env", "file", "literal", "exec", ""] {
        for key in ["var", "path", "value"] {
            for value in [json!("TOKEN"), json!(""), json!(1), json!("a-secret-of-many-characters")] {
                files.push(json!({"upstreams": {}, "credentials": {"t": {"source": source, key: value}}}));
                files.push(json!({"upstreams": {}, "credentials": {"t": {"source": source, "var": "TOKEN", key: value}}}));
                files.push(json!({"upstreams": {}, "credentials": {"1t": {"source": source, key: value}}}));
            }
        }
        let hinted = |key: &str, value: Value| json!({"upstreams": {}, "credentials": {"t": {"source": source, "var": "TOKEN", key: value}}});
        files.extend([
            hinted("scheme_hint", json!("raw")),
            hinted("scheme_hint", json!("digest")),
            hinted("allow_short", json!(1)),
            hinted("more", json!(1)),
        ]);
    }
    files.push(with(json!({"disabled": true})));
    files.push(with(json!({"disabled": true, "transport": "of a later version", "args": 5})));
    files
}

/// What a file can be refused for that its form does not show.
const BEYOND_THE_FORM: [&str; 23] = [
    "uses http:// with OAuth",
    "an integer from 0 to 65535",
    "a loopback address, got",
    "needs auth.client with an id",
    "needs auth.idp with",
    "acts for no person",
    "of type \"oauth\" needs transport",
    "without allow_insecure_http",
    "allow_insecure_auth is not true",
    "unknown credential binding",
    "has unsupported URL scheme",
    "has malformed",
    "is not set",
    "no such file",
    "sets proxy_auth without",
    "sets both proxy and unix_socket",
    "is reserved",
    "is shorter than",
    "base_url must not have",
    "must be user:pass",
    "which means nothing for",
    "proxy must be",
    "has unknown default_args",
];

#[test]
fn the_schema_its_validators_and_the_reader_agree() {
    let schema = schema();
    let foreign: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    jsonschema::meta::validate(&foreign).unwrap();
    let theirs = jsonschema::validator_for(&foreign).unwrap();
    // A keyword that is not checked is refused.
    let ours = FileSchema::read(&schema).unwrap();
    let (mut good, mut bad) = (0, 0);
    for file in files() {
        let misfits = ours.misfits(&file);
        assert_eq!(
            misfits.is_empty(),
            theirs.is_valid(&serde_json::from_str(&file.to_string()).unwrap()),
            "{file}: {misfits:?}"
        );
        match read(&file) {
            Ok(_) => {
                good += 1;
                assert_eq!(misfits, [], "{file}");
            }
            Err(refusal) => {
                bad += 1;
                let text = refusal.to_string();
                let is_beyond = BEYOND_THE_FORM.iter().any(|part| text.contains(part));
                assert!(!misfits.is_empty() || is_beyond, "{file}: {text}");
                // Every few files are enough: the text is parsed twice.
                if bad % 16 == 0 && !is_beyond {
                    let faults = file_faults(&file.to_string(), Some(&refusal));
                    assert!(!faults.is_empty(), "{file}");
                }
            }
        }
    }
    assert!(good > 100 && bad > 500, "{good} good files, {bad} bad ones");
}

#[test]
fn every_key_of_the_schema_is_read() {
    let schema = schema();
    let common = schema["$defs"]["enabled"]["properties"].as_object().unwrap();
    for entry in entries() {
        let transport = entry["transport"].as_str().unwrap().to_owned();
        let own = schema["$defs"][transport.as_str()]["properties"].as_object().unwrap();
        let keys = common.iter().chain(own).filter(|(_, kind)| **kind != Value::Bool(false));
        for (key, kind) in keys {
            // Of a kind that no key takes: one that is read is refused for it.
            let mut wrong = entry.clone();
            let is_object = kind["type"] == "object" || kind["$ref"] == "#/$defs/headers";
            wrong[key.as_str()] = if is_object { json!(5) } else { json!({"no": "such value"}) };
            assert!(read(&with(wrong)).is_err(), "{transport} does not look at {key}");
        }
    }
}

/// The faults of a file, with what its reader says.
fn faults(text: &str) -> Vec<String> {
    let env = ProcessEnv::from_iter([("TOKEN", "a-token-of-24-characters")]);
    let refusal =
        UpstreamsConfig::from_json(text, &LoadOptions { env: &env, base_dir: None, own_exe: None }).err();
    file_faults(text, refusal.as_ref()).iter().map(FileFault::to_string).collect()
}

#[test]
fn all_faults_are_told_at_once_each_with_its_place() {
    let text = r#"{
  // What a person wrote.
  "credentials": {"tok": {"source": "env", "var": "TOKEN"}},
  "upstreams": {
    "files": {"transport": "mcp_stdio", "comand": "npx", "args": "-y foo", "timeout_ms": 0},
    "github": {
      "transport": "mcp_http",
      "url": "https://h/mcp",
      "auth": [{"scheme": "bearer", "binding": "tok"}, {"scheme": "berer", "binding": "tok"}],
      "alow_tools": ["a"],
      "max_concurrency": "many",
    },
    "my server": {"transport": "mcp_sdtio", "command": "c"},
    "plain": {"transport": "mcp_http", "url": "http://h/mcp"}
  }
}"#;
    assert_eq!(
        faults(text),
        [
            "5:5 upstream files requires command; did you mean \"command\"?",
            "5:66 upstreams.files.args must be a list, got a string",
            "5:90 upstreams.files.timeout_ms must be at least 1",
            "9:7 upstream github has invalid auth emitter {\"scheme\":\"berer\",\"binding\":…}; it must be {\"scheme\": bearer | basic | \
             custom_header, \"binding\": name of a credential}, with \"header\" for custom_header",
            "11:26 upstreams.github.max_concurrency must be a whole number, got a string",
            "13:19 upstream my server has unsupported transport \"mcp_sdtio\"; use mcp_stdio (with command), mcp_http (with url) or openapi \
             (with base_url)",
            "14:40 upstream plain url \"http://h/mcp\" uses http:// without allow_insecure_http; write https://, or \"allow_insecure_http\": true if nobody else can read along",
        ]
    );
}

#[test]
fn credentials_and_the_file_itself_have_places_too() {
    assert_eq!(
        faults(
            "{\n \"upstreams\": {},\n \"credentials\": {\"a\": {\"source\": \"env\", \"path\": \"p\"}, \"b\": {\"source\": \"vault\"}}\n}"
        ),
        [
            "3:18 invalid credential binding \"a\": unknown key \"path\"",
            "3:71 credentials.b.source must be \"env\", \"file\" or \"literal\"",
        ]
    );
    assert_eq!(faults("{\"upstreams\": []}"), ["1:2 upstreams must be an object"]);
    assert_eq!(faults("[]"), ["1:1 upstreams config must be a JSON object"]);
    assert_eq!(faults("{"), [""; 0], "what is no JSON is told with its place by the decoder");
    assert_eq!(faults("{\"mcpServers\": {\"a\": {}}}"), [""; 0], "the schema is not that of clients");
    assert_eq!(faults("{\"upstreams\": {}}"), [""; 0]);
}

#[test]
fn a_secret_in_the_wrong_place_is_not_shown() {
    let shown = faults(
        r#"{"upstreams": {"x": {"transport": "mcp_http", "url": "https://h", "protocol": "auto", "auth": [{"scheme": "bearer", "binding": 5, "header": "sekrit"}],
        "log_level": "sekrit", "static_headers": ["sekrit"], "proxy_auth": ["sekrit"]}}, "credentials": {"t": {"source": "literal", "value": "sekrit-sekrit-sekrit", "sekrit2": 1}}}"#,
    );
    assert!(
        shown.len() > 2
            && !shown.iter().any(|fault| fault.contains("\"sekrit\"") || fault.contains("sekrit-")),
        "{shown:#?}"
    );
}
