//! Where drafts lie: behind one trait, files on one machine or rows of a store that replicas share.

use futures_util::future::BoxFuture;
use ptc_host::private_folder::PrivateFault;
use ptc_host::state::StateError;

use crate::draft::{Draft, DraftSummary, MAX_DRAFT_BYTES, MAX_DRAFTS};
use crate::name::ProgramName;

/// Why drafts cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DraftFault {
    /// The principal has as many as it may.
    #[error(
        "there are {MAX_DRAFTS} drafts of yours, or {MAX_DRAFT_BYTES} bytes of them: a person has to approve or discard some first"
    )]
    Full,
    /// A file cannot be used.
    #[error("{0}")]
    File(#[from] PrivateFault),
    /// The store cannot be used.
    #[error("the state store: {0}")]
    Store(StateError),
    /// Another one was written meanwhile.
    #[error("the draft was replaced meanwhile")]
    Replaced,
    /// The record is none.
    #[error("{0}")]
    Unreadable(String),
}

/// The drafts of a principal, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftList {
    /// By principals and names.
    pub drafts: Vec<DraftSummary>,
    /// Records that cannot be read, a sentence each.
    pub unreadable: Vec<String>,
    /// Whether there are more than were read.
    pub is_part: bool,
}

/// Most drafts of a list.
pub const MOST_LISTED: usize = 1000;

/// Drafts of all principals. None of its operations blocks the runtime.
pub trait DraftStore: Send + Sync {
    /// Where they lie, for people: a folder, or the store.
    fn place(&self) -> String;

    /// Puts a draft in the place of that of its principal and name. Returns whether there was one.
    ///
    /// # Errors
    /// [`DraftFault::Full`], or it cannot be written.
    fn put<'a>(&'a self, draft: &'a Draft) -> BoxFuture<'a, Result<bool, DraftFault>>;

    /// The drafts of a principal, or of all.
    ///
    /// # Errors
    /// They cannot be read at all; one that cannot be is told in the list.
    fn list<'a>(&'a self, principal: Option<&'a str>) -> BoxFuture<'a, Result<DraftList, DraftFault>>;

    /// The draft of a principal, if there is one.
    ///
    /// # Errors
    /// It cannot be read.
    fn read<'a>(
        &'a self,
        principal: &'a str,
        name: &'a ProgramName,
    ) -> BoxFuture<'a, Result<Option<Draft>, DraftFault>>;

    /// Removes the draft of a principal; with a digest only if its text has that. Returns whether there was one.
    ///
    /// # Errors
    /// [`DraftFault::Replaced`], or it cannot be removed.
    fn remove<'a>(
        &'a self,
        principal: &'a str,
        name: &'a ProgramName,
        digest: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, DraftFault>>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft_files::DraftFiles;
    use crate::draft_rows::DraftRows;
    use ptc_host::state::{MemoryState, StoreLimits};
    use std::sync::Arc;
    use tempfile::TempDir;

    fn name(text: &str) -> ProgramName {
        ProgramName::new(text).unwrap()
    }

    fn draft(principal: &str, of: &str, body: &str) -> Draft {
        let text = format!("{{:description \"Says {of}.\"}}\n{body}\n");
        Draft {
            name: name(of),
            principal: principal.into(),
            at: "2026-01-31T12:00:00Z".to_owned(),
            text: text.into(),
        }
    }

    fn stores(folder: &TempDir) -> [Arc<dyn DraftStore>; 2] {
        let rows = DraftRows::new(Arc::new(MemoryState::new(StoreLimits::default())));
        [Arc::new(DraftFiles::new(folder.path())), Arc::new(rows)]
    }

    fn shown(list: &DraftList) -> Vec<(String, String, String)> {
        let row = |draft: &DraftSummary| {
            (draft.principal.to_string(), draft.name.to_string(), draft.description.clone())
        };
        list.drafts.iter().map(row).collect()
    }

    #[tokio::test]
    async fn drafts_are_of_their_principals_and_replaced_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for store in stores(&folder) {
            let (ann, bob) = (draft("ann", "report", "1"), draft("bob", "report", "2"));
            assert!(!store.put(&ann).await.unwrap() && !store.put(&bob).await.unwrap());
            assert!(!store.put(&draft("ann", "other", "(")).await.unwrap());
            let later = draft("ann", "report", "3");
            assert!(store.put(&later).await.unwrap(), "it replaces the former one");
            assert_eq!(store.read("ann", &ann.name).await.unwrap(), Some(later.clone()));
            assert_eq!(store.read("bob", &ann.name).await.unwrap(), Some(bob.clone()));
            assert_eq!(store.read("eve", &ann.name).await.unwrap(), None);
            let rows = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
                rows.iter().map(|(of, name)| ((*of).to_owned(), (*name).to_owned())).collect()
            };
            let names = |list: &DraftList| -> Vec<(String, String)> {
                shown(list).into_iter().map(|(of, name, _)| (of, name)).collect()
            };
            let all = store.list(None).await.unwrap();
            assert_eq!(names(&all), rows(&[("ann", "other"), ("ann", "report"), ("bob", "report")]));
            assert!(all.drafts[0].description.starts_with("it cannot be used: "), "{:?}", all.drafts[0]);
            assert_eq!(all.drafts[1].description, "Says report.");
            assert_eq!(names(&store.list(Some("bob")).await.unwrap()), rows(&[("bob", "report")]));
            assert_eq!(
                store.remove("ann", &ann.name, Some(&ann.digest())).await,
                Err(DraftFault::Replaced),
                "another text than was seen"
            );
            assert!(store.remove("ann", &ann.name, Some(&later.digest())).await.unwrap());
            assert!(!store.remove("ann", &ann.name, None).await.unwrap());
            assert!(!store.remove("eve", &ann.name, None).await.unwrap());
        }
    }

    #[tokio::test]
    async fn a_principal_has_so_many_drafts_of_so_many_bytes() {
        let folder = tempfile::tempdir().unwrap();
        for store in stores(&folder) {
            for number in 0..MAX_DRAFTS {
                store.put(&draft("ann", &format!("d{number}"), "1")).await.unwrap();
            }
            assert_eq!(store.put(&draft("ann", "more", "1")).await, Err(DraftFault::Full));
            assert!(store.put(&draft("ann", "d7", "2")).await.unwrap(), "one that is there may change");
            assert!(!store.put(&draft("bob", "more", "1")).await.unwrap());
            let large = format!("\"{}\"", "x".repeat(500 << 10));
            let mut taken = 0;
            while store.put(&draft("cay", &format!("d{taken}"), &large)).await.is_ok() {
                taken += 1;
            }
            assert_eq!(taken, 16, "8 MiB");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn files_that_are_no_drafts_are_told_and_skipped() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let store = DraftFiles::new(folder.path());
        assert_eq!(store.list(None).await.unwrap(), DraftList::default(), "nothing is made by a look");
        for of in ["good", "cut", "seen", "moved", "large"] {
            store.put(&draft("ann", of, "1")).await.unwrap();
        }
        store.put(&draft("bob", "own", "1")).await.unwrap();
        let own = std::fs::read_dir(folder.path().join("drafts")).unwrap().map(|entry| entry.unwrap().path());
        let of_ann = own.into_iter().find(|path| path.join("good.json").exists()).unwrap();
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&of_ann), mode(&of_ann.join("good.json"))), (0o700, 0o600));
        std::fs::write(of_ann.join("cut.json"), "{\"version\":1,").unwrap();
        std::fs::set_permissions(of_ann.join("seen.json"), std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::rename(of_ann.join("moved.json"), of_ann.join("renamed.json")).unwrap();
        std::fs::write(of_ann.join("large.json"), vec![b' '; 5 << 20]).unwrap();
        std::fs::write(of_ann.join("Notes.txt"), "x").unwrap();
        let list = store.list(None).await.unwrap();
        assert_eq!(list.drafts.len(), 2, "{list:?}");
        let mut told = list.unreadable.iter().map(|why| why.rsplit('/').next().unwrap()).collect::<Vec<_>>();
        told.sort_unstable();
        assert_eq!(
            told,
            [
                "cut.json is no record of a draft",
                "large.json has more bytes than a record",
                "renamed.json was renamed",
                "seen.json must belong to you and have mode 0600",
            ]
        );
        let fault = store.read("ann", &name("cut")).await.unwrap_err();
        assert!(fault.to_string().ends_with("cut.json is no record of a draft"));
    }
}
