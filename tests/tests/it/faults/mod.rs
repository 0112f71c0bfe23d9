//! Faults of everything around the server: processes that are killed, signals under load, folders, clocks and
//! descriptors that fail, clients that say nothing or only half of it. The real binary, over its real pipes and sockets.

mod address_space;
mod clocks;
mod deaths;
mod descriptors;
mod folders;
mod halves;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "shared with other tests, which need more of it")]
mod process;
mod signals;
mod silence;
