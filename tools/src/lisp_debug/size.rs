//! The size limit of an answer. The cap covers the whole JSON-RPC response, which holds the answer twice: once as
//! structured content and once, escaped, as text.

use ptc_mcp::json::string_len;

use ptc_protocol::identity;
use ptc_protocol::tool::{CallContext, ToolReply};

/// Space kept free.
const SLACK: usize = 8;
/// Names and punctuation of the additional members of a modern response.
const MODERN_MEMBERS: usize = 128;

/// The space in one response.
pub(super) struct ResponseBudget {
    /// Bytes of the response around its result.
    around: usize,
    max: usize,
}

impl ResponseBudget {
    /// The space in the response to this call.
    pub(super) fn of(context: &CallContext, max: usize) -> Self {
        let envelope = "{\"jsonrpc\":\"2.0\",\"id\":,\"result\":}".len() + context.request_id.json().len();
        let modern = if context.revision.is_modern() {
            MODERN_MEMBERS + identity::server_info_json().len()
        } else {
            0
        };
        ResponseBudget { around: envelope + modern + SLACK, max }
    }

    /// True if the response with this answer fits.
    pub(super) fn holds(&self, answer: &str) -> bool {
        self.cost(answer) <= self.max
    }

    /// How many of `items` fit into a list of `answer`, which contains none of them yet.
    pub(super) fn fitting(&self, answer: &str, items: &[String]) -> usize {
        // The number of items takes up to two more digits, twice.
        let mut left = self.max.saturating_sub(self.cost(answer) + 4);
        let fits = |item: &String| {
            // Itself and its comma, and both again as text.
            left = left.checked_sub(item.len() + 1 + string_len(item) - 2 + 1)?;
            Some(())
        };
        items.iter().map_while(fits).count()
    }

    fn cost(&self, answer: &str) -> usize {
        self.around + ToolReply::mirrored_len(answer)
    }
}
