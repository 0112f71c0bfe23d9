//! JSON documents that are nearly what a reader of them expects.

use super::{Choices, data};
use ptc_mcp::json::{Map, Value, json};

/// The secrets that the environment of [`upstreams`] holds. No message may show them.
pub const SECRETS: [(&str, &str); 3] = [
    ("FUZZ_TOKEN", "tok-5f2d8c0a91"),
    ("FUZZ_PAIR", "someone:pa55-77aa31"),
    ("FUZZ_BROKEN", "line-one-e1e1e1\nline-two"),
];

/// Any JSON, of few levels.
pub fn any(choices: &mut Choices<'_>) -> Value {
    let text = data::json_datum(choices).value();
    let mut out = Vec::new();
    ptc_vm::json::write(&text, &mut out).expect("JSON data has a JSON form");
    serde_json::from_slice(&out).expect("what we write is JSON")
}

fn word(choices: &mut Choices<'_>, words: &[&str]) -> Value {
    if choices.once_in(12) { any(choices) } else { json!(*choices.one(words)) }
}

/// Makes a part of a document.
type Make = fn(&mut Choices<'_>) -> Value;

/// An object with some of these keys, in the order of the list.
fn object(choices: &mut Choices<'_>, keys: &[(&str, Make)]) -> Value {
    let mut map = Map::new();
    for (key, make) in keys {
        match choices.below(8) {
            0 | 1 => {}
            2 => {
                map.insert((*key).to_owned(), any(choices));
            }
            _ => {
                map.insert((*key).to_owned(), make(choices));
            }
        }
    }
    if choices.once_in(16) {
        map.insert(data::text(choices), any(choices));
    }
    Value::Object(map)
}

fn list(choices: &mut Choices<'_>, make: Make) -> Value {
    (0..choices.below(4)).map(|_| make(choices)).collect()
}

/// An upstreams file.
pub fn upstreams(choices: &mut Choices<'_>) -> Value {
    let mut credentials = Map::new();
    for name in ["token", "pair", "9bad"] {
        if choices.below(4) != 0 {
            credentials.insert(name.to_owned(), binding(choices));
        }
    }
    let mut entries = Map::new();
    for name in ["alpha", "beta"] {
        if choices.below(3) != 0 {
            entries.insert(name.to_owned(), entry(choices));
        }
    }
    if choices.once_in(10) {
        entries.insert(data::text(choices), entry(choices));
    }
    let mut file = json!({"credentials": credentials, "upstreams": entries});
    match choices.below(12) {
        10 => file["raw_envelope"] = any(choices),
        11 => file["credentials"] = any(choices),
        _ => {}
    }
    file
}

fn binding(choices: &mut Choices<'_>) -> Value {
    object(
        choices,
        &[
            ("source", |c| word(c, &["env", "env", "env", "literal", "file", "exec", "vault"])),
            ("var", |c| word(c, &["FUZZ_TOKEN", "FUZZ_PAIR", "FUZZ_BROKEN", "FUZZ_UNSET"])),
            ("scheme_hint", |c| word(c, &["bearer", "basic", "raw", "digest"])),
            ("allow_short", |c| json!(c.below(2) == 1)),
        ],
    )
}

const URLS: [&str; 10] = [
    "https://h.example/mcp",
    "http://127.0.0.1:8080/x",
    "http://h.example/",
    "https://user:pw@h.example/",
    "https://h.example/a?q=1#f",
    "ftp://h.example/",
    "https://[::1]/%2e%2e/",
    "not a url",
    "https://h.example:99999/",
    "https://xn--a/\u{0}",
];

fn url(choices: &mut Choices<'_>) -> Value {
    word(choices, &URLS)
}

fn number(choices: &mut Choices<'_>) -> Value {
    match choices.below(6) {
        0 => json!(0),
        1 => json!(-1),
        2 => json!(1.5),
        3 => json!(u64::MAX),
        _ => json!(choices.below(100_000)),
    }
}

fn entry(choices: &mut Choices<'_>) -> Value {
    object(
        choices,
        &[
            ("transport", |c| word(c, &["mcp_stdio", "mcp_http", "openapi", "stdio"])),
            ("command", |c| word(c, &["npx", "/bin/true", "", "a\u{0}b"])),
            ("args", |c| list(c, |c| word(c, &["-y", "x", "a\u{0}"]))),
            ("env", |c| {
                object(
                    c,
                    &[
                        ("A", |c| {
                            word(
                                c,
                                &["${FUZZ_TOKEN}", "$FUZZ_TOKEN", "${FUZZ_UNSET}", "x${", "${}", "${A B}"],
                            )
                        }),
                        ("B=", |c| word(c, &["b"])),
                    ],
                )
            }),
            ("inherit_env", |c| list(c, |c| word(c, &["FUZZ_TOKEN", "PATH", "*", ""]))),
            ("cd", |c| word(c, &["/tmp", ""])),
            ("url", url),
            ("base_url", url),
            ("schema_url", url),
            ("schema_file", |c| word(c, &["s.json", ""])),
            ("include_operations", |c| list(c, |c| word(c, &["op", "get", ""]))),
            ("operation_overrides", |c| {
                object(
                    c,
                    &[("op", |c| {
                        object(
                            c,
                            &[
                                ("name", |c| word(c, &["a b", "x"])),
                                ("description", any),
                                ("default_args", |c| object(c, &[("a", any)])),
                            ],
                        )
                    })],
                )
            }),
            ("auth", |c| {
                list(c, |c| {
                    object(
                        c,
                        &[
                            ("scheme", |c| word(c, &["bearer", "basic", "custom_header", "digest"])),
                            ("binding", |c| word(c, &["token", "pair", "none"])),
                            ("header", |c| word(c, &["X-Key", "host", "te", "a b", "mcp-param-x"])),
                            ("name", |c| word(c, &["X-Key", "host", "Content-Length", "ü"])),
                        ],
                    )
                })
            }),
            ("static_headers", |c| {
                object(
                    c,
                    &[
                        ("X-A", |c| word(c, &["v", "a\nb", "ü"])),
                        ("Host", |c| word(c, &["v"])),
                        ("authorization", |c| word(c, &["v"])),
                    ],
                )
            }),
            ("protocol", |c| word(c, &["auto", "handshake", "modern", "x"])),
            ("handshake_timeout_ms", number),
            ("timeout_ms", number),
            ("request_timeout_ms", number),
            ("connect_timeout_ms", number),
            ("max_response_bytes", number),
            ("schema_max_bytes", number),
            ("max_concurrency", number),
            ("pool_size", number),
            ("backoff_initial_ms", number),
            ("backoff_max_ms", number),
            ("required", |c| json!(c.below(2) == 1)),
            ("allow_insecure_http", |c| json!(c.below(2) == 1)),
            ("allow_insecure_auth", |c| json!(c.below(2) == 1)),
            ("raw_envelope", |c| json!(c.below(2) == 1)),
            ("tools", |c| {
                object(c, &[("t", |c| object(c, &[("raw_envelope", |c| json!(c.below(2) == 1))]))])
            }),
            ("include_tools", |c| list(c, |c| word(c, &["a*", "*", "b?c", ""]))),
            ("exclude_tools", |c| list(c, |c| word(c, &["a*", "[", "**"]))),
            ("description", |c| word(c, &["text"])),
            ("capabilities", |c| list(c, |c| word(c, &["text"]))),
        ],
    )
}

/// An OpenAPI document with operations `op` and `get`.
pub fn openapi(choices: &mut Choices<'_>) -> Value {
    const PATHS: [&str; 14] = [
        "/things/{id}",
        "/things/{a}/{b}",
        "things",
        "/{a}{b}",
        "/x/.{a}",
        "/%2e%2e/{a}",
        "/a/../b",
        "//h.other/{id}",
        "/x?{a}",
        "/{a",
        "/é {id}",
        "/@{a}:80/",
        "/;{id}/\\",
        "/{id}/{id}",
    ];
    let mut paths = Map::new();
    for _ in 0..=choices.below(3) {
        let mut item = object(
            choices,
            &[
                ("get", operation),
                ("parameters", |c| list(c, parameter)),
                ("servers", |c| list(c, |c| object(c, &[("url", url)]))),
            ],
        );
        if choices.once_in(8) && item.is_object() {
            item["post"] = operation(choices);
        }
        let path = if choices.once_in(8) { data::text(choices) } else { (*choices.one(&PATHS)).to_owned() };
        paths.insert(path, item);
    }
    let mut document = json!({"openapi": "3.0.3", "paths": paths, "components": {
        "schemas": {"S": schema(choices), "T": schema(choices)}, "parameters": {"P": parameter(choices)},
    }});
    if choices.once_in(20) {
        document["paths"] = any(choices);
    }
    document
}

fn operation(choices: &mut Choices<'_>) -> Value {
    object(
        choices,
        &[
            ("operationId", |c| word(c, &["op", "op", "op", "get"])),
            ("parameters", |c| list(c, parameter)),
            ("responses", |c| {
                object(
                    c,
                    &[("200", |c| {
                        object(
                            c,
                            &[("content", |c| {
                                object(c, &[("application/json", |c| object(c, &[("schema", schema)]))])
                            })],
                        )
                    })],
                )
            }),
            ("summary", |c| word(c, &["does"])),
            ("x-ptc-default-args", |c| object(c, &[("id", any), ("q", any)])),
        ],
    )
}

fn parameter(choices: &mut Choices<'_>) -> Value {
    if choices.once_in(8) {
        return json!({"$ref": *choices.one(&["#/components/parameters/P", "#/components", "#/x~1y", "http://o/"])});
    }
    object(
        choices,
        &[
            ("name", |c| word(c, &["id", "a", "b", "q", "q[]", "", "é&="])),
            ("in", |c| word(c, &["path", "path", "query", "query", "header"])),
            ("required", |c| json!(c.below(2) == 1)),
            ("schema", schema),
        ],
    )
}

fn schema(choices: &mut Choices<'_>) -> Value {
    match choices.below(8) {
        0 => json!({"$ref": "#/components/schemas/S"}),
        1 => json!({"$ref": "#/components/schemas/T", "description": "d"}),
        2 => any(choices),
        3 => json!({"type": "object", "properties": {"x": schema(choices)}}),
        4 => json!({"allOf": [schema(choices), schema(choices)]}),
        _ => json!({"type": "string"}),
    }
}

/// A policy, for upstreams `s` and `t` and tools such as `get_a`.
pub fn policy(choices: &mut Choices<'_>) -> Value {
    let rules: Value = (0..1 + choices.below(3)).map(|_| policy_rule(choices)).collect();
    let mut policy = sound(
        choices,
        &[
            ("$schema", |c| word(c, &["https://h.example/"])),
            ("default", |c| json!(*c.one(&["deny", "allow"]))),
            ("scope_implies", |c| sound(c, &[("write", |c| list(c, scope)), ("read", |c| list(c, scope))])),
        ],
    );
    policy["rules"] = rules;
    policy
}

/// As [`object`], with a wrong member only now and then: a policy is refused for each.
fn sound(choices: &mut Choices<'_>, keys: &[(&str, Make)]) -> Value {
    let mut map = Map::new();
    for (key, make) in keys {
        if choices.below(3) != 0 {
            let value = if choices.once_in(60) { any(choices) } else { make(choices) };
            map.insert((*key).to_owned(), value);
        }
    }
    if choices.once_in(60) {
        map.insert(data::text(choices), any(choices));
    }
    Value::Object(map)
}

fn scope(choices: &mut Choices<'_>) -> Value {
    json!(*choices.one(&["read", "write", "admin"]))
}

fn patterns(choices: &mut Choices<'_>) -> Value {
    (0..1 + choices.below(2)).map(|_| json!(*choices.one(&["*", "get_*", "get_a", "*a", "put"]))).collect()
}

fn policy_rule(choices: &mut Choices<'_>) -> Value {
    let conditions: Make = |c| {
        sound(
            c,
            &[
                ("principal", |c| json!(*c.one(&["ann", "ben", "iss|ann"]))),
                ("scope", scope),
                ("claim", |_| json!({"groups": "dev"})),
            ],
        )
    };
    // Most rules match somebody.
    let matching = if choices.once_in(3) { conditions(choices) } else { json!({}) };
    let upstreams = sound(choices, &[("s", policy_grant), ("*", policy_grant)]);
    let mut rule = sound(
        choices,
        &[
            ("limits", |c| {
                sound(c, &[("sessions", |c| json!(c.below(9) + 1)), ("calls_per_minute", number)])
            }),
            ("operator", |c| json!(c.below(2) == 1)),
        ],
    );
    rule["match"] = matching;
    rule["upstreams"] = upstreams;
    rule
}

fn policy_grant(choices: &mut Choices<'_>) -> Value {
    let mut grant = sound(
        choices,
        &[
            ("deny", |c| json!([*c.one(&["get_secret", "no_*"])])),
            ("list", patterns),
            ("resources", patterns),
            ("identity", |c| json!(*c.one(&["per_principal", "shared"]))),
        ],
    );
    grant["allow"] = patterns(choices);
    if choices.once_in(2) {
        grant["args"] = json!({"*": argument_rules(choices)});
    }
    grant
}

fn argument_rules(choices: &mut Choices<'_>) -> Value {
    let one: Make = |c| json!(*c.one(&["1", "..", "a/b", "é"]));
    let mut rules = sound(
        choices,
        &[
            ("b", |c| sound(c, &[("max", number), ("in", |_| json!([1, 2.5, "é", true]))])),
            (
                "q",
                |c| json!({"under": *c.one(&["/a", "a", ".", "/a/../b", "/%"]), "ignore_case": c.below(2) == 1}),
            ),
        ],
    );
    rules["id"] = match choices.below(3) {
        0 => json!({"in": [one(choices), one(choices)]}),
        1 => json!({"prefix": one(choices)}),
        _ => json!({"equals": one(choices)}),
    };
    rules
}

/// Arguments of a call.
pub fn arguments(choices: &mut Choices<'_>) -> Value {
    fn value(choices: &mut Choices<'_>) -> Value {
        word(
            choices,
            &["1", "..", ".", "%2e%2e", "a/b", "..\\", "//h.other/", "?x#y", "", "é", "@", "a b+c", "\t/\n"],
        )
    }
    object(
        choices,
        &[("id", value), ("a", value), ("b", value), ("q", value), ("q[]", value), ("é&=", value)],
    )
}
