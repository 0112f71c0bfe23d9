//! The expiry of runs of all owners in one place, so that they are counted without a list (waiting.md 8). It lies in another
//! slot than the runs themselves: a note is never missing, but may outlive its run.

use super::super::{Change, End, Kind};
use super::write::{Write, signed};

/// The key of all who use the store under which it is noted when runs go.
pub(super) const NOTED: &str = "r";
/// The record stays.
const STAYS: i64 = -1;
/// The record is gone.
const GONE: i64 = -2;

/// When a run goes.
pub(super) struct Note {
    pub(super) key: String,
    /// Milliseconds until then, or [`STAYS`] or [`GONE`].
    pub(super) left: i64,
    pub(super) is_new: bool,
}

impl Note {
    /// The note for a write, if it needs one: only for runs, and only if it changes.
    pub(super) fn of(prefix: &str, write: &Write) -> Option<Note> {
        if write.name.letter != Kind::Run.letter() {
            return None;
        }
        let (left, is_new) = match &write.change {
            Change::Put { version, rest, end, .. } => {
                let end = match end {
                    End::After(end) => Some(*end),
                    // How far a program is that runs is written each second.
                    End::Keep if *version > 0 && write.keeps_lease => return None,
                    End::Keep | End::Never => None,
                };
                let left = rest.iter().chain(&end).min().map_or(STAYS, |left| signed(*left));
                (left, *version == 0)
            }
            Change::Bury { .. } | Change::Remove { .. } => (GONE, false),
        };
        Some(Note { key: format!("{prefix}{}:{}", write.name.letter, write.name.id), left, is_new })
    }

    /// The same of a run that is not there.
    pub(super) fn gone(self) -> Note {
        Note { left: GONE, ..self }
    }
}
