//! What people do with drafts of programs, for the console (programs.md 11).

use futures_util::future::BoxFuture;
use ptc_mcp::json::Value;
use ptc_protocol::principal::Principal;

/// The name of a draft.
#[derive(Clone, Copy, Debug)]
pub struct DraftId<'a> {
    /// In whose conversation it was made.
    pub principal: &'a str,
    /// The name of its program.
    pub name: &'a str,
}

/// Why a work on a draft was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftRefusal {
    /// There is none of this name.
    NotFound,
    /// Its text is not the one that was shown.
    Replaced,
    /// It cannot be approved: a sentence.
    Refused(String),
    /// Drafts cannot be read or written now: a sentence.
    Unavailable(String),
}

/// What people do with drafts. Who may do it is the caller's matter.
pub trait DraftDesk: Send + Sync {
    /// The drafts of a principal, or of all: `{"drafts":[…],"unreadable":[…],"is_part":…}`.
    fn list<'a>(&'a self, principal: Option<&'a str>) -> BoxFuture<'a, Result<Value, DraftRefusal>>;

    /// A draft whole, with the reports of its tests, which run on the account of `viewer`, and what differs from the program of its
    /// name that is served.
    fn show<'a>(
        &'a self,
        draft: DraftId<'a>,
        viewer: &'a Principal,
    ) -> BoxFuture<'a, Result<Value, DraftRefusal>>;

    /// Approves the draft whose text has this digest, in the name of `by`: `{"program","digest","revision","place"}`.
    fn approve<'a>(
        &'a self,
        draft: DraftId<'a>,
        digest: &'a str,
        by: &'a Principal,
    ) -> BoxFuture<'a, Result<Value, DraftRefusal>>;

    /// Removes the draft whose text has this digest: `{"discarded":…}`.
    fn discard<'a>(
        &'a self,
        draft: DraftId<'a>,
        digest: &'a str,
    ) -> BoxFuture<'a, Result<Value, DraftRefusal>>;
}
