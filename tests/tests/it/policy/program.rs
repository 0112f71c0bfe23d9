//! What programs see and call.

use super::{absent, rules, same_as_absent, tells_nothing, upstreams};
use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode, notes};
use ptc_host::catalog::{Query, ToolRef};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{Engine, EngineOptions, EvalOutcome, EvalRequest, Limits};
use ptc_host::policy::{CurrentPolicy, Policy};
use ptc_host::upstream::{Call, CallLimits, FaultReason};
use ptc_mcp::json::{Value, json};
use ptc_vm::machine::{Feature, HostRequest};
use std::sync::Arc;
use std::time::Duration;

pub(super) struct World {
    pub(super) engine: Engine,
    pub(super) aggregator: Arc<Aggregator>,
    pub(super) policy: Arc<CurrentPolicy>,
}

impl World {
    pub(super) async fn new(mode: SnapshotMode, keys: &Value) -> World {
        World::under(rules("ann"), mode, keys).await
    }

    /// A world with these rules, whose upstreams have these keys in their entries.
    async fn under(rules: Value, mode: SnapshotMode, keys: &Value) -> World {
        let env = ProcessEnv::current();
        let load = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let mut entries = upstreams(env!("CARGO_BIN_EXE_fake-upstream"));
        for entry in entries.as_object_mut().expect("entries").values_mut() {
            for (key, value) in keys.as_object().into_iter().flatten() {
                entry[key.as_str()] = value.clone();
            }
        }
        let config =
            UpstreamsConfig::from_value(&json!({"upstreams": entries}), &load).expect("a right file");
        let policy = Arc::new(CurrentPolicy::new(Policy::from_value(&rules).expect("a right policy")));
        let options = AggregatorOptions { policy: Some(policy.clone()), ..AggregatorOptions::new(mode) };
        World {
            engine: Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads"),
            aggregator: Aggregator::start(config, options).await.expect("they start"),
            policy,
        }
    }

    pub(super) async fn eval_as(&self, principal: &str, program: &str) -> EvalOutcome {
        let mut request = EvalRequest::new(program);
        request.limits = Limits { timeout: Duration::from_secs(60), ..Limits::aggregator() };
        request.upstreams = Some(self.aggregator.clone());
        request.principal = Some(principal.into());
        request.authority = Some(self.policy.of_name(principal));
        self.engine.eval(request).await
    }

    /// Everything that an outcome tells, but what differs by time.
    async fn told(&self, program: &str) -> String {
        told(&self.eval_as("ann", program).await)
    }

    /// The value or the failure of a program.
    pub(super) async fn text(&self, program: &str) -> String {
        text(&self.eval_as("ann", program).await)
    }
}

pub(super) fn text(outcome: &EvalOutcome) -> String {
    match &outcome.result {
        Ok(answer) => answer.text.clone(),
        Err(failure) => format!("!{}", failure.message.trim_start_matches("runtime_error: ")),
    }
}

fn told(outcome: &EvalOutcome) -> String {
    let calls: Vec<String> = outcome
        .upstream_calls
        .iter()
        .map(|call| {
            format!("{} {} {:?} {:?} {:?}", call.server, call.tool, call.status, call.reason, call.error)
        })
        .collect();
    let ops: Vec<String> = outcome
        .catalog_ops
        .iter()
        .map(|op| format!("{} {} {:?} {:?}", op.operation, op.args, op.reason, op.note))
        .collect();
    let hint = outcome.result.as_ref().err().map(|failure| failure.full_message());
    format!("{}\n{hint:?}\n{:?}\n{calls:?}\n{ops:?}\n{:?}", text(outcome), outcome.prints, notes(outcome))
}

/// One of each kind of request. A new kind has no arm below, so that this test does not build without one.
fn kinds() -> Vec<HostRequest> {
    let feature = |feature| {
        HostRequest::Feature(ptc_vm::machine::FeatureRequest {
            feature,
            server: String::new(),
            subject: String::new(),
            argument: None,
            arguments: Vec::new(),
        })
    };
    let call = ptc_vm::machine::UpstreamCall {
        server: Ok(String::new()),
        tool: Ok(String::new()),
        arguments: Ok(Default::default()),
        by_pages: false,
    };
    let mut kinds = vec![
        HostRequest::Tool { name: String::new(), arguments: Vec::new() },
        HostRequest::Upstream(call),
        HostRequest::Discovery { form: "dir", arguments: Vec::new(), shown: Vec::new() },
        HostRequest::Ask { message: String::new(), schema: None },
        HostRequest::Sleep { millis: 0 },
    ];
    kinds.extend(Feature::ALL.map(feature));
    kinds
}

/// The programs that make a request of a kind. `SERVER` and `THING` stand for the names of an upstream, and of a tool, resource or
/// prompt there.
fn programs(kind: &HostRequest) -> Vec<&'static str> {
    match kind {
        HostRequest::Tool { .. } => vec!["(tool/THING {})"],
        HostRequest::Upstream(_) => vec![
            r#"(tool/call {:server "SERVER" :tool "THING"})"#,
            r#"(tool/call {:server "SERVER" :tool "THING" :args {:path "/reports/a"}})"#,
            r#"(tool/call {:server "SERVER" :tool "THING" :args 5})"#,
            r#"(tool/call! {:server "SERVER" :tool "THING"})"#,
            r#"(vec (take 1 (tool/pages {:server "SERVER" :tool "THING"})))"#,
            r#"(pmap tool/call [{:server "SERVER" :tool "THING"} {:server "SERVER" :tool "THING"}])"#,
            r#"(tool/call {:server "SERVER" :tool "SERVER/THING"})"#,
            r#"(tool/call {:tool "SERVER/THING"})"#,
            r#"(tool/call {:server "SERVER"})"#,
            r#"(tool/call {:server "SERVER" :tool "THING " :args {}})"#,
        ],
        HostRequest::Discovery { .. } => queries().iter().flat_map(forms).collect(),
        HostRequest::Feature(request) => vec![match request.feature {
            Feature::ResourceList => r#"(resource/list {:server "SERVER"})"#,
            Feature::ResourceTemplates => r#"(resource/templates {:server "SERVER"})"#,
            Feature::ResourceRead => r#"(resource/read {:server "SERVER" :uri "zq7:THING"})"#,
            Feature::ResourceComplete => {
                r#"(resource/complete {:server "SERVER" :uri "zq7:THING/{x}" :argument "x"})"#
            }
            Feature::PromptList => r#"(prompt/list {:server "SERVER"})"#,
            Feature::PromptGet => r#"(prompt/get {:server "SERVER" :name "THING"})"#,
            Feature::PromptComplete => r#"(prompt/complete {:server "SERVER" :name "THING" :argument "x"})"#,
        }],
        HostRequest::Ask { .. } => vec![r#"(ask {:message "THING?"})"#],
        HostRequest::Sleep { .. } => vec!["(sleep-ms 1)"],
    }
}

/// One of each kind of query.
fn queries() -> Vec<Query> {
    let tool = || ToolRef { server: String::new(), tool: String::new() };
    let apropos =
        Query::Apropos { query: String::new(), words: Vec::new(), limit: 1, load: false, local: Vec::new() };
    vec![
        Query::Servers,
        apropos,
        Query::Dir { server: String::new(), limit: 1, offset: 0 },
        Query::Doc(tool()),
        Query::DocServer { server: String::new(), offset: 0, texts: 1 },
        Query::Meta(tool()),
    ]
}

/// The programs that make a query of a kind. A new kind has no arm.
fn forms(query: &Query) -> Vec<&'static str> {
    match query {
        Query::Servers => vec!["(tool/servers)"],
        Query::Apropos { .. } => vec![
            r#"(apropos "THING")"#,
            r#"(apropos "SERVER" {:load true :limit 50})"#,
            r#"(apropos "zq7" {:load true :limit 50})"#,
            r#"(apropos "does" {:load true :limit 50})"#,
        ],
        Query::Dir { .. } => vec![r#"(dir "SERVER" {:limit 200})"#],
        Query::Doc(_) => vec![r#"(doc "SERVER/THING")"#, r#"(doc "THING")"#],
        Query::DocServer { .. } => vec![r#"(doc "SERVER")"#],
        Query::Meta(_) => vec![r#"(meta "SERVER/THING")"#, r#"(meta "THING")"#],
    }
}

/// What a program names: an upstream, and something there that is hidden.
const HIDDEN: [(&str, &str); 3] =
    [("zq7seen", "zq7hidden"), ("zq7hiddenhost", "zq7visible"), ("zq7hiddenhost", "zq7hidden")];

#[tokio::test]
async fn programs_cannot_tell_what_is_hidden_from_what_does_not_exist() {
    for mode in [SnapshotMode::Frozen, SnapshotMode::Live] {
        let world = World::new(mode, &json!({})).await;
        for program in kinds().iter().flat_map(programs) {
            for (server, thing) in HIDDEN {
                let program = program.replace("SERVER", server).replace("THING", thing);
                let hidden = world.told(&program).await;
                same_as_absent(&program, &hidden, &world.told(&absent(&program)).await, &[server, thing]);
            }
            // What is visible shows nothing beside it.
            let program = program.replace("SERVER", "zq7seen").replace("THING", "zq7visible");
            tells_nothing(&program, &world.told(&program).await);
        }
    }
}

#[tokio::test]
async fn what_is_allowed_is_seen_and_called() {
    let world = World::new(SnapshotMode::Frozen, &json!({})).await;
    for (program, value) in [
        (r#"(map :name (tool/servers))"#, r#"["zq7seen"]"#),
        (r#"(:tool_count (first (tool/servers)))"#, "2"),
        (
            r#"(dir "zq7seen")"#,
            r#"["zq7listed - Does what zq7listed does." "zq7visible - Does what zq7visible does."]"#,
        ),
        (
            r#"(:value (tool/call {:server "zq7seen" :tool "zq7visible" :args {:path "/reports/a"}}))"#,
            r#"{"path" "/reports/a"}"#,
        ),
        (r#"(map :uri (resource/list {:server "zq7seen"}))"#, r#"["zq7:zq7visible"]"#),
        (r#"(map :uri_template (resource/templates {:server "zq7seen"}))"#, r#"["zq7:zq7visible/{x}"]"#),
        (r#"(:value (resource/read {:server "zq7seen" :uri "zq7:zq7visible"}))"#, r#""read""#),
        (r#"(map :name (prompt/list {:server "zq7seen"}))"#, r#"["zq7visible"]"#),
        (r#"(:ok (prompt/get {:server "zq7seen" :name "zq7visible"}))"#, "true"),
        (r#"(resource/complete {:server "zq7seen" :uri "zq7:zq7visible/{x}" :argument "x"})"#, r#"["one"]"#),
    ] {
        assert_eq!(world.text(program).await, value, "{program}");
    }
}

#[tokio::test]
async fn what_is_listed_but_not_allowed_says_so() {
    let world = World::new(SnapshotMode::Frozen, &json!({})).await;
    let refused = "tool 'zq7seen.zq7listed' is listed but not allowed for this caller; ask the operator";
    for program in [
        r#"(tool/call {:server "zq7seen" :tool "zq7listed"})"#,
        r#"(tool/call {:server "zq7seen" :tool "zq7listed" :args {:nonsense 1}})"#,
    ] {
        let outcome = world.eval_as("ann", program).await;
        assert!(text(&outcome).contains(refused), "{}", text(&outcome));
        assert!(outcome.upstream_calls.is_empty(), "nothing was sent");
    }
    let doc = world.text(r#"(doc "zq7seen/zq7listed")"#).await;
    assert!(doc.contains("Does what zq7listed does."), "{doc}");
}

#[tokio::test]
async fn names_are_exact() {
    let world = World::new(SnapshotMode::Frozen, &json!({})).await;
    for (server, tool) in [
        ("zq7seen", "ZQ7VISIBLE"),
        ("zq7seen", "zq7Visible"),
        ("zq7seen", "zq7visible "),
        ("zq7seen", " zq7visible"),
        ("zq7seen", "zq7visible\u{7f}"),
        ("zq7seen", "zq7vis\u{456}ble"),
        ("zq7seen", "zq7visible\u{200b}"),
        ("zq7seen", "zq7_visible"),
        ("zq7seen", "*"),
        ("ZQ7SEEN", "zq7visible"),
        ("zq7s\u{435}en", "zq7visible"),
        ("*", "zq7visible"),
        ("", "zq7visible"),
    ] {
        let program =
            format!(r#"(tool/call {{:server "{server}" :tool "{tool}" :args {{:path "/reports/a"}}}})"#);
        let outcome = world.eval_as("ann", &program).await;
        let text = text(&outcome);
        assert!(
            text.starts_with("!no tool '") || text.starts_with("!no upstream '") || text.contains(":server"),
            "{program}: {text}"
        );
        assert!(outcome.upstream_calls.is_empty(), "{program}: nothing was sent");
    }
}

#[tokio::test]
async fn arguments_are_judged_as_they_are_sent_before_anybody_is_asked() {
    // Every call needs an approval, and nobody can give one.
    let world = World::new(SnapshotMode::Frozen, &json!({"approve": "writes"})).await;
    for (args, reason) in [
        ("{}", "it is missing"),
        (r#"{:path "/etc/passwd"}"#, r#""/etc/passwd" is no path under "/reports""#),
        (r#"{:path "/reports/../etc"}"#, r#""/reports/../etc" is no path under "/reports""#),
        (r#"{:path ["/reports/a"]}"#, "it is a list"),
        // Nothing is sent for it.
        (r#"{:path nil}"#, "it is missing"),
        (r#"{:PATH "/reports/a"}"#, "it is missing"),
    ] {
        let program = format!(r#"(tool/call {{:server "zq7seen" :tool "zq7visible" :args {args}}})"#);
        let outcome = world.eval_as("ann", &program).await;
        let (text, said) =
            (text(&outcome), "argument 'path' of 'zq7seen.zq7visible' is not allowed for this caller: ");
        assert!(text.starts_with(&format!("!{said}")), "{program}: {text}");
        assert!(text.contains(reason) || args.contains("PATH"), "{program}: {text}");
        assert!(outcome.upstream_calls.is_empty(), "{program}: nothing was sent");
    }
    let allowed =
        r#"(:reason (tool/call {:server "zq7seen" :tool "zq7visible" :args {:path "/reports/a"}}))"#;
    assert_eq!(world.text(allowed).await, ":unanswerable", "then it is asked about");
}

#[tokio::test]
async fn a_caller_whom_no_rule_matches_sees_nothing() {
    let world = World::new(SnapshotMode::Frozen, &json!({})).await;
    let text = |program: &'static str| {
        let world = &world;
        async move { text(&world.eval_as("ben", program).await) }
    };
    assert_eq!(text("(tool/servers)").await, "[]");
    let refused = text(r#"(tool/call {:server "zq7seen" :tool "zq7visible"})"#).await;
    assert_eq!(refused, "!no upstream 'zq7seen' configured\nConfigured upstreams: none");
}

#[tokio::test]
async fn a_program_without_an_authority_is_that_of_its_principal_alone() {
    let world = World::new(SnapshotMode::Frozen, &json!({})).await;
    let servers = |principal: Option<&'static str>| {
        let world = &world;
        async move {
            let mut request = EvalRequest::new("(map :name (tool/servers))");
            request.upstreams = Some(world.aggregator.clone());
            request.principal = principal.map(Into::into);
            text(&world.engine.eval(request).await)
        }
    };
    assert_eq!(servers(Some("ann")).await, r#"["zq7seen"]"#);
    assert_eq!(servers(Some("ben")).await, "[]");
    assert_eq!(servers(None).await, "[]");
}

#[tokio::test]
async fn calls_outside_programs_are_counted() {
    let mut limited = rules("process");
    limited["rules"][0]["limits"] = json!({"calls_per_minute": 1});
    let world = World::under(limited, SnapshotMode::Frozen, &json!({})).await;
    let mut told = Vec::new();
    for _ in 0..2 {
        let call = Call {
            tool: "zq7visible",
            arguments: br#"{"path": "/reports/a"}"#,
            again: Default::default(),
            limits: CallLimits::within(Duration::from_secs(60), 1 << 20),
            arrivals: None,
            caller: Default::default(),
            may_wrap: false,
            judged_by: None,
        };
        let answered = world.aggregator.call_outside("zq7seen", call, None).await;
        told.push(answered.map(drop).map_err(|fault| (fault.reason, fault.message)));
    }
    let refused = told.pop().expect("two").unwrap_err();
    assert!(told.pop().expect("two").is_ok());
    assert_eq!(refused.0, FaultReason::RateLimited);
    assert!(refused.1.starts_with("this caller may make 1 upstream call"), "{}", refused.1);
}

#[tokio::test]
async fn calls_outside_programs_follow_the_policy() {
    let world = World::under(rules("process"), SnapshotMode::Frozen, &json!({})).await;
    let call = |server: &'static str, tool: &'static str, arguments: &'static [u8]| {
        let world = &world;
        async move {
            let limits = CallLimits::within(Duration::from_secs(60), 1 << 20);
            let call = Call {
                tool,
                arguments,
                again: Default::default(),
                limits,
                arrivals: None,
                caller: Default::default(),
                may_wrap: false,
                judged_by: None,
            };
            world.aggregator.call_outside(server, call, None).await.map(drop).map_err(|fault| fault.message)
        }
    };
    assert_eq!(call("zq7seen", "zq7visible", br#"{"path": "/reports/a"}"#).await, Ok(()));
    for (server, tool, arguments, said) in [
        (
            "zq7seen",
            "zq7visible",
            &br#"{"path": "/etc"}"#[..],
            "argument 'path' of 'zq7seen.zq7visible' is not allowed",
        ),
        ("zq7seen", "zq7listed", b"{}", "tool 'zq7seen.zq7listed' is listed but not allowed"),
        ("zq7seen", "zq7hidden", b"{}", "no tool 'zq7hidden' in upstream 'zq7seen'"),
        ("zq7hiddenhost", "zq7visible", b"{}", "no upstream 'zq7hiddenhost' configured"),
    ] {
        let refused = call(server, tool, arguments).await.unwrap_err();
        assert!(refused.starts_with(said), "{refused}");
    }
}
