//! `ptc logout`: asks the server to revoke the tokens, and deletes them in any case.

use ptc_host::visible::visible;
use std::process::ExitCode;

use clap::Args;
use ptc_host::sign_in::{PROCESS, SignedOut};

use super::desk::{self, DeskArgs};
use crate::cli::output::outln;
use crate::cli::report;

/// Arguments of `ptc logout`.
#[derive(Args, Debug)]
pub struct LogoutArgs {
    /// The upstream's name in the upstreams file
    #[arg(value_name = "NAME")]
    name: String,

    /// Sign out for this caller of `ptc start --http`: the name of its token
    #[arg(long, value_name = "P")]
    principal: Option<String>,

    #[command(flatten)]
    desk: DeskArgs,
}

/// Runs the sub-command.
pub fn run(args: &LogoutArgs) -> ExitCode {
    match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime.block_on(logout(args)),
        Err(error) => report::fault(&format!("cannot start the event loop: {error}")),
    }
}

async fn logout(args: &LogoutArgs) -> ExitCode {
    let principal = args.principal.as_deref().unwrap_or(PROCESS);
    let signed_out = match desk::site(&args.desk, &args.name) {
        Ok(site) => site.sign_out(principal).await.map_err(|error| error.to_string()),
        Err(error) => Err(error),
    };
    match signed_out {
        Ok(signed_out) => {
            outln!("{}", visible(&text(&args.name, &signed_out)));
            ExitCode::SUCCESS
        }
        Err(error) => report::fault(&visible(&error)),
    }
}

/// The message to the person.
fn text(name: &str, signed_out: &SignedOut) -> String {
    match signed_out {
        SignedOut::Revoked => format!("Signed out of {name}; the server revoked the token."),
        SignedOut::Deleted => format!("Signed out of {name}; the server has no way to revoke a token."),
        SignedOut::Unconfirmed(why) => {
            format!("Signed out of {name}; the server did not confirm that it revoked the token ({why}).")
        }
        SignedOut::WasNot => format!("Nobody was signed in to {name}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_told_as_the_specification_prints_it() {
        for (signed_out, expected) in [
            (SignedOut::Revoked, "Signed out of linear; the server revoked the token."),
            (
                SignedOut::Unconfirmed("http 503".into()),
                "Signed out of linear; the server did not confirm that it revoked the token (http 503).",
            ),
        ] {
            assert_eq!(text("linear", &signed_out), expected);
        }
    }
}
