//! Whole files of clients, read as the server reads them.

use ptc_mcp::json::{Value, json};

use super::super::{LoadOptions, Transport, UpstreamsConfig};
use super::*;
use ptc_base::environment::ProcessEnv;
use std::path::Path;

/// A file of a person, of no client in particular.
fn context(env: &ProcessEnv) -> FileContext<'_> {
    FileContext { env, project: None, bare_names: false }
}

fn env() -> ProcessEnv {
    ProcessEnv::from_iter([("HOME", "/home/u"), ("TOKEN", "t0ken-of-20-letters-x")])
}

/// What an upstreams file would say.
fn translated(file: Value) -> Value {
    let servers = servers_of(file.as_object().unwrap()).unwrap();
    let read = upstreams_of(servers, &context(&env()));
    assert_eq!(read.faults.iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    json!({"credentials": read.credentials, "upstreams": read.upstreams})
}

fn fault(entry: Value) -> String {
    let servers = json!({"x": entry});
    let read = upstreams_of(servers.as_object().unwrap(), &context(&env()));
    read.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_portable_form() {
    let file = json!({"mcpServers": {
        "fs": {"command": "npx", "args": ["-y", "@scope/server", "${userHome}/docs"], "env": {"K": "${env:TOKEN}", "D": "${NONE:-d}"}},
        "web": {"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${TOKEN}", "X-Region": "eu"}}
    }});
    assert_eq!(
        translated(file),
        json!({
            "credentials": {"web-authorization": {"source": "env", "var": "TOKEN"}},
            "upstreams": {
                "fs": {
                    "transport": "mcp_stdio", "command": "npx", "args": ["-y", "@scope/server", "/home/u/docs"],
                    "env": {"K": "${TOKEN}", "D": "${NONE:-d}"}
                },
                "web": {
                    "transport": "mcp_http", "url": "https://h/mcp",
                    "auth": [{"scheme": "bearer", "binding": "web-authorization"}],
                    "static_headers": {"X-Region": "eu"}
                }
            }
        })
    );
}

#[test]
fn the_forms_of_single_clients() {
    let opencode = json!({"mcp": {"a": {"type": "local", "command": ["bun", "x"], "environment": {"K": "{env:TOKEN}"}, "enabled": false}}});
    assert_eq!(
        translated(opencode)["upstreams"]["a"],
        json!({"disabled": true, "transport": "mcp_stdio", "command": "bun", "args": ["x"], "env": {"K": "${TOKEN}"}})
    );
    let codex = json!({"mcp_servers": {"a": {
        "url": "http://127.0.0.1:7000/mcp", "bearer_token_env_var": "TOKEN", "startup_timeout_sec": 2.5, "tool_timeout_sec": 60
    }}});
    assert_eq!(
        translated(codex),
        json!({
            "credentials": {"a-authorization": {"source": "env", "var": "TOKEN"}},
            "upstreams": {"a": {
                "transport": "mcp_http", "url": "http://127.0.0.1:7000/mcp",
                "auth": [{"scheme": "bearer", "binding": "a-authorization"}],
                "allow_insecure_http": true, "allow_insecure_auth": true,
                "handshake_timeout_ms": 2500, "request_timeout_ms": 60000
            }}
        })
    );
    let gemini = json!({"mcpServers": {"a": {
        "httpUrl": "https://h/", "headers": {"X-Goog-Api-Key": "abcdefgh12345678"}, "trust": true, "timeout": 5,
        "includeTools": ["a"], "excludeTools": ["b"]
    }}});
    assert_eq!(
        translated(gemini),
        json!({
            "credentials": {"a-x-goog-api-key": {"source": "literal", "value": "abcdefgh12345678"}},
            "upstreams": {"a": {
                "transport": "mcp_http", "url": "https://h/",
                "auth": [{"scheme": "custom_header", "binding": "a-x-goog-api-key", "header": "X-Goog-Api-Key"}],
                "allow_tools": ["a"], "deny_tools": ["b"]
            }}
        })
    );
    let zed = json!({"context_servers": {"a": {"source": "custom", "command": {"path": "/bin/s", "args": ["1"], "env": {"A": "b"}}}}});
    assert_eq!(
        translated(zed)["upstreams"]["a"],
        json!({"transport": "mcp_stdio", "command": "/bin/s", "args": ["1"], "env": {"A": "b"}})
    );
    let vscode = json!({"inputs": [], "servers": {"a": {"type": "sse", "url": "https://h/sse", "dev": {}}}});
    assert_eq!(
        translated(vscode)["upstreams"]["a"],
        json!({"transport": "mcp_http", "url": "https://h/sse"})
    );
    let copilot = json!({"mcpServers": {"a": {"type": "local", "command": "s", "args": [], "tools": ["*"]}}});
    assert_eq!(
        translated(copilot)["upstreams"]["a"],
        json!({"transport": "mcp_stdio", "command": "s", "allow_tools": ["*"]})
    );
}

#[test]
fn what_only_a_client_can_fill_in_is_refused_and_never_sent_as_text() {
    assert_eq!(
        fault(json!({"command": "s", "env": {"K": "${input:key}"}})),
        "upstream x has ${input:key} in env, a question that its editor asks; put the answer into an environment variable and \
         write ${NAME}"
    );
    assert_eq!(
        fault(json!({"command": "s", "args": ["${workspaceFolder}"]})),
        "upstream x has ${workspaceFolder} in args, which only the client that the file belongs to can fill in; write the value"
    );
    assert_eq!(
        fault(json!({"command": "s", "args": ["--key=${KEY}"]})),
        "upstream x has ${KEY} in args, where secrets can be read by others and variables are not replaced; write the value, or \
         hand it on in env"
    );
    assert_eq!(
        fault(json!({"url": "https://h/", "headers": {"X-Key": "${input:k}"}})),
        "upstream x has ${input:k} in the header X-Key, a question that its editor asks; put the answer into an environment \
         variable and write ${NAME}"
    );
    assert_eq!(
        fault(json!({"url": "https://h/", "headers": {"X-Key": "a-${K}"}})),
        "upstream x has text and variables together in the header X-Key; put the whole value into one variable"
    );
    assert!(
        fault(json!({"url": "https://h/", "headers": {"Authorization": "token abc"}}))
            .contains("neither \"Bearer …\"")
    );
}

#[test]
fn entries_that_reach_nothing_are_refused() {
    assert_eq!(fault(json!({})), "upstream x has neither a command to start nor a url to connect to");
    assert_eq!(
        fault(json!({"command": "s", "url": "https://h/"})),
        "upstream x has both a command and a url; keep one, or say which by type"
    );
    assert_eq!(
        fault(json!({"type": "carrier", "url": "h"})),
        "upstream x has unknown type \"carrier\"; use stdio, http or sse"
    );
    assert_eq!(fault(json!("x")), "upstream x must be an object");
    assert_eq!(fault(json!({"type": "stdio"})), "upstream x requires command");
}

#[test]
fn a_client_s_file_is_an_upstreams_file() {
    let text = r#"{
        // As an editor writes it.
        "mcpServers": {
            "on": {"command": "sh", "cwd": "/tmp", "autoApprove": ["x"],},
            "off": {"command": "sh", "disabled": true},
            "web": {"url": "https://h/", "headers": {"Authorization": "Bearer abcdefghijklmnopqrstuv"}},
        },
        "theme": "dark",
    }"#;
    let env = env();
    let config =
        UpstreamsConfig::from_json(text, &LoadOptions { env: &env, base_dir: None, own_exe: None }).unwrap();
    let names: Vec<_> = config.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
    assert_eq!(names, ["on", "web"]);
    let Transport::Stdio(on) = &config.upstreams[0].transport else { panic!("stdio") };
    assert_eq!(on.cd.as_deref(), Some(std::path::Path::new("/tmp")));
    let events: Vec<_> = config.warnings.iter().map(|warning| warning.event).collect();
    assert_eq!(events, ["upstream_header_literal", "credentials_literal_binding", "upstream_disabled"]);
}

#[test]
fn a_project_s_servers_start_in_its_folder() {
    let env = env();
    let servers = json!({
        "a": {"command": "node", "args": ["./build/index.js"]},
        "b": {"command": "x", "args": ["${workspaceFolder}/y", "${workspaceFolderBasename}", "${CLAUDE_PROJECT_DIR}"], "cwd": "./sub"},
        "c": {"command": "x", "cwd": "/abs"},
        "d": {"command": "x", "cwd": "${workspaceFolder}", "env": {"P": "${workspaceFolder}"}},
        "e": {"url": "https://h/"}
    });
    let file = FileContext { project: Some(Path::new("/p/shop")), ..context(&env) };
    let read = upstreams_of(servers.as_object().unwrap(), &file);
    assert!(read.faults.is_empty(), "{:?}", read.faults);
    assert_eq!(
        Value::Object(read.upstreams),
        json!({
            "a": {"transport": "mcp_stdio", "command": "node", "args": ["./build/index.js"], "cd": "/p/shop"},
            "b": {"transport": "mcp_stdio", "command": "x", "args": ["/p/shop/y", "shop", "/p/shop"], "cd": "/p/shop/sub"},
            "c": {"transport": "mcp_stdio", "command": "x", "cd": "/abs"},
            "d": {"transport": "mcp_stdio", "command": "x", "env": {"P": "/p/shop"}, "cd": "/p/shop"},
            "e": {"transport": "mcp_http", "url": "https://h/"}
        })
    );
}

#[test]
fn a_variable_without_braces_is_one_and_defaults_hold_everywhere() {
    let env = ProcessEnv::from_iter([("HOME", "/home/u"), ("SET", "s"), ("API_KEY", "k")]);
    let read = |bare_names, servers: Value| {
        let file = FileContext { bare_names, ..context(&env) };
        let read = upstreams_of(servers.as_object().unwrap(), &file);
        let faults: Vec<_> = read.faults.iter().map(ToString::to_string).collect();
        (json!({"c": read.credentials, "u": read.upstreams}), faults.join("\n"))
    };
    let gemini = json!({
        "a": {"command": "x", "args": ["$HOME/y", "-c", "$unset"], "env": {"K": "$G_KEY", "L": "a-$SET"}},
        "b": {"url": "https://h/", "headers": {"Authorization": "Bearer $MY_TOKEN"}}
    });
    let b = json!({"transport": "mcp_http", "url": "https://h/", "auth": [{"scheme": "bearer", "binding": "b-authorization"}]});
    let c = json!({"b-authorization": {"source": "env", "var": "MY_TOKEN"}});
    let a = json!({
        "transport": "mcp_stdio", "command": "x", "args": ["/home/u/y", "-c", "$unset"],
        "env": {"K": "${G_KEY}", "L": "a-${SET}"}
    });
    assert_eq!(read(true, gemini.clone()), (json!({"c": c, "u": {"a": a, "b": b}}), String::new()));
    let (others, _) = read(false, gemini);
    assert_eq!(others["u"]["a"]["env"], json!({"K": "${G_KEY}", "L": "a-$SET"}));
    assert_eq!(others["c"], c);
    let claude = json!({
        "a": {"command": "${NONE:-npx}", "args": ["--org=${NONE:-acme}", "${SET:-d}"], "env": {"O": "${SET:-d}"}},
        "b": {"url": "https://${NONE:-h}/", "headers": {"X-Org": "${NONE:-acme}", "X-Set": "o-${SET:-d}", "X-Api-Key": "${API_KEY:-none}"}}
    });
    let (claude, faults) = read(false, claude);
    assert_eq!(faults, "");
    assert_eq!(
        claude["u"],
        json!({
            "a": {"transport": "mcp_stdio", "command": "npx", "args": ["--org=acme", "s"], "env": {"O": "${SET:-d}"}},
            "b": {
                "transport": "mcp_http", "url": "https://h/",
                "auth": [{"scheme": "custom_header", "binding": "b-x-api-key", "header": "X-Api-Key"}],
                "static_headers": {"X-Org": "acme", "X-Set": "o-s"}
            }
        })
    );
    assert_eq!(claude["c"], json!({"b-x-api-key": {"source": "env", "var": "API_KEY"}}));
    let (_, faults) = read(false, json!({"a": {"command": "x", "args": ["${API_KEY:-d}"]}}));
    assert!(faults.contains("has ${API_KEY} in args"), "{faults}");
}

#[test]
fn what_can_be_mended_is_mended() {
    let servers = json!({
        "a": {"command": "npx -y foo", "args": ["~/docs", "~"], "cwd": "~/w"},
        "b": {"command": "~/bin/srv"}
    });
    let env = env();
    let read = upstreams_of(servers.as_object().unwrap(), &context(&env));
    assert_eq!(
        Value::Object(read.upstreams),
        json!({
            "a": {"transport": "mcp_stdio", "command": "npx", "args": ["-y", "foo", "/home/u/docs", "/home/u"], "cd": "/home/u/w"},
            "b": {"transport": "mcp_stdio", "command": "/home/u/bin/srv"}
        })
    );
    assert!(
        fault(json!({"url": "https://h/", "auth": {"CLIENT_ID": "x", "CLIENT_SECRET": "y"}}))
            .contains("has an auth with CLIENT_ID")
    );
}
