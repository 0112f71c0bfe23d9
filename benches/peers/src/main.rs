//! Runs the workloads on our engine and on others, in one process, in turn, and prints a table of medians.
//!
//! `cargo run --release --features lua54` (or `luajit`) in this folder; `cargo bench -p ptc-benches --bench peers` does both.
//! Every line is `workload TAB engine TAB median in nanoseconds TAB fastest in nanoseconds`.
//!
//! Engines take turns, round by round, so that what else the machine does hits all of them alike. Programs are compiled
//! before the clock starts, but for those whose compilation is what is measured; state that a run leaves behind is
//! thrown away with the run (ours: a machine each; Rhai: a scope each) or by the engine's collector.

mod workloads;

use ptc_compiler::CompileOptions;
use ptc_vm::builtins::library;
use ptc_vm::machine::{Limits, Setup};
use ptc_vm::value::Map;
use ptc_vm::{Machine, Program, Step, Value};
use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};
use workloads::{LONG_ANSWER, TINY, WORKLOADS, json_text, long};

/// That of the command; it takes the place of `malloc` too, so that engines written in C have the same.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An engine's part in a workload: runs it once and gives the answer.
struct Entry<'a> {
    engine: &'static str,
    run: Box<dyn FnMut() -> String + 'a>,
}

/// Rounds of each workload, unless the environment says `PEERS_ROUNDS`.
const ROUNDS: usize = 31;
/// What one round takes at least; short programs are repeated within it.
const ROUND: Duration = Duration::from_millis(4);

fn compile(source: &str) -> Rc<Program> {
    match ptc_compiler::compile(source, library(), &CompileOptions::default()) {
        Ok(program) => Rc::new(program),
        Err(error) => panic!("{source}: {error}"),
    }
}

fn run_ptc(program: &Rc<Program>, context: &Value) -> String {
    // The meters are on, as always; only the limits are out of the way.
    let limits = Limits { memory_bytes: 1 << 30, steps: 1 << 40 };
    let setup = Setup { limits, context: context.clone(), ..Setup::new(library()) };
    let mut machine = Machine::new(program.clone(), setup);
    while !matches!(machine.resume(20_000), Step::Done) {}
    match machine.finish(true).result {
        Ok(Value::Str(text)) => text.as_str().to_owned(),
        Ok(value) => ptc_vm::print::readable(&value).expect("small"),
        Err(error) => panic!("{error}"),
    }
}

fn lua_text(value: mlua::Value) -> String {
    match value {
        mlua::Value::Integer(n) => n.to_string(),
        mlua::Value::Number(x) if x.fract() == 0.0 => format!("{x:.0}"),
        other => other.to_string().expect("a plain value"),
    }
}

fn js_text(value: rquickjs::Value<'_>) -> String {
    match (value.as_int(), value.as_float(), value.as_string()) {
        (Some(n), ..) => n.to_string(),
        (_, Some(x), _) => format!("{x:.0}"),
        (.., Some(text)) => text.to_string().expect("UTF-8"),
        _ => panic!("no answer"),
    }
}

fn steel_text(value: steel::SteelVal) -> String {
    match value {
        steel::SteelVal::StringV(text) => text.as_str().to_owned(),
        other => other.to_string(),
    }
}

/// As a host would set it up for programs that a model writes: with a limit, which this work does not reach.
fn rhai_engine() -> rhai::Engine {
    #[cfg_attr(feature = "luajit", expect(unused_mut, reason = "without checks there is nothing to limit"))]
    let mut engine = rhai::Engine::new();
    #[cfg(not(feature = "luajit"))]
    engine.set_max_operations(1 << 40);
    engine
}

const RHAI: &str = if cfg!(feature = "luajit") { "Rhai, unchecked" } else { "Rhai" };
const LUA: &str = if cfg!(feature = "luajit") { "LuaJIT 2.1" } else { "PUC Lua 5.4" };

fn main() {
    let text = json_text();
    let context = Value::Map(Map::from_entries(vec![(Value::keyword("text"), Value::str(&text))]));
    let lua = mlua::Lua::new();
    let runtime = rquickjs::Runtime::new().expect("a runtime");
    let js = rquickjs::Context::full(&runtime).expect("a context");
    let rhai = rhai_engine();
    let steel = RefCell::new(steel::steel_vm::engine::Engine::new());
    js.with(|js| js.globals().set("TEXT", text.as_str()).expect("a global"));
    js.with(|js| {
        for workload in WORKLOADS {
            let mut entries = Vec::new();
            let program = compile(workload.ptc);
            let context = &context;
            entries.push(Entry { engine: "ptc", run: Box::new(move || run_ptc(&program, context)) });
            if !workload.lua.is_empty() {
                let chunk = lua.load(workload.lua).into_function().expect("compiles");
                entries.push(Entry {
                    engine: LUA,
                    run: Box::new(move || lua_text(chunk.call(()).expect("runs"))),
                });
            }
            let function: rquickjs::Function<'_> =
                js.eval(format!("(function() {{ {} }})", workload.js)).expect("compiles");
            entries.push(Entry {
                engine: "QuickJS",
                run: Box::new(move || js_text(function.call(()).expect("runs"))),
            });
            if !workload.rhai.is_empty() {
                let ast = rhai.compile(workload.rhai).expect("compiles");
                let rhai = &rhai;
                entries.push(Entry {
                    engine: RHAI,
                    run: Box::new(move || rhai.eval_ast::<rhai::Dynamic>(&ast).expect("runs").to_string()),
                });
            }
            if !workload.steel.is_empty() {
                steel.borrow_mut().run(workload.steel).expect("compiles");
                let steel = &steel;
                entries.push(Entry {
                    engine: "Steel",
                    run: Box::new(move || {
                        let answer = steel.borrow_mut().call_function_by_name_with_args("work", vec![]);
                        steel_text(answer.expect("runs"))
                    }),
                });
            }
            measure(workload.name, workload.answer, entries);
        }
        let long = long();
        let texts = [
            (TINY.name, TINY.answer, [TINY.ptc, TINY.lua, TINY.js, TINY.rhai, TINY.steel].map(str::to_owned)),
            ("compile and run 60 lines", LONG_ANSWER, [long.ptc, long.lua, long.js, long.rhai, long.steel]),
        ];
        for (name, answer, [ptc, lua_source, js_source, rhai_source, steel_source]) in texts {
            let js_source = format!("(function() {{ {js_source} }})()");
            let (js, lua, rhai, steel) = (&js, &lua, &rhai, &steel);
            let entries = vec![
                Entry {
                    engine: "ptc",
                    run: Box::new(move || run_ptc(&compile(black_box(&ptc)), &Value::Nil)),
                },
                Entry {
                    engine: LUA,
                    run: Box::new(move || lua_text(lua.load(black_box(&lua_source)).eval().expect("runs"))),
                },
                Entry {
                    engine: "QuickJS",
                    run: Box::new(move || js_text(js.eval(black_box(js_source.as_str())).expect("runs"))),
                },
                Entry {
                    engine: RHAI,
                    run: Box::new(move || {
                        rhai.eval::<rhai::Dynamic>(black_box(&rhai_source)).expect("runs").to_string()
                    }),
                },
                Entry {
                    engine: "Steel",
                    run: Box::new(move || {
                        let source = black_box(&steel_source).clone();
                        let answers = steel.borrow_mut().run(source).expect("runs");
                        steel_text(answers.into_iter().last().expect("an answer"))
                    }),
                },
            ];
            measure(name, answer, entries);
        }
    });
}

/// Checks the answers, then times the engines in turn.
fn measure(name: &str, answer: &str, mut entries: Vec<Entry<'_>>) {
    let rounds = std::env::var("PEERS_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(ROUNDS).max(1);
    let mut times: Vec<Vec<u64>> = vec![Vec::with_capacity(rounds); entries.len()];
    let mut repeats = Vec::with_capacity(entries.len());
    for entry in &mut entries {
        assert_eq!((entry.run)(), answer, "{name} on {}", entry.engine);
        let start = Instant::now();
        (entry.run)();
        repeats.push((ROUND.as_nanos() / start.elapsed().as_nanos().max(1)).clamp(1, 10_000) as u32);
    }
    for _ in 0..rounds {
        for ((entry, times), repeats) in entries.iter_mut().zip(&mut times).zip(&repeats) {
            let start = Instant::now();
            for _ in 0..*repeats {
                black_box((entry.run)());
            }
            times.push((start.elapsed() / *repeats).as_nanos() as u64);
        }
    }
    for (entry, times) in entries.iter().zip(&mut times) {
        times.sort_unstable();
        println!("{name}\t{}\t{}\t{}", entry.engine, times[times.len() / 2], times[0]);
    }
}
