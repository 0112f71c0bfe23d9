//! Upstreams that are slow to start. Clients give up on a server that does not answer soon. So `initialize` never
//! waits, the first list of tools waits for a moment, and only programs wait for the upstreams that they call
//! (ruling 59).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::aggregator::{Aggregator, StartError};
use ptc_host::time::timeout;
use tracing::info;

use super::advertised::Advertised;
use ptc_protocol::Service;
use ptc_protocol::settings::{BootError, Settings};

/// How long the first list of tools waits for the upstreams. A client that gets the whole list at once need not ask
/// again; a client that waits for 1.5 s may be gone.
const FIRST_LIST: Duration = Duration::from_millis(1000);
/// The same if the lists of all upstreams are cached from the last start: one client in five does not wait for a
/// second.
const FIRST_LIST_IF_KNOWN: Duration = Duration::from_millis(250);

/// Upstreams, some of which have not started yet.
pub(super) struct Starting {
    upstreams: Arc<Aggregator>,
    rest: BoxFuture<'static, Result<(), StartError>>,
}

impl Starting {
    /// Begins to start the upstreams; `None` if there is nothing to start. `lisp_task` shows its model all tools from
    /// the first task on, so with it all upstreams are awaited.
    ///
    /// # Errors
    /// The required upstreams that cannot be started, if that is known this early.
    pub(super) async fn begin(
        upstreams: Option<&Arc<Aggregator>>,
        settings: &Settings,
    ) -> Result<Option<Self>, BootError> {
        let Some(upstreams) = upstreams.cloned() else { return Ok(None) };
        let starting = upstreams.clone();
        let mut rest = async move { starting.start_all().await }.boxed();
        let started = match settings.planner.enabled {
            true => Some((&mut rest).await),
            false => (&mut rest).now_or_never(),
        };
        match started {
            Some(Ok(())) => Ok(None),
            Some(Err(failure)) => Err(BootError::new(failure.to_string())),
            None => Ok(Some(Starting { upstreams, rest })),
        }
    }

    /// Waits for the remaining upstreams, and refreshes the tools. Returns the reason to stop the server, if there is
    /// one.
    pub(super) async fn finish(
        mut self,
        service: &Service,
        advertised: Option<&Advertised>,
    ) -> Option<BootError> {
        let patience = if self.upstreams.remembers_all() { FIRST_LIST_IF_KNOWN } else { FIRST_LIST };
        let started = match timeout(patience, &mut self.rest).await {
            Ok(started) => started,
            Err(_) => {
                info!(event = "upstreams_starting");
                service.tell_first_list();
                self.rest.await
            }
        };
        if let Err(failure) = started {
            return Some(BootError::new(failure.to_string()));
        }
        if let Some(advertised) = advertised {
            advertised.refresh();
        }
        service.end_starting();
        info!(event = "upstreams_started");
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_host::aggregator::{AggregatorOptions, SnapshotMode};
    use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
    use ptc_host::time;

    use ptc_protocol::concurrency_limiter::CallLimits;
    use ptc_protocol::tool::Registry;

    #[tokio::test(start_paused = true)]
    async fn the_first_list_of_tools_waits_for_a_moment_only() {
        let env = ProcessEnv::default();
        let never_listed = r#"{"upstreams": {"a": {"transport": "mcp_stdio", "command": "a"}}}"#;
        for (file, patience) in [(r#"{"upstreams": {}}"#, FIRST_LIST_IF_KNOWN), (never_listed, FIRST_LIST)] {
            let config =
                UpstreamsConfig::from_json(file, &LoadOptions { env: &env, base_dir: None, own_exe: None })
                    .unwrap();
            let upstreams = Aggregator::open(config, AggregatorOptions::new(SnapshotMode::Frozen)).unwrap();
            let service = Service::new(Registry::new(Vec::new()), CallLimits::shared(1));
            service.begin_starting();
            let starting = Starting { upstreams, rest: futures_util::future::pending().boxed() };
            let begun = time::now();
            tokio::select! {
                _ = starting.finish(&service, None) => panic!("nothing ever starts"),
                () = service.until_tools_are_listed() => {}
            }
            let waited = time::since(begun);
            assert!(patience <= waited && waited < patience + Duration::from_millis(10), "{waited:?}");
            assert!(service.is_starting());
        }
    }
}
