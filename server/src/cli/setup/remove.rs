//! `ptc remove`: one upstream less.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ptc_host::config::ProcessEnv;

use super::client_state::tell;
use super::upstreams_file::UpstreamsFile;

/// Arguments of `ptc remove`.
#[derive(Args, Debug)]
pub struct RemoveArgs {
    /// Its name in programs
    #[arg(value_name = "NAME")]
    name: String,

    /// Upstreams file [default: as `ptc start` finds it]
    #[arg(long, value_name = "FILE")]
    upstreams_config: Option<PathBuf>,
}

/// Runs the sub-command.
pub fn run(args: RemoveArgs) -> ExitCode {
    tell(remove(&args, &ProcessEnv::current()))
}

/// Removes the upstream, and returns the message.
pub(super) fn remove(args: &RemoveArgs, env: &ProcessEnv) -> Result<String, String> {
    let file = UpstreamsFile::open(args.upstreams_config.as_deref(), env)?;
    let Some(credentials) = file.remove_upstream(&args.name) else {
        let names: Vec<&str> = file.upstreams().map(|(name, _)| name.as_str()).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(format!("{} has no upstream {}; it has: {known}", file.path.display(), args.name));
    };
    file.save(env)?;
    let mut text = format!("{}: removed {}", file.path.display(), args.name);
    if !credentials.is_empty() {
        text.push_str(&format!(", and the credentials that only it used: {}", credentials.join(", ")));
    }
    Ok(text)
}
