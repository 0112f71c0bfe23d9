//! The command as a process: its outputs, its REPL, its secrets, its variables, and everything that clients can send over the wire.

mod bundle;
mod output;
mod policy;
mod repl;
mod secrets;
mod terminal;
mod variables;
mod wire;
