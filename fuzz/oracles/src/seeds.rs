//! The inputs that fuzzing begins with, the same on every run.
//!
//! Targets that read text begin with the conformance programs and their contexts, targets that read messages with a few of each
//! kind, and targets with a generator with noise, to which the generator gives a meaning.

use crate::check;
use crate::mutate::Random;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fs;
use std::path::{Path, PathBuf};

/// Makes inputs.
pub type Source = fn() -> Vec<Vec<u8>>;

/// How many inputs of noise there are.
const NOISE: u64 = 256;

/// A case of the conformance data: a program, or steps of a session with a program each.
#[derive(Deserialize)]
struct Case {
    program: Option<String>,
    #[serde(default)]
    steps: Vec<Case>,
    context: Option<Box<RawValue>>,
}

/// The programs of the conformance data.
pub fn programs() -> Vec<Vec<u8>> {
    let programs = conformance().into_iter().flat_map(|case| {
        let steps = case.steps.into_iter().filter_map(|step| step.program);
        case.program.into_iter().chain(steps)
    });
    programs.map(String::into_bytes).collect()
}

/// The contexts of the conformance data, as JSON.
pub fn contexts() -> Vec<Vec<u8>> {
    let contexts = conformance().into_iter().filter_map(|case| case.context);
    contexts.map(|context| context.get().as_bytes().to_vec()).collect()
}

/// The folder `fuzz` of the repository that this was built in.
pub fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn conformance() -> Vec<Case> {
    let file = fuzz_folder().join("../tests/conformance/given.jsonl");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect()
}

/// Some 32 to 1 024 bytes each, without the brace that would make text of them.
pub fn noise() -> Vec<Vec<u8>> {
    let input = |seed: u64| {
        let mut random = Random::new(seed);
        let bytes = (0..32 * (1 + seed % 32)).map(|_| random.byte());
        bytes.map(|byte| if byte == b'{' { b'|' } else { byte }).collect()
    };
    (0..NOISE).map(input).collect()
}

/// Files of an audit log.
#[cfg(feature = "server")]
pub fn audit_files() -> Vec<Vec<u8>> {
    crate::check::audit_files()
}

/// Every text behind every head. The first bytes of a target are decisions, such as how its stream is cut.
fn behind(heads: &[&[u8]], texts: &[&str]) -> Vec<Vec<u8>> {
    let inputs = heads.iter().flat_map(|head| texts.iter().map(move |text| [head, text.as_bytes()].concat()));
    inputs.collect()
}

/// JSON-RPC messages in their frames: frames of at most 257 bytes, read ten bytes at a time.
pub fn frames() -> Vec<Vec<u8>> {
    let too_long = format!(
        "{{\"result\":{{\"text\":\"{}\"}},\"id\":12}}\n{{\"id\":7.0,\"error\":null}}\n",
        "a".repeat(700)
    );
    behind(
        &[&[1, 0, 9]],
        &[
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{\"a\":[1,2.5e3,null]}}}\n",
            "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\\u00e9\\\"b\"}]}}\r\n{\"id\":8}\n",
            "[{\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}},{\"method\":\"notifications/x\",\"params\":{}}]\n",
            &too_long,
        ],
    )
}

/// Messages of clients.
pub fn requests() -> Vec<Vec<u8>> {
    behind(
        &[b""],
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lisp_eval","arguments":{"program":"(+ 1 2)"}}}"#,
            r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]"#,
        ],
    )
}

/// Event streams, in chunks of 4, 2, 5, 2, 6 and 1 bytes.
pub fn event_streams() -> Vec<Vec<u8>> {
    behind(
        &[&[3, 1, 4, 1, 5, 9]],
        &[
            "id: 7\nretry: 20\nevent: message\ndata: {\"id\":1}\ndata: two\n\n: comment\n\ndata\n\n",
            "\u{feff}data:a\r\n\r\ndata:  b\r\rid:\ndata: last",
        ],
    )
}

/// OpenAPI documents, for the first base URL.
pub fn openapi_documents() -> Vec<Vec<u8>> {
    let document = concat!(
        r#"{"openapi":"3.0.3","paths":{"/things/{id}":{"get":{"operationId":"op","parameters":[{"name":"id","in":"path","#,
        r#""required":true,"schema":{"type":"string"}}],"responses":{"200":{"content":{"application/json":{}}}}}}}}"#
    );
    behind(&[&[0, 0]], &[document])
}

/// Upstreams files.
pub fn upstreams_files() -> Vec<Vec<u8>> {
    let file = concat!(
        r#"{"credentials":{"token":{"source":"env","var":"FUZZ_TOKEN"}},"upstreams":{"a":{"transport":"mcp_http","#,
        r#""url":"https://h.example/mcp","auth":[{"scheme":"bearer","binding":"token"}]}}}"#
    );
    behind(&[b""], &[file])
}

/// Policies, each with arguments of a call on the next line.
pub fn policies() -> Vec<Vec<u8>> {
    let file = concat!(
        r#"{"scope_implies":{"write":["read"]},"rules":[{"match":{"scope":"read"},"upstreams":{"s":{"allow":["get_*"],"list":["*"],"#,
        r#""args":{"get_a":{"id":{"in":["1",2]},"a":{"under":"/a","percent":"decode"}}}}},"limits":{"sessions":1}}]}"#
    );
    let with = |arguments: &str| format!("{file}\n{arguments}");
    behind(
        &[b""],
        &[
            file,
            &with(r#"{"id":"1","a":"/a/%62"}"#),
            &with(r#"{"id":2,"a":"/a/..%2f"}"#),
            &with(r#"{"ID":"1","id":"1"}"#),
        ],
    )
}

/// Locks of pinned tools.
pub fn pin_locks() -> Vec<Vec<u8>> {
    // The digest of `"x"`.
    let digest = "ba2df4903a2c14e86dc3bcca58911b44ac1d2514b7227bf6eb08cfb978f55a1b";
    let fact = |value: &str| {
        format!(
            r#"{{"lock":1,"upstreams":{{"s":{{"t":{{"description":{{"sha256":"{digest}"{value}}}}}}}}}}}"#
        )
    };
    behind(
        &[b""],
        &[
            r#"{"lock":1,"upstreams":{}}"#,
            r#"{"lock":2}"#,
            &fact(""),
            &fact(r#","value":"x""#),
            &fact("")[..60],
        ],
    )
}

/// Values of `WWW-Authenticate`.
pub fn challenges() -> Vec<Vec<u8>> {
    behind(
        &[b""],
        &[
            r#"Bearer resource_metadata="https://h.example/.well-known/oauth-protected-resource", scope="a b""#,
            concat!(
                r#"Basic realm="a, \"b\"", Negotiate YWJj==, bearer error=insufficient_scope, error_description="more""#,
                "\nBearer scope = x"
            ),
            r#"Bearer resource_metadata=/meta,,scope="a",scope="b""#,
        ],
    )
}

/// Access tokens with the keys of their issuer, what it says of another one, and times of fetches.
pub fn access_tokens() -> Vec<Vec<u8>> {
    let claims =
        r#"{"active":true,"aud":["https://h.example/mcp"],"sub":"ann","exp":1900000001,"scope":"a b"}"#;
    let times = "\u{1}\u{4}\u{2}\u{1}\u{7f}\u{2}\u{20}\0\u{40}\u{4}";
    let (token, keys) = (check::jwt::TOKEN, check::jwt::KEYS);
    let unsigned = "eyJhbGciOiJub25lIn0.e30.";
    [token, unsigned].iter().map(|token| format!("{token}\n{keys}\n{claims}\n{times}").into_bytes()).collect()
}

/// Documents of OAuth, each as each kind of answer, with a status that is good and one that is not.
pub fn oauth_documents() -> Vec<Vec<u8>> {
    let heads: Vec<[u8; 3]> = (0..4).flat_map(|what| [[what, 0, 0], [what, 4, 0]]).collect();
    let heads: Vec<&[u8]> = heads.iter().map(<[u8; 3]>::as_slice).collect();
    behind(
        &heads,
        &[
            concat!(
                r#"{"resource":"https://h.example/mcp","authorization_servers":["https://a.example"]}"#,
                "\n",
                r#"{"issuer":"https://a.example","token_endpoint":"https://a.example/t","#,
                r#""authorization_endpoint":"https://a.example/a","code_challenge_methods_supported":["S256"]}"#
            ),
            r#"{"client_id":"c","client_secret":"s","client_secret_expires_at":0,"token_endpoint_auth_method":"client_secret_post"}"#,
            r#"{"error":"invalid_redirect_uri"}"#,
            r#"{"access_token":"t","token_type":"Bearer","expires_in":"3600","refresh_token":"r","scope":"a b"}"#,
            r#"{"device_code":"d","user_code":"WDJB-MJHT","verification_uri":"https://a.example/d","expires_in":900,"interval":5}"#,
        ],
    )
}

/// Queries with which browsers come back, with and without the issuer advertised.
pub fn callbacks() -> Vec<Vec<u8>> {
    behind(
        &[&[0, 0], &[1, 0]],
        &[
            "state=s&code=c&iss=https%3A%2F%2Fa.example",
            "code=c&st%61te=s+1&x=%zz",
            "error=access_denied&error_description=no&state=s",
        ],
    )
}

/// URLs that may not be fetched.
pub fn addresses() -> Vec<Vec<u8>> {
    behind(
        &[&[3]],
        &[
            "https://0x7f.1/",
            "https://[::ffff:169.254.169.254]/latest",
            "https://METADATA.google.internal./",
            "http://127.0.0.1/",
        ],
    )
}
