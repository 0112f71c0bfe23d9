//! What a program gets of an upstream's answer (upstreams.md 9).

use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode, notes};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{CallStatus, Engine, EngineOptions, EvalOutcome, EvalRequest, Limits};
use ptc_mcp::json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

struct World {
    engine: Engine,
    aggregator: Arc<Aggregator>,
}

impl World {
    async fn with(options: Value, limits: AggregatorLimits) -> World {
        let mut entry = json!({"transport": "mcp_stdio", "command": env!("CARGO_BIN_EXE_fake-upstream")});
        for (key, value) in options.as_object().expect("an object").iter() {
            entry.as_object_mut().expect("an object").insert(key.clone(), value.clone());
        }
        let env = ProcessEnv::current();
        let load = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config =
            UpstreamsConfig::from_value(&json!({"upstreams": {"fake": entry}}), &load).expect("a right file");
        let options = AggregatorOptions { limits, ..AggregatorOptions::new(SnapshotMode::Frozen) };
        World {
            engine: Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads"),
            aggregator: Aggregator::start(config, options).await.expect("the fake starts"),
        }
    }

    async fn new() -> World {
        World::with(json!({}), AggregatorLimits::default()).await
    }

    async fn eval(&self, program: &str) -> EvalOutcome {
        let mut request = EvalRequest::new(program);
        request.limits = Limits { timeout: Duration::from_secs(60), ..Limits::aggregator() };
        request.upstreams = Some(self.aggregator.clone());
        self.engine.eval(request).await
    }

    /// The text of `form`, in which `r` is the result of a call that is answered with `result`.
    async fn of(&self, tool: &str, result: &str, form: &str) -> String {
        let outcome = self.eval(&program(tool, result, 0, form)).await;
        text(&outcome).to_owned()
    }
}

/// A program that calls a tool, which answers with `result`, and gives `form` of it.
fn program(tool: &str, result: &str, digits: usize, form: &str) -> String {
    let result = Value::from(result).to_string();
    format!(
        "(let [r (tool/call {{:server \"fake\" :tool \"{tool}\" :args {{:result {result} :digits {digits}}}}})] {form})"
    )
}

fn text(outcome: &EvalOutcome) -> &str {
    match &outcome.result {
        Ok(answer) => &answer.text,
        Err(failure) => &failure.message,
    }
}

#[tokio::test]
async fn payloads_come_out_of_their_wrappers() {
    let world = World::new().await;
    for (tool, result, seen) in [
        // (a) `result`, where no schema speaks against it.
        (
            "answer",
            r#"{"structuredContent":{"result":[{"id":1}]},"content":[{"type":"text","text":"{\"id\": 1}"}]}"#,
            "[[{\"id\" 1}] :json]",
        ),
        ("answer", r#"{"structuredContent":{"result":null},"content":[]}"#, "[nil :json]"),
        ("answer_record", r#"{"structuredContent":{"result":[1]},"content":[]}"#, "[{\"result\" [1]} :json]"),
        (
            "answer",
            r#"{"structuredContent":{"result":1,"total":2},"content":[]}"#,
            "[{\"result\" 1 \"total\" 2} :json]",
        ),
        // (b) one key with the text of the blocks.
        (
            "answer",
            r#"{"structuredContent":{"content":"a\nb"},"content":[{"type":"text","text":"a\nb"}]}"#,
            "[\"a\\nb\" :text]",
        ),
        (
            "answer",
            r#"{"structuredContent":{"content":"{\"n\":1}"},"content":[{"type":"text","text":"{\"n\":1}"}]}"#,
            "[{\"n\" 1} :json]",
        ),
        (
            "answer",
            r#"{"structuredContent":{"content":"a"},"content":[{"type":"text","text":"b"}]}"#,
            "[{\"content\" \"a\"} :json]",
        ),
        // (c) the table.
        ("answer", r#"{"structuredContent":false,"content":[{"type":"text","text":"b"}]}"#, "[false :json]"),
        ("answer", r#"{"content":[{"type":"text","text":" 42 "}]}"#, "[42 :json]"),
        ("answer", r#"{"content":[{"type":"text","text":"[1] x"}]}"#, "[\"[1] x\" :text]"),
        ("answer", r#"{"content":[]}"#, "[nil :none]"),
    ] {
        assert_eq!(world.of(tool, result, "[(:value r) (:value_kind r)]").await, seen, "{result}");
    }
    world.aggregator.shutdown().await;
    let raw = World::with(json!({"raw_envelope": true}), AggregatorLimits::default()).await;
    let result = r#"{"structuredContent":{"result":1},"content":[]}"#;
    assert_eq!(
        raw.of("answer", result, "(:raw r)").await,
        r#"{"content" [] "structuredContent" {"result" 1}}"#
    );
    let failed = r#"{"isError":true,"content":[{"type":"text","text":"no"}]}"#;
    assert_eq!(raw.of("answer", failed, "(get-in r [:raw \"isError\"])").await, "true");
    raw.aggregator.shutdown().await;
}

#[tokio::test]
async fn several_blocks_are_all_there() {
    let world = World::new().await;
    let result = r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"{\"n\":1}"},
        {"type":"image","data":"AAAA","mimeType":"image/png"},
        {"type":"resource","resource":{"uri":"file:///x","mimeType":"text/plain","text":"[1]"}},
        {"type":"resource_link","uri":"file:///y","name":"y"}]}"#;
    assert_eq!(world.of("answer", result, "(:value r)").await, "\"a\"");
    assert_eq!(
        world.of("answer", result, "(:content r)").await,
        "[{:text \"a\" :type \"text\"} {:text {\"n\" 1} :type \"text\"} {:bytes 3 :mime_type \"image/png\" :ref #<image image/png 3 bytes> :type \"image\"} \
         {:mime_type \"text/plain\" :text \"[1]\" :type \"resource\" :uri \"file:///x\"} \
         {:name \"y\" :type \"resource_link\" :uri \"file:///y\"}]"
    );
    let one = r#"{"content":[{"type":"text","text":"a"}]}"#;
    assert_eq!(world.of("answer", one, "(contains? r :content)").await, "false");
    let image = r#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}"#;
    assert_eq!(world.of("answer", image, "[(:value r) (count (:content r))]").await, "[nil 1]");
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn an_error_tells_all_of_its_texts_and_data() {
    let world = World::new().await;
    let result = r#"{"isError":true,"structuredContent":{"code":7},"content":[{"type":"text","text":"one"},
        {"type":"text","text":"two"}]}"#;
    assert_eq!(
        world.of("answer", result, "r").await,
        "{:data {\"code\" 7} :message \"one\\ntwo\" :ok false :reason :tool_error :sent true}"
    );
    let outcome = world.eval(&program("answer", result, 0, "(:ok r)")).await;
    assert!(outcome.upstream_calls[0].result_bytes.is_some_and(|bytes| bytes > 100), "its bytes are counted");
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn one_bad_character_does_not_lose_the_records_around_it() {
    let world = World::new().await;
    for result in [
        r#"{"structuredContent":[{"s":"a\ud800"},{"s":"b"}],"content":[]}"#,
        r#"{"content":[{"type":"text","text":"[{\"s\":\"a\\udc00\"},{\"s\":\"b\"}]"}]}"#,
    ] {
        let outcome = world.eval(&program("answer", result, 0, "(map :s (:value r))")).await;
        assert_eq!(text(&outcome), "[\"a\u{fffd}\" \"b\"]");
        let told = notes(&outcome);
        assert!(told.iter().any(|note| note.contains("each became U+FFFD")), "{told:?}");
    }
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn what_no_program_can_hold_is_a_fault_of_the_upstream() {
    let world = World::new().await;
    let deep =
        format!(r#"{{"structuredContent":{{"a":{}{}}},"content":[]}}"#, "[".repeat(128), "]".repeat(128));
    for (result, why) in [
        (r#"{"structuredContent":{"n":DIGITS},"content":[]}"#, "an integer of 1500000 digits"),
        (r#"{"content":[{"type":"text","text":"{\"n\":[-DIGITS]}"}]}"#, "an integer of 1500000 digits"),
        (
            r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"DIGITS"}]}"#,
            "an integer of 1500000 digits",
        ),
        (r#"{"structuredContent":{"n":1e999},"content":[]}"#, "no JSON"),
        (deep.as_str(), ""),
    ] {
        let form = "[(:ok r) (:reason r) (:message r)]";
        let outcome = world.eval(&program("answer", result, 1_500_000, form)).await;
        let shown = text(&outcome);
        assert!(shown.starts_with("[false :upstream_error \"") && shown.contains(why), "{shown}");
        let record = &outcome.upstream_calls[0];
        assert_eq!((record.status, record.reason.as_deref()), (CallStatus::Error, Some("upstream_error")));
    }
    // These are no trouble: text that is no JSON stays text, and of equal keys the last one wins.
    let digits = r#"{"content":[{"type":"text","text":"DIGITS and more"}]}"#;
    let outcome =
        world.eval(&program("answer", digits, 1_500_000, "[(:value_kind r) (count (:value r))]")).await;
    assert_eq!(text(&outcome), "[:text 1500009]");
    let twice = r#"{"structuredContent":{"a":1,"a":2},"content":[]}"#;
    assert_eq!(world.of("answer", twice, "(:value r)").await, "{\"a\" 2}");
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn a_cap_that_refuses_a_call_says_so() {
    let limits = AggregatorLimits { max_calls: 2, ..AggregatorLimits::default() };
    let world = World::with(json!({}), limits).await;
    let outcome = world
        .eval("(map :message (remove :ok (map (fn [i] (tool/call {:server \"fake\" :tool \"echo\" :args {:i i}})) (range 4))))")
        .await;
    let message = |call: u32| {
        format!(
            "\"cap_exhausted: this program may make 2 upstream calls (flag `--max-upstream-calls-per-program`); \
             call {call} was not sent\""
        )
    };
    assert_eq!(text(&outcome), format!("[{} {}]", message(3), message(4)));
    world.aggregator.shutdown().await;
}

/// Two answers and two failures, in `rs`.
const FOUR: &str = r#"(def rs (map (fn [t] (tool/call {:server "fake" :tool t :args {:n 1}})) ["echo" "refuse" "echo" "refuse"])) "#;

#[tokio::test]
async fn failures_that_nobody_looked_at_are_told() {
    let world = World::new().await;
    let told = "2 of 4 upstream calls failed: fake.refuse tool_error (2)";
    for form in [
        "(count rs)",
        "(map :value rs)",
        "(map (fn [r] (get r :value 0)) rs)",
        "(do (:ok (nth rs 1)) (count rs))",
        "(map (fn [{v :value}] v) rs)",
        "(map #(select-keys % [:value]) rs)",
        "(count (map #(assoc % :id 1) rs))",
        "(map :value (filter map? rs))",
    ] {
        let notes = notes(&world.eval(&format!("{FOUR}{form}")).await);
        assert_eq!(notes, [told], "{form}");
    }
    for form in [
        "(count (filter :ok rs))",
        "(count (remove #(= :tool_error (:reason %)) rs))",
        "(count (map #(get % :message) rs))",
        "(count (map (fn [{:keys [ok]}] ok) rs))",
        "(count (map (fn [{m :message}] m) rs))",
        "(count (map #(get-in % [:ok]) rs))",
        "(count (map #(select-keys % [:reason]) rs))",
        "(do (println rs) 1)",
        "(count (json/generate-string rs))",
        "(count (pr-str rs))",
        "(count (str rs))",
        "rs",
        "{:all rs}",
        "(return rs)",
        "(count (filter :ok (map #(assoc % :id 1) rs)))",
        "(count (group-by :ok rs))",
        "(count (map vals rs))",
        "(count (map #(if-let [v (and (:ok %) (:value %))] v 0) rs))",
    ] {
        let notes = notes(&world.eval(&format!("{FOUR}{form}")).await);
        assert_eq!(notes, [] as [&str; 0], "{form}");
    }
    let failed = notes(&world.eval(&format!("{FOUR}(fail (count rs))")).await);
    assert_eq!(failed, [] as [&str; 0], "an error tells of its calls by itself");
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn blocks_behind_the_value_are_told_once() {
    let world = World::new().await;
    let result =
        r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"image","data":""}]}"#;
    let twice =
        format!("[{} {}]", program("answer", result, 0, "(:value r)"), program("answer", result, 0, "1"));
    assert_eq!(
        notes(&world.eval(&twice).await),
        ["`fake.answer` answered 3 content blocks; `:value` is the first, `:content` has all"]
    );
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn a_text_that_is_wholly_python_s_is_the_data_that_it_writes() {
    let world = World::new().await;
    let result =
        r#"{"content":[{"type":"text","text":"[{'id': 1, 'ok': True}]"},{"type":"text","text":"more"}]}"#;
    let eval = async |result: &str, form: &str| world.eval(&program("answer", result, 0, form)).await;
    let outcome = eval(result, "[(:value_kind r) (get-in r [:value 0 :ok]) (mapv :text (:content r))]").await;
    assert_eq!(text(&outcome), r#"[:json true [[{"id" 1 "ok" true}] "more"]]"#);
    let told =
        "the answer of `fake.answer` is a text of Python literals, and came as the data that it writes";
    assert!(notes(&outcome).iter().any(|note| note == told), "{:?}", notes(&outcome));
    // What only begins so is a text.
    for words in
        ["just words", "[INFO] done [1]", "[{'id': 1}] and more", "[{'at': datetime.date(2026, 1, 1)}]"]
    {
        let result = format!(r#"{{"content":[{{"type":"text","text":"{words}"}}]}}"#);
        let outcome = eval(&result, "[(:value_kind r) (:value r)]").await;
        assert_eq!(text(&outcome), format!("[:text \"{words}\"]"));
        assert_eq!(notes(&outcome), [] as [&str; 0]);
    }
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn pages_that_were_left_out_are_told() {
    let world = World::new().await;
    let result = r#"{"structuredContent":{"rows":[1],"next_cursor":"c"},"content":[]}"#;
    let quoted = Value::from(result).to_string();
    let pages = |options: &str| {
        format!(
            "(tool/pages {{:server \"fake\" :tool \"answer\" :args {{:result {quoted} :digits 0}} {options}}})"
        )
    };
    let outcome = world.eval(&pages(":max-pages 1")).await;
    assert_eq!(text(&outcome), "[1]");
    let told = "tool/pages of \"fake.answer\" stopped at :max-pages 1; there are further pages";
    assert_eq!(notes(&outcome), [told]);
    let branches = format!("(pmap (fn [_] {}) [1 2])", pages(":max-pages 1"));
    let outcome = world.eval(&branches).await;
    assert_eq!(
        (text(&outcome), notes(&outcome)),
        ("[[1] [1]]", vec![told.to_owned()]),
        "once, from branches too"
    );
    // A last page leaves nothing out.
    let outcome = world.eval(&pages(":max-pages 1 :next (fn [_] nil)")).await;
    assert_eq!((text(&outcome), notes(&outcome)), ("[1]", vec![]));
    world.aggregator.shutdown().await;
}

#[tokio::test]
async fn keys_that_are_absent_are_told_where_nothing_came_of_it() {
    let world = World::new().await;
    let result = r#"{"structuredContent":{"count":2,"matches":[{"id":1,"title":"a"},{"id":2,"title":"b"}]},"content":[]}"#;
    let of = async |form: &str| notes(&world.eval(&program("answer", result, 0, form)).await);
    let outer = r#"no key "tickets"; keys: "count", "matches""#;
    let inner = r#"no key "name"; keys: "id", "title""#;
    let shape = r#"fake.answer ok {"count" int, "matches" [{"id" int "title"}]}"#;
    for (form, miss) in [
        ("(:tickets (:value r))", outer),
        ("(get (:value r) \"tickets\")", outer),
        ("(get-in r [:value :tickets])", outer),
        ("(let [{:keys [tickets]} (:value r)] tickets)", outer),
        ("(map :id (:tickets (:value r)))", outer),
        ("(count (:tickets (:value r)))", outer),
        ("{:found (vec (:tickets (:value r)))}", outer),
        ("(map :name (:matches (:value r)))", inner),
        ("(mapv #(get % \"name\") (:matches (:value r)))", inner),
        ("(:matches r)", "no key :matches; keys: :ok, :value, :value_kind"),
    ] {
        assert_eq!(of(form).await, [miss, shape], "{form}");
    }
    assert_eq!(
        of("(+ 1 (:total (:value r)))").await,
        [r#"no key "total"; keys: "count", "matches""#],
        "an error"
    );
    for form in [
        "[(:tickets (:value r)) (:count (:value r))]",
        "(:tickets (:value r) 5)",
        "(:a {:b 1})",
        "(:message r)",
    ] {
        assert_eq!(of(form).await, [] as [&str; 0], "{form}");
    }
    // Where something came of it, only a key that no row has.
    let rows =
        r#"{"structuredContent":{"rows":[{"id":1},{"id":2},{"id":3},{"id":4,"note":"x"}]},"content":[]}"#;
    let table = r#"{"content":[{"type":"text","text":"id,title\n1,a\n2,b\n3,c\n4,d\n"}]}"#;
    for (result, form, told) in [
        (rows, "(last (sort-by :duration (:rows (:value r))))", vec![r#"no key "duration"; keys: "id""#]),
        (rows, "(map :note (:rows (:value r)))", vec![]),
        (rows, "[1 (:total (:value r))]", vec![]),
        (
            table,
            "(last (sort-by #(get % \"name\") (csv/parse-string (:value r))))",
            vec![r#"no key "name"; keys: "id", "title""#],
        ),
    ] {
        let mut notes = notes(&world.eval(&program("answer", result, 0, form)).await);
        notes.retain(|note| !note.starts_with("fake.answer ok"));
        assert_eq!(notes, told, "{form}");
    }
    // Keys that are data are not told.
    let people = r#"{"structuredContent":{"ada@example.org":1},"content":[]}"#;
    let outcome = world.eval(&program("answer", people, 0, "(:x (:value r))")).await;
    assert_eq!(notes(&outcome), [] as [&str; 0]);
    world.aggregator.shutdown().await;
}
