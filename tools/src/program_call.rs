//! One call of a tool that runs a program: its client is asked the program's questions, and it may become a run.

use std::sync::Arc;

use futures_util::FutureExt;
use ptc_host::engine::{EvalOutcome, EvalRequest};
use ptc_mcp::json::Raw;

use super::channels::Asks;
use super::evaluator::Evaluator;
use super::long::{self, WhenWaiting};
use super::shaping::{Shaper, waiting};
use ptc_protocol::tool::{CallContext, Preparation, ToolName, ToolReply};
use ptc_runs::{ProgramEnd, Runs};

/// A call of a tool whose work is a program.
pub(crate) struct ProgramCall<'a> {
    /// The tool.
    pub(crate) tool: ToolName,
    /// `params.arguments` as sent.
    pub(crate) given: Option<Raw<'a>>,
    /// The same, as far as they say how the call is made (`wait_ms`).
    pub(crate) terms: Option<Raw<'a>>,
    pub(crate) context: &'a CallContext,
    /// Asks its client the program's questions; `None` if questions are off.
    pub(crate) asks: Option<&'a Asks>,
    /// The runs that it may become one of.
    pub(crate) runs: Option<&'a Arc<Runs>>,
    /// How the answers are shaped that are about a program which has not ended.
    pub(crate) shaper: Shaper,
    /// Whether it is a program in the eyes of the policy.
    pub(crate) is_program: bool,
}

impl ProgramCall<'_> {
    /// The work before the program is prepared, if the call resumes one. `again` prepares the call anew.
    pub(crate) fn before<T>(
        &self,
        tool: &T,
        again: impl FnOnce(&T, Option<Raw<'_>>, &CallContext) -> Preparation + Send + 'static,
    ) -> Option<Preparation>
    where
        T: Clone + Send + 'static,
    {
        let asks = self.asks.filter(|_| self.context.asked.retry.is_some())?;
        let call = (self.tool.clone(), self.given.map(Raw::text));
        let again = || -> Box<dyn FnOnce(&CallContext) -> Preparation + Send> {
            let (tool, given) = (tool.clone(), self.given.map(|given| given.text().to_owned()));
            Box::new(move |context| {
                let given = given.as_deref().and_then(|given| Raw::parse(given).ok());
                again(&tool, given, context)
            })
        };
        asks.before(call, self.context, self.shaper, again)
    }

    /// Prepares the program of `request`, of whose outcome `shaped` makes the reply.
    ///
    /// # Errors
    /// The message that the terms are wrong.
    pub(crate) fn prepared(
        &self,
        evaluator: &Arc<dyn Evaluator>,
        mut request: EvalRequest,
        shaped: impl FnOnce(EvalOutcome) -> ToolReply + Send + 'static,
    ) -> Result<Preparation, String> {
        let ProgramCall { given, context, shaper, .. } = *self;
        let long_call = long::begin(self.runs, self.terms, context, &mut request)?
            .map(|long| long.counted(self.is_program));
        let work = match self.asks {
            Some(asks) => {
                let call = (self.tool.clone(), given.map(Raw::text));
                let about = (context, long_call.as_ref().map(long::Long::call));
                asks.eval(evaluator.clone(), request, call, about, (shaper, shaped))
            }
            None => {
                let eval = evaluator.eval(request);
                async move { ProgramEnd::Replied(shaped(eval.await)) }.boxed()
            }
        };
        let (tool, principal, permit) = (self.tool.clone(), &context.owner.principal, &context.permit);
        Ok(long::prepared(long_call, tool, principal, permit, shaper, || self.when_waiting(), work))
    }

    /// The answer of a call whose run waits.
    fn when_waiting(&self) -> WhenWaiting {
        let (asks, context, shaper) = (self.asks.cloned(), self.context.clone(), self.shaper);
        let (tool, arguments) = (self.tool.clone(), self.given.map(|given| Arc::<str>::from(given.text())));
        Box::new(move |run| {
            async move {
                match asks {
                    Some(asks) => asks.waiting((tool, arguments.as_deref()), &context, &run, &shaper).await,
                    None => waiting(&shaper, &run, None, &[]),
                }
            }
            .boxed()
        })
    }
}
