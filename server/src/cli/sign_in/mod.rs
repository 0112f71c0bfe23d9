//! Signing in to upstreams: `ptc login`, `ptc logout`, `ptc auth` (auth.md 11).

pub mod auth;
pub mod login;
pub mod logout;

mod browser;
mod desk;
mod loopback;
mod progress;
mod span;
mod surroundings;
