//! Notifications to a client while its call runs: progress, and log messages of the upstreams that the call uses.

use std::sync::Arc;

use ptc_host::audience::{Audience, UpstreamMessage};
use ptc_host::credentials::Redactor;
use ptc_host::engine::CallsSoFar;
use ptc_mcp::LogLevel;
use ptc_mcp::message::params::Params;
use tokio::sync::{mpsc, watch};

use super::progress::ProgressReports;
use super::reply;

/// Capacity of the queue of messages for a client. Further messages are dropped.
const WAITING: usize = 64;
/// The limit on messages that one call passes on, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// The notifications of one call, of the kinds that the client asked for.
#[derive(Debug)]
pub(crate) struct Hearing {
    progress: Option<ProgressReports>,
    messages: Option<mpsc::Receiver<UpstreamMessage>>,
    /// Bytes of messages passed on.
    passed: usize,
}

/// The senders of these notifications.
#[derive(Debug, Default)]
pub(super) struct Telling {
    pub(super) calls: Option<watch::Sender<CallsSoFar>>,
    pub(super) audience: Option<Arc<Audience>>,
}

impl Hearing {
    /// The notifications that the request asks for. `level` is the least severity of messages that the client wants.
    /// `upstreams` removes secrets from messages of upstreams to this principal; `None` without upstreams.
    pub(super) fn asked_for(
        params: &Params<'_>,
        level: Option<LogLevel>,
        upstreams: Option<(&Redactor, &str)>,
    ) -> (Option<Hearing>, Telling) {
        let (progress, sources) = ProgressReports::asked_for(params).unzip();
        let (calls, said) = sources.map(|sources| (sources.calls, sources.upstreams)).unzip();
        let level = level.filter(|_| upstreams.is_some());
        if progress.is_none() && level.is_none() {
            return (None, Telling::default());
        }
        let mut messages = None;
        let audience = upstreams.map(|(redactor, principal)| {
            let mut audience = Audience::new(redactor.for_principal(Some(principal)));
            if let Some(said) = said {
                audience = audience.with_progress(said);
            }
            if let Some(level) = level {
                let (sender, receiver) = mpsc::channel(WAITING);
                messages = Some(receiver);
                audience = audience.with_messages(level, sender);
            }
            Arc::new(audience)
        });
        (Some(Hearing { progress, messages, passed: 0 }), Telling { calls, audience })
    }

    /// Waits for the next notification. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> Vec<u8> {
        loop {
            let progress = async {
                match &mut self.progress {
                    Some(progress) => progress.next().await,
                    None => std::future::pending().await,
                }
            };
            let message = async {
                match &mut self.messages {
                    Some(messages) => messages.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                note = progress => return note,
                message = message => match message {
                    Some(message) => if let Some(note) = self.passed_on(&message) {
                        return note;
                    },
                    // The program has ended; its answer is on its way.
                    None => self.messages = None,
                },
            }
        }
    }

    /// The queued notifications. None may follow the answer.
    pub(super) fn rest(&mut self) -> Vec<Vec<u8>> {
        let mut notes = Vec::new();
        while let Some(message) = self.messages.as_mut().and_then(|messages| messages.try_recv().ok()) {
            notes.extend(self.passed_on(&message));
        }
        notes
    }

    /// The notification of a message, within the limit. The last one says that the limit is reached.
    fn passed_on(&mut self, message: &UpstreamMessage) -> Option<Vec<u8>> {
        if self.passed > MAX_BYTES {
            return None;
        }
        let logger = match &message.logger {
            Some(logger) => format!("{}/{logger}", message.upstream),
            None => message.upstream.to_string(),
        };
        let note = reply::log_message(message.level, &logger, &message.data);
        self.passed += note.len();
        if self.passed <= MAX_BYTES {
            return Some(note);
        }
        let text =
            format!("further messages of this call are not passed on: they are more than {MAX_BYTES} bytes");
        Some(reply::log_message(LogLevel::Warning, "ptc", &text.into()))
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::{Value, json};

    use super::*;

    fn message(data: Value) -> UpstreamMessage {
        UpstreamMessage {
            upstream: "files".into(),
            level: LogLevel::Notice,
            logger: Some("index".into()),
            data,
        }
    }

    #[test]
    fn messages_name_their_upstream_and_end_when_there_are_too_many() {
        let (hearing, telling) =
            Hearing::asked_for(&Params::default(), Some(LogLevel::Info), Some((&Redactor::new(), "alice")));
        let mut hearing = hearing.unwrap();
        assert!(telling.calls.is_none() && telling.audience.is_some());
        let note: Value =
            serde_json::from_slice(&hearing.passed_on(&message(json!({"n": 1}))).unwrap()).unwrap();
        let params = json!({"level": "notice", "logger": "files/index", "data": {"n": 1}});
        assert_eq!(note, json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}));
        let long = message("x".repeat(16 * 1024).into());
        let passed = (0..100).map_while(|_| hearing.passed_on(&long)).collect::<Vec<_>>();
        assert_eq!(passed.len(), 16);
        let last: Value = serde_json::from_slice(&passed[15]).unwrap();
        assert_eq!(last["params"]["level"], "warning");
        assert!(passed.iter().map(Vec::len).sum::<usize>() < MAX_BYTES + 1024);
    }

    #[test]
    fn nobody_hears_what_nobody_asked_for() {
        let none = Hearing::asked_for(&Params::default(), None, Some((&Redactor::new(), "alice")));
        assert!(none.0.is_none() && none.1.audience.is_none());
        assert!(Hearing::asked_for(&Params::default(), Some(LogLevel::Debug), None).0.is_none());
    }
}
