//! Upstreams that serve one program at a time (`serial`), so that their questions on a pipe can be attributed to it.

use ptc_base::sync::Mutex;
use std::sync::MutexGuard;

use tokio::sync::Notify;

use super::CallFault;
use ptc_base::time::{Instant, timeout_at};

/// Admits the calls of one run. Those of others wait until it has none under way.
#[derive(Debug, Default)]
pub(crate) struct OneRun {
    present: Mutex<Option<Present>>,
    changed: Notify,
}

#[derive(Debug)]
struct Present {
    /// `None` for a call of an unknown run: it runs alone.
    run: Option<usize>,
    calls: usize,
}

impl OneRun {
    /// Lets a call of `run` in, until the result is dropped.
    pub(crate) async fn enter(
        &self,
        run: Option<usize>,
        deadline: Instant,
        transport: &str,
    ) -> Result<AdmittedCall<'_>, CallFault> {
        let entering = async {
            loop {
                let mut changed = std::pin::pin!(self.changed.notified());
                // What changes from here on is not missed.
                changed.as_mut().enable();
                if self.try_enter(run) {
                    return;
                }
                changed.await;
            }
        };
        timeout_at(deadline, entering).await.map_err(|_| {
            CallFault::timeout(format!("{transport} call timed out before it could be sent"))
                .never_sent()
                .with_hint("The upstream serves one program at a time (serial), and another one has it.")
        })?;
        Ok(AdmittedCall(self))
    }

    fn try_enter(&self, run: Option<usize>) -> bool {
        let mut present = self.lock();
        match &mut *present {
            Some(present) if run.is_some() && present.run == run => present.calls += 1,
            Some(_) => return false,
            none => {
                *none = Some(Present { run, calls: 1 });
                // Others of the same run may come in as well.
                self.changed.notify_waiters();
            }
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Option<Present>> {
        self.present.lock()
    }
}

/// A call that has been let in.
#[derive(Debug)]
pub(crate) struct AdmittedCall<'a>(&'a OneRun);

impl Drop for AdmittedCall<'_> {
    fn drop(&mut self) {
        let mut present = self.0.lock();
        if let Some(inside) = &mut *present {
            inside.calls -= 1;
            if inside.calls == 0 {
                *present = None;
                self.0.changed.notify_waiters();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn the_calls_of_one_run_are_in_and_others_wait() {
        let gate = OneRun::default();
        let enter = |run| gate.enter(run, Instant::now() + Duration::from_secs(1), "x");
        let first = enter(Some(1)).await.unwrap();
        let second = enter(Some(1)).await.unwrap();
        let mut other = Box::pin(enter(Some(2)));
        let mut sibling = Box::pin(enter(Some(2)));
        assert!((&mut other).now_or_never().is_none() && (&mut sibling).now_or_never().is_none());
        drop(first);
        assert!((&mut other).now_or_never().is_none());
        drop(second);
        let inside = (other.await.unwrap(), sibling.await.unwrap());
        let late = enter(None).await.unwrap_err();
        assert!(
            late.to_string().starts_with("timeout: x call timed out before it could be sent\n"),
            "{late}"
        );
        drop(inside);
        let unknown = enter(None).await.unwrap();
        assert!(enter(None).now_or_never().is_none(), "nobody knows whether it is the same");
        drop(unknown);
        assert!(enter(Some(3)).now_or_never().is_some());
    }
}
