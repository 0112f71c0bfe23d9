//! Single use of states (waiting.md 5.4).

use ptc_host::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::engine::{Failure, Gate};
use ptc_host::state::{Owner, StateStore};
use ptc_vm::Reason;
use tracing::warn;

use ptc_protocol::request_state::Jti;

/// How much longer than the state itself the record of its use is stored.
const LONGER: Duration = Duration::from_secs(60);

/// Admits the resumption of a program once: it is checked right before the program runs.
pub(super) struct Once {
    store: Arc<dyn StateStore>,
    owner: Owner,
    jti: Jti,
    /// The remaining validity of the state.
    left: Duration,
    passed: Arc<Mutex<Option<Passed>>>,
}

/// The result of the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    /// The program may resume.
    First,
    /// The state has been used before.
    Spent,
    /// The store is unavailable.
    Unavailable,
}

impl Once {
    pub(super) fn new(store: Arc<dyn StateStore>, owner: Owner, jti: Jti, left: Duration) -> Once {
        Once { store, owner, jti, left, passed: Arc::default() }
    }

    /// The result of the check; `None` if it was not made because the program could not be read.
    pub(super) fn passed(&self) -> Option<Passed> {
        *self.passed.lock()
    }
}

impl Gate for Once {
    fn pass(&self) -> BoxFuture<'static, Result<(), Failure>> {
        let (store, owner, jti) = (self.store.clone(), self.owner.clone(), self.jti);
        let (life, told) = (self.left + LONGER, self.passed.clone());
        async move {
            let passed = match store.spend(&owner, &jti, life).await {
                Ok(true) => Passed::First,
                Ok(false) => Passed::Spent,
                Err(error) => {
                    warn!(event = "request_state_not_spent", reason = %error);
                    Passed::Unavailable
                }
            };
            *told.lock() = Some(passed);
            match passed {
                Passed::First => Ok(()),
                // The caller words the answer itself.
                Passed::Spent | Passed::Unavailable => {
                    Err(Failure::new(Reason::InvalidConfig, "the program does not go on".to_owned()))
                }
            }
        }
        .boxed()
    }
}
