//! The record of a run, as it is stored.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ptc_host::codec;
use ptc_host::engine::{Attachments, EvalId, Gate, Resume, travelling_text};
use ptc_host::pace::apart;
use ptc_host::policy::{Caller, Knowledge};
use ptc_host::questions::PendingQuestion;
use ptc_mcp::json::Raw;
use ptc_mcp::message::id::RequestId;
use ptc_mcp::{Revision, RpcError};
use ptc_vm::value::BlobContent;
use serde::{Deserialize, Serialize};

use super::prints::PrintLog;
use super::program::StoredProgram;
use ptc_protocol::Elicitation;
use ptc_protocol::concurrency_limiter::PermitLoan;
use ptc_protocol::principal::{Owner, Principal};
use ptc_protocol::timestamp;
use ptc_protocol::tool::{CallContext, ClientReach, Instead, ReplyText, ToolReply, Unfinished};

/// The version of the format, stored and in `requestState`. A build with another version leaves the record alone.
pub(super) const VERSION: u8 = 5;

/// The status of a run (waiting.md 6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Its program runs.
    #[default]
    Running,
    /// Its program waits for people.
    Waiting,
    /// Its program returned a value or failed by itself.
    Done,
    /// It was cancelled.
    Cancelled,
    /// Its process ended before it did.
    Interrupted,
    /// Its questions were not answered in time.
    Expired,
}

impl Status {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Waiting => "waiting",
            Status::Done => "done",
            Status::Cancelled => "cancelled",
            Status::Interrupted => "interrupted",
            Status::Expired => "expired",
        }
    }
}

/// The call that began a run, as far as another process needs it to resume the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredCall {
    /// `params.arguments` as sent.
    pub arguments: Option<String>,
    /// The revision of the protocol that the client speaks.
    pub revision: String,
    /// Longest text of a result that the client passes to its model whole, in bytes.
    pub result_room: Option<usize>,
    /// The id of the evaluation.
    pub eval: u64,
    /// The number of the next suspension of its program, from 1.
    pub round: u32,
    /// True if it has the time limit of a run.
    pub is_long: bool,
    /// The modes of questions that its client shows to its user for a task, as bits; `None` if it is no task.
    pub task_modes: Option<u8>,
}

impl StoredCall {
    /// The context of the resumed run; its client can be asked through its task, if it has one. `None` if the record is of
    /// another build.
    pub fn context(&self, principal: &Principal) -> Option<CallContext> {
        let modes = self.task_modes.map(Elicitation::of_bits);
        Some(CallContext {
            owner: Owner::of(principal.clone()),
            request_id: RequestId::from_raw(Raw::parse("0").ok()?)?,
            revision: Revision::from_name(&self.revision)?,
            origin: None,
            // Of the call that began it, which has been answered.
            trace: None,
            eval_id: EvalId::from_number(self.eval),
            result_room: self.result_room,
            progress: None,
            audience: None,
            asked: ClientReach {
                takes_tasks: modes.is_some(),
                modes: modes.unwrap_or_default(),
                ..ClientReach::default()
            },
            permit: PermitLoan::default(),
        })
    }
}

/// The questions of a run that waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Wait {
    /// All questions of this wait, including those that are answered by now.
    pub(super) questions: Vec<PendingQuestion>,
    /// When it expires, in milliseconds since 1970, for readers: the store's clock decides.
    pub(super) expires_at_ms: i64,
    /// True if the program is resident: only the process that holds it can resume it.
    pub(super) is_pinned: bool,
    /// How long its end is reported at least after it expired, in milliseconds; 0 for the same time as any run.
    pub(super) tail_ms: u64,
}

/// The stored state of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub(super) status: Status,
    /// Its principal.
    pub(super) principal: Arc<str>,
    /// The facts about its caller that a policy matches, as they were when it was last there; `None` without a policy.
    pub(super) caller: Option<Caller>,
    /// The tool that was called.
    pub(super) tool: String,
    /// When the call arrived, in milliseconds since 1970, for readers.
    pub(super) began_ms: i64,
    /// The number of upstream calls, as far as known.
    pub(super) calls: u32,
    pub(super) prints: PrintLog,
    /// The reply to its call, once it has ended.
    pub(super) outcome: Option<StoredReply>,
    /// Its call, once its program was suspended.
    pub(super) call: Option<StoredCall>,
    /// Its questions, while it waits.
    pub(super) wait: Option<Wait>,
    /// The number of the last question that it has asked.
    pub(super) asked: u32,
    /// When its status last changed or an answer came, in milliseconds since 1970, for readers.
    pub(super) updated_ms: i64,
    /// The time until which its client was promised that it is kept, in milliseconds since 1970; 0 without such a
    /// promise.
    pub(super) until_ms: i64,
    /// The suspended program.
    pub program: StoredProgram,
}

impl RunRecord {
    /// Encodes the record, with the program behind it.
    pub(super) fn to_bytes(&self) -> Bytes {
        codec::encode(VERSION, self, &self.program.bytes).into()
    }

    /// Returns the record and its encoding. A large one is encoded on a thread of its own.
    pub(super) async fn written(self) -> (RunRecord, Bytes) {
        let arguments =
            self.call.as_ref().and_then(|call| call.arguments.as_ref()).map_or(0, |text| text.len());
        let size = self.program.bytes.len() + arguments;
        apart(size, move || {
            let bytes = self.to_bytes();
            (self, bytes)
        })
        .await
    }

    /// Decodes a record; `None` if its version is another.
    pub(super) fn from_bytes(bytes: &Bytes) -> Option<RunRecord> {
        let (mut record, rest) = codec::decode::<RunRecord>(VERSION, bytes)?;
        record.program.bytes = bytes.slice_ref(rest);
        Some(record)
    }

    /// The record of a program that runs, whose call arrived then.
    pub(super) fn begun(principal: &Principal, tool: &str, began_ms: i64, prints: PrintLog) -> RunRecord {
        RunRecord {
            principal: principal.shared_name(),
            caller: principal.authority().map(|authority| authority.caller.clone()),
            tool: tool.to_owned(),
            began_ms,
            prints,
            updated_ms: timestamp::shared_now_ms(),
            ..RunRecord::default()
        }
    }

    /// Takes the facts about its caller that the caller has now, who may have another token than when it began; the run stays within
    /// its profile. Whether they are others.
    pub(super) fn renew_caller(&mut self, caller: &Principal) -> bool {
        let known = caller.authority().filter(|authority| authority.caller.knowledge == Knowledge::Whole);
        let Some(authority) = known else { return false };
        let profile = match &self.caller {
            Some(known) => known.profile.clone(),
            None => None,
        };
        let fresh = Caller { profile, ..authority.caller.clone() };
        let is_other = self.caller.as_ref() != Some(&fresh);
        self.caller = Some(fresh);
        is_other
    }

    /// Notes the number of the last question.
    pub(super) fn has_asked(&mut self, questions: &[PendingQuestion]) {
        let last = questions.iter().map(|asked| asked.id.number()).max();
        self.asked = self.asked.max(last.unwrap_or(0));
    }

    /// The same record with that end.
    pub(super) fn ended(self, status: Status, reply: &ToolReply) -> RunRecord {
        RunRecord {
            status,
            outcome: Some(StoredReply::of_run(reply)),
            call: None,
            wait: None,
            updated_ms: timestamp::shared_now_ms(),
            program: StoredProgram::default(),
            ..self
        }
    }

    /// True if it has failed; `None` unless its program has ended by itself.
    pub(super) fn has_failed(&self) -> Option<bool> {
        let outcome = self.outcome.as_ref().filter(|_| self.status == Status::Done)?;
        Some(outcome.is_error || matches!(outcome.instead, Some(StoredInstead::Refused(_))))
    }

    /// True if a process must hold it: it runs, or it is resident while it waits.
    pub(super) fn needs_holder(&self) -> bool {
        match self.status {
            Status::Running => true,
            Status::Waiting => self.wait.as_ref().is_none_or(|wait| wait.is_pinned),
            _ => false,
        }
    }

    /// How long the end is reported if the run expires. `ttl` is the time for any run.
    pub(super) fn tail(&self, ttl: Duration) -> Duration {
        ttl.max(Duration::from_millis(self.wait.as_ref().map_or(0, |wait| wait.tail_ms)))
    }

    /// The questions with the answers so far, if it waits.
    pub fn questions(&self) -> &[PendingQuestion] {
        self.wait.as_ref().map_or(&[], |wait| &wait.questions)
    }

    /// The same, to be answered.
    pub fn questions_mut(&mut self) -> &mut [PendingQuestion] {
        self.wait.as_mut().map_or(&mut [], |wait| &mut wait.questions)
    }

    /// Its program with the answers that it has; `None` if the program is missing or damaged. `gate` admits it.
    pub fn into_resume(self, gate: Option<Arc<dyn Gate>>) -> impl Future<Output = Option<Resume>> + Send {
        let answers = self.questions().iter().filter_map(|asked| Some((asked.id, asked.answer.clone()?)));
        let (answers, program) = (answers.collect(), self.program);
        async move { Some(Resume { snapshot: program.unpacked().await?, answers, gate }) }
    }

    /// The text of its suspended program, if that travels with it.
    pub(super) async fn travelling_text(&self) -> Option<Arc<str>> {
        let snapshot = self.program.clone().unpacked().await?;
        travelling_text(&snapshot).map(Arc::from)
    }

    /// The outcome of a program whose process is lost.
    pub(super) fn interruption(&self) -> ToolReply {
        let message = format!(
            "the server stopped while this program ran; upstream calls up to #{} are known to have been made, later ones may have \
             been. It was not run again.",
            self.calls
        );
        ToolReply::failure("interrupted", &message, &message)
    }
}

/// The outcome of a cancelled run.
pub(super) fn cancellation() -> ToolReply {
    ToolReply::failure("cancelled", "the run was cancelled", "lisp_cancel has stopped this program.")
}

/// The outcome of a run that was not answered for that long.
pub(super) fn expiry(patience: Duration) -> ToolReply {
    let message = format!("nobody answered within {} ms", patience.as_millis());
    ToolReply::failure("expired", &message, &message)
}

/// The outcome of a program that asked its user while no call of its client was open for the question.
fn unasked() -> ToolReply {
    let message = "the program asked its user when no call of its client was open";
    let feedback = "Run it again without wait_ms, or with one that leaves the user time to answer.";
    ToolReply::failure("unanswerable", message, feedback)
}

/// A reply without the parts that only this process can use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredReply {
    is_error: bool,
    /// `None` if the text can be made from the structured content.
    text: Option<String>,
    structured: Option<String>,
    attached: Vec<StoredBlock>,
    eval: Option<u64>,
    instead: Option<StoredInstead>,
}

/// An answer in place of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum StoredInstead {
    Refused(StoredError),
    Written(Vec<u8>),
    Input { requests: String, state: String },
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredError {
    code: i64,
    message: String,
    data: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredBlock {
    kind: BlockKind,
    mime_type: Arc<str>,
    uri: Arc<str>,
    base64: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum BlockKind {
    Image,
    Audio,
    Resource,
}

impl StoredReply {
    /// The outcome of a run. A question to its client is none: no call of its client was open.
    fn of_run(reply: &ToolReply) -> StoredReply {
        match reply.instead.as_deref() {
            Some(Instead::Input { .. }) => StoredReply::of(&unasked()),
            _ => StoredReply::of(reply),
        }
    }

    /// The stored form of a reply. A task is stored as a run.
    pub fn of(reply: &ToolReply) -> StoredReply {
        let blocks = reply.attachments.contents().iter().map(|content| StoredBlock {
            kind: match content.kind {
                "image" => BlockKind::Image,
                "audio" => BlockKind::Audio,
                _ => BlockKind::Resource,
            },
            mime_type: content.mime_type.clone(),
            uri: content.uri.clone(),
            base64: content.base64.clone(),
        });
        StoredReply {
            is_error: reply.is_error,
            text: match &reply.text {
                ReplyText::Plain(text) => Some(text.clone()),
                ReplyText::Mirrored => None,
            },
            structured: reply.structured.clone(),
            attached: blocks.collect(),
            eval: reply.eval_id.map(EvalId::number),
            instead: match reply.instead.as_deref() {
                Some(Instead::Refused(error)) => Some(StoredInstead::Refused(StoredError::of(error))),
                Some(Instead::Written(members)) => Some(StoredInstead::Written(members.clone())),
                Some(Instead::Input { requests, state }) => {
                    Some(StoredInstead::Input { requests: requests.clone(), state: state.clone() })
                }
                Some(Instead::Task(_)) | None => None,
            },
        }
    }

    /// The reply.
    pub fn reply(&self) -> ToolReply {
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
            unfinished: match &self.instead {
                Some(StoredInstead::Input { .. }) => Some(Unfinished::Waiting),
                _ => None,
            },
            instead: self.instead.clone().map(|instead| match instead {
                StoredInstead::Refused(error) => Box::new(Instead::Refused(error.into_error())),
                StoredInstead::Written(members) => Box::new(Instead::Written(members)),
                StoredInstead::Input { requests, state } => Box::new(Instead::Input { requests, state }),
            }),
        }
    }
}

impl StoredError {
    fn of(error: &RpcError) -> StoredError {
        StoredError { code: error.code, message: error.message.clone(), data: error.data.clone() }
    }

    fn into_error(self) -> RpcError {
        RpcError { code: self.code, message: self.message, data: self.data }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use ptc_host::policy::Claim;
    use ptc_host::questions::{
        ArgumentsDigest, AskedCall, Form, Level, Mode, Question, QuestionId, QuestionKind,
    };

    use super::*;

    /// A yes-or-no question of that kind and level.
    pub(crate) fn question(number: u32, kind: QuestionKind, level: Level) -> PendingQuestion {
        let digest = ArgumentsDigest::new([7; 32]);
        let call = AskedCall { tool: "move_file".into(), arguments: "{\"a\":1}".into(), digest };
        let question = Question {
            kind,
            message: "Allow?".into(),
            mode: Mode::Form(Form::yes_or_no()),
            level,
            upstream: Some("files".into()),
            calls: vec![call],
            policy_revision: "ab".into(),
            binding: [0xfe; 32],
        };
        PendingQuestion::new(QuestionId::new(number), question)
    }

    /// A caller with a token.
    fn caller() -> Caller {
        let groups = Claim { name: "groups".into(), values: ["dev".into()].into() };
        Caller {
            principal: "https://i|ada".into(),
            issuer: Some("https://i".into()),
            subject: Some("ada".into()),
            scopes: ["read".into()].into(),
            claims: [groups].into(),
            profile: Some("support".into()),
            ..Caller::default()
        }
    }

    fn record() -> RunRecord {
        let mut prints = PrintLog::default();
        prints.push("page 3");
        RunRecord {
            principal: "ada".into(),
            tool: "lisp_eval".to_owned(),
            began_ms: 1,
            calls: 12,
            prints,
            updated_ms: 1,
            until_ms: 7,
            program: StoredProgram::pack(&Bytes::from_static(b"program")),
            ..RunRecord::default()
        }
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
    fn the_encoding_is_as_it_was() {
        let running = record();
        let question = question(1, QuestionKind::Approval, Level::OutOfBand);
        let waiting = RunRecord {
            status: Status::Waiting,
            caller: Some(caller()),
            call: Some(StoredCall {
                arguments: Some("{\"program\":\"1\"}".to_owned()),
                revision: "2025-11-25".to_owned(),
                result_room: Some(9000),
                eval: 7,
                round: 2,
                is_long: true,
                task_modes: Some(3),
            }),
            wait: Some(Wait { questions: vec![question], expires_at_ms: 9, is_pinned: false, tail_ms: 5 }),
            asked: 1,
            ..record()
        };
        let reply = ToolReply {
            eval_id: Some(EvalId::from_number(7)),
            ..ToolReply::structured(false, "user=> 1", "{\"status\":\"ok\"}".to_owned())
        };
        let done = RunRecord { updated_ms: 8, ..record().ended(Status::Done, &reply) };
        let refused = ToolReply::failure("interrupted", "it stopped", "Run it again.");
        let interrupted = RunRecord { updated_ms: 8, ..record().ended(Status::Interrupted, &refused) };
        let shown: String = [running, waiting, done, interrupted]
            .iter()
            .map(|record| format!("{}\n", record.to_bytes().escape_ascii()))
            .collect();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/golden.txt");
            return std::fs::write(path, shown).unwrap();
        }
        assert_eq!(shown, include_str!("golden.txt"));
    }

    #[test]
    fn records_of_other_versions_and_damaged_ones_are_left_alone() {
        let bytes = record().to_bytes();
        assert_eq!(RunRecord::from_bytes(&bytes).unwrap().program.unpack().unwrap(), "program");
        let record_end = bytes.len() - b"program".len();
        for end in 0..record_end {
            assert!(RunRecord::from_bytes(&bytes.slice(..end)).is_none(), "{end}");
        }
        let older = [b"\x04", &bytes[1..]].concat();
        for damaged in [&older[..], b"\x01{}", b"\x02\x02\0\0\0{}", b"\x05\xff\xff\xff\xff\x0f"] {
            assert!(RunRecord::from_bytes(&Bytes::copy_from_slice(damaged)).is_none(), "{damaged:?}");
        }
    }
}
