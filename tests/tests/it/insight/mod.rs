//! What can be learned about a running server: `lisp_debug`, traces, metrics and the console, through real pipes and
//! sockets.

mod card;
mod console;
mod console_calls;
mod debug;
mod language_card;
mod log;
mod metrics;
mod runs;
mod traces;
