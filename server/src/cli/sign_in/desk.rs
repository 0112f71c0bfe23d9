//! The data that the commands need of an upstream's sign-ins: its entry of the upstreams file, and the store. No
//! upstream is started.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use clap::Args;
use ptc_host::config::{OAuthClient, OAuthGrant, ProcessEnv, SERVER_VARIABLE, UpstreamsConfig, locate};
use ptc_host::credentials::Redactor;
use ptc_host::sign_in::failure::Failure;
use ptc_host::sign_in::{SignInContext, SignInError, Site};
use ptc_host::time::{self, Clock};

use crate::cli::upstreams;
use crate::options::flags::find;
use crate::options::sign_in_store::{KEYRING, KeyPlace, StorePlace};

/// Where the upstreams file and the store are.
#[derive(Args, Debug)]
pub(crate) struct DeskArgs {
    /// Upstreams file [default: as `ptc start` finds it]
    #[arg(long, value_name = "FILE")]
    upstreams_config: Option<PathBuf>,

    #[arg(long, help = find("ca-file").described(), value_name = "FILE")]
    ca_file: Option<PathBuf>,

    #[arg(long, help = find("state-dir").described(), value_name = "DIR")]
    state_dir: Option<PathBuf>,

    #[arg(long, help = find("state-key-file").described(), value_name = "FILE")]
    state_key_file: Option<PathBuf>,

    #[arg(long, help = find("state-key").described(), value_name = "keyring", value_parser = [KEYRING], conflicts_with = "state_key_file")]
    state_key: Option<String>,
}

impl DeskArgs {
    /// The upstreams file, if one is named.
    pub(crate) fn upstreams_config(&self) -> Option<&Path> {
        self.upstreams_config.as_deref()
    }

    /// The state folder, if one is named.
    pub(crate) fn state_dir(&self) -> Option<&Path> {
        self.state_dir.as_deref()
    }
}

/// The current time, in Unix seconds.
pub(super) fn now() -> u64 {
    time::time_of_day().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Why a sign-in failed: a code for programs, and a text for people.
#[derive(Debug)]
pub(super) struct DeskError {
    pub(super) code: String,
    pub(super) text: String,
}

impl DeskError {
    pub(super) fn new(code: &str, text: String) -> DeskError {
        DeskError { code: code.to_owned(), text }
    }
}

impl From<SignInError> for DeskError {
    fn from(error: SignInError) -> DeskError {
        DeskError { code: error.code().to_owned(), text: error.to_string() }
    }
}

impl From<Failure> for DeskError {
    fn from(failure: Failure) -> DeskError {
        DeskError::from(SignInError::from(failure))
    }
}

/// The upstream `name`, to which a person signs in.
///
/// # Errors
/// A sentence that says that there is no such upstream, or that it has no sign-in.
pub(super) fn site(args: &DeskArgs, name: &str) -> Result<Arc<Site>, String> {
    let (config, context) = open(args, &ProcessEnv::current())?;
    let Some(upstream) = config.upstreams.iter().find(|upstream| upstream.name == name) else {
        let known: Vec<_> = config.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(format!("no upstream '{name}' configured; there are: {known}"));
    };
    let site = Site::new(upstream, &Arc::new(config.credentials), &context)
        .ok_or_else(|| format!("nobody signs in to upstream '{name}': its auth is not of type \"oauth\""))?;
    if !site.config().grant.has_person() {
        return Err(format!(
            "upstream '{name}' acts for no person: its tokens are fetched when calls need them"
        ));
    }
    Ok(site)
}

/// All upstreams with sign-ins, in the order of the file.
///
/// # Errors
/// A sentence that says that the upstreams file or the store cannot be read.
pub(super) fn sites(args: &DeskArgs, env: &ProcessEnv) -> Result<Vec<Arc<Site>>, String> {
    let (config, context) = open(args, env)?;
    let credentials = Arc::new(config.credentials);
    Ok(config.upstreams.iter().filter_map(|upstream| Site::new(upstream, &credentials, &context)).collect())
}

/// True if the entry uses a code rather than a browser.
pub(super) fn wants_device(site: &Site) -> bool {
    site.config().grant == OAuthGrant::DeviceCode
}

/// True if a client is registered at each sign-in, so that any redirect address is possible.
pub(super) fn registers(site: &Site) -> bool {
    site.config().client == OAuthClient::Auto
}

fn open(args: &DeskArgs, env: &ProcessEnv) -> Result<(UpstreamsConfig, SignInContext), String> {
    let unconfigured = upstreams::UNCONFIGURED;
    let location =
        locate(args.upstreams_config.as_deref(), Some(SERVER_VARIABLE), env).ok_or(unconfigured)?;
    let config = upstreams::read(&location, env).map_err(|error| error.to_string())?.ok_or(unconfigured)?;
    let http = upstreams::http(args.ca_file.as_deref(), env)?;
    let key = KeyPlace { file: args.state_key_file.clone(), word: args.state_key.clone() };
    let place = StorePlace::of(env, args.state_dir.clone(), key);
    let context = SignInContext {
        store: place.open()?,
        clock: Clock::current(),
        redactor: Redactor::new(),
        http,
        owner: tokio::runtime::Handle::current(),
        page: None,
        page_has_login: false,
    };
    config.register_secrets(&context.redactor).map_err(|no_room| no_room.to_string())?;
    Ok((config, context))
}
