//! The `error` of a reply over HTTP.

use http::StatusCode;
use ptc_mcp::RpcError;

use super::super::protocol::rpc_fault;
use crate::upstream::CallFault;

/// The `error` of a reply.
pub(super) struct RpcFailure {
    pub(super) error: RpcError,
    /// Its status, of any kind.
    pub(super) status: StatusCode,
    /// Whether it carries the id of the request.
    pub(super) is_addressed: bool,
    /// Bytes of its JSON.
    pub(super) bytes: u64,
}

impl RpcFailure {
    pub(super) fn read(json: &str, status: StatusCode, is_addressed: bool) -> Self {
        Self { error: RpcError::read(json), status, is_addressed, bytes: json.len() as u64 }
    }

    pub(super) fn into_fault(self) -> CallFault {
        let fault = rpc_fault(self.error, self.bytes);
        if self.status.is_success() { fault } else { fault.with_status(self.status.as_u16()) }
    }
}
