//! How much a program does, and how long it takes, between two places where its thread can be taken from it.

use nix::time::{ClockId, clock_gettime};
use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::machine::{Limits, Setup};
use ptc_vm::meter::{PauseAnswer, Pauses, pausing, pending_work};
use ptc_vm::{Error, Machine, Step, Value, json};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// The most between two places where the thread may be taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gap {
    /// Steps charged.
    pub steps: u64,
    /// Processor time of the thread.
    pub time: Duration,
}

/// What a run came to.
#[derive(Debug)]
pub struct Held {
    /// Its widest gap, from compiling to freeing.
    pub gap: Gap,
    /// Steps charged in all.
    pub steps: u64,
    /// Places where the thread could be taken.
    pub places: u64,
    /// Steps that were charged in one go and after which too few places came, one for each [`BETWEEN_PLACES`]: work that was paid
    /// for at once, and then done at once.
    pub owed: u64,
    /// Processor time in all.
    pub time: Duration,
    /// How it ended.
    pub result: Result<(), Error>,
}

/// Steps that a builtin may work between two places where others may have its thread: less than a millisecond's work. What
/// charges for all its work at once has to give way in the middle of it all the same.
pub const BETWEEN_PLACES: u64 = 25_000;

#[derive(Clone, Copy, Default)]
struct Probe {
    work: u64,
    time: Duration,
    widest: Gap,
    steps: u64,
    places: u64,
    owed: u64,
}

thread_local! {
    static PROBE: Cell<Probe> = const {
        let none = Gap { steps: 0, time: Duration::ZERO };
        Cell::new(Probe { work: 0, time: Duration::ZERO, widest: none, steps: 0, places: 0, owed: 0 })
    };
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

/// Notes that the thread could be taken here.
fn here() -> bool {
    let (before, work, time) = (PROBE.get(), pending_work(), processor_time());
    let steps = work.checked_sub(before.work).unwrap_or(work);
    let widest =
        Gap { steps: before.widest.steps.max(steps), time: before.widest.time.max(time - before.time) };
    let owed = (before.owed + steps).saturating_sub(BETWEEN_PLACES);
    let (steps, places) = (before.steps + steps, before.places + 1);
    PROBE.set(Probe { work, time, widest, steps, places, owed });
    false
}

const PROBING: Pauses = Pauses { is_due: here, pause: || PauseAnswer::GoOn };

/// What calls find: the granted context, and `x`.
pub struct Inputs {
    context: Value,
    input: &'static str,
    limits: Limits,
}

/// Steps between two looks of a host that runs a machine.
const SLICE: u64 = 10_000;

impl Inputs {
    /// The granted context as JSON, the expression that makes `x`, and the limits of the calls.
    ///
    /// # Panics
    /// If `context` is no JSON.
    pub fn new(context: &str, input: &'static str, limits: Limits) -> Inputs {
        let context = json::parse(context.as_bytes()).expect("no limit").expect("JSON");
        Inputs { context, input, limits }
    }

    /// Makes `x` and runs `program`, looking only at what the program does.
    pub fn run(&self, program: &str) -> Held {
        let made = Limits { memory_bytes: 1 << 30, steps: 1 << 40 };
        let setup = Setup { limits: made, context: self.context.clone(), ..Setup::new(library()) };
        let made = run(&format!("(def x {})", self.input), setup);
        let namespace = match made {
            Ok(outcome) => outcome.namespace,
            Err(error) => {
                let (gap, time) = (Gap::default(), Duration::ZERO);
                return Held { gap, steps: 0, places: 0, owed: 0, time, result: Err(error) };
            }
        };
        let limits = Limits { ..self.limits };
        let setup = Setup { limits, namespace, context: self.context.clone(), ..Setup::new(library()) };
        let begin = processor_time();
        PROBE.set(Probe { time: begin, ..Probe::default() });
        let result = pausing(PROBING, || {
            let result = run(program, setup).and_then(|outcome| outcome.result.map(drop));
            here();
            result
        });
        let Probe { widest: gap, steps, places, owed, .. } = PROBE.get();
        Held { gap, steps, places, owed, time: processor_time() - begin, result }
    }
}

fn run(program: &str, setup: Setup) -> Result<ptc_vm::machine::Outcome, Error> {
    let program = compile(program, library(), &CompileOptions::default())
        .map_err(|error| Error::type_error(error.to_string()))?;
    let mut machine = Machine::new(Rc::new(program), setup);
    while !matches!(machine.resume(SLICE), Step::Done) {
        here();
    }
    Ok(machine.finish(true))
}
