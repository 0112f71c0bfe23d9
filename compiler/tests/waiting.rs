//! What a machine costs that waits for its host, counted by the allocator. The only test here, since the allocator counts
//! for all threads.

use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::machine::{HostRequest, Setup};
use ptc_vm::{Machine, Step};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::rc::Rc;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Most bytes of a waiting machine, whose program is shared and whose call the host has taken: the whole of what a waiting
/// program may cost, which leaves the rest to the host.
const MOST_BYTES: usize = 4096;

const PROGRAMS: &[&str] = &[
    r#"(let [r (tool/call {:server "s" :tool "t"})] (:value r))"#,
    r#"(defn get-user [id] (tool/call {:server "s" :tool "t" :args {:id id :full true}}))
       (map (fn [id] (:name (:value (get-user id)))) [1 2 3])"#,
];

#[test]
fn a_waiting_machine_is_small() {
    for source in PROGRAMS {
        let program = Rc::new(compile(source, library(), &CompileOptions::default()).expect("compiles"));
        let start = || {
            let mut machine =
                Machine::new(program.clone(), Setup { upstreams: true, ..Setup::new(library()) });
            assert!(matches!(machine.resume(u64::MAX), Step::Wait));
            let calls = machine.take_calls();
            assert!(matches!(calls[..], [ref call] if matches!(call.request, HostRequest::Upstream(_))));
            machine
        };
        // What is built once a process is built by the first.
        drop(start());
        let mut machines: Vec<Machine> = Vec::with_capacity(100);
        let region = Region::new(ALLOCATOR);
        machines.extend((0..100).map(|_| start()));
        let stats = region.change();
        let each = (stats.bytes_allocated - stats.bytes_deallocated) / 100 + size_of::<Machine>();
        println!("{each} bytes, of them {} inline: {source}", size_of::<Machine>());
        assert!(each <= MOST_BYTES, "{each} bytes: {source}");
    }
}
