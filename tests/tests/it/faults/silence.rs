//! Thousands of connections that say nothing.

use std::io::Read;
use std::net::TcpStream;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use ptc_test_support::child_process::peak_memory;
use ptc_test_support::process::{Launch, descriptors};
use ptc_test_support::wait_until;

/// Most bytes that the process may take for one connection that says nothing (debug build, everything included).
const BYTES_EACH: u64 = 16 << 10;

/// As many connections as the issue asks for, or as this system lets a process have descriptors for.
fn many() -> usize {
    // Of all tests of this process, none of which depends on a low limit; servers that need one are started with their own.
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).expect("what the system allows");
    let many = (hard as usize - 600).min(10_000);
    assert!(many > 1000, "{hard} descriptors are too few for this test");
    many
}

fn is_closed(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    let read = (&mut &*stream).read(&mut [0]);
    !read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

#[test]
fn ten_thousand_connections_that_say_nothing() {
    let many = many();
    // Once with a place for each of them, once with fewer places than that.
    for places in [many + 200, 1000] {
        let flags = ["--http-metrics", "--http-request-timeout-ms", "600000", "--http-max-connections"];
        let places_text = places.to_string();
        let server = Launch::new(&[&flags[..], &[&places_text]].concat()).on_http();
        assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
        let pid = server.server.pid();
        let (before, memory) = (descriptors(pid), peak_memory(pid));
        let mut silent = Vec::with_capacity(many);
        for number in 0..many {
            silent.push(server.connect());
            // Whoever has something to say is served all the while.
            if number % 1000 == 0 {
                assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
            }
        }
        assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
        wait_until("no more than there are places for", || {
            descriptors(pid) <= before + places
                && silent.iter().filter(|one| !is_closed(one)).count() <= places
        });
        if places > many {
            assert!(!silent.iter().any(is_closed), "there is a place for each");
        }
        let grown = peak_memory(pid) - memory;
        println!("{many} silent connections, {places} places: {grown} bytes more");
        assert!(grown < BYTES_EACH * many as u64, "{grown} bytes for {many} connections");
        drop(silent);
        wait_until("all descriptors are closed", || descriptors(pid) <= before);
        assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
    }
}
