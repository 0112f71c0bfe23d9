//! Programs on the machine.

use crate::bounds::{Charged, bounded, could_be_taken};
use ptc_compiler::verify::verify;
use ptc_compiler::{CompileError, CompileOptions};
use ptc_vm::builtins::library;
use ptc_vm::graph::{Bounds, EncodeError, write_code};
use ptc_vm::machine::{
    BlockMember, ContentBlock, HostRequest, Limits, Payload, PendingCall, Reply, RestoreError, RestoreSetup,
    Setup, SnapshotError, SnapshotSetup,
};
use ptc_vm::meter::{Allowance, pending_work};
use ptc_vm::{Error, Machine, Program, Reason, Step, print};
use std::rc::Rc;

/// Limits small enough that a fuzz run tries many programs.
pub const LIMITS: Limits = Limits { memory_bytes: 4 << 20, steps: 200_000 };

/// What a machine may hold above its memory limit: the value that passed it.
pub const MEMORY_SLACK: u64 = 1 << 20;

/// What compilation may take: as many bytes as a program's values, and the steps that `ptc` grants it at least.
const COMPILATION: Limits = Limits { memory_bytes: LIMITS.memory_bytes, steps: 1_000_000 };

/// Bytes of a value's text that take as long as a step.
const BYTES_OF_A_STEP: u64 = 16;

/// The compiled program, or `None` after checking that the error names a place in the text, or is one of the limits.
pub fn compiled(text: &str) -> Option<Rc<Program>> {
    match compile(text) {
        Ok(program) => {
            if let Err(why) = verify(&program) {
                panic!("{text}\ncompiles to code that does not hold together: {why}");
            }
            Some(with_text(program, text))
        }
        Err(Refused::Limits) => None,
        Err(Refused::Text(error)) => {
            let position = error.position();
            let lines: Vec<&str> = text.split('\n').collect();
            let line = lines.get((position.line as usize).wrapping_sub(1));
            let line = line.unwrap_or_else(|| panic!("{error} at {position:?} of {} lines", lines.len()));
            let columns = line.chars().count() + 1;
            assert!((1..=columns).contains(&(position.column as usize)), "{error} at {position:?}: {line}");
            assert!(!error.message().is_empty());
            None
        }
    }
}

/// The program with its text, as hosts that write snapshots keep it.
fn with_text(mut program: Program, text: &str) -> Rc<Program> {
    program.text = Some(text.into());
    Rc::new(program)
}

/// Why a text is no program.
enum Refused {
    /// It is wrong.
    Text(CompileError),
    /// It takes more than it may.
    Limits,
}

/// Compiles, seeing that it takes no more than it charges.
fn compile(text: &str) -> Result<Program, Refused> {
    let limits = COMPILATION;
    let allowance = Allowance {
        memory_bytes: limits.memory_bytes,
        steps: limits.steps,
        reservation: None,
        deadline: None,
    };
    let (mut steps, mut refused) = (0, None);
    bounded("compilation", text.len(), || {
        let work = || {
            let done = ptc_compiler::compile(text, library(), &CompileOptions::default());
            steps = pending_work();
            done.map_err(|error| {
                refused = Some(error.clone());
                error.into()
            })
        };
        let (result, bytes) = match allowance.spend(work) {
            Ok((program, spent)) => (Ok(program), spent.peak_bytes),
            Err(error) if is_limit(error.reason()) => (Err(Refused::Limits), limits.memory_bytes),
            Err(_) => (Err(Refused::Text(refused.expect("it is wrong"))), limits.memory_bytes),
        };
        (result, Charged { bytes, steps, in_one_turn: false })
    })
}

fn is_limit(reason: Reason) -> bool {
    matches!(reason, Reason::StepLimitExceeded | Reason::MemoryExceeded)
}

/// How a program ended, as far as two runs must agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// The readable value, or reason and message.
    pub result: Result<String, (Reason, String)>,
    /// What it printed.
    pub prints: Vec<String>,
    /// Steps used.
    pub steps: u64,
}

impl Ending {
    /// Whether a limit ended the program, rather than its own doing.
    pub fn is_limited(&self) -> bool {
        self.result.as_ref().is_err_and(|(reason, _)| is_limit(*reason))
    }
}

/// Which of the calls that wait is answered next.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// The oldest.
    First,
    /// The newest.
    Last,
    /// Any one, by this seed.
    Any(u64),
}

/// How the host behaves.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// The order of its replies.
    pub order: Order,
    /// Whether it also replies twice, and to calls that nobody made.
    pub noisy: bool,
    /// Whether it waits until nothing else can run, or replies after each slice.
    pub eager: bool,
    /// Whether the machine is written, and another one read in its place, at some of its waits.
    pub moves: bool,
}

/// A host that replies to each call as soon as the program waits.
pub const PLAIN_HOST: Host = Host { order: Order::First, noisy: false, eager: false, moves: false };

/// A machine with everything that a program can reach.
pub fn machine(program: &Rc<Program>, limits: Limits) -> Machine {
    let setup = Setup { limits, tools: vec![Rc::from("echo")], upstreams: true, ..Setup::new(library()) };
    Machine::new(program.clone(), setup)
}

/// What the host answers: a function of the request alone, so that it does not depend on the order of calls.
fn reply(request: &HostRequest) -> Reply {
    let echo = |arguments: &[u8]| Payload::Json(arguments.to_vec().into());
    match request {
        HostRequest::Tool { arguments, .. } => match digest(arguments) % 16 {
            0 => Reply::Raise(Error::new(Reason::ToolError, "tool 'echo' failed")),
            1 => Reply::Value(Payload::Text("no JSON".into())),
            2 => Reply::Value(Payload::None),
            3 => Reply::Value(Payload::Json(arguments[..arguments.len() / 2].to_vec().into())),
            _ => Reply::Value(echo(arguments)),
        },
        HostRequest::Upstream(call) => match (&call.server, &call.tool, &call.arguments) {
            (Ok(_), Ok(_), Ok(arguments)) => match digest(&arguments.json) % 8 {
                0 => Reply::fault("timeout", "no answer"),
                1 => Reply::Success {
                    payload: Payload::Text("text".into()),
                    content: vec![ContentBlock::Other { kind: "text".to_owned(), members: Vec::new() }],
                    raw: Some(arguments.json.clone().into()),
                    watch: None,
                },
                _ => Reply::success(echo(&arguments.json)),
            },
            _ => Reply::Raise(Error::new(Reason::InvalidToolArgs, "not a call")),
        },
        HostRequest::Discovery { arguments, .. } => Reply::Value(echo(arguments)),
        HostRequest::Feature(request) => match digest(request.subject.as_bytes()) % 4 {
            0 => Reply::fault("upstream_error", "no such resource"),
            1 => Reply::Value(echo(&request.arguments)),
            2 => Reply::success(Payload::Content(Box::new(image(request.subject.clone())))),
            _ => Reply::success(Payload::Text(request.subject.clone().into())),
        },
        HostRequest::Ask { message, schema } => match digest(message.as_bytes()) % 4 {
            0 => Reply::fault("declined", "the question was declined"),
            1 => Reply::Raise(Error::verbatim(
                Reason::RuntimeError,
                "runtime_error: ask: more than 32 questions",
            )),
            _ => Reply::success(echo(schema.as_deref().unwrap_or(b"{}"))),
        },
        HostRequest::Sleep { .. } => Reply::Value(Payload::None),
    }
}

/// An image whose content is the text, which may be no base64.
fn image(text: String) -> ContentBlock {
    let mime_type = BlockMember::Text("image/png".into());
    let content = BlockMember::Binary(text.into());
    ContentBlock::Other {
        kind: "image".to_owned(),
        members: vec![("mime_type", mime_type), ("ref", content)],
    }
}

/// FNV-1a: the same on every run.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Drives `machine` in slices of `slice` steps until it is done, or until `calls` calls were answered.
///
/// # Panics
/// If it makes no progress.
pub fn drive(machine: &mut Machine, limits: Limits, slice: u64, host: Host, calls: u64) -> bool {
    let mut open: Vec<PendingCall> = Vec::new();
    let mut seed = if let Order::Any(seed) = host.order { seed } else { 0 };
    let (mut rounds, mut answered) = (0, 0);
    loop {
        let step = machine.resume(slice);
        open.extend(machine.take_calls());
        could_be_taken();
        match step {
            Step::Done => return true,
            Step::Slice => {
                rounds += 1;
                assert!(rounds <= limits.steps, "a slice made no progress");
                if !host.eager || open.is_empty() {
                    continue;
                }
            }
            Step::Wait => {
                open.retain(|call| machine.is_waiting_for(call.id));
                assert!(!open.is_empty(), "waits for nothing");
            }
        }
        if answered == calls {
            return false;
        }
        answered += 1;
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if host.moves && matches!(step, Step::Wait) && seed & 4 == 0 {
            move_on(machine, limits);
        }
        let next = match host.order {
            Order::First => 0,
            Order::Last => open.len() - 1,
            Order::Any(_) => (seed >> 33) as usize % open.len(),
        };
        let call = open.remove(next);
        if host.noisy {
            machine.complete(u64::MAX - seed % 3, Reply::Value(Payload::Text("unasked".into())));
        }
        machine.complete(call.id, reply(&call.request));
        if host.noisy {
            machine.complete(call.id, Reply::Raise(Error::runtime("a second reply")));
        }
    }
}

/// Most bytes of what is granted to a machine that is read.
pub const GRANTED_BYTES: u64 = 1 << 20;

/// Steps that reading a snapshot may take, besides those of compiling its texts.
pub const RESTORE_STEPS: u64 = 8_000_000;

fn digest_of(program: &Program) -> ptc_vm::Result<[u8; 16]> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u128;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u128::from(*byte)).wrapping_mul((1 << 88) | 0x13b);
        }
    };
    match write_code(program, &mut add) {
        Ok(()) => Ok(hash.to_le_bytes()),
        Err(EncodeError::Refused(error)) => Err(error),
        Err(EncodeError::TooLarge(what)) => Err(Error::runtime(what)),
    }
}

/// A machine that waits as bytes, unless its run is pinned.
pub fn written(machine: &Machine) -> Option<Vec<u8>> {
    let setup = SnapshotSetup {
        digest: &digest_of,
        text_comes_with_request: false,
        bounds: Bounds::default(),
        host: b"",
    };
    match machine.snapshot(&setup) {
        Ok(snapshot) => Some(snapshot.bytes),
        Err(SnapshotError::NotWaiting) => panic!("it waits"),
        Err(_) => None,
    }
}

/// The machine of these bytes.
///
/// # Errors
/// They are none.
pub fn restored(bytes: &[u8], limits: Limits) -> Result<Machine, RestoreError> {
    let mut texts = 0_usize;
    let setup = RestoreSetup {
        library: library(),
        compile: &mut |text| {
            // As hosts do, all texts together have the steps of one.
            texts += 1;
            let allowance = Allowance {
                memory_bytes: COMPILATION.memory_bytes,
                steps: COMPILATION.steps / texts as u64,
                reservation: None,
                deadline: None,
            };
            let compile = || Ok(ptc_compiler::compile(text, library(), &CompileOptions::default())?);
            allowance.spend(compile).map(|(program, _)| with_text(program, text))
        },
        digest: &digest_of,
        request_program: None,
        limits,
        granted_bytes: GRANTED_BYTES,
        reservation: None,
        deadline: None,
        bounds: Bounds::default(),
    };
    Machine::restore(bytes, setup).map(|restored| restored.machine)
}

/// Writes a machine that waits and reads another one in its place, which is the same.
fn move_on(machine: &mut Machine, limits: Limits) {
    let Some(bytes) = written(machine) else { return };
    let other = restored(&bytes, limits).unwrap_or_else(|damage| panic!("{damage}"));
    assert_eq!(other.waiting_calls(), machine.waiting_calls());
    assert_eq!(written(&other), Some(bytes), "it is written otherwise than before");
    *machine = other;
}

/// Drives a machine of bytes that anybody may have written to its end.
pub fn drive_restored(machine: &mut Machine, host: Host) {
    while let Step::Wait = machine.resume(u64::MAX) {
        machine.take_calls();
        could_be_taken();
        let calls = machine.waiting_calls();
        let next = if let Order::Last = host.order { calls.last() } else { calls.first() };
        let call = *next.expect("waits for something");
        machine.complete(call, Reply::success(Payload::Json(br#"{"x":[1,{"a":"b"}]}"#.to_vec().into())));
    }
}

/// Ends a machine, checking that it kept within its limits.
pub fn ending(mut machine: Machine, limits: Limits) -> Ending {
    // The value's text is made within the program's memory, and its steps are over.
    let (shown, outcome) = bounded("the end of the program", 0, || {
        let shown = machine.inspect(print::readable);
        let steps = limits.memory_bytes / BYTES_OF_A_STEP;
        ((shown, machine.finish(true)), Charged { bytes: limits.memory_bytes, steps, in_one_turn: false })
    });
    assert!(outcome.steps <= limits.steps, "{} steps", outcome.steps);
    assert!(outcome.memory_peak <= limits.memory_bytes + MEMORY_SLACK, "peak {}", outcome.memory_peak);
    let of_error = |error: Error| {
        assert!(!error.message().is_empty(), "{} without a message", error.reason());
        Err((error.reason(), error.message().to_owned()))
    };
    Ending {
        result: match outcome.result {
            Ok(_) => shown.expect("a value").or_else(of_error),
            Err(error) => of_error(error),
        },
        prints: outcome.prints.iter().map(|print| print.as_str().to_owned()).collect(),
        steps: outcome.steps,
    }
}

/// Runs a program to its end, seeing that it takes no more than it charges.
pub fn run(program: &Rc<Program>, limits: Limits, slice: u64, host: Host) -> Ending {
    let machine = bounded("the program", program.source_bytes, || {
        let mut machine = machine(program, limits);
        drive(&mut machine, limits, slice, host, u64::MAX);
        let steps = machine.steps_used();
        (machine, Charged { bytes: limits.memory_bytes, steps, in_one_turn: slice == u64::MAX })
    });
    ending(machine, limits)
}
