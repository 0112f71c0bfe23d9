//! Shutdown of runs with their process (waiting.md 6.5).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ptc_host::time::timeout;
use tracing::info;

use super::Runs;
use super::active::ActiveRun;
use super::record::Status;

/// The time limit for writing the ends.
const WRITING: Duration = Duration::from_secs(2);

impl Runs {
    /// Lets programs run for `grace`, then records the remaining ones as interrupted.
    pub async fn shut_down(&self, grace: Duration) {
        let running = || -> Vec<Arc<ActiveRun>> {
            self.active().values().filter(|run| !run.has_ended()).cloned().collect()
        };
        let runs = running();
        if timeout(grace, join_all(runs.iter().map(|run| run.ended()))).await.is_ok() && running().is_empty()
        {
            return;
        }
        let left = running();
        info!(event = "runs_interrupted", count = left.len());
        for run in &left {
            run.orders.send_replace(Some(Status::Interrupted));
        }
        let _ = timeout(WRITING, join_all(left.iter().map(|run| run.ended()))).await;
    }
}
