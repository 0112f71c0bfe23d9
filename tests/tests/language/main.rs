//! Tests of the language against data, oracles and input that is made to hurt. They also run on threads of 256 KiB
//! (docs/reliability.md, small stacks).

mod conformance;
mod graph;
mod hostile;
mod hostile_builtins;
mod properties;
mod registry;
