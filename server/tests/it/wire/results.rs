//! Every result of every tool, over pipes, in each mode and profile: held against the schema that its tool advertises,
//! and every message against the schema of the revision. And what the models are told of sessions is true.

use std::collections::BTreeMap;

use ptc_mcp::json::{Value, json};

use ptc_test_support::process::Pipes;

use super::process::on_pipes;

/// The value in the form that the schemas' judge takes.
fn plain(value: &Value) -> serde_json::Value {
    serde_json::to_value(value).expect("JSON")
}

/// A conversation in which every result is checked as it comes.
struct Checked {
    server: Pipes,
    outputs: BTreeMap<String, jsonschema::Validator>,
    next: u64,
    structured: usize,
}

impl Checked {
    fn start(flags: &[&str]) -> Checked {
        let mut server = on_pipes(flags);
        let initialize =
            json!({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}});
        server.request(&initialize);
        let listed = server.request(&json!({"jsonrpc":"2.0","id":0,"method":"tools/list"}));
        let mut outputs = BTreeMap::new();
        for tool in listed["result"]["tools"].as_array().unwrap() {
            let name = tool["name"].as_str().unwrap().to_owned();
            assert!(jsonschema::meta::is_valid(&plain(&tool["inputSchema"])), "{name}");
            if let Some(schema) = tool.get("outputSchema") {
                assert_eq!(schema["type"], "object", "{name}");
                outputs.insert(name, jsonschema::validator_for(&plain(schema)).unwrap());
            }
        }
        Checked { server, outputs, next: 1, structured: 0 }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.next += 1;
        let request = json!({"jsonrpc":"2.0","id":self.next,"method":"tools/call",
                             "params":{"name":tool,"arguments":arguments}});
        let answer = self.server.request(&request);
        assert_eq!(answer["id"], self.next);
        let result = answer["result"].clone();
        assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{result}");
        match (self.outputs.get(tool), result.get("structuredContent")) {
            (Some(schema), Some(structured)) => {
                let faults: Vec<_> =
                    schema.iter_errors(&plain(structured)).map(|fault| fault.to_string()).collect();
                assert!(faults.is_empty(), "{tool} {arguments}\n{structured}\n{faults:?}");
                self.structured += 1;
            }
            (Some(_), None) => panic!("{tool} advertises a schema and sent no structured content: {result}"),
            (None, _) => {}
        }
        result
    }

    fn text(&mut self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments)["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

/// Programs whose outcomes are of every kind, with the arguments beside them.
fn outcomes() -> Vec<Value> {
    let number = json!({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]});
    vec![
        json!({"program":"(+ 1 2)"}),
        json!({"program":"nil"}),
        json!({"program":"(def x 1)"}),
        json!({"program":"(do (println \"n\" 2) [1 2])"}),
        json!({"program":"(dotimes [i 500] (println i \"a line of some length to fill the space there is\"))"}),
        json!({"program":"(range 100000)"}),
        json!({"program":"(apply str (repeat 300000 \"x\"))"}),
        json!({"program":"{:n 2 :sum 45}", "output_schema":number}),
        json!({"program":"{:n \"two\"}", "output_schema":number}),
        json!({"program":"[]", "output_schema":{"type":"array","items":{"type":"string"}}}),
        json!({"program":"(vec (repeat 500 (apply str (repeat 80 \"x\"))))", "output_schema":{"type":"array","items":{"type":"string"}}}),
        json!({"program":"(vec (repeat 5000 (apply str (repeat 80 \"x\"))))", "output_schema":{"type":"array","items":{"type":"string"}}}),
        json!({"program":"(+ 1"}),
        json!({"program":"nowhere"}),
        json!({"program":"(/ 1 0)"}),
        json!({"program":"data/rows"}),
        json!({"program":"(fail \"no rows\")"}),
        json!({"program":"(fail {:why (range 100000)})"}),
        json!({"program":"(do (println \"before\") (fail :late))"}),
        json!({"program":"(loop [] (recur))"}),
        json!({"program":"(apply str (repeat 10000000 \"abcdefghij\"))"}),
        json!({"program":"(tool/call {:server \"s\" :tool \"t\"})"}),
        json!({}),
        json!({"program":7}),
        json!({"program":"1","context":[]}),
        json!({"program":"1","output_schema":{"type":"null"}}),
    ]
}

const STEPS: [&str; 2] = ["--program-step-limit", "2000000"];

#[test]
fn every_result_fits_the_schema_its_tool_advertises() {
    for profile in ["slim", "structured", "debug"] {
        let mut client = Checked::start(
            &[&STEPS[..], &["--sessions", "--response-profile", profile, "--max-sessions", "3"]].concat(),
        );
        for arguments in outcomes() {
            client.call("lisp_eval", arguments);
        }
        let started = client.call("lisp_session_start", json!({"title":"t"}));
        let id = started["structuredContent"]["session_id"].clone();
        for mut arguments in outcomes() {
            arguments["session_id"] = id.clone();
            client.call("lisp_session_eval", arguments);
        }
        let many: String = (0..300).map(|n| format!("(def name-{n} {n})")).collect();
        client.call("lisp_session_eval", json!({"session_id":id,"program":many}));
        client.call("lisp_session_eval", json!({"session_id":id,"program":"(def big (vec (range 100000)))"}));
        for view in ["overview", "memory", "prints", "tool_calls", "history", "limits", "nonsense"] {
            client.call("lisp_session_inspect", json!({"session_id":id,"view":view}));
        }
        for (tool, arguments) in [
            ("lisp_session_start", json!({"title":5})),
            ("lisp_session_start", json!({"other":5})),
            ("lisp_session_start", json!([])),
            ("lisp_session_start", json!({"ttl_ms":1000})),
            ("lisp_session_start", json!({})),
            ("lisp_session_start", json!({})),
            ("lisp_session_list", json!({})),
            ("lisp_session_list", json!({"a":1})),
            ("lisp_session_eval", json!({"program":"1"})),
            ("lisp_session_eval", json!({"session_id":"ptcs_x","program":"1"})),
            ("lisp_session_inspect", json!({"session_id":7})),
            ("lisp_session_inspect", json!({"session_id":"ptcs_x"})),
            ("lisp_session_forget", json!({"session_id":id,"bindings":["x","nothing"]})),
            ("lisp_session_forget", json!({"session_id":id,"clear":["memory","history","prints"]})),
            ("lisp_session_forget", json!({"session_id":id,"clear":["everything"]})),
            ("lisp_session_forget", json!({"session_id":id,"bindings":"x"})),
            ("lisp_session_close", json!({"session_id":id,"reason":"r".repeat(100_000)})),
            ("lisp_session_close", json!({"session_id":id})),
            ("lisp_session_close", json!({})),
            ("lisp_no_such_tool", json!({})),
        ] {
            client.call(tool, arguments);
        }
        // Once the server drains, every tool says so in a form that still fits.
        client.server.request(&json!({"jsonrpc":"2.0","id":"s","method":"shutdown"}));
        for tool in ["lisp_eval", "lisp_session_eval", "lisp_session_list"] {
            let refused = client.call(tool, json!({}));
            assert_eq!(refused["structuredContent"]["reason"], "shutting_down");
        }
        assert!(client.structured >= 25, "{profile}: {}", client.structured);
    }
}

/// What the descriptions of sessions promise; the language card is the matter of `tests/tests/it/insight/language_card.rs`.
#[test]
fn what_the_descriptions_of_sessions_say_is_true() {
    let mut client = Checked::start(&["--sessions"]);
    // Definitions stay, let does not, the last results are there, a mismatch stores nothing.
    let started = client.call("lisp_session_start", json!({}));
    let id = started["structuredContent"]["session_id"].clone();
    let session = |program: &str| json!({"session_id":id,"program":program});
    for (program, answer) in [
        ("(do (def x 2) (defn f [y] (* x y)) (f 21))", "user=> 42\n[stored: f, x]"),
        ("(let [z 1] (f z))", "user=> 2"),
        ("[*1 *2]", "user=> [2 42]"),
        ("(str \"one\\n\\t\" \"\\\"two\\\" ```\")", "user=>\n````\none\n\t\"two\" ```\n````"),
    ] {
        assert_eq!(client.text("lisp_session_eval", session(program)), answer, "{program}");
    }
    let mismatch = json!({"session_id":id,"program":"(def q 1)","output_schema":{"type":"string"}});
    assert!(client.text("lisp_session_eval", mismatch).ends_with("[rolled back]"));
    assert!(
        client.text("lisp_session_eval", session("q")).starts_with("runtime_error: Undefined variable: q")
    );
}

#[test]
fn a_result_is_cut_where_the_client_would_cut_it() {
    let program = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"lisp_eval","arguments":{"program":"(println (apply str (repeat 300 \"0123456789 \\n\"))) (vec (range 9000))"}}}"#;
    let length = |client: &str, flags: &[&str]| {
        let mut pipes = on_pipes(flags);
        let initialize = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{}},"clientInfo":{{"name":"{client}","version":"1"}}}}}}"#
        );
        pipes.send_line(initialize.as_bytes());
        pipes.receive();
        pipes.send_line(program.as_bytes());
        let answer = pipes.receive();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(text.contains("\n;; cut: "), "{text}");
        text.len()
    };
    assert!(length("codex-mcp-client", &[]) <= 9_000);
    assert!(length("Cline", &[]) <= 6_000);
    let unknown = length("some client", &[]);
    assert!((16_384..25_000).contains(&unknown), "{unknown}");
    assert!((unknown..45_000).contains(&length("claude-code", &[])));
    assert_eq!(
        length("codex-mcp-client", &["--max-result-bytes", "16384"]),
        unknown,
        "a number is for every client"
    );
}
