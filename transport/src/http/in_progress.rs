//! Requests that are being answered.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};

use super::body::Body;
use super::calm_stream::ConnectionState;
use super::connection_registry::Busy;
use super::endpoint::Endpoint;

/// A request that is being answered, with its server; ends when dropped.
///
/// It holds its connection's own handle of the server. With one reference count for all connections, the threads would
/// contend for its cache line with every request.
pub(super) struct InProgress(Rc<Handle>);

/// A connection's handle of its server.
pub(super) struct Handle {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) here: Rc<ConnectionState>,
}

impl InProgress {
    pub(super) fn begin(server: &Rc<Handle>) -> Self {
        server.endpoint.active.begin();
        server.here.begin();
        InProgress(server.clone())
    }

    /// The server.
    pub(super) fn endpoint(&self) -> &Arc<Endpoint> {
        &self.0.endpoint
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.endpoint().active.end();
        self.0.here.end();
    }
}

/// A received request.
pub(super) struct ReceivedRequest {
    pub(super) request: Request<Incoming>,
    /// The address of its client.
    pub(super) peer: IpAddr,
    /// Keeps its connection from being idle.
    pub(super) busy: Busy,
    pub(super) in_progress: InProgress,
}

/// A body whose request counts as in progress until it is sent.
pub(super) struct BodyInProgress {
    body: Body,
    _request: InProgress,
}

impl BodyInProgress {
    /// This body of the answer to `request`.
    pub(super) fn new(body: Body, request: InProgress) -> Self {
        BodyInProgress { body, _request: request }
    }
}

impl HttpBody for BodyInProgress {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
