//! The `ptc` command.

use std::process::ExitCode;

/// A request makes and drops some thirty small things on one thread, a program one for each of its values: allocating is
/// a seventh of what a small evaluation costs, and half of that with this allocator. The library leaves the choice to
/// whoever embeds it.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else: started as the guard of an upstream's child, this process is nothing but that.
    ptc_host::child::guard::init();
    ptc_server::cli::main()
}
