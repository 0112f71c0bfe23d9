//! `sleep-ms`: a wait (language.md 5.10).
//!
//! The machine checks the argument. The host waits, by its own clock, and sums a program's waits.

use super::Builtin;
use super::namespaces::EXTENSION;
use super::row::{frame, section};
use crate::error::{Error, Reason, Result};
use crate::machine::{Ctx, Flow, HostRequest, MOST_SLEEP_MS};
use crate::print;
use crate::value::Value;

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("Waiting", "Waiting").of([
    frame("sleep-ms", EXTENSION, "n", sleep_ms)
        .doc("Wait n milliseconds, at most 10000 at a time and 60000 in all, and give nil: before a call that was refused for its rate, or between looks at something that goes on. The wait counts against the program's time limit; the program's clock stands still")
        .example("(sleep-ms 5)", "nil"),
]);

#[cold]
fn fault(text: impl std::fmt::Display) -> Error {
    Error::verbatim(Reason::RuntimeError, format!("runtime_error: sleep-ms {text}"))
}

/// `(sleep-ms n)`
fn sleep_ms(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    match milliseconds(&args[0])? {
        // Nobody has to be asked for no wait.
        0 => Ok(Flow::Return(Value::Nil)),
        millis => Ok(Flow::Host(HostRequest::Sleep { millis })),
    }
}

/// The milliseconds that a value stands for.
fn milliseconds(value: &Value) -> Result<u32> {
    let millis = match value {
        Value::Int(n) => u32::try_from(*n).ok(),
        // What is computed is often a float: a started millisecond counts as a whole one.
        Value::Float(x) if (0.0..=f64::from(MOST_SLEEP_MS)).contains(&x.get()) => Some(x.get().ceil() as u32),
        Value::Float(_) | Value::BigInt(_) => None,
        other => return Err(Error::argument("sleep-ms", 1, "number of milliseconds", other)),
    };
    match millis.filter(|millis| *millis <= MOST_SLEEP_MS) {
        Some(millis) => Ok(millis),
        None => {
            let got = print::literal(value);
            Err(fault(format_args!("waits 0 to {MOST_SLEEP_MS} milliseconds at a time, got {got}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_whole_milliseconds_within_the_limit() {
        let cases = [
            (Value::Int(0), 0),
            (Value::Int(10_000), 10_000),
            (Value::float(0.2), 1),
            (Value::float(250.0), 250),
            (Value::float(10_000.0), 10_000),
        ];
        for (value, want) in cases {
            assert_eq!(milliseconds(&value).expect("a wait"), want);
        }
    }

    #[test]
    fn other_waits_are_refused() {
        for (value, shown) in [
            (Value::Int(-1), "-1"),
            (Value::Int(10_001), "10001"),
            (Value::Int(i64::MAX), "9223372036854775807"),
            (Value::float(10_000.5), "10000.5"),
            (Value::float(-0.5), "-0.5"),
            (Value::float(f64::NAN), "##NaN"),
        ] {
            let text =
                format!("runtime_error: sleep-ms waits 0 to 10000 milliseconds at a time, got {shown}");
            assert_eq!(milliseconds(&value).unwrap_err().to_string(), text);
        }
        let error = milliseconds(&Value::str("5")).unwrap_err().to_string();
        assert_eq!(error, "type_error: sleep-ms: arg 1 expected number of milliseconds, got string");
    }
}
