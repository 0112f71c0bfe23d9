//! The turn of the work that has the thread.

use super::limits::whole_nanos;
use ptc_base::time::{self, Clock, Instant};
use std::cell::Cell;
use std::sync::OnceLock;
use std::time::Duration;

/// How long a program has the thread before others have their turn.
pub(super) const TURN: Duration = Duration::from_micros(500);

thread_local! {
    /// When the turn of the work that has the thread is over, in nanoseconds of [`nanoseconds`]; 0 before its first look at the
    /// clock.
    static TURN_ENDS: Cell<u64> = const { Cell::new(0) };
    /// Whether the result of the work that has the thread is still of interest.
    static WANTED: Cell<bool> = const { Cell::new(true) };
    /// Whether some work has the thread, on a stack of its own.
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Begins a turn. If the result of its work is not `wanted`, the work ends as soon as it can.
pub(super) fn begin(wanted: bool) {
    TURN_ENDS.set(0);
    WANTED.set(wanted);
    RUNNING.set(true);
}

/// Ends it.
pub(super) fn end() {
    RUNNING.set(false);
    WANTED.set(true);
}

/// Whether the work that has the thread should leave it to others. The turn begins with the first question: work that ends
/// before it asks needs no clock.
pub(super) fn turn_is_over() -> bool {
    if !RUNNING.get() {
        return true;
    }
    // What unwinds is not interrupted: the thread would count as panicking for everyone.
    if std::thread::panicking() {
        return false;
    }
    let (now, ends) = (nanoseconds(), TURN_ENDS.get());
    if ends == 0 {
        TURN_ENDS.set(now + TURN.as_nanos() as u64);
    }
    ends != 0 && now >= ends
}

/// Whether some work has this thread, on a stack of its own: other work cannot begin before it pauses.
pub(super) fn is_running() -> bool {
    RUNNING.get()
}

/// Whether the result of the work that has the thread is still of interest.
pub(super) fn is_wanted() -> bool {
    WANTED.get()
}

/// Nanoseconds since the first call of this function in the process.
pub(super) fn nanoseconds() -> u64 {
    nanoseconds_at(time::now())
}

/// The same clock at another moment.
pub(super) fn nanoseconds_at(moment: Instant) -> u64 {
    whole_nanos(moment.saturating_duration_since(first()))
}

/// By the system's clock: threads may have others.
fn first() -> Instant {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    *FIRST.get_or_init(|| Clock::default().now())
}
