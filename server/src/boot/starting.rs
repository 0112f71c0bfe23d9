//! Upstreams that are slow to start. Clients give up on a server that does not answer `initialize` soon, so that nobody
//! waits for them but the programs that call them (ruling 59).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::aggregator::{Aggregator, StartError};
use ptc_host::time::timeout;
use tracing::info;

use super::assembly::upstream_card;
use crate::protocol::Service;
use crate::settings::{BootError, Settings};
use crate::tools::descriptions::SharedCard;

/// How long the first answers wait for the upstreams. A client that gets the whole list of tools at once never has to ask
/// again; one that waits for 1.5 s may be gone.
const FIRST_ANSWER: Duration = Duration::from_millis(1000);

/// Upstreams of which some have not started yet.
pub(super) struct Starting {
    upstreams: Arc<Aggregator>,
    rest: BoxFuture<'static, Result<(), StartError>>,
}

impl Starting {
    /// Starts the upstreams; `None` if all have started soon enough. `lisp_task` tells its model of all tools from the first
    /// task on, so that with it all are waited for.
    ///
    /// # Errors
    /// The required upstreams that cannot be started, if that is known so soon.
    pub(super) async fn begin(
        upstreams: Option<&Arc<Aggregator>>,
        settings: &Settings,
    ) -> Result<Option<Self>, BootError> {
        let Some(upstreams) = upstreams.cloned() else { return Ok(None) };
        let starting = upstreams.clone();
        let mut rest = async move { starting.start_all().await }.boxed();
        let started = match settings.planner.enabled {
            true => Ok((&mut rest).await),
            false => timeout(FIRST_ANSWER, &mut rest).await,
        };
        match started {
            Ok(Ok(())) => Ok(None),
            Ok(Err(failure)) => Err(BootError::new(failure.to_string())),
            Err(_) => {
                info!(event = "upstreams_starting");
                Ok(Some(Starting { upstreams, rest }))
            }
        }
    }

    /// Waits for the rest, and has the tools told anew; why the server has to end, if it has to.
    pub(super) async fn finish(
        self,
        service: &Service,
        settings: &Settings,
        card: Option<&SharedCard>,
    ) -> Option<BootError> {
        if let Err(failure) = self.rest.await {
            return Some(BootError::new(failure.to_string()));
        }
        if let Some(card) = card {
            card.set(upstream_card(settings, &self.upstreams));
        }
        service.end_starting();
        info!(event = "upstreams_started");
        None
    }
}
