//! Tests of agent and run options, by their effect on the model or the host.

use super::*;
use crate::agent::{FormatOptions, Output, Transport};
use crate::llm::{Llm, LlmError, LlmErrorKind, LlmRegistry, RetryPolicy};
use crate::run::Progress;
use crate::telemetry::{Event, Scope};
use crate::tool::{Expose, NativeResult};
use ptc_base::sync::Mutex;

fn text() -> AgentBuilder {
    Agent::builder("p").output(Output::Text)
}

fn says(text: &str) -> Arc<dyn Llm> {
    Arc::new(ScriptedLlm::new([LlmResponse::text(text)]))
}

#[tokio::test]
async fn a_model_is_a_client_or_a_name_of_the_run_or_of_the_agent() {
    let run = async |agent: AgentBuilder, options: RunOptions| {
        let step = agent.build().unwrap().run(options).await.unwrap_or_else(|step| *step);
        step.value.as_ref().map_or_else(|| failed(&step), ToString::to_string)
    };
    let none = || RunOptions::default().with_engine(engine());
    assert_eq!(run(text(), none()).await, "llm_required: llm option is required");
    assert_eq!(run(text().llm(says("own")), none()).await, "\"own\"");
    assert_eq!(
        run(text().llm(says("own")), RunOptions::new(says("run")).with_engine(engine())).await,
        "\"run\""
    );
    let names = |text: &str| LlmRegistry::from([("fast".to_owned(), says(text))]);
    assert_eq!(run(text().llm("fast").llm_registry(names("agent's")), none()).await, "\"agent's\"");
    let both = RunOptions { llm_registry: names("run's"), ..RunOptions::new("fast").with_engine(engine()) };
    assert_eq!(run(text().llm_registry(names("agent's")), both).await, "\"run's\"");
    let unknown = run(text().llm_registry(names("x")), RunOptions::new("slow").with_engine(engine())).await;
    assert!(
        unknown.starts_with(
            "llm_not_found: 'slow' is not in llm_registry (of fast), and as a model's name: unknown model"
        ),
        "{unknown}"
    );
}

#[tokio::test]
async fn an_agent_as_a_tool_has_its_own_model_and_leaves_its_step() {
    let inner =
        Agent::builder("Say {{n}}").output(Output::Text).signature("(n :int) -> :string").name("inner");
    let inner = inner.llm("inner").build().unwrap();
    let outer = Agent::builder("p").tool("say", inner.as_tool());
    let program = fenced("(return (tool/say {:n 1}))");
    let (step, requests) = run_with(outer, vec![program], |options| {
        options.llm_registry = LlmRegistry::from([("inner".to_owned(), says("one"))]);
    })
    .await;
    assert_eq!((step.value, requests.len()), (Some(json!("one")), 1));
    let [child] = step.child_steps.as_slice() else { panic!("{:?}", step.child_steps) };
    assert_eq!((child.name.as_deref(), child.original_prompt.as_str()), (Some("inner"), "Say {{n}}"));
    assert_eq!((&child.trace_id, child.parent_trace_id.as_ref()), (&step.trace_id, Some(&step.trace_id)));
    assert_eq!(step.parent_trace_id, None);
}

#[tokio::test(start_paused = true)]
async fn failed_requests_are_repeated_where_the_options_say_so() {
    let busy = || Err(LlmError::new(LlmErrorKind::RateLimit, "busy"));
    let script = || Arc::new(ScriptedLlm::with_results([busy(), busy(), Ok(LlmResponse::text("at last"))]));
    let run = async |agent: AgentBuilder, retry: Option<RetryPolicy>| {
        let llm = script();
        let options = RunOptions { llm_retry: retry, ..RunOptions::new(llm.clone()).with_engine(engine()) };
        let step = agent.build().unwrap().run(options).await.unwrap_or_else(|step| *step);
        (step.value, llm.requests().len())
    };
    assert_eq!(run(text(), None).await, (None, 1));
    assert_eq!(run(text().llm_retry(RetryPolicy::attempts(3)), None).await, (Some(json!("at last")), 3));
    let fewer = Some(RetryPolicy::attempts(2));
    assert_eq!(run(text().llm_retry(RetryPolicy::attempts(3)), fewer).await, (None, 2));
}

#[tokio::test]
async fn floats_have_all_digits_for_the_model() {
    let turns = vec![fenced("(def third (/ 1.0 3)) [third 0.00012345]"), fenced("(return (first *1))")];
    let step = run(Agent::builder("p"), turns).await;
    let read = &told(&step)[0];
    assert!(read.contains("user=> [0.3333333333333333 0.00012345]\n"), "{read}");
    assert!(read.contains(";; third = 0.3333333333333333"), "{read}");
    assert_eq!(step.value, Some(json!(1.0 / 3.0)));
}

#[tokio::test]
async fn the_model_reads_how_far_its_plan_is() {
    let turns = || vec![fenced("(step-done \"count\" \"3 rows\") 3"), fenced("(return 1)")];
    let plan = || Agent::builder("p").plan(["count", "sum"]);
    let step = run(plan(), turns()).await;
    assert!(
        told(&step)[0].contains("<progress>\n1. [x] count: 3 rows\n2. [ ] sum\n</progress>\n\nTurn 2 of 5."),
        "{}",
        told(&step)[0]
    );
    let own = |progress: &Progress<'_>| {
        format!("{} of {} in turn {}", progress.done.len(), progress.plan.len(), progress.turn)
    };
    let step = run(plan().progress_fn(own), turns()).await;
    assert!(told(&step)[0].contains("1 of 2 in turn 1"), "{}", told(&step)[0]);
    let panics = |_: &Progress<'_>| -> String { panic!("deliberate") };
    let step = run(plan().progress_fn(panics), turns()).await;
    assert!(told(&step)[0].contains("[x] count"), "{}", told(&step)[0]);
}

#[tokio::test]
async fn a_system_prompt_keeps_to_its_limit_and_says_so() {
    let agent = Agent::builder("p").output(Output::Text).transport(Transport::ToolCall).prompt_limit(500);
    let (_, requests) = run_with(agent, vec![LlmResponse::text("done")], |_| {}).await;
    let system = &requests[0].system;
    assert!(system.len() <= 500 && system.ends_with("\n[the system prompt is cut at 500 bytes]"), "{system}");
}

#[tokio::test]
async fn a_json_schema_is_a_signature() {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["mood"], "properties": {
        "mood": {"enum": ["good", "bad"], "description": "How it went."}}});
    let agent = || text().json_schema(schema.clone());
    let answers =
        vec![LlmResponse::text("{\"mood\":\"so\",\"x\":1}"), LlmResponse::text("{\"mood\":\"good\"}")];
    let (step, requests) = run_with(agent(), answers, |_| {}).await;
    assert_eq!(step.value, Some(json!({"mood": "good"})));
    let sent = requests[0].schema.as_ref().unwrap();
    assert_eq!(sent, &schema);
    assert!(step.prompt.contains("- mood: How it went."), "{}", step.prompt);
    assert!(step.prompt.contains("Example:\n{\"mood\":\"good\"}"), "{}", step.prompt);
    let told = told(&step)[0].to_owned();
    assert!(told.starts_with(
        "Error: mood: expected one of [\"good\", \"bad\"], got \"so\"; x: unexpected field — schema disallows additional \
         properties. Please return a valid JSON object matching the expected output format."
    ));
    assert!(
        told.contains("Your answer was:\n{\"mood\":\"so\",\"x\":1}") && told.contains("\"enum\""),
        "{told}"
    );
}

#[tokio::test]
async fn what_the_model_reads_back_has_its_limits() {
    let options = FormatOptions {
        feedback_limit: Some(3),
        max_print_length: 5,
        history_max_bytes: Some(100),
        ..FormatOptions::default()
    };
    let agent = Agent::builder("p").format_options(options);
    let turns = vec![fenced("(println \"abcdefgh\") (vec (range 100))"), fenced("(return (count *1))")];
    let step = run(agent, turns).await;
    let told = told(&step)[0];
    assert!(told.contains("user=> [0 1 2 ...] (3/100)") && told.contains("abcde... (5/8 chars)"), "{told}");
    let Some(Json::Number(kept)) = &step.value else { panic!("{:?}", step.fail) };
    assert!(kept.as_u64().unwrap() < 50, "{kept}");
    // As ruling 20 says, there is no item limit by default.
    let step = run(Agent::builder("p"), vec![fenced("(vec (range 100))"), fenced("(return 1)")]).await;
    assert!(super::told(&step)[0].contains(" 98 99]"));
}

#[tokio::test]
async fn branches_are_told_with_their_errors() {
    let seen: Arc<Mutex<Vec<(String, Json)>>> = Arc::default();
    let log = seen.clone();
    let runs = Arc::new(AtomicU32::new(0));
    let agent = Agent::builder("p").tool("t", counting(&runs)).timeout(Duration::from_millis(1500));
    let slow = ToolSpec::new(|_: JsonMap| std::future::pending::<Result<Json, String>>());
    run_with(
        agent.tool("slow", slow),
        vec![
            fenced("(pmap (fn [n] (count (tool/t {:n n}))) [1 2 3])"),
            fenced("(pcalls (fn [] 1) (fn [] (tool/t {:fail 1})))"),
            fenced("(pmap (fn [n] (tool/slow {})) [1 2])"),
            fenced("(return 1)"),
        ],
        |options| {
            options.observer = Some(Arc::new(move |_: &Scope, event: &Event<'_>| {
                log.lock().push((event.name().to_owned(), event.fields()));
            }));
        },
    )
    .await;
    let seen = seen.lock();
    let forks: Vec<String> = seen
        .iter()
        .filter(|(name, _)| name.starts_with('p'))
        .map(|(name, fields)| format!("{name} {} {}", fields["count"], fields["errors"]))
        .collect();
    assert_eq!(
        forks,
        [
            "pmap.start 3 null",
            "pmap.stop 3 0",
            "pcalls.start 2 null",
            "pcalls.stop 2 1",
            "pmap.start 2 null",
            "pmap.stop 2 2",
        ]
    );
    let asked = &seen.iter().find(|(name, _)| name == "llm.start").unwrap().1;
    assert_eq!(asked["model"], "");
}

#[tokio::test]
async fn text_that_nothing_has_to_check_comes_piece_by_piece() {
    struct Pieces;
    impl Llm for Pieces {
        fn complete(
            &self,
            _: LlmRequest,
        ) -> futures_util::future::BoxFuture<'_, Result<LlmResponse, LlmError>> {
            Box::pin(std::future::ready(Ok(LlmResponse::text("12"))))
        }

        fn stream(
            &self,
            request: LlmRequest,
            sink: crate::llm::EventSink,
        ) -> futures_util::future::BoxFuture<'_, Result<LlmResponse, LlmError>> {
            sink(crate::llm::LlmEvent::Text("1"));
            sink(crate::llm::LlmEvent::Text("2"));
            self.complete(request)
        }
    }
    for (agent, expected) in [
        (text(), ["1", "2"].as_slice()),
        (text().signature(":string"), &["1", "2"]),
        (text().signature(":int"), &["12"]),
        (text().tool("t", counting(&Arc::default())), &["12"]),
        (Agent::builder("p").output(Output::Text).transport(Transport::ToolCall), &["12"]),
    ] {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = told.clone();
        let mut options = RunOptions::new(Arc::new(Pieces)).with_engine(engine());
        options.on_chunk = Some(Arc::new(move |text: &str| log.lock().push(text.to_owned())));
        agent.build().unwrap().run(options).await.unwrap();
        assert_eq!(*told.lock(), expected);
    }
}

#[tokio::test]
async fn rows_that_are_too_large_for_the_model_become_metadata() {
    let rows = ToolSpec::new(|_: JsonMap| async { Ok::<_, String>(json!([{"text": "x".repeat(1000)}])) });
    let rows = rows.expose(Expose::Both).cache(true).native_result(NativeResult::Rows { limit: 5 });
    let agent = Agent::builder("p")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .max_result_bytes(600)
        .tool("rows", rows);
    let step =
        run(agent, vec![LlmResponse::calls(vec![call("a", "rows", json!({}))]), LlmResponse::text("done")])
            .await;
    let display = &results(&step)[0].1;
    assert_eq!((&display["full_result_cached"], &display["result_count"]), (&json!(true), &json!(1)));
    assert!(display.get("rows").is_none() && display["cache_hint"].is_string(), "{display}");
}

#[tokio::test]
async fn an_earlier_answer_comes_with_what_its_fields_mean() {
    let first =
        Agent::builder("p").max_turns(1).field_description("x", "a count").field_description("y", "old");
    let first = run(first, vec![fenced("{:x 5 :y 6}")]).await;
    let second = Agent::builder("{{x}}").max_turns(1).context_description("y", "new");
    let (step, _) = run_with(second, vec![fenced("(+ data/x data/y)")], |options| {
        options.previous = Some(Arc::new(first));
    })
    .await;
    assert_eq!(step.value, Some(json!(11)));
    assert!(
        step.prompt.contains("- x: a count = 5") && step.prompt.contains("- y: new = 6"),
        "{}",
        step.prompt
    );
}
