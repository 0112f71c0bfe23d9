//! The transports against real child processes and sockets.
//!
//! The binary plays every part: run by cargo it is the tests; with a role as its first argument it is a fake MCP
//! server on its standard streams, or a process that owns upstreams and gets killed; and the library makes it the
//! guard of children.

mod asking_programs;
mod certificates;
mod fake_stdio;
mod fault_proxy;
mod faults;
mod http;
mod old_sse;
mod paged_programs;
mod questions;
mod routes;
mod sampling_programs;
mod stdio;
mod support;
mod task_programs;
mod tls;

use libtest_mimic::{Arguments, Trial};

fn main() {
    ptc_host::child::guard::init();
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some(fake_stdio::ROLE) => fake_stdio::serve(&args.next().unwrap_or_default()),
        Some(fake_stdio::DESCENDANT_ROLE) => fake_stdio::descend(&args.next().unwrap_or_default()),
        Some(fault_proxy::ROLE) => fault_proxy::serve_stdio(&args.next().unwrap_or_default()),
        Some(stdio::OWNER_ROLE) => stdio::own(),
        _ => {
            let trials = [
                stdio::trials(),
                http::trials(),
                old_sse::trials(),
                questions::trials(),
                asking_programs::trials(),
                task_programs::trials(),
                sampling_programs::trials(),
                paged_programs::trials(),
                routes::trials(),
                tls::trials(),
                certificates::trials(),
                faults::trials(),
            ];
            let trials: Vec<Trial> = trials.into_iter().flatten().collect();
            let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
            conclusion.exit_if_failed();
            assert_nothing_is_left();
        }
    }
}

/// The last servers of the tests, threads of this process, may take a moment to notice that their clients are gone.
fn assert_nothing_is_left() {
    ptc_test_support::wait_until("the suite leaves nothing behind", || faults::left_over().is_empty());
}
