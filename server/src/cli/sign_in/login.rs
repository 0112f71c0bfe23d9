//! `ptc login`: signs a person in to an upstream, in the browser here, with a code, or by pasting the final address
//! of a browser elsewhere.

use std::io::{self, ErrorKind};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ptc_host::config::{OAuthRedirect, ProcessEnv};
use ptc_host::sign_in::callback::Callback;
use ptc_host::sign_in::failure::Failure;
use ptc_host::sign_in::{PROCESS, SignedIn, Site};
use ptc_host::time::{self, timeout_at};

use super::browser;
use super::desk::{self, DeskArgs, DeskError, now};
use super::loopback::Loopback;
use super::progress::Announcer;
use super::surroundings::Surroundings;
use crate::cli::input::{Input, InputLine};
use crate::cli::report;
use ptc_transport::closing_page::ClosingPage;

/// How long to wait for the browser.
const PATIENCE: Duration = Duration::from_secs(300);
/// The port in a redirect address without a listener.
const USUAL_PORT: u16 = 33418;

/// Arguments of `ptc login`.
#[derive(Args, Debug)]
pub struct LoginArgs {
    /// The upstream's name in the upstreams file
    #[arg(value_name = "NAME")]
    name: String,

    /// Show an address and a code to enter on any machine
    #[arg(long, conflicts_with = "paste")]
    device: bool,

    /// Read the address at which a browser on another machine ended
    #[arg(long)]
    paste: bool,

    /// Sign in for this caller of `ptc start --http`: the name of its token, or '*' for all callers together
    #[arg(long, value_name = "P")]
    principal: Option<String>,

    /// Print one JSON object a line for programs
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    desk: DeskArgs,
}

/// Runs the sub-command.
pub fn run(args: &LoginArgs) -> ExitCode {
    match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime.block_on(login(args)),
        Err(error) => report::fault(&format!("cannot start the event loop: {error}")),
    }
}

async fn login(args: &LoginArgs) -> ExitCode {
    let announcer = Announcer { upstream: &args.name, json: args.json };
    let site = match desk::site(&args.desk, &args.name) {
        Ok(site) => site,
        Err(error) => return report::fault(&error),
    };
    match sign_in(args, &site, announcer).await {
        Ok(signed_in) => {
            announcer.signed_in(&signed_in, now());
            ExitCode::SUCCESS
        }
        Err(fault) => {
            announcer.failed(&fault.code, &fault.text);
            ExitCode::FAILURE
        }
    }
}

async fn sign_in(args: &LoginArgs, site: &Site, announcer: Announcer<'_>) -> Result<SignedIn, DeskError> {
    let principal = args.principal.as_deref().unwrap_or(PROCESS);
    if args.device || (desk::wants_device(site) && !args.paste) {
        with_code(site, principal, announcer).await
    } else if args.paste {
        by_pasting(site, principal, announcer).await
    } else {
        in_browser(site, principal, announcer).await
    }
}

/// The browser returns to a listener of this command.
async fn in_browser(site: &Site, principal: &str, announcer: Announcer<'_>) -> Result<SignedIn, DeskError> {
    let redirect = &site.config().redirect;
    let mut loopback = listen(redirect, desk::registers(site))?;
    let begun = site.begin(principal, &redirect.uri(loopback.port())).await?;
    announcer.open(begun.url.expose(), false);
    let surroundings = Surroundings::of(&ProcessEnv::current());
    // A program opens the link itself.
    if !announcer.json {
        if let Some(notice) = surroundings.notice(announcer.upstream, loopback.port()) {
            announcer.remark(&notice);
        }
        if surroundings.may_have_browser() {
            browser::open(begun.url.expose());
        }
    }
    let deadline = time::now() + PATIENCE;
    loop {
        let Ok(visit) = timeout_at(deadline, loopback.visit()).await else {
            return Err(Failure::TimedOut.into());
        };
        // The listener has checked method and path.
        let target = format!("{}?{}", redirect.path, visit.query);
        let completed = match Callback::read("GET", &target, &redirect.path) {
            Ok(callback) => site.complete(callback).await.transpose(),
            Err(_) => None,
        };
        visit.show(match &completed {
            Some(Ok(_)) => ClosingPage::SignedIn,
            Some(Err(_)) => ClosingPage::TerminalSaysWhy,
            None => ClosingPage::Unknown,
        });
        if let Some(ended) = completed {
            loopback.close().await;
            return Ok(ended?);
        }
    }
}

/// Listens on the configured port. If we register a client ourselves and the port is taken, another port is used: it
/// is registered, and no other party knows it (auth.md 8).
fn listen(redirect: &OAuthRedirect, registers: bool) -> Result<Loopback, DeskError> {
    let bind = |port| Loopback::bind(&redirect.host, port, &redirect.path);
    let in_use = |error: &io::Error| error.kind() == ErrorKind::AddrInUse;
    let bound = match bind(redirect.port) {
        Err(error) if in_use(&error) && registers => bind(0),
        bound => bound,
    };
    bound.map_err(|error| match in_use(&error) {
        true => Failure::PortInUse { port: redirect.port }.into(),
        false => {
            let (host, port) = (&redirect.host, redirect.port);
            DeskError::new("no_listener", format!("cannot listen on {host} port {port}: {error}"))
        }
    })
}

/// The redirect address without a listener.
fn unheard(redirect: &OAuthRedirect) -> String {
    redirect.uri(if redirect.port == 0 { USUAL_PORT } else { redirect.port })
}

/// The person pastes the address at which a browser on any machine ended.
async fn by_pasting(site: &Site, principal: &str, announcer: Announcer<'_>) -> Result<SignedIn, DeskError> {
    let uri = unheard(&site.config().redirect);
    let begun = site.begin(principal, &uri).await?;
    announcer.open(begun.url.expose(), true);
    announcer.ask_for_address(&uri);
    let no_answer = |why: String| DeskError::new("no_answer", why);
    let mut input = Input::plain().map_err(|error| no_answer(error.to_string()))?;
    // A bare code does not reveal its sender.
    let bare_code = (!begun.advertises_iss).then_some(&begun.state);
    loop {
        let text = match input.line().await {
            InputLine::Text(text) if text.trim().is_empty() => continue,
            InputLine::Text(text) => text,
            InputLine::Failed(why) => return Err(no_answer(why)),
            InputLine::Interrupted | InputLine::End => {
                return Err(no_answer("no address was pasted".to_owned()));
            }
        };
        let completed = match Callback::of_pasted(&text, &uri, bare_code) {
            Ok(callback) => site.complete(callback).await?,
            Err(_) => None,
        };
        match completed {
            Some(signed_in) => return Ok(signed_in),
            None => announcer.remark(&format!(
                "This is not the address at which the sign-in ended, or it comes too late. It begins with {uri}? and has a \
                 state. Paste it once more:"
            )),
        }
    }
}

/// The person enters a code on another machine.
async fn with_code(site: &Site, principal: &str, announcer: Announcer<'_>) -> Result<SignedIn, DeskError> {
    let mut device = site.begin_device(principal, &unheard(&site.config().redirect)).await?;
    announcer.device(&device.shown);
    Ok(site.finish_device(&mut device).await?)
}
