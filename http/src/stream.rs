//! What connections of both versions of HTTP have in common.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;

use super::HttpError;
use super::socket::{MonitoredSocket, Socket};

/// Largest head of a response.
pub(super) const MAX_HEAD: usize = 64 * 1024;

/// One byte stream, encrypted or not.
pub(super) type Stream = TokioIo<MonitoredSocket<TokioIo<MaybeHttpsStream<TokioIo<Socket>>>>>;

pub(super) type Outgoing = Full<Bytes>;

/// Why a request got no answer.
pub(super) enum SendError {
    /// It was not sent, or certainly not read, for the server had closed the connection meanwhile: another one may
    /// carry it.
    Unsent,
    Failed(HttpError),
}

pub(super) fn send_error(mut error: hyper::client::conn::TrySendError<Request<Outgoing>>) -> SendError {
    match error.take_message() {
        Some(_) => SendError::Unsent,
        None => SendError::Failed(HttpError::of_hyper(error.error())),
    }
}
