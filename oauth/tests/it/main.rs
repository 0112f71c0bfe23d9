//! The crate from outside: discovery, sign-ins, tokens, and the page that says which failures have tests.

mod discovery;
mod failures;
mod jwt;
mod sign_in;
mod tokens;
