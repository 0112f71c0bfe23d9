//! Faults of everything around the server: processes that are killed, signals under load, folders, clocks and
//! descriptors that fail, clients that say nothing or only half of it. The real binary, over its real pipes and sockets.

mod address_space;
mod clocks;
mod deaths;
mod descriptors;
mod folders;
mod halves;
mod signals;
mod silence;
