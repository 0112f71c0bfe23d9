//! Names of trace files: `<time>-<hash8>[-<eval id>]-<status>.jsonl`, for instance
//! `2026-03-04T05-06-07.123456Z-7902699b-ev_0000002a-ok.jsonl`. The hash is that of the request id.

use super::status::Status;
use jiff::Timestamp;

use ptc_host::digest::sha256_hex;

/// The name of a file while its call is running.
pub(super) const PENDING: &str = "pending";
const EXTENSION: &str = ".jsonl";

/// The stable part of a name: everything between time and status.
pub(super) fn stem(request_id: &str, eval_id: Option<&str>) -> String {
    let hash = hash8(request_id);
    eval_id.map_or_else(|| hash.clone(), |eval_id| format!("{hash}-{eval_id}"))
}

/// The first 8 hex digits of the SHA-256 of a request id.
pub(super) fn hash8(request_id: &str) -> String {
    let mut hash = sha256_hex(request_id.as_bytes());
    hash.truncate(8);
    hash
}

/// A whole name.
pub(super) fn name(at: Timestamp, stem: &str, status: &str) -> String {
    format!("{}-{stem}-{status}{EXTENSION}", at.strftime("%Y-%m-%dT%H-%M-%S.%6fZ"))
}

/// A parsed file name of ours.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TraceFileName<'n> {
    pub(super) hash: &'n str,
    pub(super) eval_id: Option<&'n str>,
    pub(super) status: &'n str,
}

/// Parses a name; `None` if it is not one of ours.
pub(super) fn parts(name: &str) -> Option<TraceFileName<'_>> {
    const TIME: &str = "0000-00-00T00-00-00.000000Z-";
    let rest = name.strip_suffix(EXTENSION)?;
    let (time, rest) = rest.split_at_checked(TIME.len())?;
    let like = |(found, shape): (u8, u8)| if shape == b'0' { found.is_ascii_digit() } else { found == shape };
    if !time.bytes().zip(TIME.bytes()).all(like) {
        return None;
    }
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let (hash, rest) = rest.split_once('-')?;
    let (eval_id, status) = match rest.rsplit_once('-') {
        None => (None, rest),
        Some((eval_id, status)) => (Some(eval_id), status),
    };
    let known = status == PENDING || Status::ALL.iter().any(|known| known.name() == status);
    let eval_id_is_ours = eval_id.is_none_or(|eval_id| eval_id.strip_prefix("ev_").is_some_and(hex));
    (hash.len() == 8 && hex(hash) && known && eval_id_is_ours).then_some(TraceFileName {
        hash,
        eval_id,
        status,
    })
}
