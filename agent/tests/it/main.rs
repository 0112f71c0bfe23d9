//! The crate from outside: its examples, its log, and the page that says which promises have tests.

mod examples;
mod promises;
mod quiet_logs;
