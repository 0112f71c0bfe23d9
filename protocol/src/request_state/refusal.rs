//! Reasons why a state is refused (waiting.md 5.3): no refusal reveals which bound part differs.

use ptc_mcp::RpcError;

/// Why a retry is refused. Nothing has run in that case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateRefusal {
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

impl StateRefusal {
    /// The word for programs.
    pub fn reason(&self) -> &'static str {
        match self {
            StateRefusal::Malformed => "malformed",
            StateRefusal::Key => "key",
            StateRefusal::Seal => "seal",
            StateRefusal::Expired => "expired",
            StateRefusal::Responses(_) => "responses",
            StateRefusal::Build => "build",
            StateRefusal::Snapshot(_) => "snapshot",
            StateRefusal::Spent => "spent",
        }
    }

    /// The sentence for people.
    fn message(&self) -> String {
        match self {
            StateRefusal::Malformed => "requestState is not one of ours".into(),
            StateRefusal::Key => "requestState was made with another key; run the program again".into(),
            StateRefusal::Seal => "requestState does not belong to this request".into(),
            StateRefusal::Expired => "requestState has expired; run the program again".into(),
            StateRefusal::Responses(Some(key)) => {
                let key: String = key.chars().take(MAX_KEY).collect();
                format!("inputResponses.{key} is not an elicitation result")
            }
            StateRefusal::Responses(None) => "inputResponses is not an object of elicitation results".into(),
            StateRefusal::Build => "this program was started by another build of ptc; run it again".into(),
            StateRefusal::Snapshot(part) => format!("invalid snapshot: {part}"),
            StateRefusal::Spent => "this request was already continued".into(),
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
