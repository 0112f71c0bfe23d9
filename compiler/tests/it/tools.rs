//! Calls of tools and discovery, from the program's text to what the host is asked and back.

use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::machine::{ArgumentsError, HostRequest, Limits, Payload, Reply, Setup, UpstreamCall};
use ptc_vm::paging::CallFacts;
use ptc_vm::value::ReplyWatch;
use ptc_vm::{Machine, Step, print};
use std::rc::Rc;

fn setup(tools: &[&str], upstreams: bool) -> Setup {
    Setup { tools: tools.iter().map(|name| Rc::from(*name)).collect(), upstreams, ..Setup::new(library()) }
}

/// Upstreams, and room for large arguments.
fn roomy() -> Setup {
    let limits = Limits { memory_bytes: 100 << 20, ..Limits::default() };
    Setup { limits, ..setup(&[], true) }
}

/// Runs a program, answering each request of its host.
fn run(source: &str, setup: Setup, host: impl FnMut(HostRequest) -> Reply) -> String {
    run_noted(source, setup, host).0
}

/// As [`run`], with the notes of the program.
fn run_noted(
    source: &str,
    setup: Setup,
    mut host: impl FnMut(HostRequest) -> Reply,
) -> (String, Vec<String>) {
    let program = compile(source, library(), &CompileOptions::default()).expect("a program");
    let mut machine = Machine::new(Rc::new(program), setup);
    loop {
        match machine.resume(100_000) {
            Step::Done => break,
            Step::Slice => {}
            Step::Wait => {
                let calls = machine.take_calls();
                assert!(!calls.is_empty(), "waits for nothing");
                for call in calls {
                    machine.complete(call.id, host(call.request));
                }
            }
        }
    }
    let outcome = machine.finish(true);
    let notes = outcome.notes.iter().map(|note| note.as_str().to_owned()).collect();
    let shown = match outcome.result {
        Ok(value) => print::readable(&value).expect("printable"),
        Err(error) => format!("!{} {}", error.reason(), error.message()),
    };
    (shown, notes)
}

fn never(request: HostRequest) -> Reply {
    panic!("the host was asked: {request:?}")
}

fn value(json: &str) -> Reply {
    Reply::Value(Payload::Json(json.as_bytes().to_vec().into()))
}

/// What the host is asked by the only upstream call of a program.
fn upstream(source: &str) -> UpstreamCall {
    let mut seen = None;
    run(source, roomy(), |request| match request {
        HostRequest::Upstream(call) => {
            seen = Some(call);
            value("null")
        }
        other => panic!("not an upstream call: {other:?}"),
    });
    seen.expect("one call")
}

#[test]
fn host_tools_get_named_arguments_with_underscores() {
    for (source, want) in [
        ("(tool/echo)", "{}"),
        (
            "(tool/echo {:first-name \"Al\" :n [:x-y {:a-b 1}]})",
            r#"{"first_name":"Al","n":["x-y",{"a_b":1}]}"#,
        ),
        ("(tool/echo :q \"a\" :limit 5)", r#"{"limit":5,"q":"a"}"#),
        ("(apply tool/echo [{:q 1}])", r#"{"q":1}"#),
    ] {
        let mut asked = Vec::new();
        let got = run(source, setup(&["echo"], false), |request| match request {
            HostRequest::Tool { name, arguments } => {
                asked.push((name, String::from_utf8(arguments).expect("JSON")));
                value("{\"done\": true}")
            }
            other => panic!("not a host tool: {other:?}"),
        });
        assert_eq!(asked, [("echo".to_owned(), want.to_owned())], "{source}");
        assert_eq!(got, "{\"done\" true}");
    }
}

#[test]
fn arguments_without_names_are_refused_with_a_hint() {
    let text = |name: &str| {
        format!(
            "!invalid_tool_args invalid_tool_args: Tool calls require named arguments. Use (tool/{name} {{:key value}}), \
             not positional args."
        )
    };
    for (source, hint) in [
        ("(tool/echo 5)", " Got 5 — wrap in {:key value}"),
        ("(tool/echo \"x\")", " Got string \"x\" — try (tool/echo {:url \"...\"})"),
        ("(tool/echo nil)", " Got nil — wrap in {:key value}"),
        ("(tool/echo 1 2)", ""),
        ("(tool/echo :a)", " Got :a — wrap in {:key value}"),
    ] {
        assert_eq!(
            run(source, setup(&["echo"], false), never),
            format!("{}{hint}", text("echo")),
            "{source}"
        );
    }
    assert_eq!(
        run("(tool/call 5)", setup(&[], true), never),
        format!("{} Got 5 — wrap in {{:key value}}", text("call"))
    );
    assert_eq!(
        run("(tool/echo {:f inc})", setup(&["echo"], false), never),
        "!invalid_tool_args invalid_tool_args: tool/echo: non-JSON-encodable value at f"
    );
}

#[test]
fn tools_that_nobody_registered_are_unknown() {
    assert_eq!(
        run("(tool/nope)", setup(&[], false), never),
        "!unknown_tool Unknown tool: nope. No tools available."
    );
    assert_eq!(
        run("(tool/call {})", setup(&[], false), never),
        "!unknown_tool Unknown tool: call. No tools available."
    );
    assert_eq!(run("(if false (tool/nope) 1)", setup(&[], false), never), "1");
}

#[test]
fn upstream_calls_come_in_several_spellings() {
    for source in [
        "(tool/call {:server \"fs\" :tool \"read\" :args {:max-size 1}})",
        "(tool/call {\"server\" \"fs\" \"tool\" \"read\" \"args\" {:max-size 1}})",
        "(tool/call :server \"fs\" :tool \"read\" :args {:max-size 1})",
        "(tool/call 'fs/read {:max-size 1})",
        "(tool/call \"fs/read\" {:max-size 1})",
        "(tool/call {:server :fs :tool :read :args {:max-size 1}})",
        "(tool/call! \"fs/read\" {:max-size 1})",
        "(tool/pages \"fs/read\" {:max-size 1})",
        "(first (map tool/call [{:server \"fs\" :tool \"read\" :args {:max-size 1}}]))",
    ] {
        let call = upstream(source);
        assert_eq!((call.server.as_deref(), call.tool.as_deref()), (Ok("fs"), Ok("read")), "{source}");
        let arguments = call.arguments.expect("arguments");
        assert_eq!(arguments.json, br#"{"max-size":1}"#);
        assert_eq!(arguments.hyphenated.as_slice(), std::slice::from_ref(&(2..10)));
    }
    for source in ["(tool/call 'fs/read)", "(tool/call {:server \"fs\" :tool \"read\" :args nil})"] {
        assert_eq!(upstream(source).arguments.expect("none").json, b"{}", "{source}");
    }
}

#[test]
fn what_the_host_must_judge_is_handed_on() {
    let call = upstream("(tool/call {:server nil :args 5})");
    assert_eq!((call.server, call.tool), (Err("nil".to_owned()), Err("nil".to_owned())));
    assert!(matches!(call.arguments, Err(ArgumentsError::NotAMap(shown)) if shown == "5"));
    assert_eq!(upstream("(tool/call {:server \"\" :tool :t})").server, Err("\"\"".to_owned()));
    let call = upstream("(tool/call 'fs/read {:rows [{:f inc}]})");
    assert!(matches!(call.arguments, Err(ArgumentsError::NotEncodable(why)) if why == "value at rows[0].f"));
}

#[test]
fn what_is_longer_than_a_call_may_be_is_not_written_out() {
    let call = upstream("(tool/call 'fs/read {:k (vec (repeat 3000000 []))})");
    let Err(ArgumentsError::TooLong { bytes, most }) = call.arguments else { panic!("{:?}", call.arguments) };
    assert_eq!(most, 4 << 20);
    assert!((most..most + 100).contains(&bytes), "{bytes}");
    let call = upstream("(tool/call 'fs/read {:k (apply str (repeat 500000 \"0123456789\"))})");
    assert!(matches!(call.arguments, Err(ArgumentsError::TooLong { bytes: 5_000_000..5_000_100, .. })));
    let call = upstream("(tool/call 'fs/read {:k (apply str (repeat 400000 \"0123456789\"))})");
    assert_eq!(call.arguments.expect("short enough").json.len(), 4_000_008);
    let long = "(apply str (repeat 500000 \"0123456789\"))";
    for source in [
        format!("(tool/call {{:server {long} :tool \"t\"}})"),
        format!("(tool/call {{:server \"s\" :tool {long}}})"),
        format!("(resource/read {{:server \"s\" :uri {long}}})"),
        format!("(prompt/get {{:server \"s\" :name {long}}})"),
        format!("(prompt/get {{:server \"s\" :name \"n\" :args {{:k {long}}}}})"),
        format!("(prompt/complete {{:server \"s\" :name \"n\" :argument \"a\" :value {long}}})"),
    ] {
        let refused = run(&source, roomy(), never);
        assert!(
            refused.contains("the limit of a call is 4194304 (--max-upstream-request-bytes)"),
            "{refused}"
        );
    }
    let refused = run(&format!("(doc {long})"), roomy(), never);
    assert_eq!(refused, "!runtime_error runtime_error: doc got at least 5000003 bytes, the limit is 262144");
}

#[test]
fn what_a_call_sends_is_charged_until_it_is_answered() {
    let program =
        "(pmap (fn [_] (tool/call 'fs/read {:k (apply str (repeat 100000 \"0123456789\"))})) (range 20))";
    let refused = run(program, setup(&[], true), never);
    assert!(refused.starts_with("!memory_exceeded"), "{refused}");
    let one_by_one = program.replace("(pmap", "(mapv");
    let done = run(&one_by_one, setup(&[], true), |_| Reply::Value(Payload::None));
    assert_eq!(done, format!("[{}]", vec!["nil"; 20].join(" ")));
}

#[test]
fn faults_that_the_machine_sees_itself() {
    for (source, want) in [
        ("(tool/call {:serve \"fs\"})", "!runtime_error runtime_error: tool/call got unknown key \"serve\""),
        ("(tool/call {5 1})", "!runtime_error runtime_error: tool/call got unknown key 5"),
        (
            "(tool/call {:server \"a\" \"server\" \"b\"})",
            "!runtime_error runtime_error: tool/call got duplicate key :server",
        ),
        ("(pmap tool/call [{:serve 1}])", "!pmap_error pmap_error: tool/call got unknown key \"serve\""),
        (
            "(tool/call 'fs {})",
            "!invalid_tool_args invalid_tool_args: tool/call symbol form requires a qualified symbol like 'server/tool",
        ),
    ] {
        assert_eq!(run(source, setup(&[], true), never), want, "{source}");
    }
}

#[test]
fn discovery_asks_upstreams_for_what_is_not_known_here() {
    let ask = |source: &str, want_form: &str, want: &str, shown: &[&str], reply: &str| {
        run(source, setup(&[], true), |request| match request {
            HostRequest::Discovery { form, arguments, shown: text } => {
                assert_eq!(
                    (form, String::from_utf8_lossy(&arguments).as_ref()),
                    (want_form, want),
                    "{source}"
                );
                assert_eq!(text, shown, "{source}");
                value(reply)
            }
            other => panic!("not discovery: {other:?}"),
        })
    };
    assert_eq!(ask("(doc 'fs/read)", "doc", r#"["fs/read"]"#, &["'fs/read"], r#""fs/read""#), "\"fs/read\"");
    assert_eq!(
        ask("(dir github {:limit 2})", "dir", r#"["github",{"limit":2}]"#, &["'github", "{:limit 2}"], "[]"),
        "[]"
    );
    assert_eq!(ask("(meta \"fs/read\")", "meta", r#"["fs/read"]"#, &["\"fs/read\""], "null"), "nil");
    assert_eq!(ask("(tool/servers)", "tool/servers", "[]", &[], "[]"), "[]");
    // Local names are never asked for.
    assert!(run("(doc 'map)", setup(&[], true), never).starts_with("\"map\\nDescription: "));
}

#[test]
fn a_search_hands_its_local_matches_to_the_host() {
    let asked = |source: &str, want: &str| {
        let got = run(source, setup(&[], true), |request| match request {
            HostRequest::Discovery { form: "apropos", arguments, .. } => {
                let text = String::from_utf8_lossy(&arguments).into_owned();
                assert!(text.starts_with(want), "{source}: {text}");
                value("[\"x\"]")
            }
            other => panic!("not a search: {other:?}"),
        });
        assert_eq!(got, "[\"x\"]");
    };
    asked("(apropos \"group-by\" {:limit 1})", r#"["group-by",{"limit":1},["local: group-by - "#);
    asked("(apropos \"group-by\" {:load true})", r#"["group-by",{"load":true},[]]"#);
    asked("(apropos \"group-by\")", r#"["group-by",{},["local: group-by - "#);
}

#[test]
fn a_bound_name_is_evaluated_as_a_reference() {
    let asked = |source: &str, want: &str| {
        let got = run(source, setup(&[], true), |request| match request {
            HostRequest::Discovery { arguments, .. } => {
                value(&format!("{:?}", String::from_utf8_lossy(&arguments)))
            }
            other => panic!("not discovery: {other:?}"),
        });
        assert_eq!(got, want, "{source}");
    };
    asked("(let [t \"fs/read\"] (doc t))", r#""[\"fs/read\"]""#);
    asked("(map (fn [s] (dir s)) ['fs])", r#"["[\"fs\"]"]"#);
    asked("(let [t 'fs/read] (map (fn [_] (meta t)) [1]))", r#"["[\"fs/read\"]"]"#);
    asked("(def t \"fs/read\") (doc t)", r#""[\"fs/read\"]""#);
    asked("(def t 'fs/read) (doc t)", r#""[\"fs/read\"]""#);
    asked("(def server {:name \"fs\"}) (dir (:name server))", r#""[\"fs\"]""#);
    asked("(dir fs)", r#""[\"fs\"]""#);
    // What no reference can be bound to keeps its name.
    assert!(run("(defn twice \"Doubles\" [x] x) (doc twice)", setup(&[], true), never).contains("Doubles"));
    assert!(run("(def x 5) (:name (meta x))", setup(&[], true), never).contains("x"));
}

#[test]
fn a_search_gives_what_the_host_found() {
    let search = |source: &str, reply: &str| {
        run(source, setup(&[], true), |request| match request {
            HostRequest::Discovery { form: "apropos", .. } => value(reply),
            other => panic!("not a search: {other:?}"),
        })
    };
    assert_eq!(
        search("(apropos \"group-by\" {:limit 2})", r#"["fs/group - Groups"]"#).split(" - ").next(),
        Some("[\"fs/group")
    );
    assert_eq!(search("(count (apropos \"group\" {:limit 2}))", r#"["a","b"]"#), "2");
    assert_eq!(search("(apropos \"group\" {:limit 2})", r#"["a","b"]"#), "[\"a\" \"b\"]");
    // A spent budget.
    assert_eq!(search("(apropos \"group-by\")", "null"), "nil");
}

#[test]
fn programs_describe_themselves() {
    let program = "(defn twice \"Doubles\" ([x] (* 2 x)) ([x & more] x)) ";
    for (source, want) in [
        (
            "(doc twice)",
            r#""twice\nDescription: Doubles\nKind: user-function\nNamespace: user\nSignatures: (twice x), (twice x & more)""#,
        ),
        ("(dir 'user)", r#"["twice - Doubles"]"#),
        ("(keys (ns-publics 'user))", r#"["twice"]"#),
        ("(source twice)", "nil"),
    ] {
        assert_eq!(run(&format!("{program}{source}"), setup(&[], false), never), want, "{source}");
    }
}

/// Runs a program against a server that answers each request's arguments by `answer`; how often it was asked.
fn paged(source: &str, answer: impl Fn(&str) -> Reply) -> (String, usize) {
    let (got, _, asked) = paged_by(source, answer);
    (got, asked)
}

/// As [`paged`], with the notes of the program.
pub(crate) fn paged_by(source: &str, answer: impl Fn(&str) -> Reply) -> (String, Vec<String>, usize) {
    let mut asked = 0;
    let (got, notes) = run_noted(source, setup(&[], true), |request| match request {
        HostRequest::Upstream(call) => {
            asked += 1;
            answer(std::str::from_utf8(&call.arguments.expect("arguments").json).expect("JSON"))
        }
        other => panic!("not an upstream call: {other:?}"),
    });
    (got, notes, asked)
}

/// An answer to a call of which so much is known.
pub(crate) fn success_of(json: &str, asked: CallFacts) -> Reply {
    Reply::Success {
        payload: Payload::Json(json.as_bytes().to_vec().into()),
        content: Vec::new(),
        raw: None,
        watch: Some(Rc::new(ReplyWatch::of_call(asked))),
    }
}

fn success(json: &str) -> Reply {
    Reply::success(Payload::Json(json.as_bytes().to_vec().into()))
}

fn failure(message: &str) -> Reply {
    Reply::fault("tool_error", message)
}

#[test]
fn a_call_that_must_succeed_gives_its_value_or_ends_the_program() {
    let good = |_: &str| success(r#"{"n": 5}"#);
    for source in [
        "(:n (tool/call! {:server \"s\" :tool \"t\" :args {}}))",
        "(:n (tool/call! 's/t))",
        "(:n (tool/call! 's/t {:a 1}))",
    ] {
        assert_eq!(paged(source, good), ("5".to_owned(), 1), "{source}");
    }
    assert_eq!(paged("(map :n (map tool/call! [{:server \"s\" :tool \"t\"}]))", good).0, "[5]");
    assert_eq!(paged("[(tool/call! 's/t) 1]", |_| failure("no such thing")).0, "!fail \"no such thing\"");
}

#[test]
fn pages_are_followed_to_the_end() {
    let by_cursor = |arguments: &str| match arguments {
        a if a.contains("\"c2\"") => success(r#"{"tickets": [3], "next_cursor": null, "total": 3}"#),
        a if a.contains("\"c1\"") => success(r#"{"tickets": [2], "next_cursor": "c2"}"#),
        _ => success(r#"{"tickets": [1], "next_cursor": "c1"}"#),
    };
    for source in [
        "(tool/pages {:server \"s\" :tool \"t\" :args {:limit 1}})",
        "(tool/pages {:server \"s\" :tool \"t\"})",
        "(tool/pages 's/t)",
        "(tool/pages 's/t {:limit 1})",
        "(tool/pages 's/t {} {:items :tickets})",
        "(tool/pages {:server \"s\" :tool \"t\" :items \"tickets\"})",
        "(tool/pages 's/t {} (fn [page] (:next_cursor page)))",
        "(tool/pages 's/t {} {:next :next_cursor :cursor :cursor})",
        "(tool/pages 's/t {} {:next (fn [page] (when-let [c (:next_cursor page)] {:cursor c}))})",
        "(first (pmap tool/pages [{:server \"s\" :tool \"t\"}]))",
    ] {
        assert_eq!(paged(source, by_cursor), ("[1 2 3]".to_owned(), 3), "{source}");
    }
    assert_eq!(paged("(tool/pages 's/t {} {:max-pages 2})", by_cursor), ("[1 2]".to_owned(), 2));
    assert_eq!(
        paged("(tool/pages 's/t {} {:items (fn [p] (map inc (:tickets p)))})", by_cursor).0,
        "[2 3 4]"
    );
    let by_page = |arguments: &str| match arguments {
        a if a.contains("\"page\":2") => {
            success(r#"{"data": [2], "errors": [], "nextPage": 0, "has_more": false}"#)
        }
        _ => success(r#"{"data": [1], "errors": [], "pagination": {"next_page": 2}}"#),
    };
    assert_eq!(paged("(tool/pages 's/t)", by_page), ("[1 2]".to_owned(), 2));
    assert_eq!(paged("(tool/pages 's/t)", |_| success("[7, 8]")), ("[7 8]".to_owned(), 1));
    assert_eq!(paged("(tool/pages 's/t)", |_| success("null")), ("[]".to_owned(), 1));
    // A server that repeats the cursor of the request.
    let echo = |arguments: &str| match arguments {
        a if a.contains("c1") => success(r#"{"items": [2], "cursor": "c1"}"#),
        _ => success(r#"{"items": [1], "cursor": "c1"}"#),
    };
    assert_eq!(paged("(tool/pages 's/t)", echo), ("[1 2]".to_owned(), 2));
}

#[test]
fn pages_that_cannot_be_followed_say_so() {
    let fails = |arguments: &str| match arguments {
        a if a.contains("c1") => failure("too many"),
        _ => success(r#"{"items": [1], "next_cursor": "c1"}"#),
    };
    let (got, asked) = paged("(tool/pages 's/t)", fails);
    assert_eq!((got.as_str(), asked), (r#"{:message "too many" :ok false :reason :tool_error}"#, 2));
    for (source, page, text) in [
        (
            "(tool/pages 's/t)",
            r#"{"items": [1], "next_cursor": "c1"}"#,
            "tool/pages: the page asks for itself again",
        ),
        ("(tool/pages 's/t)", r#"{"a": [1], "b": [2]}"#, "keys: \"a\", \"b\". Say it by {:items \"key\"}"),
        ("(tool/pages 's/t)", r#"{"total": 3}"#, "keys: \"total\""),
        ("(tool/pages 's/t)", r#""text""#, "the page is a string"),
        ("(tool/pages 's/t {} {:items :total})", r#"{"total": 3}"#, ":items gave a number"),
        ("(tool/pages 's/t {} {:limit 3})", "[]", "unknown option :limit"),
        ("(tool/pages 's/t {} {:max-pages 0})", "[]", ":max-pages expected a positive integer"),
        ("(tool/pages \"s\" \"t\")", "[]", "expected (tool/pages"),
    ] {
        let got = paged(source, |_| success(page)).0;
        assert!(got.starts_with('!') && got.contains(text), "{source}: {got}");
    }
}

#[test]
fn misshapen_calls_show_the_right_form() {
    let hint = |source: &str| {
        let program = compile(source, library(), &CompileOptions::default()).expect("a program");
        let mut machine = Machine::new(Rc::new(program), setup(&[], true));
        while let Step::Slice = machine.resume(100_000) {}
        let error = machine.finish(true).result.expect_err("a fault");
        format!("{}{}", error.message(), error.hint().unwrap_or_default())
    };
    for (source, text) in [
        ("(tool/call \"s\" \"t\" {:a 1})", "Write (tool/call {:server \"s\" :tool \"t\" :args {:a 1}})"),
        ("(tool/call {:server \"s\" :tool \"t\" :arguments {}})", "unknown key \"arguments\". Write :args"),
        ("(tool/call \"s/t\" :a 1)", "Write (tool/call {:server \"s\" :tool \"t\" :args {:a 1}})"),
        (
            "(tool/call \"s.t\")",
            "Got string \"s.t\". Write (tool/call {:server \"s\" :tool \"t\" :args {…}})",
        ),
        ("(tool/call \"s\" :t {:a 1})", "Write (tool/call {:server \"s\" :tool \"t\" :args {:a 1}})"),
        (
            "(tool/call :server \"s\" \"t\" {:a 1})",
            "Write (tool/call {:server \"s\" :tool \"t\" :args {:a 1}})",
        ),
        ("(tool/call [\"s\" \"t\" {:a 1}])", "Write (tool/call {:server \"s\" :tool \"t\" :args {:a 1}})"),
        ("(tool/call 's \"t\" {:a 1})", "Write (tool/call {:server \"s\" :tool \"t\" :args {:a 1}})"),
        ("(tool/call 's/t :a 1)", "Write (tool/call {:server \"s\" :tool \"t\" :args {:a 1}})"),
        ("(tool/call! \"s\" \"t\")", "Write (tool/call {:server \"s\" :tool \"t\" :args {…}})"),
        (
            "(tool/pages \"s\" \"t\")",
            "expected (tool/pages {:server \"s\" :tool \"t\" :args {…}}), with options",
        ),
        (
            "(tool/t {:a 1})",
            "Unknown tool: t. Available tools: call. A tool of an upstream server is called by (tool/call {:server \"…\" :tool \"t\" :args {:a 1}})",
        ),
        ("(tool/s.t {:a 1})", "is called by (tool/call {:server \"s\" :tool \"t\" :args {:a 1}})"),
        ("(tool/call 5)", "Got 5 — wrap in {:key value}"),
        ("(tool/call {:name \"s.t\" :arguments {:a 1}})", ":server \"s\" :tool \"t\" :args {:a 1}})"),
        (
            "(tool/call {:server \"s\" :tool \"t\" :params {:a 1}})",
            "Write :args, as in (tool/call {:server \"s\" :tool \"t\" :args {:a 1}})",
        ),
        (
            "(tool/call {:server \"s\" :tool \"t\" :a 1})",
            ". Write (tool/call {:server \"s\" :tool \"t\" :args {:a 1}}), the tool's",
        ),
        ("(tool/call {:server \"s\" :tool \"t\" :timeout 5})", "unknown key \"timeout\". Leave it out"),
        ("(tool/call {:server \"s\" :tool \"t\" :path \"x\"})", "the tool's arguments inside :args"),
    ] {
        assert!(hint(source).contains(text), "{source}: {}", hint(source));
    }
}
