//! Kept programs: read at the start, at each reload and when another process has approved some; approved by the server itself.

mod approving;
mod shared;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use ptc_host::aggregator::{Aggregator, CurrentUpstreams};
use ptc_host::catalog::Catalog;
use ptc_host::engine::Engine;
use ptc_host::state::Secret;
use ptc_host::time;
use ptc_programs::folder::{ProgramFolder, Standing};
use ptc_programs::lock::ApprovalMisfit;
use ptc_programs::name::ProgramName;
use ptc_programs::signature::ProgramsKey;
use ptc_programs::staleness::StaleTool;
use ptc_programs::store::ProgramStore;
use ptc_protocol::Service;
use ptc_protocol::server_state::ServerState;
use ptc_protocol::settings::Programs;
use ptc_tools::kept::{CurrentPrograms, ProgramSet, stale_programs};
use tokio::sync::{Mutex, Notify, OwnedMutexGuard};
use tracing::{error, warn};

use shared::{Choice, Held, tell_source};

/// The programs of a server, and where they are read from.
#[derive(Clone)]
pub(super) struct KeptPrograms(Arc<Parts>);

struct Parts {
    settings: Programs,
    engine: Engine,
    upstreams: Option<Arc<CurrentUpstreams>>,
    /// The set that holds.
    current: Arc<CurrentPrograms>,
    /// Where replicas have their approvals from.
    store: Option<ProgramStore>,
    /// Who is told of another set, once it serves. Not for longer than it is there.
    service: OnceLock<Weak<Service>>,
    /// A reload has taken up what the store may lack.
    changed: Notify,
    /// One change at a time.
    held: Arc<Mutex<Held>>,
}

/// A folder that was read, or why it cannot be used.
type ReadFolder = Result<Arc<ProgramFolder>, String>;

/// What a reload has found. No other change is made until it is gone.
pub(super) struct NextPrograms {
    held: OwnedMutexGuard<Held>,
    /// What is to be served; or why those programs stay that were there.
    found: Result<(Arc<ProgramFolder>, Choice), String>,
    /// What of it is not served, as it is stale, a sentence each.
    stale: Vec<String>,
}

/// What is served of a folder, and what is wrong with the rest.
pub(super) struct ServedFolder {
    folder: Arc<ProgramFolder>,
    set: ProgramSet,
    remarks: Vec<String>,
}

impl KeptPrograms {
    /// The programs of these settings, as the folder has them. If they cannot be read, none are served, and the log says why: the
    /// rest of the server does not depend on them.
    pub(super) fn open(
        settings: &Programs,
        engine: &Engine,
        upstreams: Option<&Arc<CurrentUpstreams>>,
        state: &ServerState,
    ) -> KeptPrograms {
        let seal = state.secret.as_ref().map(Secret::sealing_id).unwrap_or_default();
        let store = state.shared_store().map(|store| ProgramStore::new(store, &seal));
        let folder = read(settings);
        let mut first = ProgramSet::default();
        match &folder {
            Ok(folder) => {
                let served = ServedFolder::of(folder.clone());
                served.tell();
                first = served.set;
            }
            // What the store has is not known yet.
            Err(reason) if store.is_none() => {
                error!(event = "programs_unreadable", reason, "no kept program is served");
            }
            Err(_) => {}
        }
        KeptPrograms(Arc::new(Parts {
            settings: settings.clone(),
            engine: engine.clone(),
            upstreams: upstreams.cloned(),
            current: CurrentPrograms::new(first),
            store,
            service: OnceLock::new(),
            changed: Notify::new(),
            held: Arc::new(Mutex::new(Held::new(folder))),
        }))
    }

    /// The set that holds.
    pub(super) fn current(&self) -> &Arc<CurrentPrograms> {
        &self.0.current
    }

    /// Reads the folder again, and looks what the store has.
    pub(super) async fn next(&self) -> NextPrograms {
        let held = self.0.held.clone().lock_owned().await;
        let found = match self.0.read_folder().await {
            Ok(folder) => {
                let choice = self.0.choose(&held, &Ok(folder.clone())).await;
                match held.older(&folder, &choice) {
                    Some(reason) => Err(reason),
                    None => Ok((folder, choice)),
                }
            }
            Err(reason) => Err(reason),
        };
        NextPrograms { held, found, stale: Vec::new() }
    }

    /// As [`next`](Self::next), beside these upstreams. Where tools are not as programs were approved with, their upstreams list them
    /// anew first: they may have changed them without a word before people approved what they are now.
    pub(super) async fn next_beside(&self, upstreams: &Aggregator) -> NextPrograms {
        let next = self.next().await;
        let changed = changed_upstreams(next.set(&self.0.current.current()), upstreams);
        if changed.is_empty() {
            return next;
        }
        // Approvals do not wait for upstreams.
        drop(next);
        upstreams.list_anew(&changed).await;
        let mut next = self.next().await;
        if !self.0.settings.serves_stale {
            let stale = stale_programs(next.set(&self.0.current.current()), &listed_by(upstreams));
            let reasons = stale.iter().map(|(name, tools)| {
                let reasons: Vec<String> = tools.iter().map(StaleTool::reason).collect();
                format!("{name} is stale, and not served: {}", reasons.join("; "))
            });
            next.stale = reasons.collect();
        }
        next
    }

    /// Lets hold what a reload has found. Whether another set is served.
    pub(super) fn apply(&self, next: NextPrograms) -> bool {
        let NextPrograms { mut held, found, .. } = next;
        match found {
            Ok((folder, choice)) => {
                held.take(folder);
                tell_source(&mut held, &choice);
                self.0.changed.notify_one();
                self.0.adopt(&mut held, choice)
            }
            Err(reason) => {
                error!(event = "programs_unreadable", reason, "the kept programs stay as they were");
                false
            }
        }
    }
}

impl NextPrograms {
    /// The programs that are to be served; `current`: those that are.
    fn set<'n>(&'n self, current: &'n ProgramSet) -> &'n ProgramSet {
        let served = self.found.as_ref().ok().and_then(|(_, choice)| choice.served.as_ref());
        served.map_or(current, |served| &served.set)
    }

    /// How the set changes, for the outcome of a reload, or why it does not; `None` if nobody expects it to.
    pub(super) fn change(&self, current: &CurrentPrograms) -> Option<String> {
        let Ok((folder, choice)) = &self.found else { return self.fault() };
        let changes = choice.served.as_ref().and_then(|served| served.changes(&current.current()));
        let changes = changes.map(|changes| [&[changes], &self.stale[..]].concat().join("; "));
        changes.or_else(|| choice.holds_against(folder))
    }

    /// Why nothing of the folder is taken up; `None` if it can be used.
    pub(super) fn fault(&self) -> Option<String> {
        self.found.as_ref().err().map(|reason| format!("stay as they were: {reason}"))
    }
}

impl Parts {
    async fn read_folder(&self) -> ReadFolder {
        let settings = self.settings.clone();
        time::spawn_blocking(move || read(&settings)).await.map_err(|fault| fault.to_string())?
    }
}

impl ServedFolder {
    fn of(folder: Arc<ProgramFolder>) -> ServedFolder {
        ServedFolder { set: ProgramSet::of_folder(&folder), remarks: remarks(&folder), folder }
    }

    /// What it changes of a set, with the programs that are no longer approved since others are that they call; `None` if nothing.
    fn changes(&self, current: &ProgramSet) -> Option<String> {
        let changes = current.changes_to(&self.set);
        let called = |name: &String| {
            let standing = &self.folder.programs.get(&ProgramName::new(name).ok()?)?.standing;
            match standing {
                Standing::Changed(ApprovalMisfit::Called(called)) => {
                    Some(format!("{name}, which calls {called}"))
                }
                _ => None,
            }
        };
        let lost: Vec<String> = changes.removed.iter().filter_map(called).collect();
        match lost.is_empty() {
            _ if changes.is_empty() => None,
            true => Some(changes.to_string()),
            false => Some(format!("{changes}; no longer approved: {}", lost.join("; "))),
        }
    }

    /// Tells the log of what is wrong.
    fn tell(&self) {
        for remark in &self.remarks {
            warn!(event = "program_left_out", reason = %remark);
        }
    }
}

/// The tools that upstreams list by now.
fn listed_by(upstreams: &Aggregator) -> Catalog {
    upstreams.unfiltered().present()
}

/// The upstreams of tools that are not as programs of this set were approved with.
fn changed_upstreams(set: &ProgramSet, upstreams: &Aggregator) -> BTreeSet<String> {
    let stale = stale_programs(set, &listed_by(upstreams));
    let tools = stale.iter().flat_map(|(_, tools)| tools).filter_map(|stale| stale.tool.split_once('/'));
    tools.map(|(upstream, _)| upstream.to_owned()).collect()
}

/// The key of the lock, if it must be signed.
fn key(path: Option<&Path>) -> Result<Option<ProgramsKey>, String> {
    path.map(ProgramsKey::read).transpose()
}

fn read(settings: &Programs) -> ReadFolder {
    let key = key(settings.key.as_deref())?.map(|key| key.verifying());
    let folder = ProgramFolder::read(&settings.dir, key.as_ref()).map_err(|fault| fault.to_string())?;
    match &folder.lock {
        Err(fault) => Err(format!("{}: {fault}", folder.lock_path().display())),
        Ok(_) => Ok(Arc::new(folder)),
    }
}

/// What of a folder is not served, a line for each.
fn remarks(folder: &ProgramFolder) -> Vec<String> {
    let mut remarks: Vec<String> =
        folder.misnamed.iter().map(|(file, why)| format!("{file}.clj is not served: {why}")).collect();
    for (name, found) in &folder.programs {
        match (&found.standing, &found.program) {
            (Standing::Approved, Ok(program)) => {
                let fault = folder.linked(program).err();
                remarks.extend(fault.map(|fault| format!("{name} is not served: {fault}")));
            }
            (Standing::Broken, Err(fault)) => {
                remarks.push(fault.in_file(&name.file_name()));
            }
            (Standing::Changed(misfit), _) => remarks.push(format!("{name} is not served: {misfit}")),
            (Standing::Unapproved | Standing::Broken | Standing::Approved, _) => {
                remarks.push(format!("{name} is not served: nobody has approved it"));
            }
        }
    }
    for name in folder.lock.iter().flat_map(|lock| lock.programs.keys()) {
        if !folder.programs.contains_key(name) {
            remarks.push(format!("{name} is approved, and its file {} is gone", name.file_name()));
        }
    }
    remarks
}
