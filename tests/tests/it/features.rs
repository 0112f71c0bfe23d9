//! What programs reach besides tools: resources, prompts and completions of a real child process; references and
//! attachments (upstreams.md 19).

use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode, notes};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{Engine, EngineOptions, EvalOutcome, EvalRequest, Limits, MemoryBudget, SessionKey};

use ptc_mcp::json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

struct World {
    engine: Engine,
    aggregator: Arc<Aggregator>,
    memory: MemoryBudget,
}

impl World {
    async fn with(keys: Value, limits: AggregatorLimits) -> World {
        let mut entry = json!({"transport": "mcp_stdio", "command": env!("CARGO_BIN_EXE_fake-upstream")});
        for (key, value) in keys.as_object().expect("keys") {
            entry[key] = value.clone();
        }
        let env = ProcessEnv::current();
        let load = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config = json!({"upstreams": {"fake": entry}});
        let config = UpstreamsConfig::from_value(&config, &load).expect("a right file");
        let options = AggregatorOptions { limits, ..AggregatorOptions::new(SnapshotMode::Frozen) };
        let memory = MemoryBudget::new(1 << 30);
        World {
            engine: Engine::start(EngineOptions {
                threads: 2,
                memory: Some(memory.clone()),
                ..EngineOptions::default()
            })
            .expect("threads"),
            aggregator: Aggregator::start(config, options).await.expect("the fake starts"),
            memory,
        }
    }

    async fn new() -> World {
        World::with(json!({}), AggregatorLimits::default()).await
    }

    async fn eval_in(&self, session: Option<&str>, program: &str) -> EvalOutcome {
        let mut request = EvalRequest::new(program);
        request.limits = Limits { timeout: Duration::from_secs(60), ..Limits::aggregator() };
        request.upstreams = Some(self.aggregator.clone());
        request.max_attached_bytes = 1000;
        request.session = session.map(SessionKey::from);
        self.engine.eval(request).await
    }

    async fn eval(&self, program: &str) -> EvalOutcome {
        self.eval_in(None, program).await
    }

    /// The text of the value, or of the failure.
    async fn text(&self, program: &str) -> String {
        match self.eval(program).await.result {
            Ok(answer) => answer.text,
            Err(failure) => format!("!{}", failure.full_message()),
        }
    }
}

#[tokio::test]
async fn lists_are_data_and_follow_their_pages() {
    let world = World::new().await;
    for (program, value) in [
        (r#"(map :uri (resource/list {:server "fake"}))"#, r#"["text:[1]" "gone:" "secret:key" "blob:3"]"#),
        (
            r#"(first (resource/list {:server "fake"}))"#,
            r#"{"mime_type" "text/plain" "name" "text:[1]" "uri" "text:[1]"}"#,
        ),
        (r#"(:uri_template (first (resource/templates {:server "fake"})))"#, r#""text:{text}""#),
        (
            r#"(prompt/list {"server" "fake"})"#,
            r#"[{"arguments" [{"name" "name" "required" true}] "name" "greet"}]"#,
        ),
        (
            r#"(prompt/complete {:server "fake" :name "greet" :argument "name" :value "Al" :context {:town "Ur"}})"#,
            r#"["Alan of Ur"]"#,
        ),
        (
            r#"(resource/complete {:server "fake" :uri "text:{text}" :argument "text"})"#,
            r#"["Ada of nowhere" "Alan of nowhere"]"#,
        ),
    ] {
        assert_eq!(world.text(program).await, value, "{program}");
    }
    let outcome = world.eval(r#"(resource/complete {:server "fake" :uri "x" :argument "a"})"#).await;
    assert_eq!(
        notes(&outcome),
        [r#"resource/complete "fake": the first 2 completions shown, there are more"#]
    );
    assert_eq!(outcome.catalog_ops[0].operation, "resource/complete");
}

#[tokio::test]
async fn a_server_without_tools_has_its_resources_and_prompts() {
    let world = World::with(json!({"args": ["--no-tools"]}), AggregatorLimits::default()).await;
    for (program, value) in [
        (r#"(count (resource/list {:server "fake"}))"#, "4"),
        (r#"(:value (resource/read {:server "fake" :uri "text:a"}))"#, r#""a""#),
        (r#"(map :name (prompt/list {:server "fake"}))"#, r#"["greet"]"#),
        (r#"(dir "fake")"#, "[]"),
    ] {
        assert_eq!(world.text(program).await, value, "{program}");
    }
    let refused = world.text(r#"(tool/call {:server "fake" :tool "echo"})"#).await;
    assert!(refused.starts_with('!') && refused.contains("echo"), "{refused}");
    let catalog = world.aggregator.unfiltered().catalog();
    let server = catalog.server("fake").expect("it is there");
    assert_eq!(server.remarks(), ["upstream fake has no tools, but resources and prompts"]);
}

#[tokio::test]
async fn lists_have_the_budget_of_discovery() {
    let limits =
        AggregatorLimits { max_discoveries: 2, max_discovery_bytes: 150, ..AggregatorLimits::default() };
    let world = World::with(json!({}), limits).await;
    let outcome = world.eval(r#"(mapv (fn [_] (count (resource/list {:server "fake"}))) [1 2 3])"#).await;
    assert_eq!(outcome.result.as_ref().expect("a value").text, "[2 2 0]", "the last one is nil");
    assert_eq!(outcome.catalog_ops[2].reason, Some("catalog_cap_exhausted"));
    let told = r#"resource/list "fake": 2 of 4 resources shown, the answer is full"#;
    assert_eq!(outcome.catalog_ops[0].note.as_deref(), Some(told));
}

#[tokio::test]
async fn resources_are_read_as_text_data_or_reference() {
    let world = World::new().await;
    let read = |uri: &str| format!(r#"(resource/read {{:server "fake" :uri "{uri}"}})"#);
    for (uri, value) in [
        ("text:hello", r#"{:ok true :value "hello" :value_kind :text}"#),
        ("text:[1]", "{:ok true :value [1] :value_kind :json}"),
        ("markdown:[1]", r#"{:ok true :value "[1]" :value_kind :text}"#),
        (
            "blob:4",
            r#"{:ok true :value {:bytes 4 :mime_type "image/png" :ref #<resource image/png 4 bytes> :type "resource" :uri "blob:4"} :value_kind :content}"#,
        ),
        ("gone:", r#"{:message "Resource not found" :ok false :reason :upstream_error :sent true}"#),
        (
            "several:",
            r#"{:content [{:bytes 3 :ref #<resource application/octet-stream 3 bytes> :type "resource" :uri "a"} {:text "x" :type "resource" :uri "b"} {:bytes 6 :type "resource" :uri "c"}] :ok true :value "x" :value_kind :text}"#,
        ),
    ] {
        assert_eq!(world.text(&read(uri)).await, value, "{uri}");
    }
    let outcome = world.eval(&format!("(pmap :ok [{} {}])", read("text:a"), read("gone:"))).await;
    assert_eq!(outcome.result.expect("a value").text, "[true false]");
    let calls: Vec<_> =
        outcome.upstream_calls.iter().map(|call| (call.tool.as_str(), call.args.as_deref())).collect();
    assert_eq!(
        calls,
        [("resources/read", Some(r#"{"uri":"text:a"}"#)), ("resources/read", Some(r#"{"uri":"gone:"}"#))]
    );
}

#[tokio::test]
async fn reads_count_as_upstream_calls() {
    let limits = AggregatorLimits { max_calls: 1, ..AggregatorLimits::default() };
    let world = World::with(json!({}), limits).await;
    let program = r#"[(:ok (prompt/get {:server "fake" :name "greet"}))
                      (:reason (resource/read {:server "fake" :uri "text:a"}))]"#;
    assert_eq!(world.text(program).await, "[true :cap_exhausted]");
}

#[tokio::test]
async fn prompts_take_texts_and_give_messages() {
    let world = World::new().await;
    assert_eq!(
        world.text(r#"(:value (prompt/get {:server "fake" :name "greet" :args {:name 7}}))"#).await,
        r#"{:description "Greets." :messages [{:content "Greet \"7\"." :role "user"} {:content {:bytes 3 :mime_type "image/png" :ref #<image image/png 3 bytes> :type "image"} :role "assistant"}]}"#
    );
}

#[tokio::test]
async fn what_the_configuration_hides_is_not_there() {
    let keys = json!({"deny_resources": ["secret:*"], "allow_prompts": []});
    let world = World::with(keys, AggregatorLimits::default()).await;
    for (program, value) in [
        (r#"(map :uri (resource/list {:server "fake"}))"#, r#"["text:[1]" "gone:" "blob:3"]"#),
        (r#"(prompt/list {:server "fake"})"#, "[]"),
        (
            r#"(:message (resource/read {:server "fake" :uri "secret:key"}))"#,
            r#""the configuration hides resource \"secret:key\" of upstream 'fake' (allow_resources, deny_resources)""#,
        ),
        (
            r#"(:message (resource/read {:server "fake" :uri "text:1/../secret"}))"#,
            r#""the configuration hides resource \"text:1/../secret\" of upstream 'fake' (allow_resources, deny_resources)""#,
        ),
        (r#"(:reason (prompt/get {:server "fake" :name "greet"}))"#, ":upstream_error"),
        (r#"(prompt/complete {:server "fake" :name "greet" :argument "name"})"#, "nil"),
    ] {
        assert_eq!(world.text(program).await, value, "{program}");
    }
}

#[tokio::test]
async fn wrong_forms_say_what_to_write() {
    let world = World::new().await;
    for (program, message) in [
        (
            r#"(resource/read {:server "fake"})"#,
            "!runtime_error: resource/read requires :uri (string), got nil. Write (resource/read {:server \"…\" :uri \"…\"})",
        ),
        (
            r#"(prompt/get {:server "fake" :nam "x"})"#,
            "!runtime_error: prompt/get got unknown key :nam. Write (prompt/get {:server \"…\" :name \"…\" :args {…}})",
        ),
        (
            r#"(prompt/list {:server "fake" "server" "fake"})"#,
            "!runtime_error: prompt/list got duplicate key :server. Write (prompt/list {:server \"…\"})",
        ),
        (
            r#"(resource/list "fake")"#,
            "!runtime_error: resource/list requires a map, got \"fake\". Write (resource/list {:server \"…\"})",
        ),
        (
            r#"(resource/list {:server "fak"})"#,
            "!runtime_error: no upstream 'fak' configured\nDid you mean \"fake\"?\nConfigured upstreams: fake",
        ),
        (
            "(attach {:ref \"x\"})",
            "!runtime_error: attach requires the :ref of an image, audio or a file, got {:ref \"x\"}. \
             It stands in :content of a result with other blocks than text",
        ),
    ] {
        assert_eq!(world.text(program).await, message, "{program}");
    }
}

const BLOB: &str = r#"(defn blob [n] (:value (resource/read {:server "fake" :uri (str "blob:" n)})))"#;

#[tokio::test]
async fn attachments_come_in_the_order_of_the_program() {
    let world = World::new().await;
    let program = format!(
        "{BLOB} (attach (blob 1)) (pmap (fn [n] (attach (:ref (blob n)))) [2 3 4]) (attach (blob 5)) :done"
    );
    let outcome = world.eval(&program).await;
    assert_eq!(outcome.result.expect("a value").text, ":done");
    let sizes: Vec<u64> = outcome.attachments.contents().iter().map(|content| content.len()).collect();
    assert_eq!(sizes, [1, 2, 3, 4, 5]);
    let first = &outcome.attachments.contents()[0];
    assert_eq!((first.kind, &*first.mime_type, &*first.uri), ("resource", "image/png", "blob:1"));
    assert_eq!(&*first.base64, "AA==");
    let held = world.memory.used();
    drop(outcome.attachments);
    assert!(world.memory.used() < held, "attachments count in the memory of all programs");
    let failed = world.eval(&format!("{BLOB} (attach (blob 1)) (fail \"x\")")).await;
    assert!(failed.attachments.contents().is_empty());
}

#[tokio::test]
async fn a_reply_carries_so_much_and_no_more() {
    let world = World::new().await;
    let over = "!runtime_error: attach: 1001 bytes are attached in all, a reply may carry 1000 \
                (flag `--max-attached-bytes`)";
    for program in [
        "(attach (blob 1000)) (attach (blob 1))",
        "(pmap (fn [n] (attach (blob n))) [500 501])",
        "(attach (blob 1)) (pmap (fn [n] (attach (blob n))) [1000])",
    ] {
        assert_eq!(world.text(&format!("{BLOB} {program}")).await, over, "{program}");
    }
    assert_eq!(world.text(&format!("{BLOB} (:bytes (attach (blob 1000)))")).await, "1000");
    let many = world.text(&format!("{BLOB} (let [b (blob 1)] (dotimes [_ 65] (attach b)))")).await;
    assert_eq!(many, "!runtime_error: attach: a reply may carry 64 attachments, got 65");
}

#[tokio::test]
async fn binary_content_has_a_cap_of_its_own() {
    let limits =
        AggregatorLimits { max_response_bytes: 2000, max_binary_bytes: 3000, ..AggregatorLimits::default() };
    let world = World::with(json!({}), limits).await;
    assert_eq!(world.text(&format!("{BLOB} (:bytes (blob 3000))")).await, "3000");
    let read = |uri: &str| format!(r#"(:message (resource/read {{:server "fake" :uri "{uri}"}}))"#);
    assert_eq!(
        world.text(&read("blob:3300")).await,
        r#""mcp_stdio response exceeded 3000 bytes of binary content (flag `--max-attached-bytes`)""#
    );
    let text = format!("text:{}", "x".repeat(2500));
    assert_eq!(world.text(&read(&text)).await, r#""mcp_stdio response exceeded 2000 bytes""#);
}

#[tokio::test]
async fn references_are_values_of_their_own_kind() {
    let world = World::new().await;
    for (program, value) in [
        ("(type (:ref (blob 3)))", ":reference"),
        ("(= (:ref (blob 3)) (:ref (blob 3)))", "true"),
        ("(= (:ref (blob 3)) (:ref (blob 6)))", "false"),
        ("(count (set [(:ref (blob 3)) (:ref (blob 3)) (:ref (blob 9))]))", "2"),
        ("(str (:ref (blob 3)))", "\"#<resource image/png 3 bytes>\""),
        ("(json/generate-string (blob 3))", "nil"),
        (
            "(tool/call 'fake/echo {:image (:ref (blob 3))})",
            "!runtime_error: tool 'fake.echo' rejected args: not JSON-encodable (value at image)",
        ),
    ] {
        assert_eq!(world.text(&format!("{BLOB} {program}")).await, value, "{program}");
    }
}

#[tokio::test]
async fn a_session_keeps_its_references() {
    let world = World::new().await;
    let made = world.eval_in(Some("s"), &format!("{BLOB} (def kept (blob 7))")).await;
    assert!(made.result.is_ok());
    let later = world.eval_in(Some("s"), "(attach kept) 1").await;
    assert_eq!(later.attachments.contents()[0].len(), 7);
}
