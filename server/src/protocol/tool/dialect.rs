//! Questions that clients see otherwise than the product puts them.

use std::sync::Arc;

use ptc_host::questions::Question;
use ptc_mcp::json::Raw;
use ptc_mcp::message::params::Params;

/// How the questions of a tool look to its clients, where they look otherwise than those of the product. Only tools of
/// [extensions](crate::tools::extensions) have one.
pub trait QuestionDialect: Send + Sync {
    /// `inputRequests` as clients know them, of those that the product would send.
    fn requests(&self, requests: &str) -> String;

    /// `inputResponses` as the product reads them, of those that a client has sent.
    fn responses(&self, responses: &str) -> String;

    /// Whether the client of the call declares a way to be asked that the product does not know.
    fn declares_more(&self, call: &CallExtras) -> bool;

    /// Whether its client can be asked this question in such a way; `None` for a question that is put as the product puts it.
    fn can_ask(&self, question: &Question, call: &CallExtras) -> Option<bool>;
}

/// What a call has besides its arguments, for tools with a [dialect](QuestionDialect).
#[derive(Debug, Clone, Default)]
pub struct CallExtras {
    /// `inputResponses` that came without a state, as the product reads them.
    pub responses: Option<Arc<str>>,
    /// The capabilities that its client declares, as JSON.
    capabilities: Option<Arc<str>>,
}

impl CallExtras {
    /// Of the parameters of a call of the modern era.
    pub(crate) fn of(params: &Params<'_>) -> CallExtras {
        let responses = params.input_responses.filter(|_| params.request_state.is_none());
        let text = |raw: Raw<'_>| raw.text().into();
        CallExtras { responses: responses.map(text), capabilities: params.meta.capabilities.map(text) }
    }

    /// Whether its client declares this capability.
    pub fn declares(&self, capability: &str) -> bool {
        let capabilities = self.capabilities.as_deref().and_then(|text| Raw::parse(text).ok());
        let mut members = capabilities.and_then(Raw::members).into_iter().flatten();
        members.any(|(name, _)| name == capability)
    }
}
