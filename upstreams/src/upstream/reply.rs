//! The reply of a successful call, still as the upstream's bytes.

use bytes::Bytes;
use serde::de::IgnoredAny;

/// A successful call.
#[derive(Debug, Clone)]
pub struct CallReply {
    /// The payload selected for the program.
    pub payload: ReplyPayload,
    /// All blocks of the answer in their order; empty where the payload says it all.
    pub content: Vec<ReplyBlock>,
    /// The whole untouched result (MCP: the `result` object; OpenAPI: the body), for `:raw`. Shares
    /// its memory with the payload.
    pub envelope: Bytes,
    /// Size of the result as compact JSON, as a client would have received it directly.
    pub result_bytes: u64,
    /// The defect of an answer that could be read all the same: the rest of a sentence whose subject is the answer.
    pub note: Option<&'static str>,
}

/// One block of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyBlock {
    /// A text block.
    Text(Bytes),
    /// A block of another kind, described.
    Other {
        /// Its kind as the upstream wrote it: `image`, `audio`, `resource`, `resource_link` …; empty where it has none.
        kind: String,
        /// Its known members, by the names that programs see.
        members: Vec<(&'static str, BlockMember)>,
    },
}

impl ReplyBlock {
    /// The text of a text block.
    #[must_use]
    pub fn text(&self) -> Option<&Bytes> {
        match self {
            Self::Text(text) => Some(text),
            Self::Other { .. } => None,
        }
    }

    /// Members without a kind.
    pub(crate) fn unnamed(members: Vec<(&'static str, BlockMember)>) -> Self {
        Self::Other { kind: String::new(), members }
    }

    /// The text of a member.
    pub(crate) fn member(&self, wanted: &str) -> Option<&Bytes> {
        let Self::Other { members, .. } = self else { return None };
        members.iter().find_map(|(name, member)| match member {
            BlockMember::Text(text) if *name == wanted => Some(text),
            _ => None,
        })
    }
}

/// A member of a [`ReplyBlock`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockMember {
    /// Text as it stands.
    Text(Bytes),
    /// A number of bytes.
    Count(u64),
    /// Content in base64. The block's `mime_type` and `uri` stand before it.
    Binary(Bytes),
    /// A block.
    Block(Box<ReplyBlock>),
    /// A list of blocks.
    Blocks(Vec<ReplyBlock>),
}

/// The part of a result that a program gets as `:value`, with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyPayload {
    /// JSON text from `structuredContent` or a JSON body: `:value_kind :json`.
    Json(Bytes),
    /// Text of the first text block that may be JSON: kind `:json` if all of it reads as one JSON
    /// value, else `:text`. Left undecided so that the reader of values decides in its one pass.
    JsonOrText(Bytes),
    /// Text that cannot be JSON: `:value_kind :text`.
    Text(Bytes),
    /// A block that is no text, or the value made of several: kind `:content`.
    Content(Box<ReplyBlock>),
    /// Nothing was selected: value nil, `:value_kind :none`.
    None,
    /// An empty success of a transport whose values are JSON (OpenAPI 204): value nil, kind `:json`.
    JsonNull,
}

impl ReplyPayload {
    /// Sorts a text block by its first byte: only text that begins like a JSON value is worth a
    /// reader's attempt.
    #[must_use]
    pub fn of_text(text: Bytes) -> Self {
        let first = text.iter().find(|b| !b.is_ascii_whitespace());
        match first {
            Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => Self::JsonOrText(text),
            _ => Self::Text(text),
        }
    }

    /// Its text, JSON or not.
    pub fn text(&self) -> Option<&Bytes> {
        match self {
            Self::Json(text) | Self::JsonOrText(text) | Self::Text(text) => Some(text),
            Self::Content(_) | Self::None | Self::JsonNull => None,
        }
    }

    /// Decides [`ReplyPayload::JsonOrText`] by reading the text once. For consumers that do not read the
    /// value themselves.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "entry point: ReplyPayload.resolve")]
    pub fn resolve(self) -> Self {
        match self {
            Self::JsonOrText(text) => match serde_json::from_slice::<IgnoredAny>(&text) {
                Ok(_) => Self::Json(text),
                Err(_) => Self::Text(text),
            },
            decided => decided,
        }
    }

    /// The `:value_kind` of a decided payload: `json`, `text`, `content` or `none`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Json(_) | Self::JsonOrText(_) | Self::JsonNull => "json",
            Self::Text(_) => "text",
            Self::Content(_) => "content",
            Self::None => "none",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(s: &'static str) -> ReplyPayload {
        ReplyPayload::of_text(Bytes::from_static(s.as_bytes())).resolve()
    }

    #[test]
    fn text_is_json_only_when_all_of_it_is() {
        for json in ["42", " null ", "true", "\"x\"", "{\"a\":1}", "[1]", "-0.5e3"] {
            assert!(matches!(text(json), ReplyPayload::Json(_)), "{json}");
        }
        for plain in ["", "  ", "hello", "42 apples", "{a}", "nul", "[1] trailing", "+1", "NaN"] {
            assert!(matches!(text(plain), ReplyPayload::Text(_)), "{plain}");
        }
    }
}
