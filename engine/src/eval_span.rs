//! The span of an eval, if its trace is recorded.

use std::sync::Arc;

use ptc_base::trace::{OpenSpan, SpanWork};

use super::outcome::EvalOutcome;
use super::request::EvalRequest;

/// The span of an eval from its request to its outcome. Dropping it records a cancellation.
pub(super) struct EvalSpan(Option<OpenSpan>);

impl EvalSpan {
    /// Begins the span of `request`, whose calls are below it from now on. `None` if no trace is recorded.
    pub(super) fn begin(request: &mut EvalRequest) -> Option<Box<EvalSpan>> {
        let span = OpenSpan::below(request.trace.as_ref())?;
        request.trace = Some(Arc::new(span.trace().clone()));
        Some(Box::new(EvalSpan(Some(span))))
    }

    /// The eval has this outcome.
    pub(super) fn ended(mut self, outcome: &EvalOutcome) {
        let failure = outcome.result.as_ref().err().filter(|_| outcome.suspended.is_none());
        self.end(failure.map(|failure| failure.reason.as_str()));
    }

    fn end(&mut self, failure: Option<&str>) {
        if let Some(span) = self.0.take() {
            span.end(SpanWork::Run { failure });
        }
    }
}

impl Drop for EvalSpan {
    fn drop(&mut self) {
        self.end(Some("cancelled"));
    }
}
