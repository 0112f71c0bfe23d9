//! Approving programs of a running server.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptc_programs::program::KeptProgram;

/// Approves programs of a running server.
pub trait Approver: Send + Sync {
    /// Approves a program as it is, once its tests have passed, in the name of `by`, and serves it: writes its file and the lock, or
    /// into the store where the folder cannot be written.
    ///
    /// # Errors
    /// It cannot be approved: a sentence.
    fn approve<'a>(
        &'a self,
        program: Arc<KeptProgram>,
        by: &'a str,
    ) -> BoxFuture<'a, Result<Approved, String>>;
}

/// An approval that was made.
pub struct Approved {
    /// Of the lock that has it.
    pub revision: u64,
    /// Where it was written: `the folder …` or `the store`.
    pub place: String,
    /// The programs that were served and are approved no longer, since they call the former one: `caller, which calls base`.
    pub no_longer_approved: Vec<String>,
}
