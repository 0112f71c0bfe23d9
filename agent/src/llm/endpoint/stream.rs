//! Responses streamed as server-sent events.

use super::super::{LlmError, LlmErrorKind};
use super::{Endpoint, EndpointResponse};
use ptc_base::time;
use ptc_http::{Event, SseDecoder};
use std::time::Duration;

/// How long the end of a stream may take once the model has said that it is done.
const PATIENCE: Duration = Duration::from_secs(2);

/// A reader's verdict after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm) enum Flow {
    /// More is needed.
    More,
    /// The answer is complete; trailing events, such as usage, are welcome but not waited for long.
    Complete,
    /// Nothing may follow.
    End,
}

/// The consumer of one stream's events.
pub(in crate::llm) trait EventStream {
    /// Takes the data of one event.
    fn event(&mut self, data: &str) -> Result<Flow, LlmError>;
}

/// Reads a stream to the end.
///
/// # Errors
/// The reader's verdict on an event; an error if the stream stops, is too long, or ends before the answer is complete.
pub(in crate::llm) async fn read_events(
    mut answer: EndpointResponse,
    endpoint: &Endpoint,
    reader: &mut impl EventStream,
) -> Result<(), LlmError> {
    let mut decoder = SseDecoder::default();
    let mut flow = Flow::More;
    loop {
        let chunk = match answer.chunk().await {
            // The answer is there; how its connection ends is nobody's concern.
            Err(_) if flow == Flow::Complete => return Ok(()),
            Err(error) => return Err(error),
            Ok(chunk) => chunk,
        };
        let mut failed = None;
        let mut take = |event: Event| match one(&event, endpoint, reader) {
            Ok(next) => {
                if flow != Flow::Complete || next == Flow::End {
                    flow = next;
                }
                next != Flow::End
            }
            Err(error) => {
                failed = Some(error);
                false
            }
        };
        let at_end = match chunk {
            Some(chunk) => {
                decoder.feed(&chunk, &mut take);
                false
            }
            None => {
                if let Some(event) = decoder.finish() {
                    take(event);
                }
                true
            }
        };
        match failed {
            // The last event of a stream that broke is half an event.
            Some(_) if at_end && flow == Flow::More => return Err(ended()),
            Some(error) => return Err(error),
            None if flow == Flow::End => {
                answer.body.abandon();
                return Ok(());
            }
            None if at_end && flow == Flow::Complete => return Ok(()),
            None if at_end => return Err(ended()),
            None if flow == Flow::Complete => {
                answer.until.get_or_insert_with(|| time::now() + PATIENCE);
            }
            None => {}
        }
    }
}

fn ended() -> LlmError {
    LlmError::new(LlmErrorKind::Network, "the stream ended before the answer was complete")
}

fn one(event: &Event, endpoint: &Endpoint, reader: &mut impl EventStream) -> Result<Flow, LlmError> {
    let malformed = |what: &str| LlmError::new(LlmErrorKind::Malformed, what);
    let data =
        std::str::from_utf8(&event.data).map_err(|_| malformed("an event of the stream is not UTF-8"))?;
    if data.trim().is_empty() {
        return Ok(Flow::More);
    }
    reader.event(data).map_err(|error| LlmError { message: endpoint.scrub(&error.message), ..error })
}
