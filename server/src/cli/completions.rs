//! `ptc completions SHELL`: the script with which a shell completes the command line.

use super::output;
use clap::Args;
use clap_complete::Shell;
use std::process::ExitCode;

/// Arguments of `ptc completions`.
#[derive(Args, Debug)]
#[command(after_help = "\
bash: ptc completions bash > ~/.local/share/bash-completion/completions/ptc
zsh:  ptc completions zsh > DIR/_ptc, where DIR is in $fpath
fish: ptc completions fish > ~/.config/fish/completions/ptc.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs the sub-command.
pub(super) fn run(args: &CompletionsArgs, mut command: clap::Command) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "ptc", &mut script);
    output::write(format_args!("{}", String::from_utf8_lossy(&script)));
    ExitCode::SUCCESS
}
