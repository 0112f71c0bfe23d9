//! Kept programs in the texts of callers, and in discovery, without any upstream.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use ptc_host::catalog::CatalogMode;
use ptc_host::engine::{Desk, Engine, EngineOptions, EvalOutcome, EvalRequest, HostCalls, RunContext};
use ptc_programs::lock::Approval;
use ptc_programs::name::ProgramName;
use ptc_programs::program::KeptProgram;
use ptc_protocol::principal::Principals;
use ptc_vm::machine::{HostRequest, Payload, Reply};

use super::{CurrentPrograms, KeptDirectory, KeptRules, ProgramSet, ServedProgram};
use crate::callable_programs::CallablePrograms as _;

const REPORT: &str = "{:description \"Adds up the open invoices of a customer.\"
 :input {:type \"object\" :properties {:customer {:type \"string\" :description \"the name\"} :limit {:type \"integer\" :default 9}}
         :required [\"customer\"]}
 :output {:type \"object\" :properties {:cents {:type \"integer\"}}}}
{:cents (count data/customer)}";

fn served(name: &str, text: &str, linked: &str) -> ServedProgram {
    let program = KeptProgram::read(ProgramName::new(name).unwrap(), text).unwrap();
    let approval = Approval {
        digest: program.digest.clone(),
        calls: BTreeMap::new(),
        language: 1,
        tools: BTreeMap::new(),
        by: String::new(),
        at: String::new(),
    };
    ServedProgram::new(Arc::new(program), format!("\u{c}{text}{linked}").into(), approval.into())
}

fn directory(programs: impl IntoIterator<Item = ServedProgram>) -> Arc<KeptDirectory> {
    let rules = KeptRules { catalog: (CatalogMode::Auto, 100_000), ..KeptRules::default() };
    let directory = KeptDirectory::new(CurrentPrograms::new(ProgramSet::new(programs, 1)), None, rules);
    directory.reserve(vec!["lisp_eval".into()]);
    directory
}

/// Upstreams with one tool, which discovery finds.
struct OneTool;

impl HostCalls for OneTool {
    fn answer(
        self: Arc<Self>,
        _: Rc<RunContext>,
        request: HostRequest,
        _: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        let HostRequest::Discovery { form, arguments, .. } = request else { panic!("{request:?}") };
        let told = format!("[\"{form} {}\"]", String::from_utf8(arguments).unwrap().replace('"', "'"));
        std::future::ready(Reply::Value(Payload::Json(told.into_bytes().into()))).boxed_local()
    }
}

struct World {
    engine: Engine,
    directory: Arc<KeptDirectory>,
    has_upstreams: bool,
}

impl World {
    fn new(programs: impl IntoIterator<Item = ServedProgram>) -> World {
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        World { engine, directory: directory(programs), has_upstreams: false }
    }

    fn eval(&self, text: &str) -> EvalOutcome {
        let caller = Principals::default().named("ann");
        let request = EvalRequest {
            programs: Some(self.directory.clone().served_to(&caller)),
            upstreams: self.has_upstreams.then(|| Arc::new(OneTool) as Arc<dyn HostCalls>),
            ..EvalRequest::new(text)
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.engine.eval(request))
    }

    fn text(&self, text: &str) -> String {
        match self.eval(text).result {
            Ok(value) => value.text,
            Err(failure) => format!("!{}", failure.full_message()),
        }
    }
}

#[test]
fn texts_call_the_programs_that_are_served_with_those_that_they_call() {
    let doubled = "{:description \"x\" :input {:properties {:customer {:type \"string\"}}}}\n\
                   (* 2 (:cents (program/report {:customer data/customer})))";
    let world = World::new([
        served("report", REPORT, ""),
        // What it calls stands in its own text, as it was approved with it: another text of that name is not looked at.
        served("twice-it", doubled, &format!("\n\u{c};program/report\n{REPORT}")),
    ]);
    assert_eq!(world.text("(program/report {:customer \"ann\"})"), "{:cents 3}");
    assert_eq!(
        world.text("[(program/twice-it {:customer \"ann\"}) (program/report {:customer \"b\"})]"),
        "[6 {:cents 1}]"
    );
    assert_eq!(
        world.text("(program/reports {})"),
        "!unbound_var: no program is named reports; did you mean program/report?"
    );
    assert_eq!(
        world.text("(program/twice_it {})"),
        "!unbound_var: no program is named twice_it; did you mean program/twice-it?",
        "the names are those of programs, not of tools"
    );
    world.directory.programs.replace(ProgramSet::new([served("other", "{:description \"x\"} 5", "")], 2));
    assert_eq!(world.text("(program/other {})"), "5");
    assert_eq!(
        world.text("(program/report {})"),
        "!unbound_var: no program is named report; there are other"
    );
}

#[test]
fn discovery_shows_programs_before_all_else() {
    let mut world = World::new([
        served("a1", "{:description \"Other.\"} 1", ""),
        served("a-b", "{:description \"Invoices of\nall.\"} 1", ""),
        served("report", REPORT, ""),
    ]);
    let lines = "[\"program/a-b - Invoices of all.\" \"program/a1 - Other.\" \"program/report - Adds up the open invoices of a customer.\"]";
    for has_upstreams in [false, true] {
        world.has_upstreams = has_upstreams;
        assert_eq!(world.text("(dir 'program)"), lines);
        assert_eq!(world.text("(dir 'program {:limit 1 :offset 1})"), "[\"program/a1 - Other.\"]");
        assert_eq!(
            world.eval("(dir 'program {:limit 1 :offset 1})").notes,
            ["dir program: 1 of 2 programs shown; (dir 'program {:offset 2}) goes on"]
        );
        assert_eq!(world.eval("(dir 'program {:limit 2 :offset 1})").notes, [""; 0]);
        let doc = world.text("(doc 'program/report)").replace("\\n", "\n");
        assert!(
            doc.starts_with(
                "\"program/report\nDescription: Adds up the open invoices of a customer.\n\nArgs: {:customer string :limit integer?}\n"
            ) && doc.contains("\nCall:\n(program/report {:customer ...})\n\nReturns: {:cents int?}\n"),
            "{doc}"
        );
        assert_eq!(
            world.text("(let [m (meta 'program/report)] [(:kind m) (:call m) (get-in m [:input_schema \"required\"]) (:output_schema m)])"),
            "[\"kept-program\" \"(program/report {:customer ...})\" [\"customer\"] {\"properties\" {\"cents\" {\"type\" \"integer\"}} \"type\" \"object\"}]"
        );
        assert_eq!(
            world.text("(apropos \"invoices\" {:limit 2})"),
            "[\"program/a-b - Invoices of all.\" \"program/report - Adds up the open invoices of a customer.\"]"
        );
        assert_eq!(
            world.text("(first (apropos \"customer\"))"),
            "\"program/report - Adds up the open invoices of a customer.\""
        );
    }
    // What upstreams have comes behind, within the same limit; what is no program is asked for there.
    assert_eq!(
        world.text("(apropos \"invoices\" {:limit 5 :load true})"),
        "[\"program/a-b - Invoices of all.\" \"program/report - Adds up the open invoices of a customer.\" \
         \"apropos ['invoices',{'limit':3,'load':true},[]]\"]"
    );
    for form in ["doc", "meta"] {
        let none = world.text(&format!("({form} 'program/none)"));
        assert_eq!(none, "!runtime_error: no program is named none; there are a-b, a1, report");
    }
}

#[test]
fn without_programs_discovery_is_as_before() {
    let mut world = World::new([]);
    assert!(world.text("(dir 'program)").contains("discovery forms are only available when"));
    assert!(world.text("(doc 'program/x)").contains("discovery forms are only available when"));
    world.has_upstreams = true;
    assert_eq!(world.text("(dir 'program)"), "[\"dir ['program']\"]");
    let told = world.text("(apropos \"zzz\" {:limit 3})");
    assert_eq!(told, "[\"apropos ['zzz',{'limit':3},[]]\"]");
    assert!(world.directory.text_alone(500).is_none());
}

#[test]
fn many_programs_are_searched_within_the_limits_of_a_program() {
    let text =
        |n: usize| format!("{{:description \"Program number {n} {}\"}} {n}", "with many words ".repeat(200));
    let world = World::new((0..1000).map(|n| served(&format!("p{n}"), &text(n), "")));
    let outcome = world.eval("(count (apropos \"number many 17\" {:limit 50}))");
    assert!(outcome.result.is_ok_and(|value| value.text == "50"));
    assert!(outcome.steps > 10_000, "the work is charged: {}", outcome.steps);
    assert_eq!(world.text("(count (dir 'program {:limit 200}))"), "200");
}
