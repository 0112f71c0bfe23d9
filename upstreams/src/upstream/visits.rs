//! Pages that a server sends people to, and its announcements of their completion: `notifications/elicitation/complete`
//! (waiting.md 3.2).

use ptc_base::sync::Mutex;
use std::collections::VecDeque;
use std::sync::MutexGuard;

use tokio::sync::watch;

/// Pages of one server that are remembered; the one that was asked for longest ago is forgotten.
const REMEMBERED: usize = 256;

/// The pages of one server, by the bindings of the questions that send people there.
#[derive(Debug, Default)]
pub struct Visits(Mutex<VecDeque<Visit>>);

#[derive(Debug)]
struct Visit {
    /// As the server names the page.
    id: Box<str>,
    binding: [u8; 32],
    is_awaited: bool,
    done: watch::Sender<bool>,
}

impl Visits {
    /// Notes that a question sends a person to the page of that id. `is_awaited`: the channel that accepts it waits until the
    /// server reports completion.
    pub fn begin(&self, id: &str, binding: [u8; 32], is_awaited: bool) {
        let mut visits = self.lock();
        let is_known = |visit: &Visit| visit.binding == binding || (*visit.id == *id && *visit.done.borrow());
        // Of a page that is done nothing more is heard.
        if visits.iter().any(is_known) {
            return;
        }
        if visits.len() >= REMEMBERED {
            visits.pop_front();
        }
        visits.push_back(Visit { id: id.into(), binding, is_awaited, done: watch::Sender::new(false) });
    }

    /// The server says that a page is done: `params` of its notification. Unknown pages are ignored.
    #[expect(clippy::disallowed_methods, reason = "entry point: Visits.complete")]
    pub(crate) fn complete(&self, params: &str) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CompletedParams {
            elicitation_id: String,
        }
        let Ok(CompletedParams { elicitation_id }) = serde_json::from_str(params) else { return };
        for visit in self.lock().iter().filter(|visit| *visit.id == *elicitation_id) {
            visit.done.send_replace(true);
        }
    }

    /// Whether the page of that question is done.
    pub fn is_done(&self, binding: &[u8; 32]) -> bool {
        self.of(binding).is_some_and(|(_, done)| *done.borrow())
    }

    /// Whether the channel that accepts that question waits for its page, which may be done by now.
    pub fn is_awaited(&self, binding: &[u8; 32]) -> bool {
        self.of(binding).is_some_and(|(is_awaited, _)| is_awaited)
    }

    /// Waits until the page of that question is done; for ever, if its completion is never reported.
    pub async fn done(&self, binding: &[u8; 32]) {
        let done = self.of(binding).map(|(_, done)| done);
        if let Some(mut done) = done
            && done.wait_for(|is_done| *is_done).await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }

    fn of(&self, binding: &[u8; 32]) -> Option<(bool, watch::Receiver<bool>)> {
        let visits = self.lock();
        let visit = visits.iter().find(|visit| visit.binding == *binding)?;
        Some((visit.is_awaited, visit.done.subscribe()))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Visit>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn complete(visits: &Visits, id: &str) {
        visits.complete(&format!(r#"{{"elicitationId":"{id}"}}"#));
    }

    #[tokio::test]
    async fn a_page_is_done_when_its_server_says_so() {
        let visits = Visits::default();
        let [paid, other, held] = [[1; 32], [2; 32], [3; 32]];
        visits.begin("pay", paid, true);
        visits.begin("other", other, true);
        visits.begin("held", held, false);
        let mut waiting = Box::pin(visits.done(&paid));
        assert!((&mut waiting).now_or_never().is_none());
        for nothing in ["", "[]", "7", "{}", r#"{"elicitationId":7}"#, r#"{"elicitationId":"unknown"}"#] {
            visits.complete(nothing);
        }
        assert!(!visits.is_done(&paid) && (&mut waiting).now_or_never().is_none());
        complete(&visits, "pay");
        assert!(visits.is_done(&paid) && !visits.is_done(&other));
        waiting.await;
        assert!(visits.is_awaited(&other) && !visits.is_awaited(&held) && !visits.is_awaited(&[4; 32]));
        assert!(visits.done(&[4; 32]).now_or_never().is_none(), "nobody would say so");
        // What is asked once more is the same; what is done is not waited for by another question.
        visits.begin("pay", paid, true);
        assert!(visits.is_done(&paid));
        visits.begin("pay", [5; 32], true);
        assert!(!visits.is_awaited(&[5; 32]) && !visits.is_done(&[5; 32]));
    }

    #[test]
    fn the_oldest_page_is_forgotten_first() {
        let visits = Visits::default();
        let binding = |number: usize| {
            let mut binding = [0; 32];
            binding[..8].copy_from_slice(&number.to_be_bytes());
            binding
        };
        (0..=REMEMBERED).for_each(|number| visits.begin(&number.to_string(), binding(number), true));
        assert!(!visits.is_awaited(&binding(0)) && visits.is_awaited(&binding(1)));
        complete(&visits, "0");
        complete(&visits, "1");
        assert!(!visits.is_done(&binding(0)) && visits.is_done(&binding(1)));
    }
}
