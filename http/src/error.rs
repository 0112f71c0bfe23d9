//! Errors of HTTP requests and responses.

use super::tls_advice::advised;

/// An exchange that failed. The texts are short and fixed where the caller may compare them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The URL has no host or a scheme other than `http` and `https`.
    #[error("not a URL that can be requested: {0}")]
    BadTarget(String),
    /// Connection refused: no server listens there.
    #[error("connection refused")]
    Refused,
    /// The name has no address.
    #[error("dns: {0}")]
    Dns(String),
    /// The certificate was refused, or the handshake failed; a second line advises.
    #[error("tls: {0}")]
    Tls(String),
    /// The proxy, which is named, did not let the request through.
    #[error("proxy {0}")]
    Proxy(String),
    /// The connection ended before the answer did.
    #[error("connection closed")]
    Closed,
    /// No connection within the time for it.
    #[error("connect timeout")]
    ConnectTimeout,
    /// No answer, or no end of it, within the time for it.
    #[error("http read timeout")]
    Timeout,
    /// The caller's own deadline passed before the request could be sent.
    #[error("the deadline passed before the request could be sent")]
    Deadline,
    /// The body is larger than allowed; `received` bytes of it had come or were announced.
    #[error("response exceeded {max} bytes")]
    TooLarge {
        /// The cap.
        max: usize,
        /// How much had come, or was announced.
        received: u64,
    },
    /// The caller has no memory left for the answer.
    #[error("no memory is left for the reply")]
    NoMemory {
        /// How much of it had come.
        received: u64,
    },
    /// The answer breaks the rules of HTTP, or is encoded in a way that was not asked for.
    #[error("malformed HTTP response: {0}")]
    Malformed(String),
    /// Another error of the operating system.
    #[error("{0}")]
    Io(String),
}

impl HttpError {
    pub(super) fn of_io(error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Kind;
        match error.kind() {
            Kind::ConnectionRefused => Self::Refused,
            Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe | Kind::UnexpectedEof => {
                Self::Closed
            }
            Kind::NetworkUnreachable => Self::Io("network unreachable".to_owned()),
            Kind::HostUnreachable => Self::Io("host unreachable".to_owned()),
            Kind::TimedOut => Self::ConnectTimeout,
            _ => Self::Io(error.to_string()),
        }
    }

    pub(super) fn of_hyper(error: &hyper::Error) -> Self {
        if error.is_parse() {
            return Self::Malformed(error.to_string());
        }
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            if let Some(io) = inner.downcast_ref::<std::io::Error>() {
                return match Self::of_io(io) {
                    // An error of TLS after the handshake comes as an I/O error of its own kind.
                    Self::Io(text) => match io.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>()) {
                        Some(error) => Self::Tls(advised(error)),
                        None => Self::Io(text),
                    },
                    other => other,
                };
            }
            source = inner.source();
        }
        Self::Closed
    }
}
