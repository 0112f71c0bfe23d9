//! HTTP/2 connections: many exchanges share one, and a task drives it.

use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::{Request, Response};
use hyper_util::rt::TokioExecutor;

use super::HttpError;
use super::hyper_timer::HyperTimer;
use super::stream::{MAX_HEAD, Outgoing, SendError, Stream, send_error};

/// What TLS offers, in the order of preference.
pub(super) const PROTOCOLS: &[&[u8]] = &[b"h2", b"http/1.1"];

/// A handle to a shared HTTP/2 connection.
#[derive(Clone)]
pub(super) struct H2 {
    sender: http2::SendRequest<Outgoing>,
    thread: ThreadId,
    identity: Arc<()>,
}

impl H2 {
    /// The connection over `stream`, after its handshake.
    pub(super) async fn over(stream: Stream) -> Result<Self, HttpError> {
        let handshake = http2::Builder::new(TokioExecutor::new())
            .timer(HyperTimer)
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(15))
            .max_header_list_size(MAX_HEAD as u32)
            .handshake(stream)
            .await;
        let (sender, driver) = handshake.map_err(|e| HttpError::of_hyper(&e))?;
        // It ends when the last handle is dropped and the last stream is done.
        tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(%error, "http2_connection_ended");
            }
        });
        Ok(Self { sender, thread: std::thread::current().id(), identity: Arc::default() })
    }

    /// The thread whose reactor watches its socket.
    pub(super) fn thread(&self) -> ThreadId {
        self.thread
    }

    /// Whether both are handles to one connection.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.identity, &other.identity)
    }

    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    pub(super) async fn send(&mut self, request: Request<Outgoing>) -> Result<Response<Incoming>, SendError> {
        if self.sender.ready().await.is_err() {
            return Err(SendError::Unsent);
        }
        self.sender.try_send_request(request).await.map_err(|error| match is_disowned(error.error()) {
            true => SendError::Unsent,
            false => send_error(error),
        })
    }
}

/// Whether the server says that it has not looked at the request: it refused the stream, or it is going away and the stream
/// lies after the last one that it will answer (RFC 9113, 8.7).
fn is_disowned(error: &hyper::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(h2) = inner.downcast_ref::<h2::Error>() {
            return h2.is_remote() && (h2.is_go_away() || h2.reason() == Some(h2::Reason::REFUSED_STREAM));
        }
        source = inner.source();
    }
    false
}
