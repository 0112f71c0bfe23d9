//! Translates questions between the product and clients that see them in another form.

use std::sync::Arc;

use ptc_host::questions::Question;
use ptc_mcp::json::Raw;
use ptc_mcp::message::params::Params;

/// How the questions of a tool look to its clients, if they differ from those of the product. Only tools of
/// extensions (`ptc_tools::extensions`) have one.
pub trait QuestionDialect: Send + Sync {
    /// Translates `inputRequests` of the product to the form of its clients.
    fn requests(&self, requests: &str) -> String;

    /// Translates `inputResponses` of a client to the form of the product.
    fn responses(&self, responses: &str) -> String;

    /// True if the client of the call declares a way to be asked that the product does not know.
    fn declares_more(&self, call: &CallExtras) -> bool;

    /// Whether its client can be asked this question in such a way; `None` if the question has the form of the
    /// product.
    fn can_ask(&self, question: &Question, call: &CallExtras) -> Option<bool>;
}

/// Facts of a call besides its arguments, for tools with a [dialect](QuestionDialect).
#[derive(Debug, Clone, Default)]
pub struct CallExtras {
    /// `inputResponses` that came without a state, in the form of the product.
    pub responses: Option<Arc<str>>,
    /// The capabilities that its client declares, as JSON.
    capabilities: Option<Arc<str>>,
}

impl CallExtras {
    /// Reads them from the parameters of a call of the modern era.
    pub(crate) fn of(params: &Params<'_>) -> CallExtras {
        let responses = params.input_responses.filter(|_| params.request_state.is_none());
        let text = |raw: Raw<'_>| raw.text().into();
        CallExtras { responses: responses.map(text), capabilities: params.meta.capabilities.map(text) }
    }

    /// True if its client declares this capability.
    pub fn declares(&self, capability: &str) -> bool {
        let capabilities = self.capabilities.as_deref().and_then(|text| Raw::parse(text).ok());
        let mut members = capabilities.and_then(Raw::members).into_iter().flatten();
        members.any(|(name, _)| name == capability)
    }
}
