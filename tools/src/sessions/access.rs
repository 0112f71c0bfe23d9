//! What the tools do with sessions, wherever those are: in this process or in a store.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ptc_host::engine::SessionState;
use tracing::debug;

use super::Directory;
use super::directory::{MODE, Refusal};
use super::record::Record;
use super::stored::NotUsed;
use super::text::Values;
use ptc_protocol::principal::Owner;

impl Directory {
    /// Opens a session and returns its id and its end. A requested lifetime can only shorten it.
    pub(super) async fn open(
        &self,
        owner: &Owner,
        title: Option<String>,
        ttl: Option<Duration>,
    ) -> Result<(Arc<str>, Timestamp), NotUsed> {
        match self.stored {
            Some(_) => self.start_stored(owner, title, ttl).await,
            None => Ok(self.start(owner, title, ttl)?),
        }
    }

    /// Summaries of an owner's sessions, the latest used one first.
    pub(super) async fn list(&self, owner: &Owner) -> Result<Vec<String>, NotUsed> {
        match self.stored {
            Some(_) => self.summaries_stored(owner).await,
            None => Ok(self.summaries(owner)),
        }
    }

    /// Closes a session and ends its running program.
    pub(super) async fn end(&self, id: &str, owner: &Owner) -> Result<(), NotUsed> {
        match self.stored {
            Some(_) => self.close_stored(id, owner).await,
            None => Ok(self.close(id, owner)?),
        }
    }

    /// Closes all sessions of an owner.
    pub(super) fn end_all(self: &Arc<Self>, owner: &Owner) {
        match self.stored {
            Some(_) => self.owner_gone_stored(owner),
            None => self.owner_gone(owner),
        }
    }

    /// Reads a session, which counts as a use of it: its record, its values as of the last commit, and whether a program runs on it.
    pub(super) async fn look(
        self: &Arc<Self>,
        id: &str,
        owner: &Owner,
    ) -> Result<(Record, Values, bool), NotUsed> {
        if self.stored.is_some() {
            return self.look_stored(id, owner).await;
        }
        let id = self.touch(id, owner, |id, _| id.clone())?;
        debug!(
            event = "ptc_lisp.session.inspect",
            session_id = &*id,
            owner_hash = owner.principal.hash(),
            mode = MODE
        );
        let key = id.clone();
        let values = self.engine.with_sessions(&id, move |store| match store.get(&key) {
            None => Values::none(),
            Some(place) => place.borrow().view(Values::of).unwrap_or_else(Values::none),
        });
        let values = values.await.ok_or(Refusal::Closed)?;
        Ok(self.with(&id, owner, |_, record| (record.copy(), values, record.running.is_some()))?)
    }

    /// Changes the values of a session together with its record, between two programs.
    pub(super) async fn change<R: Send + 'static>(
        self: &Arc<Self>,
        id: &str,
        owner: &Owner,
        change: impl Fn(&mut SessionState, &mut Record) -> R + Clone + Send + 'static,
    ) -> Result<(R, Record), NotUsed> {
        if self.stored.is_some() {
            return self.change_stored(id, owner, change).await;
        }
        let found = self.touch(id, owner, |id, record| match record.running {
            Some(_) => Err(Refusal::Busy),
            None => Ok(id.clone()),
        });
        let id = found??;
        debug!(
            event = "ptc_lisp.session.forget",
            session_id = &*id,
            owner_hash = owner.principal.hash(),
            mode = MODE
        );
        let (key, within, owner) = (id.clone(), self.clone(), owner.clone());
        let changed = self.engine.with_sessions(&id, move |store| {
            let place = store.get(&key);
            let mut place = place.as_ref().map(|place| place.borrow_mut());
            // A session that never ran a program has none.
            let mut fresh = SessionState::default();
            let state = match &mut place {
                None => &mut fresh,
                Some(place) => place.state_mut().ok_or(Refusal::Busy)?,
            };
            within.with(&key, &owner, |_, record| (change(state, record), record.copy()))
        });
        Ok(changed.await.ok_or(Refusal::Closed)??)
    }
}
