//! The record of a run, as it lies in a store.

use std::sync::Arc;

use bytes::Bytes;
use ptc_host::engine::{Attachments, EvalId};
use ptc_vm::value::BlobContent;
use serde::{Deserialize, Serialize};

use super::prints::PrintLog;
use crate::protocol::tool::{Instead, ReplyText, ToolReply};

/// The version of the form. Another build that has another one leaves the record alone.
const FORM: u8 = 1;

/// What a run is doing, or how it has ended (waiting.md 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Its program runs.
    Running,
    /// It has a value, or a failure of its own.
    Done,
    /// Somebody stopped it.
    Cancelled,
    /// Its process ended before it.
    Interrupted,
}

/// A run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RunRecord {
    pub(super) status: Status,
    /// The tool that was called.
    pub(super) tool: String,
    /// When the call came, in milliseconds since 1970, for readers.
    pub(super) began_ms: i64,
    /// Upstream calls that are known to have been made.
    pub(super) calls: u32,
    #[serde(default)]
    pub(super) prints: PrintLog,
    /// What its call is answered with, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<KeptReply>,
}

impl RunRecord {
    /// As it lies in a store.
    pub(super) fn to_bytes(&self) -> Bytes {
        let mut bytes = vec![FORM];
        // Plain data: it serialises.
        let _ = serde_json::to_writer(&mut bytes, self);
        bytes.into()
    }

    /// What was written; `None` if it is of another form.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<RunRecord> {
        let json = bytes.strip_prefix(&[FORM])?;
        serde_json::from_slice(json).ok()
    }

    /// The same, ended so.
    pub(super) fn ended(self, status: Status, reply: &ToolReply) -> RunRecord {
        RunRecord { status, outcome: Some(KeptReply::of(reply)), ..self }
    }

    /// The outcome of a program whose process has ended, as far as anybody knows.
    pub(super) fn interruption(&self) -> ToolReply {
        let message = format!(
            "the server stopped while this program ran; upstream calls up to #{} are known to have been made, later ones may have \
             been. It was not run again.",
            self.calls
        );
        ToolReply::failure("interrupted", &message, &message)
    }
}

/// The outcome of a run that somebody stopped.
pub(super) fn cancellation() -> ToolReply {
    ToolReply::failure("cancelled", "the run was cancelled", "lisp_cancel has stopped this program.")
}

/// The outcome of a run whose program asked its user once no call of its client was open for the question.
fn unasked() -> ToolReply {
    let message = "the program asked its user when no call of its client was open";
    let feedback = "Run it again without wait_ms, or with one that leaves the user time to answer.";
    ToolReply::failure("unanswerable", message, feedback)
}

/// A reply without what only this process can use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptReply {
    is_error: bool,
    /// `None`: the structured content says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    structured: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attached: Vec<KeptBlock>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    eval: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct KeptBlock {
    kind: BlockKind,
    mime_type: Arc<str>,
    uri: Arc<str>,
    base64: Arc<str>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BlockKind {
    Image,
    Audio,
    Resource,
}

impl KeptReply {
    fn of(reply: &ToolReply) -> KeptReply {
        if let Some(Instead::Input { .. }) = reply.instead.as_deref() {
            return KeptReply::of(&unasked());
        }
        let blocks = reply.attachments.contents().iter().map(|content| KeptBlock {
            kind: match content.kind {
                "image" => BlockKind::Image,
                "audio" => BlockKind::Audio,
                _ => BlockKind::Resource,
            },
            mime_type: content.mime_type.clone(),
            uri: content.uri.clone(),
            base64: content.base64.clone(),
        });
        KeptReply {
            is_error: reply.is_error,
            text: match &reply.text {
                ReplyText::Plain(text) => Some(text.clone()),
                ReplyText::Mirrored => None,
            },
            structured: reply.structured.clone(),
            attached: blocks.collect(),
            eval: reply.eval_id.map(EvalId::number),
        }
    }

    /// The reply.
    pub(super) fn reply(&self) -> ToolReply {
        let contents = self.attached.iter().map(|block| BlobContent {
            kind: match block.kind {
                BlockKind::Image => "image",
                BlockKind::Audio => "audio",
                BlockKind::Resource => "resource",
            },
            mime_type: block.mime_type.clone(),
            uri: block.uri.clone(),
            base64: block.base64.clone(),
        });
        ToolReply {
            is_error: self.is_error,
            text: self.text.clone().map_or(ReplyText::Mirrored, ReplyText::Plain),
            structured: self.structured.clone(),
            attachments: Attachments::of(contents.collect()),
            eval_id: self.eval.map(EvalId::from_number),
            report: None,
            instead: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> RunRecord {
        let mut prints = PrintLog::default();
        prints.push("page 3");
        let (tool, began_ms) = ("lisp_eval".to_owned(), 1);
        RunRecord { status: Status::Running, tool, began_ms, calls: 12, prints, outcome: None }
    }

    #[test]
    fn a_record_is_bytes_and_back() {
        let content = BlobContent {
            kind: "image",
            mime_type: "image/png".into(),
            uri: "u".into(),
            base64: "AAAA".into(),
        };
        let reply = ToolReply {
            attachments: Attachments::of(vec![content]),
            eval_id: Some(EvalId::from_number(7)),
            ..ToolReply::structured(false, "user=> 1", "{\"status\":\"ok\"}".to_owned())
        };
        let read = RunRecord::from_bytes(&record().ended(Status::Done, &reply).to_bytes()).unwrap();
        assert_eq!((read.status, read.calls, read.prints.count()), (Status::Done, 12, 1));
        let back = read.outcome.unwrap().reply();
        let written = |reply: &ToolReply| {
            let mut out = Vec::new();
            reply.write_members(&mut out);
            out
        };
        assert_eq!(written(&back), written(&reply));
        assert_eq!(back.eval_id, reply.eval_id);
    }

    #[test]
    fn what_is_none_of_ours_is_left_alone() {
        let bytes = record().to_bytes();
        for damaged in [&b""[..], &b"\x02{}"[..], &b"\x01"[..], &b"\x01{}"[..], &bytes[..bytes.len() - 1]] {
            assert!(RunRecord::from_bytes(damaged).is_none(), "{damaged:?}");
        }
    }
}
