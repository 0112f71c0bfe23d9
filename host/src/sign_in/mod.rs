//! Signed in to upstreams, and staying so: OAuth as auth.md has it, over the sans-I/O core of `ptc-oauth`.

pub mod store;
