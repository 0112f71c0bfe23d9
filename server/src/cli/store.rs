//! `ptc state`: shows the content of the store to the operator. It needs no running server; a folder must not be in
//! use by one.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use clap::{Args, Subcommand};
use ptc_host::config::ProcessEnv;
use ptc_host::state::{Kind, Listed, RedbOptions, RedbState, SealedState, StateError, StateStore, is_id};
use ptc_host::visible::visible_line;
use serde_json::json;

use super::report;
use crate::cli::output::{errln, outln};
use crate::options::command::{GivenOptions, OptionGroups};
use crate::options::flags::{OptionGroup, STATE};
use crate::options::state::{given_of_servers, shared_store};
use ptc_protocol::settings::StateSettings;

/// Arguments of `ptc state`.
#[derive(Args, Debug)]
pub(crate) struct StateArgs {
    #[command(subcommand)]
    work: StoreCommand,
}

#[derive(Subcommand, Debug)]
enum StoreCommand {
    /// List records and replicas; records by names that hold digests of their owners
    Ls(LsArgs),
    /// Delete records, whoever uses them
    Rm(NamesArgs),
    /// Write records as JSON Lines to standard output, all if none is named; their content is opened and secret
    Export(NamesArgs),
}

#[derive(Args, Debug)]
struct LsArgs {
    /// Only session, run, blob, sign-in, draft or program
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// A line of JSON for each
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Args, Debug)]
struct NamesArgs {
    /// Names as `ptc state ls` shows them
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    #[command(flatten)]
    place: PlaceArgs,
}

/// The place of the state: the options of `ptc start`, and their variables.
#[derive(Clone, Debug)]
pub(super) struct OfState;

impl OptionGroups for OfState {
    const GROUPS: &'static [OptionGroup] = &[STATE];
}

pub(super) type PlaceArgs = GivenOptions<OfState>;

/// Runs the sub-command.
pub(super) fn run(args: &StateArgs) -> ExitCode {
    let runtime = match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime,
        Err(error) => return report::fault(&format!("cannot start the event loop: {error}")),
    };
    let done = runtime.block_on(async {
        match &args.work {
            StoreCommand::Ls(args) => list(args).await,
            StoreCommand::Rm(args) => remove(args).await,
            StoreCommand::Export(args) => export(args).await,
        }
    });
    match done {
        Ok(code) => code,
        Err(error) => report::fault(&error),
    }
}

/// The store of these options, if they name one.
pub(super) fn open_named(place: &PlaceArgs) -> Result<Option<SealedState>, String> {
    let state: StateSettings = given_of_servers(&place.0, &ProcessEnv::current())?;
    let is_named = state.url.is_some() || state.dir.is_some();
    is_named.then(|| open(place)).transpose()
}

/// The store of these options.
fn open(place: &PlaceArgs) -> Result<SealedState, String> {
    let state: StateSettings = given_of_servers(&place.0, &ProcessEnv::current())?;
    if let Some(shared) = shared_store(&state)? {
        return Ok(shared);
    }
    let Some(folder) = state.dir else {
        return Err(
            "there is no store: name a folder with --state-dir, or a server with --state-url".to_owned()
        );
    };
    if !RedbState::path(&folder).exists() {
        return Err(format!("nothing is kept in {} but sign-ins, which `ptc auth` lists", folder.display()));
    }
    let Some(secret) = &state.secret else {
        return Err(format!(
            "{} has no secret of its own, so its server has another one: name the file with --state-secret-file",
            folder.display()
        ));
    };
    let options = RedbOptions { folder, flushing: state.flushing, limits: state.limits };
    let file = RedbState::open(options).map_err(|error| error.to_string())?;
    Ok(SealedState::new(Arc::new(file), secret))
}

/// Kinds that are listed.
fn kinds(named: Option<&str>) -> Result<Vec<Kind>, String> {
    let all = [Kind::Session, Kind::Run, Kind::Blob, Kind::SignIn, Kind::Draft, Kind::Program];
    match named {
        None => Ok(all.to_vec()),
        Some(word) => match all.into_iter().find(|kind| kind.as_str() == word) {
            Some(kind) => Ok(vec![kind]),
            None => Err(format!("--kind must be one of {}, not {word:?}", all.map(Kind::as_str).join(", "))),
        },
    }
}

/// The name of a record: kind, owner with conversation, id.
fn name_of(listed: &Listed) -> String {
    let conversation = listed.conversation.as_ref().map(|id| format!(".{id}")).unwrap_or_default();
    format!("{}:{}{conversation}:{}", listed.kind.as_str(), listed.owner, listed.id)
}

/// The record of that name.
fn named(name: &str) -> Result<Listed, String> {
    let parsed = || {
        let mut parts = name.splitn(3, ':');
        let kind = Kind::named(parts.next()?)?;
        let owner = parts.next()?;
        let id = parts.next().filter(|id| is_id(id))?;
        let (owner, conversation) = match owner.split_once('.') {
            Some((owner, conversation)) => (owner, Some(conversation.into())),
            None => (owner, None),
        };
        Some(Listed {
            owner: owner.into(),
            conversation,
            kind,
            id: id.into(),
            version: 0,
            bytes: 0,
            expires_in: None,
            lease: None,
        })
    };
    parsed().ok_or_else(|| format!("{name:?} is no name of a record: `ptc state ls` shows them"))
}

async fn list(args: &LsArgs) -> Result<ExitCode, String> {
    let kinds = kinds(args.kind.as_deref())?;
    let store = open(&args.place)?;
    if args.kind.is_none() {
        for replica in store.replicas().await.map_err(said)? {
            if args.json {
                let seen = replica.seen.as_millis() as u64;
                outln!("{}", json!({"replica": replica.name, "build": replica.build, "seen_ms": seen}));
            } else {
                outln!(
                    "replica {}, build {}, heard of {} s ago",
                    replica.name,
                    replica.build,
                    replica.seen.as_secs()
                );
            }
        }
    }
    let (mut records, mut bytes) = (0, 0);
    for kind in kinds {
        let mut all = store.list(None, kind).await.map_err(said)?;
        all.sort_by(|one, other| (&one.owner, &one.id).cmp(&(&other.owner, &other.id)));
        for listed in &all {
            records += 1;
            bytes += listed.bytes;
            outln!("{}", visible_line(&line(listed, args.json)));
        }
    }
    if !args.json {
        errln!("{records} records, {bytes} bytes");
    }
    Ok(ExitCode::SUCCESS)
}

fn line(listed: &Listed, as_json: bool) -> String {
    let holder = listed.lease.as_ref().map(|lease| lease.holder.to_string());
    let millis = |time: Duration| time.as_millis() as u64;
    if as_json {
        let record = json!({
            "name": name_of(listed),
            "version": listed.version,
            "bytes": listed.bytes,
            "expires_in_ms": listed.expires_in.map(millis),
            "holder": holder,
        });
        return record.to_string();
    }
    let expires = listed.expires_in.map_or("stays".to_owned(), |left| format!("{} s left", left.as_secs()));
    let holder = holder.map(|holder| format!(", held by {holder}")).unwrap_or_default();
    format!("{}  version {}, {} bytes, {expires}{holder}", name_of(listed), listed.version, listed.bytes)
}

async fn remove(args: &NamesArgs) -> Result<ExitCode, String> {
    if args.names.is_empty() {
        return Err("name the records to delete: `ptc state ls` shows them".to_owned());
    }
    let names: Vec<_> = args.names.iter().map(|name| named(name)).collect::<Result<_, _>>()?;
    let store = open(&args.place)?;
    let mut code = ExitCode::SUCCESS;
    for listed in &names {
        match store.erase(listed).await {
            Ok(true) => outln!("deleted {}", visible_line(&name_of(listed))),
            Ok(false) => {
                errln!("there is no {}", visible_line(&name_of(listed)));
                code = ExitCode::FAILURE;
            }
            Err(error) => return Err(said(error)),
        }
    }
    Ok(code)
}

async fn export(args: &NamesArgs) -> Result<ExitCode, String> {
    let names: Vec<_> = args.names.iter().map(|name| named(name)).collect::<Result<_, _>>()?;
    let store = open(&args.place)?;
    let all = if names.is_empty() {
        let mut all = Vec::new();
        for kind in kinds(None)? {
            all.extend(store.list(None, kind).await.map_err(said)?);
        }
        all
    } else {
        names
    };
    let mut code = ExitCode::SUCCESS;
    for listed in &all {
        let found = match store.look(listed).await {
            Ok(Some(found)) => found,
            Ok(None) | Err(StateError::Gone | StateError::Corrupt) => {
                errln!("{} is gone, or sealed with another secret", visible_line(&name_of(listed)));
                code = ExitCode::FAILURE;
                continue;
            }
            Err(error) => return Err(said(error)),
        };
        let record = json!({
            "name": name_of(listed),
            "version": found.version,
            "expires_in_ms": found.expires_in.map(|left| left.as_millis() as u64),
            "content": BASE64.encode(found.blob.unwrap_or_default()),
        });
        outln!("{}", visible_line(&record.to_string()));
    }
    Ok(code)
}

fn said(error: StateError) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_names_the_record_that_was_listed() {
        let owner = "0123456789abcdef0123456789abcdef";
        for name in [format!("session:{owner}:ses_1"), format!("sign-in:{owner}.0123456789abcdef:token-1")] {
            assert_eq!(name_of(&named(&name).unwrap()), name);
        }
        for wrong in ["", "session", "session:x", "session:x:", "nothing:x:y", "session:x:a b"] {
            let said = named(wrong).unwrap_err();
            assert!(said.ends_with(" is no name of a record: `ptc state ls` shows them"), "{said}");
        }
        assert!(kinds(Some("http-session")).is_err() && kinds(Some("run")).is_ok());
    }
}
