//! The published revisions of MCP and the two eras they fall into.

use std::fmt;

/// Which rules a connection, or one message on it, is under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// The conversation begins with `initialize`, which agrees on a revision once (2024-11-05 to 2025-11-25).
    Handshake,
    /// Every message says for itself which revision it speaks (from 2026-07-28 on).
    Modern,
}

/// A published protocol revision, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05: JSON-RPC batches.
    V2024_11_05,
    /// 2025-03-26: Streamable HTTP; batches must be accepted.
    V2025_03_26,
    /// 2025-06-18: no batches; structured content.
    V2025_06_18,
    /// 2025-11-25: the last revision with a handshake.
    V2025_11_25,
    /// 2026-07-28: stateless; every request carries its revision.
    V2026_07_28,
}

impl Revision {
    /// The newest revision that starts with `initialize`; the answer to a client that asks for an unknown one.
    pub const LATEST_HANDSHAKE: Revision = Revision::V2025_11_25;
    /// The newest revision.
    pub const LATEST: Revision = Revision::V2026_07_28;
    /// The revisions of the modern era, as `server/discover` lists them.
    pub const MODERN: [Revision; 1] = [Revision::V2026_07_28];
    /// The revision that HTTP assumes for a client that names none (2025-06-18, transports).
    pub const HTTP_DEFAULT: Revision = Revision::V2025_03_26;
    /// The first revision without handshake: header values from here on mean the modern era.
    const FIRST_MODERN: &'static str = "2026-07-28";

    const ALL: [Revision; 5] = [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];

    /// The date that names the revision on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// The published revision of that name.
    pub fn from_name(name: &str) -> Option<Revision> {
        Self::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// The revision an `initialize` asking for `name` is answered with: the same one if it has a handshake, else
    /// [`Revision::LATEST_HANDSHAKE`].
    pub fn negotiate(name: Option<&str>) -> Revision {
        name.and_then(Self::from_name)
            .filter(|revision| !revision.is_modern())
            .unwrap_or(Self::LATEST_HANDSHAKE)
    }

    /// Whether the revision belongs to the era without handshake.
    pub fn is_modern(self) -> bool {
        self >= Revision::V2026_07_28
    }

    /// Whether arrays of messages are allowed.
    pub fn allows_batches(self) -> bool {
        self <= Revision::V2025_03_26
    }

    /// Whether an error reply that answers no known request leaves `id` out. Earlier schemas demand the member, and
    /// JSON-RPC then demands `null`.
    pub fn omits_unknown_id(self) -> bool {
        self >= Revision::V2025_11_25
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Whether an `MCP-Protocol-Version` header value speaks of the modern era: a date of 2026-07-28 or later, published
/// or not.
pub fn is_modern_header(value: &str) -> bool {
    let date = value.len() == 10
        && value
            .bytes()
            .enumerate()
            .all(|(at, b)| if at == 4 || at == 7 { b == b'-' } else { b.is_ascii_digit() });
    date && value >= Revision::FIRST_MODERN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negotiation_echoes_handshake_revisions_only() {
        for name in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            assert_eq!(Revision::negotiate(Some(name)).name(), name);
        }
        for name in [Some("2026-07-28"), Some("1.0"), Some(""), None] {
            assert_eq!(Revision::negotiate(name).name(), "2025-11-25");
        }
    }

    #[test]
    fn header_values_of_the_modern_era() {
        assert!(is_modern_header("2026-07-28") && is_modern_header("2099-01-01"));
        for old in ["2025-11-25", "2026-07-27", "", "draft", "v999.0.0", "2026-07-2x", "9999999999"] {
            assert!(!is_modern_header(old), "{old}");
        }
    }
}
