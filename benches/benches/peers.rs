//! The workloads on other engines: builds and runs `benches/peers`, once with each Lua.
//!
//! That package is a workspace of its own, so that nothing but this command ever builds other people's interpreters.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    // `cargo test --all-targets` runs benchmarks too, to see that they work; this one would build for minutes.
    if !std::env::args().any(|arg| arg == "--bench") {
        return ExitCode::SUCCESS;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/Cargo.toml");
    for lua in ["lua54", "luajit"] {
        let run = Command::new(&cargo)
            .args(["run", "--release", "--quiet", "--manifest-path", manifest, "--features", lua])
            .status();
        match run {
            Ok(status) if status.success() => {}
            Ok(status) => {
                eprintln!("benches/peers with {lua}: {status}");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("{} cannot be run: {error}", cargo.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
