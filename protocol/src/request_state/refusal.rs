//! Reasons why a state is refused (waiting.md 5.3): no refusal reveals which bound part differs.

use ptc_mcp::RpcError;

/// Why a retry is refused. Nothing has run in that case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is not a state.
    Malformed,
    /// It was sealed with a secret that is not available.
    Key,
    /// It was changed, or belongs to another request.
    Seal,
    /// It has expired.
    Expired,
    /// The answer with this key is invalid.
    Responses(Option<String>),
    /// It was made by another build.
    Build,
    /// Its program cannot be decoded; the word says which part is wrong.
    Snapshot(&'static str),
    /// Its program was resumed before.
    Spent,
}

/// Characters of a key that are echoed.
const MAX_KEY: usize = 64;

impl Refusal {
    /// The word for programs.
    pub fn reason(&self) -> &'static str {
        match self {
            Refusal::Malformed => "malformed",
            Refusal::Key => "key",
            Refusal::Seal => "seal",
            Refusal::Expired => "expired",
            Refusal::Responses(_) => "responses",
            Refusal::Build => "build",
            Refusal::Snapshot(_) => "snapshot",
            Refusal::Spent => "spent",
        }
    }

    /// The sentence for people.
    fn message(&self) -> String {
        match self {
            Refusal::Malformed => "requestState is not one of ours".into(),
            Refusal::Key => "requestState was made with another key; run the program again".into(),
            Refusal::Seal => "requestState does not belong to this request".into(),
            Refusal::Expired => "requestState has expired; run the program again".into(),
            Refusal::Responses(Some(key)) => {
                let key: String = key.chars().take(MAX_KEY).collect();
                format!("inputResponses.{key} is not an elicitation result")
            }
            Refusal::Responses(None) => "inputResponses is not an object of elicitation results".into(),
            Refusal::Build => "this program was started by another build of ptc; run it again".into(),
            Refusal::Snapshot(part) => format!("invalid snapshot: {part}"),
            Refusal::Spent => "this request was already continued".into(),
        }
    }

    /// The error that the client reads.
    pub fn error(&self) -> RpcError {
        let data = format!("{{\"reason\":\"{}\"}}", self.reason());
        RpcError {
            data: Some(data.into()),
            ..RpcError::new(RpcError::INVALID_PARAMS, format!("Invalid params: {}", self.message()))
        }
    }
}
