//! How long each builtin makes a neighbour wait: `benches/neighbours`.
//!
//! Every builtin runs on an input made to hurt, on an engine with one thread, while a neighbour asks that engine for `(+ 1 2)`
//! every five milliseconds. Beside the neighbour's worst wait stands the longest time, by the thread's processor clock, between two
//! places where the builtin can give way: that one does not depend on what else the machine does.

use ptc_host::engine::{self, Engine, EngineOptions, EvalRequest, Render};
use ptc_tests::hostile::{CLASSES, Inputs, calls};
use ptc_vm::machine::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// As the command allocates: how long freeing takes, and what comes after much of it, is the allocator's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PERIOD: Duration = Duration::from_millis(5);
/// Rows that `--table` prints, the worst of all.
const ROWS_OF_A_PAGE: usize = 25;

/// Limits of the calls: memory, and how many times as large as in the tests the inputs are.
struct Size {
    name: &'static str,
    memory: u64,
    times: usize,
}

const SIZES: &[Size] = &[
    Size { name: "10 MiB", memory: 10 << 20, times: 8 },
    Size { name: "100 MB", memory: 100_000_000, times: 80 },
];

struct Row {
    call: String,
    input: String,
    size: &'static str,
    wait: Duration,
    gap: Duration,
    steps: u64,
    ending: String,
}

/// The neighbour's worst wait while `request` runs.
fn worst_wait(engine: &Engine, runtime: &tokio::runtime::Runtime, request: EvalRequest) -> Duration {
    let over = Arc::new(AtomicBool::new(false));
    let neighbour = {
        let (engine, over) = (engine.clone(), over.clone());
        runtime.spawn(async move {
            let mut worst = Duration::ZERO;
            loop {
                let begin = Instant::now();
                // Out of time is an answer, too: it came late.
                engine.eval(EvalRequest::new("(+ 1 2)".to_owned())).await;
                worst = worst.max(begin.elapsed());
                if over.load(Ordering::Relaxed) {
                    return worst;
                }
                tokio::time::sleep(PERIOD).await;
            }
        })
    };
    runtime.block_on(async {
        tokio::time::sleep(PERIOD * 2).await;
        engine.eval(request).await;
        over.store(true, Ordering::Relaxed);
        neighbour.await.expect("the neighbour lives")
    })
}

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let shown = match arguments.next_if(|first| first == "--table") {
        Some(_) => ROWS_OF_A_PAGE,
        None => usize::MAX,
    };
    let only = arguments.next().unwrap_or_default();
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .expect("a thread");
    let mut rows = Vec::new();
    for size in SIZES {
        for class in CLASSES {
            let context = format!("{{\"x\":{}}}", (class.granted)(size.times));
            let limits = Limits { memory_bytes: size.memory, steps: 25_000_000 };
            let inputs = Inputs::new(&context, class.input, limits);
            let shared: Arc<str> = context.into();
            for call in calls(class).into_iter().filter(|call| call.contains(&only)) {
                let program = class.around.replace("CALL", call);
                let held = inputs.run(&program);
                let mut request = EvalRequest::new(format!("(def x {})\n{program}", class.input));
                request.context = Some(shared.clone());
                request.limits = engine::Limits {
                    timeout: Duration::from_secs(10),
                    memory_bytes: size.memory,
                    steps: 25_000_000,
                    ..engine::Limits::plain()
                };
                request.render = Render { max_text_bytes: Some(1_000), json: false };
                rows.push(Row {
                    call: call.to_owned(),
                    input: class.input.to_owned(),
                    size: size.name,
                    wait: worst_wait(&engine, &runtime, request),
                    gap: held.gap.time,
                    steps: held.gap.steps,
                    ending: match held.result {
                        Ok(()) => "value".to_owned(),
                        Err(error) => error.reason().as_str().to_owned(),
                    },
                });
            }
        }
    }
    // By the processor's clock: the wait has what else the machine did as well.
    rows.sort_by_key(|row| std::cmp::Reverse((row.gap, row.wait)));
    print(&rows, shown);
}

/// Prints the first `shown` rows, and what all others stay under.
fn print(rows: &[Row], shown: usize) {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "| Call | `x` | Memory | Neighbour's worst wait, ms | Longest without giving way, ms | Steps at once | Ends in |"
    );
    println!("|---|---|---|---|---|---|---|");
    let (worst, others) = rows.split_at(rows.len().min(shown));
    for row in worst {
        let cell = |text: &str| text.replace('|', "\\|");
        println!(
            "| `{}` | `{}` | {} | {:.1} | {:.1} | {} | {} |",
            cell(&row.call),
            cell(&row.input),
            row.size,
            ms(row.wait),
            ms(row.gap),
            row.steps,
            row.ending
        );
    }
    let most = |of: fn(&Row) -> Duration| ms(others.iter().map(of).max().unwrap_or_default());
    if !others.is_empty() {
        println!(
            "| all {} others | | | at most {:.1} | at most {:.1} | at most {} | |",
            others.len(),
            most(|row| row.wait),
            most(|row| row.gap),
            others.iter().map(|row| row.steps).max().unwrap_or(0)
        );
    }
}
