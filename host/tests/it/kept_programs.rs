//! What kept programs may call, wherever they are called and resumed (language.md 12).

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use ptc_host::engine::kept::{ProgramFault, ServedPrograms};
use ptc_host::engine::{
    Asker, Desk, Engine, EngineOptions, EvalOutcome, EvalRequest, HostCalls, Resume, RunContext, SavedCall,
    SessionKey, Suspended, Verdict,
};
use ptc_host::policy::Access;
use ptc_host::questions::{
    Action, Answer, AnsweredBy, ArgumentsDigest, AskedCall, Channel, Form, Level, Mode, PendingQuestion,
    Question, QuestionId, QuestionKind,
};
use ptc_vm::graph::WireWriter;
use ptc_vm::machine::{HostRequest, Payload, ProgramCatalog, Reply};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// Upstreams that note what each call lets them see, and ask before `ask`.
#[derive(Default)]
struct Noting(Mutex<Vec<String>>);

impl HostCalls for Noting {
    fn answer(
        self: Arc<Self>,
        run: Rc<RunContext>,
        request: HostRequest,
        desk: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        let mut written = WireWriter::new();
        request.write(&mut written);
        let HostRequest::Upstream(call) = request else { panic!("{request:?}") };
        let tool = call.tool.unwrap();
        run.calls.set(run.calls.get() + 1);
        let may = |name| match &run.scope {
            None => "everything",
            Some(scope) if scope.tool("s", name) == Access::Allowed => name,
            Some(_) => "-",
        };
        self.0.lock().unwrap().push(format!("{tool}: {} {} {}", may("ask"), may("a"), may("b")));
        async move {
            if tool == "ask" {
                let saved = SavedCall { request: written.into_bytes(), progress: None };
                drop(desk.ask(vec![question()], Some(saved)).await);
            }
            Reply::success(Payload::Json("7".into()))
        }
        .boxed_local()
    }

    fn refused(&self, _: &RunContext, request: &HostRequest) {
        let HostRequest::Upstream(call) = request else { panic!("{request:?}") };
        self.0.lock().unwrap().push(format!("refused {}", call.tool.as_ref().unwrap()));
    }
}

fn question() -> Question {
    Question {
        kind: QuestionKind::Upstream,
        message: "Sure?".into(),
        mode: Mode::Form(Form::yes_or_no()),
        level: Level::Client,
        upstream: Some("s".into()),
        calls: vec![AskedCall {
            tool: "ask".into(),
            arguments: "{}".into(),
            digest: ArgumentsDigest::new([7; 32]),
        }],
        policy_revision: "r".into(),
        binding: [1; 32],
    }
}

/// Leaves before it answers.
struct Person;

fn answers(open: &[PendingQuestion]) -> Vec<(QuestionId, Answer)> {
    let by = || AnsweredBy { channel: Channel::Client, name: None };
    open.iter()
        .map(|open| (open.id, Answer { action: Action::Accept, content: None, by: by(), at_ms: 7 }))
        .collect()
}

impl Asker for Person {
    fn ask(&self, _: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        std::future::ready(Verdict::Leave).boxed()
    }

    fn hold(&self, open: Vec<PendingQuestion>, _: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        std::future::ready(answers(&open)).boxed()
    }
}

fn engine() -> Engine {
    Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap()
}

/// A kept program with the programs that it calls.
fn linked(main: &str, called: &[(&str, &str)]) -> String {
    let mut text = format!("\u{c}{main}");
    called.iter().for_each(|(name, file)| text.push_str(&format!("\n\u{c};program/{name}\n{file}")));
    text
}

fn shown(outcome: &EvalOutcome) -> String {
    match &outcome.result {
        Ok(value) => value.text.clone(),
        Err(failure) => format!("!{} {:?}", failure.full_message(), failure.position.map(|at| at.line)),
    }
}

/// Runs a program, each suspension in an engine of its own: how it ends, what its calls could see, and how often it left.
async fn run(text: &str) -> (String, Vec<String>, usize) {
    let upstreams = Arc::<Noting>::default();
    let request = || EvalRequest {
        upstreams: Some(upstreams.clone()),
        asker: Some(Arc::new(Person)),
        ..EvalRequest::new(text)
    };
    let mut outcome = engine().eval(request()).await;
    let mut left = 0;
    while let Some(suspended) = outcome.suspended.take() {
        left += 1;
        let Suspended { snapshot, questions } = *suspended;
        let resume = Resume { snapshot, answers: answers(&questions), gate: None };
        outcome = engine().eval(EvalRequest { resume: Some(Arc::new(resume)), ..request() }).await;
    }
    let seen = upstreams.0.lock().unwrap().clone();
    (shown(&outcome), seen, left)
}

/// `(call a)`: a call of a tool of `s`.
fn call(tool: &str) -> String {
    format!("(:value (tool/call {{:server \"s\" :tool \"{tool}\" :args {{}}}}))")
}

#[tokio::test]
async fn a_program_calls_what_its_head_names_and_no_more() {
    let main = |body: &str| format!("{{:tools [\"s/a*\"]}}\n{body}");
    let (a, b) = (call("a"), call("b"));
    assert_eq!(run(&linked(&main(&a), &[])).await, ("7".into(), vec!["a: ask a -".into()], 0));
    let refused = "!this program may not call s/b: its :tools do not name it Some(2)";
    assert_eq!(run(&linked(&main(&b), &[])).await.0, refused);
    assert_eq!(
        run(&linked(&format!("{{}} {a}"), &[])).await.0,
        refused.replace("s/b", "s/a").replace('2', "1")
    );
    assert_eq!(
        run(&linked(&format!("{{:tools 5}} {a}"), &[])).await.0,
        refused.replace("s/b", "s/a").replace('2', "1"),
        "a head that cannot be read names nothing"
    );
    assert_eq!(run(&a).await.1, ["a: everything everything everything"]);
    let two = "{:tools [\"s/*\"] :limits {:calls 2}}";
    assert_eq!(run(&linked(&format!("{two} [{a} {b}]"), &[])).await.0, "[7 7]");
    let three = run(&linked(&format!("{two} (pmap (fn [_] {a}) [1 2 3])"), &[])).await;
    assert!(
        three.0.contains("this program may make 2 upstream calls: :calls in its :limits says so"),
        "{three:?}"
    );
    // One that waited elsewhere is not counted twice.
    let waits =
        run(&linked(&format!("{{:tools [\"s/*\"] :limits {{:calls 1}}}} {}", call("ask")), &[])).await;
    assert_eq!((waits.0.as_str(), waits.2), ("7", 1));
}

#[tokio::test]
async fn a_called_program_calls_what_all_heads_around_it_name() {
    let (a, b) = (call("a"), call("b"));
    let texts = |main: &str, called: &str| {
        let main = format!("{{:tools [{main}]}} (program/b {{}})");
        linked(
            &main,
            &[
                ("b", &format!("{{:tools [{called}]}}\n[{a} (program/c {{}})]")),
                ("c", &format!("{{:tools [\"s/*\"]}} {b}")),
            ],
        )
    };
    let (value, seen, _) = run(&texts("\"s/*\"", "\"s/a\" \"s/b\"")).await;
    assert_eq!((value.as_str(), seen), ("[7 7]", vec!["a: - a b".to_owned(), "b: - a b".to_owned()]));
    let narrow = run(&texts("\"s/*\"", "\"s/a\"")).await;
    assert_eq!(narrow.0, "!program b may not call s/b: its :tools do not name it (in c.clj:1:26) None");
    assert_eq!(
        run(&texts("\"s/b\"", "\"s/*\"")).await.0,
        "!this program may not call s/a: its :tools do not name it (in b.clj:2:10) None"
    );
}

#[tokio::test]
async fn a_program_resumed_elsewhere_is_in_the_same_programs() {
    let file = format!(
        "{{:tools [\"s/a*\"] :input {{:properties {{:n {{:type \"integer\"}}}}}}}}\n[data/n {} {}]",
        call("ask"),
        call("a")
    );
    let text = linked("{:tools [\"s/*\"]} (pmap program/b [{:n 1} {}])", &[("b", &file)]);
    let (value, seen, left) = run(&text).await;
    assert_eq!((value.as_str(), left), ("[[1 7 7] [nil 7 7]]", 1));
    // Asked, and asked again after they had left.
    let ask = "ask: ask a -".to_owned();
    assert_eq!(seen[..4], [ask.clone(), ask.clone(), ask.clone(), ask]);
    assert_eq!(seen[4..], ["a: ask a -".to_owned(), "a: ask a -".to_owned()]);
    let (value, _, left) = run(&text.replace(&call("a"), &call("b"))).await;
    assert_eq!(left, 1);
    assert!(value.contains("program b may not call s/b: its :tools do not name it"), "{value}");
}

#[tokio::test]
async fn arguments_and_values_of_called_programs_are_checked() {
    let file = "{:input {:properties {:n {:type \"integer\"} :m {:type \"string\" :default \"x\"}}} :output {:type \"array\"}}\n(if data/n [data/n data/m] 5)";
    for (arguments, want) in [
        ("{:n 1}", "[1 \"x\"]"),
        ("{\"n\" 1 :m \"y\"}", "[1 \"y\"]"),
        ("{:n \"1\"}", "!arguments do not fit the input schema of program/b: "),
        ("{:other 1}", "!arguments do not fit the input schema of program/b: "),
        ("{}", "!the value of program/b does not fit its output schema: "),
    ] {
        let got = run(&format!("(program/b {arguments})\n\u{c};program/b\n{file}")).await.0;
        assert!(got.starts_with(want), "{arguments}: {got}");
    }
}

/// A function of an earlier program of the session calls the program that it called then, which may call no more than then.
#[tokio::test]
async fn a_function_of_a_session_keeps_its_programs() {
    let (engine, upstreams) = (engine(), Arc::<Noting>::default());
    let key = SessionKey::from("session");
    let eval = |text: String| {
        let (engine, upstreams, key) = (engine.clone(), upstreams.clone(), key.clone());
        async move {
            let request =
                EvalRequest { upstreams: Some(upstreams), session: Some(key), ..EvalRequest::new(text) };
            shown(&engine.eval(request).await)
        }
    };
    let b = format!("{{:tools [\"s/a\"]}} (def x 1) (if (= 1 (count [x])) {} 0)", call("a"));
    eval(format!("(defn f [] (program/b {{}}))\n\u{c};program/b\n{b}")).await;
    assert_eq!(eval("(f)".to_owned()).await, "7");
    assert_eq!(eval("(tool/call {:server \"s\" :tool \"b\" :args {}}) (f)".to_owned()).await, "7");
    assert_eq!(*upstreams.0.lock().unwrap(), ["a: - a -", "b: everything everything everything", "a: - a -"]);
    assert!(eval("x".to_owned()).await.contains("Undefined variable: x"), "what it defines is its own");
}

/// Kept programs that a caller is served, by name.
struct Served(Mutex<Vec<(&'static str, String)>>);

impl ServedPrograms for Served {
    fn look_at(
        &self,
        _: &Rc<RunContext>,
        _: &[&str],
        _: &str,
        _: &str,
    ) -> Option<LocalBoxFuture<'static, Result<(), String>>> {
        None
    }

    fn link(&self, text: &Arc<str>) -> Result<Arc<str>, ProgramFault> {
        let mut linked = text.to_string();
        for (name, file) in self.0.lock().unwrap().iter() {
            if text.contains(&format!("program/{name} ")) {
                linked.push_str(&format!("\n\u{c};program/{name}\n{file}"));
            }
        }
        match linked.len() > text.len() {
            true => Ok(linked.into()),
            false => Err(ProgramFault { line: 1, column: 2, text: "no program is named that".into() }),
        }
    }

    fn catalog(&self) -> Arc<dyn ProgramCatalog> {
        unreachable!("no program looks")
    }
}

/// The request of a caller with a text of `bytes` at most.
fn request_of(text: &str, served: &Arc<Served>, upstreams: &Arc<Noting>, bytes: usize) -> EvalRequest {
    let mut request = EvalRequest {
        programs: Some(served.clone()),
        upstreams: Some(upstreams.clone()),
        asker: Some(Arc::new(Person)),
        ..EvalRequest::new(text)
    };
    request.limits.program_bytes = bytes;
    request
}

#[tokio::test]
async fn a_text_calls_what_its_caller_is_served() {
    let file =
        format!("{{:tools [\"s/a\"]}} ; {}\n[{} (/ 1 (count data/rest))]", "long ".repeat(50), call("a"));
    let served = Arc::new(Served(Mutex::new(vec![("b", file)])));
    let run = |text: &'static str| {
        let request = request_of(text, &served, &Arc::default(), 60);
        async move { engine().eval(request).await }
    };
    let outcome = run("(program/b {:rest [1]})").await;
    assert!(
        shown(&outcome).starts_with("!arguments do not fit the input schema of program/b: "),
        "{}",
        shown(&outcome)
    );
    served.0.lock().unwrap()[0].1.insert_str(1, ":input {:properties {:rest {:type \"array\"}}} ");
    assert_eq!(
        shown(&run("(program/b {:rest [1]})").await),
        "[7 1]",
        "the limit is that of the caller's text"
    );
    assert_eq!(
        shown(&run("(+ 1\n (count (program/b {:rest []})))").await),
        "!arithmetic_error: division by zero (in b.clj:2:56) None",
        "a fault in a file names it"
    );
    assert_eq!(
        shown(&run("(def n nil)\n (+ 1 (program/b {:rest [1]}) n)").await).split(" Some").nth(1),
        Some("(2)")
    );
    assert_eq!(shown(&run("(program/c {})").await), "!unbound_var: no program is named that Some(1)");
    let long = run("(program/b {:rest [\"a text that is longer than it may be by itself\"]})").await;
    assert_eq!(shown(&long), "!program size 70 bytes exceeds limit of 60 None");
}

/// What is served by then does not matter to a program that waits.
#[tokio::test]
async fn a_text_that_waits_ends_with_the_programs_that_it_began_with() {
    for change in ["other", "gone", "nobody"] {
        let file = format!("{{:tools [\"s/*\"] :limits {{:calls 2}}}}\n[{} {}]", call("ask"), call("a"));
        let (served, upstreams) = (Arc::new(Served(Mutex::new(vec![("b", file)]))), Arc::<Noting>::default());
        let text = "[(program/b {}) (program/b {})]";
        let mut outcome = engine().eval(request_of(text, &served, &upstreams, 60)).await;
        let mut left = 0;
        while let Some(suspended) = outcome.suspended.take() {
            left += 1;
            match change {
                "other" => served.0.lock().unwrap()[0].1 = "{} 0".to_owned(),
                _ => served.0.lock().unwrap().clear(),
            }
            let Suspended { snapshot, questions } = *suspended;
            let resume = Resume { snapshot, answers: answers(&questions), gate: None };
            let mut request = request_of(text, &served, &upstreams, 60);
            if change == "nobody" {
                request.programs = None;
            }
            outcome = engine().eval(EvalRequest { resume: Some(Arc::new(resume)), ..request }).await;
        }
        assert_eq!((shown(&outcome).as_str(), left), ("[[7 7] [7 7]]", 2), "{change}");
    }
}

/// Each call of a program has the calls that its head names, those of the programs that it calls included.
#[tokio::test]
async fn calls_of_a_called_program_are_limited_by_its_head() {
    let (a, ask) = (call("a"), call("ask"));
    let texts = |most: u32, body: &str, inner: &str| {
        let b = format!("{{:tools [\"s/*\"] :limits {{:calls {most}}}}}\n{body}");
        linked(
            "{:tools [\"s/*\"]} [(program/b {}) (program/b {})]",
            &[("b", &b), ("c", &format!("{{:tools [\"s/*\"]}} {inner}"))],
        )
    };
    let refused = |value: &str, most| {
        let plural = if most == 1 { "" } else { "s" };
        let text = format!("program b may make {most} upstream call{plural}: :calls in its :limits says so");
        assert!(value.starts_with('!') && value.contains(&text), "{value}");
    };
    assert_eq!(run(&texts(2, &format!("[{a} {a}]"), "1")).await.0, "[[7 7] [7 7]]");
    refused(&run(&texts(1, &format!("[{a} {a}]"), "1")).await.0, 1);
    assert_eq!(run(&texts(2, &format!("[{a} (program/c {{}})]"), &a)).await.0, "[[7 7] [7 7]]");
    refused(&run(&texts(1, &format!("[{a} (program/c {{}})]"), &a)).await.0, 1);
    refused(&run(&texts(2, &format!("(pmap (fn [_] {a}) [1 2 3])"), "1")).await.0, 2);
    // A call that waited elsewhere counts, once.
    let (value, _, left) = run(&texts(2, &format!("[{ask} {a}]"), "1")).await;
    assert_eq!((value.as_str(), left), ("[[7 7] [7 7]]", 2));
    let (value, _, left) = run(&texts(1, &format!("[{ask} {a}]"), "1")).await;
    refused(&value, 1);
    assert_eq!(left, 1);
}

/// The host is told of what a head refuses.
#[tokio::test]
async fn refusals_of_heads_are_told() {
    let upstreams = Arc::<Noting>::default();
    let text = linked(&format!("{{}} {}", call("b")), &[]);
    let outcome =
        engine().eval(EvalRequest { upstreams: Some(upstreams.clone()), ..EvalRequest::new(text) }).await;
    assert!(outcome.result.is_err());
    assert_eq!(*upstreams.0.lock().unwrap(), ["refused b"]);
}
