//! Without the feature `http2` no server is offered HTTP/2, and there is no connection that exchanges share.

use std::convert::Infallible;
use std::thread::ThreadId;

use hyper::body::Incoming;
use hyper::{Request, Response};

use super::HttpError;
use super::stream::{Outgoing, SendError, Stream};

/// What TLS offers.
pub(super) const PROTOCOLS: &[&[u8]] = &[b"http/1.1"];

/// A handle to a shared connection, of which there is none.
#[derive(Clone)]
pub(super) struct H2(Infallible);

impl H2 {
    pub(super) async fn over(_: Stream) -> Result<Self, HttpError> {
        Err(HttpError::Tls("the server chose HTTP/2, which was not offered".to_owned()))
    }

    pub(super) fn thread(&self) -> ThreadId {
        match self.0 {}
    }

    pub(super) fn is(&self, _: &Self) -> bool {
        match self.0 {}
    }

    pub(super) fn is_open(&self) -> bool {
        match self.0 {}
    }

    pub(super) async fn send(&mut self, _: Request<Outgoing>) -> Result<Response<Incoming>, SendError> {
        match self.0 {}
    }
}
