//! The `ptc` command.

use std::process::ExitCode;

/// A request allocates and frees some thirty small objects on one thread, a program one for each of its values.
/// Allocation is a seventh of the cost of a small evaluation; this allocator halves it. The library leaves the choice
/// to its embedder.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Must come first: a process that is started as the guard of an upstream's child does nothing else.
    ptc_host::child::guard::init();
    ptc_server::cli::main()
}
