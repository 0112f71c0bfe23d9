//! Owners in the log.

use ptc_secret::digest::hex_digest;

/// The principal in the log: the first 16 hex digits of the SHA-256 of its name, by which the server's own lines know it too.
pub(super) fn owner_hash(principal: &str) -> String {
    hex_digest(principal, 16)
}
