//! Notifications of changes, on a stream that stays open beside the calls.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use ptc_mcp::Era;
use ptc_mcp::encode;
use ptc_mcp::sse::SseDecoder;
use tokio::time::Instant;

use super::super::elicit::Link;
use super::super::protocol;
use super::post::{Endpoint, Failure, Outgoing, Reply, is_event_stream};
use super::session::HttpSession;
use crate::http::{Body, Limits, Response};
use crate::upstream::UpstreamEvent;
use crate::upstream::lifecycle::Lifecycle;

/// How long one stream is held before it is opened anew.
const HOLD: Duration = Duration::from_secs(6 * 3600);
/// Bounds of the pause between two streams. It doubles while they end early.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Listens for as long as the session lives, if the server announces changes and nobody listens yet.
pub(super) fn spawn(
    endpoint: &Arc<Endpoint>,
    session: &Arc<HttpSession>,
    lifecycle: &Arc<Lifecycle<HttpSession>>,
) {
    if !session.announces || session.listening.swap(true, Ordering::Relaxed) {
        return;
    }
    let (endpoint, session, closing) = (endpoint.clone(), session.clone(), lifecycle.clone());
    lifecycle.owner().spawn(async move {
        tokio::select! {
            () = listen(&endpoint, &session) => {}
            () = session.over() => {}
            () = closing.closing() => {}
        }
    });
}

async fn listen(endpoint: &Endpoint, session: &HttpSession) {
    let mut pause = PAUSE.0;
    let mut last_id = None;
    let mut again = false;
    loop {
        let started = Instant::now();
        match open(endpoint, session, last_id.take()).await {
            Ok(response) if response.status.is_success() && is_event_stream(&response.headers) => {
                if again {
                    // What changed while nobody listened was not heard.
                    (endpoint.announce)(UpstreamEvent::ToolsChanged);
                }
                again = true;
                let decoder = follow(endpoint, session, response.body).await;
                last_id = decoder.last_id().and_then(|id| HeaderValue::from_str(id).ok());
            }
            // It has no such stream, or will not give it to us.
            Ok(response) if !response.status.is_server_error() => return,
            Ok(_) | Err(_) => {}
        }
        if started.elapsed() >= PAUSE.1 {
            pause = PAUSE.0;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE.1);
    }
}

async fn open(
    endpoint: &Endpoint,
    session: &HttpSession,
    last_id: Option<HeaderValue>,
) -> Result<Response, Failure> {
    let connect = endpoint.entry.connect_timeout;
    let limits = Limits {
        connect,
        first_byte: Some(endpoint.entry.handshake_timeout),
        total: HOLD,
        deadline: Instant::now() + connect + HOLD,
        max_bytes: usize::MAX,
        allowance: 0,
    };
    match session.era {
        Era::Handshake => endpoint.open_stream(session, last_id, &limits).await,
        Era::Modern => {
            let id = session.next_id();
            let body = encode::request(id, "subscriptions/listen", &protocol::listen_params());
            let outgoing = Outgoing {
                id: Some(id),
                method: "subscriptions/listen",
                subject: None,
                mirrored: Vec::new(),
                body,
                arrivals: None,
                caller: None,
            };
            endpoint.post(session, outgoing, &limits).await
        }
    }
}

/// Reads a stream to its end. One event is held to the size of an answer.
async fn follow(endpoint: &Endpoint, session: &HttpSession, mut body: Body) -> SseDecoder {
    let mut decoder = SseDecoder::default();
    while let Some(Ok(chunk)) = body.chunk().await {
        let mut replies = Vec::new();
        decoder.feed(&chunk, |event| {
            read(endpoint, session.era, &event.data, &mut replies);
            true
        });
        endpoint.send_replies(session, replies, &super::transport::shutdown_limits()).await;
        if decoder.buffered() > endpoint.entry.max_response_bytes {
            break;
        }
    }
    decoder
}

fn read(endpoint: &Endpoint, era: Era, data: &Bytes, replies: &mut Vec<Reply>) {
    // No request of ours has the id 0: everything but notifications and requests is skipped.
    let _ = endpoint.read_event(data, (0, era), None, Link::Apart, replies);
}
