//! The JSON schema of the upstreams file, for editors, agrees with what reads the file.

use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_mcp::json::{Value, json};

const SCHEMA: &str = include_str!("../../docs/schema/upstreams.schema.json");

fn fits(validator: &jsonschema::Validator, file: &Value) -> bool {
    validator.is_valid(&serde_json::from_str(&file.to_string()).unwrap())
}

fn load(file: &Value) -> Result<UpstreamsConfig, String> {
    let env = ProcessEnv::from_iter([("TOKEN", "a-token-of-24-characters"), ("HOME", "/home/u")]);
    UpstreamsConfig::from_value(file, &LoadOptions { env: &env, base_dir: None, own_exe: None })
        .map_err(|error| error.to_string())
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

#[test]
fn files_that_are_read_fit_the_schema() {
    let schema = serde_json::from_str(SCHEMA).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut files: Vec<Value> = entries().into_iter().map(with).collect();
    files.push(json!({"$schema": "s", "upstreams": {}}));
    files.push(json!({
        "credentials": {"t": {"source": "env", "var": "TOKEN", "scheme_hint": "bearer"}},
        "raw_envelope": true,
        "upstreams": {
            "off": {"disabled": true},
            "h": {
                "transport": "mcp_http", "url": "http://127.0.0.1:1/mcp", "allow_insecure_http": true, "allow_insecure_auth": true,
                "auth": [{"scheme": "bearer", "binding": "t"}], "static_headers": {"X-A": "b"}, "timeout_ms": 5
            },
            "s": {
                "transport": "mcp_stdio", "command": "c", "args": ["a"], "env": {"A": "b", "N": 1}, "cwd": "/tmp", "protocol": "modern",
                "allow_tools": ["read_*"], "tools": {"read_x": {"raw_envelope": true}}
            }
        }
    }));
    for file in files {
        assert!(load(&file).is_ok(), "{file}: {:?}", load(&file).err());
        assert!(fits(&validator, &file), "{file}");
    }
}

#[test]
fn files_that_are_refused_do_not_fit() {
    let schema = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut files = vec![
        json!({}),
        json!({"upstreams": []}),
        json!({"upstreams": {"x": 1}}),
        json!({"upstreams": {}, "credentials": {"t": {"source": "exec"}}}),
        json!({"upstreams": {}, "credentials": {"t": {"source": "env", "path": "p"}}}),
        json!({"upstreams": {}, "credentials": {"t": {"source": "literal", "value": "12345678901234", "more": 1}}}),
        json!({"upstreams": {}, "credentials": {"1t": {"source": "literal", "value": "12345678901234"}}}),
        json!({"upstreams": {}, "raw_envelope": "yes"}),
        with(json!({"transport": "stdio", "command": "c"})),
        with(json!({"command": "c"})),
        with(json!({"transport": "mcp_stdio"})),
        with(json!({"transport": "mcp_http"})),
        with(json!({"transport": "openapi", "base_url": "https://h", "include_operations": ["a"]})),
        with(
            json!({"transport": "openapi", "base_url": "https://h", "schema_file": "s", "include_operations": []}),
        ),
        with(json!({"transport": "mcp_stdio", "command": "c", "auth": []})),
        with(json!({"transport": "mcp_http", "url": "https://h", "env": {}})),
    ];
    for (key, value) in [
        ("required", json!("yes")),
        ("disabled", json!(1)),
        ("allow_tools", json!("read")),
        ("deny_tools", json!([""])),
        ("max_concurrency", json!(0)),
        ("request_timeout_ms", json!(1.5)),
        ("raw_envelope", json!("no")),
        ("description", json!(5)),
    ] {
        for mut entry in entries() {
            entry[key] = value.clone();
            files.push(with(entry));
        }
    }
    for file in files {
        assert!(load(&file).is_err(), "{file}");
        assert!(!fits(&validator, &file), "{file}");
    }
}

#[test]
fn every_key_of_the_schema_is_read() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let common = schema["$defs"]["upstream"]["properties"].as_object().unwrap();
    for entry in entries() {
        let transport = entry["transport"].as_str().unwrap().to_owned();
        let own = schema["$defs"][transport.as_str()]["properties"].as_object().unwrap();
        let keys = common.iter().chain(own).filter(|(_, kind)| **kind != Value::Bool(false));
        for (key, kind) in keys {
            // Of a kind that no key takes: one that is read is refused for it.
            let mut wrong = entry.clone();
            let is_object = kind["type"] == "object" || kind["$ref"] == "#/$defs/headers";
            wrong[key.as_str()] = if is_object { json!(5) } else { json!({"no": "such value"}) };
            assert!(load(&with(wrong)).is_err(), "{transport} does not look at {key}");
        }
    }
}
