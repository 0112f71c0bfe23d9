//! Sends a suspended program to its client, which returns it with its answers (waiting.md 4.2).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use ptc_host::engine::{EvalRequest, Resume, Suspended};
use ptc_host::questions::{Action, Answer, AnsweredBy, Channel};
use ptc_host::state::{Commit, End, Key, Kind, Write};
use tracing::{info, warn};

use super::{Asks, Caller, Shaped};
use crate::evaluator::Evaluator;
use ptc_protocol::request_state::{Bound, Carried, Content, NotSealed};
use ptc_protocol::tool::ToolReply;

impl Asks {
    /// Sends a suspended program to its client. `round` is the number of this suspension. If that is not possible,
    /// the questions remain unanswered.
    pub(super) async fn send_off(
        &self,
        evaluator: Arc<dyn Evaluator>,
        request: EvalRequest,
        caller: &Caller,
        round: u32,
        suspended: Suspended,
        shaped: Shaped,
    ) -> ToolReply {
        let carried = Carried::Snapshot(suspended.snapshot.clone());
        if let Some(content) = Content::new(round, &suspended.questions, carried)
            && let Some(reply) = self.required(caller, content, self.0.states.until()).await
        {
            info!(event = "program_waits", tool = caller.tool, round, questions = suspended.questions.len());
            return ToolReply { eval_id: Some(request.id), ..reply };
        }
        warn!(event = "program_not_sent_off", tool = caller.tool, bytes = suspended.snapshot.len());
        let by = AnsweredBy { channel: Channel::Client, name: None };
        let nobody = Answer { action: Action::Cancel, content: None, by, at_ms: self.0.clock.now() };
        let answers = suspended.questions.iter().map(|open| (open.id, nobody.clone())).collect();
        let resume = Resume { snapshot: suspended.snapshot, answers, gate: None };
        let request = EvalRequest { asker: None, resume: Some(Arc::new(resume)), ..request };
        shaped(evaluator.eval(request).await)
    }

    /// The reply that asks for the missing answers. A program that is too large to be sent is stored, and its handle
    /// is sent.
    pub(super) async fn required(&self, caller: &Caller, content: Content, until: u64) -> Option<ToolReply> {
        let screen = caller.screen();
        let open = content.questions.iter().filter(|open| open.is_open());
        let requests = screen.requests(open.map(|open| (open, open.question.mode.clone())));
        let digest = caller.digest().await;
        let bound = Bound {
            principal: caller.principal.name(),
            method: "tools/call",
            tool: caller.tool,
            arguments: &digest,
        };
        let state = match self.0.states.seal_large(bound, content, until).await {
            (Ok(state), _) => state,
            (Err(NotSealed::NoEntropy), _) => return None,
            (Err(NotSealed::TooLarge), content) => {
                let Carried::Snapshot(snapshot) = content.carried else { return None };
                let carried = Carried::Blob(self.put_blob(caller, snapshot, until).await?);
                self.0.states.seal(bound, &Content { carried, ..content }, until).ok()?
            }
        };
        Some(ToolReply::input_required(requests, state))
    }

    /// Stores a program for as long as its state is valid. Returns its id.
    async fn put_blob(&self, caller: &Caller, snapshot: Bytes, until: u64) -> Option<String> {
        let mut random = [0; 18];
        getrandom::fill(&mut random).ok()?;
        let id = format!("b_{}", URL_SAFE_NO_PAD.encode(random));
        let key = Key::new(&caller.owner(), Kind::Blob, id.as_str()).ok()?;
        let end = End::After(self.left(until));
        match self.0.store.commit(Commit::one(Write::put(key, 0, snapshot).ending(end))).await {
            Ok(()) => Some(id),
            Err(error) => {
                warn!(event = "request_state_not_kept", reason = %error);
                None
            }
        }
    }
}
