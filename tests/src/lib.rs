//! Support for the whole-product tests.

pub mod conformance;
pub mod hostile;
pub mod product;
pub mod replicated;
pub mod stepped_time;

/// Runs a judge that descends into values by recursion, on a thread with room for it. What is judged must not need
/// that: its own threads have what `RUST_MIN_STACK` says (docs/reliability.md, small stacks).
pub fn with_room(judge: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(judge);
    if let Err(panic) = thread.expect("a thread").join() {
        std::panic::resume_unwind(panic);
    }
}
