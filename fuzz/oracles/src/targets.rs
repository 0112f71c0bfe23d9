//! The table of targets. Tests hold that `fuzz/Cargo.toml`, `fuzz/fuzz_targets` and `fuzz/crash_inputs` have the same.

use crate::{check, seeds};
use std::path::Path;
use std::{env, fs, io, process};

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: of its file in `fuzz/fuzz_targets`, of its folder in `fuzz/crash_inputs`, and of its test.
    pub name: &'static str,
    /// Its oracle.
    pub check: check::Check,
    /// What its inputs are made by before anything is mutated.
    pub seeds: &'static [seeds::Source],
}

/// All targets.
pub const TARGETS: &[Target] = &[
    target("reader", check::reader, &[seeds::programs]),
    target("compile", check::compile, &[seeds::programs]),
    target("vm", check::vm, &[seeds::programs]),
    target("json", check::json, &[seeds::contexts]),
    target("roundtrip", check::roundtrip, &[seeds::noise]),
    target("program", check::program, &[seeds::noise]),
    target("suspend", check::suspend, &[seeds::noise]),
    target("restore", check::restore, &[seeds::noise]),
    target("differential", check::differential, &[seeds::noise]),
    target("jsonrpc", check::jsonrpc, &[seeds::frames]),
    #[cfg(feature = "server")]
    target("protocol", check::protocol, &[seeds::noise, seeds::requests]),
    #[cfg(feature = "server")]
    target("audit", check::audit, &[seeds::noise, seeds::audit_files]),
    target("sse", check::sse, &[seeds::event_streams]),
    target("openapi", check::openapi, &[seeds::noise, seeds::openapi_documents]),
    target("config", check::config, &[seeds::noise, seeds::upstreams_files]),
    target("policy", check::policy, &[seeds::noise, seeds::policies]),
    target("pin_lock", check::pin_lock, &[seeds::noise, seeds::pin_locks]),
    target("challenge", check::challenge, &[seeds::challenges]),
    target("metadata", check::metadata, &[seeds::oauth_documents]),
    target("callback", check::callback, &[seeds::callbacks]),
    target("jwt", check::jwt, &[seeds::access_tokens]),
    target("fetch_address", check::fetch_address, &[seeds::noise, seeds::addresses]),
    target("token_machine", check::token_machine, &[seeds::noise]),
    target("session_blob", check::session_blob, &[seeds::noise]),
];

const fn target(name: &'static str, check: check::Check, seeds: &'static [seeds::Source]) -> Target {
    Target { name, check, seeds }
}

/// The target of that name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

impl Target {
    /// Its seeds.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        self.seeds.iter().flat_map(|source| source()).collect()
    }

    /// The inputs in `fuzz/crash_inputs` that once broke a promise, by their file names.
    ///
    /// # Errors
    /// A file that is there cannot be read.
    pub fn crash_inputs(&self) -> io::Result<Vec<(String, Vec<u8>)>> {
        let folder = seeds::fuzz_folder().join("crash_inputs").join(self.name);
        let mut inputs = Vec::new();
        if folder.is_dir() {
            for file in fs::read_dir(folder)? {
                let file = file?;
                inputs.push((file.file_name().to_string_lossy().into_owned(), fs::read(file.path())?));
            }
        }
        inputs.sort();
        Ok(inputs)
    }

    /// Writes its seeds into a folder, one file each.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write_seeds(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for (at, seed) in self.seeds().iter().enumerate() {
            fs::write(folder.join(format!("seed-{at:04}")), seed)?;
        }
        Ok(())
    }
}

/// What a target of libFuzzer does first: if the variable `FUZZ_SEEDS` names a folder, it writes its seeds there and ends.
///
/// # Panics
/// If there is no such target, or the folder cannot be written.
pub fn begin(name: &str) {
    let target = find(name).expect("a target of the table");
    if let Some(folder) = env::var_os("FUZZ_SEEDS") {
        target.write_seeds(Path::new(&folder)).expect("the folder can be written");
        process::exit(0);
    }
}
