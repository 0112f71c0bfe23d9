//! The effect of a commit on its records, before any of them is written.

use bytes::Bytes;

use super::super::names::Name;
use super::super::rows::Head;
use super::super::{Change, Commit, Kind, StateError, Write};
use super::tables::full_name;

/// The name of a record that is written.
pub(super) struct Target {
    pub(super) name: Name,
    pub(super) kind: Kind,
    pub(super) full: String,
}

/// The planned write of a record.
pub(super) struct Planned {
    pub(super) target: Target,
    pub(super) before: Option<Head>,
    /// `None`: it is removed.
    pub(super) after: Option<Head>,
}

/// The names of the records of a commit.
pub(super) fn targets(commit: &Commit) -> Vec<Target> {
    let target = |write: &Write| {
        let (name, kind) = write_of(write);
        let full = full_name(&name);
        Target { name, kind, full }
    };
    commit.writes().iter().map(target).collect()
}

/// The effect of a commit on its records, from their current heads and the rules for overwriting; or why it is refused.
pub(super) fn plan<E>(
    commit: &Commit,
    targets: Vec<Target>,
    mut is_there: impl FnMut(&Target) -> Result<Option<Head>, E>,
    judged: impl Fn(&Target, Option<&Head>, &Write) -> Result<Option<Head>, StateError>,
) -> Result<Result<Vec<Planned>, StateError>, E> {
    let mut plan = Vec::with_capacity(targets.len());
    for (write, target) in commit.writes().iter().zip(targets) {
        let before = is_there(&target)?;
        match judged(&target, before.as_ref(), write) {
            Ok(after) => plan.push(Planned { target, before, after }),
            Err(refused) => return Ok(Err(refused)),
        }
    }
    Ok(Ok(plan))
}

/// Bytes that count before and after these writes.
pub(super) fn counted(plan: &[Planned]) -> (u64, u64) {
    let bytes = |head: &Option<Head>| head.map_or(0, |head| head.bytes);
    let counted = plan.iter().filter(|planned| planned.target.kind.is_counted());
    counted.fold((0, 0), |(before, after), planned| {
        (before + bytes(&planned.before), after + bytes(&planned.after))
    })
}

/// The record of a write, without the key of its owner.
fn write_of(write: &Write) -> (Name, Kind) {
    (Name::of(&write.key), write.key.kind())
}

/// The content that a change leaves.
pub(super) fn content(change: &Change) -> &Bytes {
    static NOTHING: Bytes = Bytes::new();
    match change {
        Change::Put { blob, .. } => blob,
        _ => &NOTHING,
    }
}
