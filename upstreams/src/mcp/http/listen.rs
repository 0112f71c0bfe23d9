//! A server's messages on a stream that stays open beside the calls: announced changes and, up to 2025-11-25, its requests.

use super::super::open_questions::Link;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::HeaderValue;
use ptc_mcp::Era;
use ptc_mcp::encode;
use ptc_mcp::sse::SseDecoder;
use tokio::sync::oneshot;

use super::super::protocol;
use super::event_rate::{EventRate, warn_too_fast};
use super::post::{Endpoint, Outgoing, PostError, is_event_stream, let_go};
use super::session::{HttpSession, shutdown_limits};
use crate::upstream::lifecycle::Lifecycle;
use crate::upstream::{FaultReason, UpstreamEvent};
use ptc_base::pace::{Pace, STEP, apart};
use ptc_base::time;
use ptc_http::{Body, Limits, Response};

/// How long one stream is held before it is opened anew.
const HOLD: Duration = Duration::from_secs(6 * 3600);
/// How long a server that holds a stream open may take for an answer on another connection.
const STARVED: Duration = Duration::from_secs(1);
/// Bounds of the pause between two streams. It doubles while they end early.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How long to wait before a stream is opened anew. There are servers that end each one at once.
struct StreamPace {
    next: Duration,
}

impl Default for StreamPace {
    fn default() -> Self {
        Self { next: PAUSE.0 }
    }
}

impl StreamPace {
    /// The pause after a stream that was held for so long, or could not be opened.
    fn after(&mut self, held: Duration) -> Duration {
        let pause = if held >= PAUSE.1 { PAUSE.0 } else { self.next };
        self.next = (pause * 2).min(PAUSE.1);
        pause
    }
}

/// Whether a server may ask something on such a stream.
pub(super) fn may_ask(endpoint: &Endpoint, session: &HttpSession) -> bool {
    session.era == Era::Handshake && session.old_stream.is_none() && endpoint.inbound.answers_questions()
}

/// Listens for as long as the session lives, if the server announces changes or may send requests, and no listener exists yet.
/// The result resolves when the server has been heard or will not be.
pub(super) fn spawn(
    endpoint: &Arc<Endpoint>,
    session: &Arc<HttpSession>,
    lifecycle: &Arc<Lifecycle<HttpSession>>,
) -> oneshot::Receiver<()> {
    let (tell, heard) = oneshot::channel();
    let wanted = session.announces || may_ask(endpoint, session);
    if !wanted || session.listening.swap(true, Ordering::Relaxed) {
        return heard;
    }
    let (endpoint, session, closing) = (endpoint.clone(), session.clone(), lifecycle.clone());
    lifecycle.owner().spawn(async move {
        tokio::select! {
            () = listen(&endpoint, &session, tell) => {}
            () = session.over() => {}
            () = closing.closing() => {}
        }
    });
    heard
}

async fn listen(endpoint: &Arc<Endpoint>, session: &Arc<HttpSession>, tell: oneshot::Sender<()>) {
    let mut tell = Some(tell);
    let mut pace = StreamPace::default();
    let mut last_id = None;
    let mut again = false;
    loop {
        let started = time::now();
        let opened = open(endpoint, session, last_id.take()).await;
        drop(tell.take());
        match opened {
            Ok(response) if response.status.is_success() && is_event_stream(&response.headers) => {
                if again && session.announces {
                    // What changed while nobody listened was not heard.
                    (endpoint.announce)(UpstreamEvent::ToolsChanged);
                }
                // Once is enough: later it may just be busy.
                if !std::mem::replace(&mut again, true) && !is_answered_beside(endpoint, session).await {
                    tracing::warn!(
                        upstream = &*endpoint.name,
                        "upstream_stream_given_up: the server answers nothing while it holds an event stream open"
                    );
                    session.note_serves_one();
                    return;
                }
                let decoder = follow(endpoint, session, response.body).await;
                last_id = decoder.last_id().and_then(|id| HeaderValue::from_str(id).ok());
            }
            // It has no such stream, or will not give it to us.
            Ok(response) if !response.status.is_server_error() => return,
            Ok(_) | Err(_) => {}
        }
        time::sleep(pace.after(time::since(started))).await;
    }
}

/// Whether the server answers while the stream is open: one that serves a connection at a time would leave every call waiting
/// behind it. Any answer will do.
async fn is_answered_beside(endpoint: &Endpoint, session: &HttpSession) -> bool {
    let (method, params) = match session.era {
        Era::Handshake => ("ping", b"{}".to_vec()),
        Era::Modern => ("server/discover", protocol::params(Era::Modern, None)),
    };
    let id = session.next_id();
    let outgoing = Outgoing::plain(Some(id), method, encode::request(id, method, &params));
    let limits = Limits {
        connect: STARVED,
        first_byte: None,
        total: STARVED,
        deadline: time::now() + STARVED,
        max_bytes: endpoint.entry.max_response_bytes,
        allowance: 0,
    };
    match endpoint.post(session, outgoing, &limits).await {
        Ok(response) => {
            let_go(response).await;
            true
        }
        Err(failure) => failure.into_fault().reason != FaultReason::Timeout,
    }
}

async fn open(
    endpoint: &Endpoint,
    session: &HttpSession,
    last_id: Option<HeaderValue>,
) -> Result<Response, PostError> {
    let connect = endpoint.entry.connect_timeout;
    let limits = Limits {
        connect,
        first_byte: Some(endpoint.entry.handshake_timeout),
        total: HOLD,
        deadline: time::now() + connect + HOLD,
        max_bytes: usize::MAX,
        allowance: 0,
    };
    match session.era {
        Era::Handshake => endpoint.open_stream(session, last_id, None, &limits).await,
        Era::Modern => {
            let id = session.next_id();
            let method = "subscriptions/listen";
            let body = encode::request(id, method, &protocol::listen_params());
            endpoint.post(session, Outgoing::plain(Some(id), method, body), &limits).await
        }
    }
}

/// Reads a stream to its end. One event is held to the size of an answer, and all of them to the
/// [rate of a stream](super::event_rate::EVENTS_PER_SECOND).
async fn follow(endpoint: &Arc<Endpoint>, session: &Arc<HttpSession>, mut body: Body) -> SseDecoder {
    let (mut decoder, mut rate, mut pace) = (SseDecoder::default(), EventRate::default(), Pace::default());
    while let Some(Ok(chunk)) = pace.wait(body.chunk()).await {
        for piece in chunk.chunks(STEP) {
            let (mut events, marks) = (Vec::new(), decoder.marks());
            decoder.feed(piece, |event| {
                events.push(event.data);
                true
            });
            for data in events {
                let (reader, era) = (endpoint.clone(), session.era);
                let read = apart(data.len(), move || {
                    let mut replies = Vec::new();
                    // No request of ours has the id 0: everything but notifications and requests is skipped.
                    let _ = reader.read_event(&data, 0, era, None, Link::Session, &mut replies);
                    replies
                });
                let replies = pace.wait(read).await;
                let limits = shutdown_limits();
                pace.wait(endpoint.send_replies(session, replies, &limits)).await;
            }
            if !rate.admits(decoder.marks() - marks, time::now()) {
                warn_too_fast(&endpoint.name);
                return decoder;
            }
            if decoder.buffered() > endpoint.entry.max_response_bytes {
                return decoder;
            }
            pace.worked(piece.len()).await;
        }
    }
    decoder
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{HttpConfig, Transport, UpstreamConfig};
    use crate::mcp::{ClientRoots, HttpUpstream};
    use crate::upstream::{Call, CallLimits, Caller, ResendMembers, Upstream as _};
    use ptc_base::pace::PIECE;
    use ptc_base::pace::work::take_work;
    use ptc_http::Client;
    use ptc_mcp::json::json;
    use ptc_secret::credentials::CredentialStore;
    use ptc_test_support::fake_http::{FakeHttp, Step, event, event_head, reply, response};

    fn upstream(server: &FakeHttp) -> HttpUpstream {
        let entry = HttpConfig::for_url(server.url.clone());
        let config = UpstreamConfig::new("fake", Transport::Http(entry.clone()));
        let (store, roots) = (Arc::new(CredentialStore::default()), ClientRoots::default());
        let owner = tokio::runtime::Handle::current();
        HttpUpstream::new(&config, &entry, store, Client::new(), &roots, owner).unwrap()
    }

    #[test]
    fn a_stream_that_ends_at_once_is_opened_more_and_more_seldom() {
        let mut pace = StreamPace::default();
        let pauses = [0; 8].map(|held| pace.after(Duration::from_secs(held)).as_secs());
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pace.after(Duration::from_secs(59)).as_secs(), 60, "it ended early");
        assert_eq!(pace.after(Duration::from_secs(60)).as_secs(), 1);
        assert_eq!(pace.after(Duration::ZERO).as_secs(), 2);
    }

    #[tokio::test]
    async fn a_stream_near_its_rate_is_read_in_pieces() {
        let long =
            json!({"jsonrpc": "2.0", "method": "notifications/other", "params": {"x": "x".repeat(4000)}});
        let lines = format!("data: {long}\n\n").repeat(990);
        let length = lines.len();
        let server = FakeHttp::start(move |hit| {
            let capabilities = json!({"tools": {"listChanged": true}});
            let change = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            match (hit.method.as_str(), hit.rpc()) {
                ("GET", _) => {
                    vec![event_head(), Step::Bytes(lines.clone().into_bytes()), event(&change), Step::Hang]
                }
                (_, "initialize") => reply(
                    200,
                    &hit.result(json!({"protocolVersion": "2025-11-25", "capabilities": capabilities})),
                ),
                (_, "notifications/initialized") => response(202, &[], b""),
                (_, "tools/list") => reply(200, &hit.result(json!({"tools": []}))),
                _ => response(400, &[], b""),
            }
        });
        let upstream = upstream(&server);
        upstream.ensure_started().await.unwrap();
        take_work();
        let mut events = upstream.events();
        assert_eq!(events.recv().await.unwrap(), UpstreamEvent::ToolsChanged);
        let work = take_work();
        assert!(work.most < 2 * PIECE && work.all >= length, "{work:?}");
        upstream.shutdown().await;
    }

    #[tokio::test]
    async fn what_a_server_says_before_an_answer_is_read_in_pieces() {
        const COMMENTS: usize = 2_000_000;
        let server = FakeHttp::handshake(|hit| {
            let answer = hit.result(json!({"structuredContent": true}));
            vec![event_head(), Step::Bytes(b": c\n".repeat(COMMENTS / 4)), event(&answer), Step::Close]
        });
        let upstream = upstream(&server);
        upstream.ensure_started().await.unwrap();
        take_work();
        let call = Call {
            tool: "t",
            arguments: b"{}",
            limits: CallLimits::within(Duration::from_secs(3600), COMMENTS + 1000),
            again: ResendMembers::default(),
            arrivals: None,
            caller: Caller::default(),
            may_wrap: true,
            judged_by: None,
        };
        upstream.call(call).await.unwrap();
        let work = take_work();
        assert!(work.most < 2 * PIECE && work.all >= COMMENTS, "{work:?}");
        upstream.shutdown().await;
    }
}
