//! Drafts as rows of a store that replicas share.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_host::state::{Commit, Key, Kind, Listed, Owner, StateError, StateStore, Versioned, Write};

use crate::draft::{Draft, MAX_DRAFT_BYTES, MAX_DRAFTS};
use crate::draft_store::{DraftFault, DraftList, DraftStore, MOST_LISTED};
use crate::name::ProgramName;

/// Times that a write is tried again after another one came between.
const TRIES: usize = 5;

/// Drafts in a store of state.
#[derive(Clone)]
pub struct DraftRows {
    state: Arc<dyn StateStore>,
}

impl From<StateError> for DraftFault {
    fn from(error: StateError) -> DraftFault {
        match error {
            StateError::Conflict | StateError::Fenced => DraftFault::Replaced,
            error => DraftFault::Store(error),
        }
    }
}

fn place(principal: &str, name: &ProgramName) -> Result<Key, DraftFault> {
    let key = Key::new(&Owner::principal(principal), Kind::Draft, name.as_str());
    key.map_err(|bad| DraftFault::Unreadable(bad.to_string()))
}

/// The draft of a record under this name.
fn draft_of(name: &str, found: &Versioned) -> Result<Option<Draft>, DraftFault> {
    let Some(blob) = &found.blob else { return Ok(None) };
    let unreadable = |why: &str| DraftFault::Unreadable(format!("the draft {name} {why}"));
    let known = ProgramName::new(name).map_err(|why| unreadable(&why.to_string()))?;
    Draft::of_record(&known, blob).map(Some).map_err(|why| unreadable(&why))
}

impl DraftRows {
    /// Drafts in `state`, which must be one that seals.
    #[must_use]
    pub fn new(state: Arc<dyn StateStore>) -> DraftRows {
        DraftRows { state }
    }

    /// The record under a key; `None` if there is none.
    async fn found(&self, key: &Key) -> Result<Option<Versioned>, DraftFault> {
        match self.state.read(key).await {
            Ok(found) => Ok(found.filter(|found| found.blob.is_some())),
            Err(StateError::Gone) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the principal has room for a record of so many bytes under this name.
    async fn has_room(&self, draft: &Draft, bytes: u64) -> Result<bool, DraftFault> {
        let own = self.state.list(Some(&Owner::principal(draft.principal.clone())), Kind::Draft).await?;
        let others: Vec<&Listed> = own.iter().filter(|listed| *listed.id != *draft.name.as_str()).collect();
        let taken: u64 = others.iter().map(|listed| listed.bytes).sum();
        Ok(others.len() < MAX_DRAFTS && taken + bytes <= MAX_DRAFT_BYTES)
    }

    async fn look(&self, listed: &Listed) -> Result<Option<Draft>, DraftFault> {
        match self.state.look(listed).await {
            Ok(Some(found)) => draft_of(&listed.id, &found),
            Ok(None) | Err(StateError::Gone) => Ok(None),
            Err(StateError::Corrupt) => {
                Err(DraftFault::Unreadable(format!("the draft {} is sealed with another key", listed.id)))
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl DraftStore for DraftRows {
    fn place(&self) -> String {
        "the state store".to_owned()
    }

    fn put<'a>(&'a self, draft: &'a Draft) -> BoxFuture<'a, Result<bool, DraftFault>> {
        async move {
            let (key, record) = (place(&draft.principal, &draft.name)?, draft.record());
            if !self.has_room(draft, record.len() as u64).await? {
                return Err(DraftFault::Full);
            }
            for _ in 0..TRIES {
                let version = match self.state.read(&key).await {
                    Ok(found) => found.map_or(0, |found| found.version),
                    Err(StateError::Gone | StateError::Corrupt) => {
                        self.state.commit(Commit::one(Write::remove(key.clone()))).await?;
                        0
                    }
                    Err(error) => return Err(error.into()),
                };
                let write = Write::put(key.clone(), version, record.clone().into_bytes());
                match self.state.commit(Commit::one(write)).await {
                    Err(StateError::Conflict) => {}
                    Err(error) => return Err(error.into()),
                    Ok(()) => return Ok(version > 0),
                }
            }
            Err(DraftFault::Replaced)
        }
        .boxed()
    }

    fn list<'a>(&'a self, principal: Option<&'a str>) -> BoxFuture<'a, Result<DraftList, DraftFault>> {
        async move {
            let owner = principal.map(Owner::principal);
            let all = self.state.list(owner.as_ref(), Kind::Draft).await?;
            let mut list = DraftList { is_part: all.len() > MOST_LISTED, ..DraftList::default() };
            for listed in all.iter().take(MOST_LISTED) {
                match self.look(listed).await {
                    Ok(draft) => list.drafts.extend(draft.map(|draft| draft.summary())),
                    Err(DraftFault::Unreadable(why)) => list.unreadable.push(why),
                    Err(fault) => return Err(fault),
                }
            }
            list.drafts.sort_by(|a, b| (&a.principal, &a.name).cmp(&(&b.principal, &b.name)));
            Ok(list)
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        principal: &'a str,
        name: &'a ProgramName,
    ) -> BoxFuture<'a, Result<Option<Draft>, DraftFault>> {
        async move {
            let found = self.found(&place(principal, name)?).await?;
            found.map_or(Ok(None), |found| draft_of(name.as_str(), &found))
        }
        .boxed()
    }

    fn remove<'a>(
        &'a self,
        principal: &'a str,
        name: &'a ProgramName,
        digest: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, DraftFault>> {
        async move {
            let key = place(principal, name)?;
            let Some(found) = self.found(&key).await? else { return Ok(false) };
            if let Some(digest) = digest
                && draft_of(name.as_str(), &found)?.is_some_and(|draft| draft.digest() != digest)
            {
                return Err(DraftFault::Replaced);
            }
            let write = Write::remove(key).at_version(found.version);
            self.state.commit(Commit::one(write)).await?;
            Ok(true)
        }
        .boxed()
    }
}
