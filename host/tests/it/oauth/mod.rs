//! Signed in and staying signed in, against a scriptable authorization server (auth.md 18.3, 18.5).

mod calls;
mod discovering;
mod interrupted_store;
mod keeping;
mod killed;
mod panicking;
mod processes;
mod services;
mod signing_in;
mod world;
