//! Records of a program's tool calls.

use ptc_schema::answer_shape::answer_shape;
use ptc_vm::paging::{More, RestMethod, Standing};
use serde::{Deserialize, Serialize};

/// Whether an upstream call worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallStatus {
    /// The tool answered.
    Ok,
    /// A world fault.
    Error,
}

/// One call of an upstream tool (upstreams.md 11.1).
#[derive(Clone, Debug, Serialize)]
pub struct CallRecord {
    /// The upstream's configured name.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The arguments as they were sent: a JSON object, scrubbed, for session journals and diagnostics; not part of
    /// `upstream_calls`. `None` where they are longer than 4 KiB.
    #[serde(skip)]
    pub args: Option<Box<str>>,
    /// Whether it worked.
    pub status: CallStatus,
    /// When the program made the call, in whole milliseconds since its first step; not part of `upstream_calls`.
    #[serde(skip)]
    pub offset_ms: u64,
    /// From the first byte written to the last one read, in whole milliseconds.
    pub duration_ms: u64,
    /// Why it failed, from the closed set of upstreams.md 9.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Of a call that failed, whether it may have reached the upstream and so have run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<bool>,
    /// The error of the upstream or the transport.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Bytes of the upstream's result as compact JSON, for a failed call as far as it had arrived; `None` if nothing had.
    pub result_bytes: Option<u64>,
    /// Whether the answer passed the byte cap.
    pub oversize: bool,
    /// How the request was authenticated, for HTTP upstreams with credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<CallAuth>,
    /// The HTTP status that caused a fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// An overview of the value, for models and diagnostics; not part of `upstream_calls`.
    #[serde(skip)]
    pub overview: Option<ResultOverview>,
    /// Whether the program looked at the result of a call that failed; not part of `upstream_calls`.
    #[serde(skip)]
    pub looked_at: bool,
    /// The blocks of an answer that has more than its value shows; not part of `upstream_calls`.
    #[serde(skip)]
    pub blocks: Option<AnswerBlocks>,
    /// A note for the reader about arguments that the tool does not describe; not part of `upstream_calls`. Not scrubbed.
    #[serde(skip)]
    pub argument_note: Option<Box<str>>,
    /// The fault in an answer that could be read all the same; not part of `upstream_calls`.
    #[serde(skip)]
    pub answer_note: Option<Box<str>>,
    /// The beginning of the value's JSON, of the first few tools that a program calls; not part of `upstream_calls`.
    #[serde(skip)]
    pub sample: Option<Box<[u8]>>,
    /// The beginning of the value as text, scrubbed, for a reader who has to continue without the program; not part of
    /// `upstream_calls`.
    #[serde(skip)]
    pub beginning: Option<Box<str>>,
    /// The shape of the sample, scrubbed, once there is a need to show it; not part of `upstream_calls`.
    #[serde(skip)]
    pub seen_shape: Option<String>,
    /// The position of the answer in a paged listing; not part of `upstream_calls`.
    #[serde(skip)]
    pub page: Option<Box<PageRecord>>,
}

/// The position of an answer in a paged listing, for the notes of a reply (decision 184).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRecord {
    /// A hash of the arguments without those that choose a page: pages of one listing belong to one group.
    pub group: u64,
    /// A hash of all arguments.
    pub whole: u64,
    /// Whether `tool/pages` asked for it, which follows pages by itself.
    pub by_pages: bool,
    /// How much of all it is, once its value has been read.
    #[serde(with = "standing")]
    pub standing: Option<Standing>,
}

/// How a standing is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Standing")]
struct StandingForm {
    items: Option<u64>,
    total: Option<u64>,
    #[serde(with = "MoreForm")]
    more: More,
    sign: Box<str>,
    #[serde(with = "WayForm")]
    way: RestMethod,
    clamped: Option<(u64, u64)>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "More")]
enum MoreForm {
    No,
    Yes,
    Perhaps,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RestMethod")]
enum WayForm {
    Pages,
    Limit(Box<str>),
    Unknown,
}

/// A standing, if there is one.
mod standing {
    use super::StandingForm;
    use ptc_vm::paging::Standing;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct StandingField(#[serde(with = "StandingForm")] Standing);

    pub(super) fn serialize<S: Serializer>(standing: &Option<Standing>, to: S) -> Result<S::Ok, S::Error> {
        standing.clone().map(StandingField).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Standing>, D::Error> {
        Ok(Option::<StandingField>::deserialize(from)?.map(|StandingField(standing)| standing))
    }
}

impl CallRecord {
    /// The shape of the value, `{"count" int, "matches" [{"id" int "title"}]}`: keys and types, but no keys that are data.
    /// `None` if the value was not sampled. For a text, its kind: `CSV of "id" "title"`. Not scrubbed.
    pub fn shape(&self) -> Option<String> {
        answer_shape(self.sample.as_deref()?)
    }

    /// Longest arguments that a record keeps, in bytes of JSON: records of a whole program stay small.
    pub const MAX_ARGS_BYTES: usize = 4096;
}

/// The blocks of an answer of which `:value` is only a part (ruling 51).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerBlocks {
    /// How many there are.
    pub count: usize,
    /// The source of `:value`.
    pub value: ValueSource,
}

/// The source of the `:value` of an answer of several blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ValueSource {
    /// The first block.
    FirstBlock,
    /// The first text, after blocks of other kinds.
    FirstText,
    /// The structured content beside the blocks.
    Structured,
    /// Nothing: no block is a text.
    Nothing,
}

/// Names of the credential used for a call, never its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAuth {
    /// The emitter's scheme.
    pub scheme: String,
    /// The credential's name.
    pub binding: String,
}

/// A preview of the value of a successful call, taken from the scrubbed value (upstreams.md 11.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultOverview {
    /// `text` for strings, else `json`.
    pub value_kind: &'static str,
    /// For instance `map keys=["a", "b"] count=2`.
    pub shape: String,
    /// The beginning, at most 240 bytes and `...`.
    pub preview: String,
}
