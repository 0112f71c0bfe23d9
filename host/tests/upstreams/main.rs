//! The transports against real child processes and sockets.
//!
//! The binary plays every part: run by cargo it is the tests; with a role as its first argument it is a fake MCP
//! server on its standard streams, or a process that owns upstreams and gets killed; and the library makes it the
//! guard of children.

mod fake_http;
mod fake_stdio;
mod http;
mod stdio;
mod support;
mod tls;

use libtest_mimic::{Arguments, Trial};

fn main() {
    ptc_host::child::guard::init();
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some(fake_stdio::ROLE) => fake_stdio::serve(&args.next().unwrap_or_default()),
        Some(fake_stdio::DESCENDANT_ROLE) => fake_stdio::descend(&args.next().unwrap_or_default()),
        Some(stdio::OWNER_ROLE) => stdio::own(),
        _ => {
            let trials: Vec<Trial> =
                [stdio::trials(), http::trials(), tls::trials()].into_iter().flatten().collect();
            libtest_mimic::run(&Arguments::from_args(), trials).exit();
        }
    }
}
