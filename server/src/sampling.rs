//! The operator's model that answers sampling requests of upstreams (`--sampling-model`; waiting.md 3.2).

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptc_agent::llm::{Connect, Image, Llm, LlmError, LlmRequest, Message, ModelRef, RetryPolicy, StopReason};
use ptc_host::aggregator::Sampler;
use ptc_host::config::ProcessEnv;
use ptc_host::credentials::Redactor;
use ptc_host::http::Client;
use ptc_host::time::Instant;
use ptc_host::upstream::{
    Sampled, SamplingContent, SamplingFault, SamplingMessage, SamplingRequest, SamplingStop,
};

/// Attempts of a request that fails temporarily. No pause goes beyond the time limit of the program.
const ATTEMPTS: u32 = 3;

/// A model that answers sampling requests. It is shown the upstream's messages, and no tools.
struct SamplingModel {
    llm: Arc<dyn Llm>,
    name: String,
}

/// Opens the model of that name, with keys and addresses of `env`. `redactor` learns the keys.
///
/// # Errors
/// One sentence for the operator.
pub(crate) fn open(
    name: &str,
    env: &ProcessEnv,
    http: Client,
    redactor: &Redactor,
) -> Result<Arc<dyn Sampler>, String> {
    let model = ModelRef::parse(name, None, env).map_err(|error| error.to_string())?;
    let retry = RetryPolicy::attempts(ATTEMPTS);
    let connect = Connect { http, retry, redactor: redactor.clone(), ..Connect::default() };
    let llm = model.connect(env, &connect).map_err(|error| error.to_string())?;
    Ok(Arc::new(SamplingModel { llm, name: model.model }))
}

impl Sampler for SamplingModel {
    fn sample(
        &self,
        request: SamplingRequest,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Sampled, SamplingFault>> {
        Box::pin(self.answer(request, deadline))
    }
}

impl SamplingModel {
    async fn answer(&self, request: SamplingRequest, deadline: Instant) -> Result<Sampled, SamplingFault> {
        let most = request.max_tokens;
        let messages = request.messages.into_iter().map(|message| self.message(message));
        let asked = LlmRequest {
            system: request.system.unwrap_or_default(),
            messages: messages.collect::<Result<_, _>>()?,
            turn: 1,
            max_tokens: Some(most),
            temperature: request.temperature.map(|temperature| temperature as f32),
            deadline: Some(deadline),
            ..LlmRequest::default()
        };
        let answer = self.llm.complete(asked).await.map_err(|error| gave_none(&error))?;
        let text = match (answer.content.filter(|text| !text.is_empty()), answer.stop) {
            (Some(text), _) => text,
            (None, StopReason::Refusal) => return Err(SamplingFault::model("the model declined to answer")),
            (None, StopReason::Length) => {
                let text = format!("the model came to no answer within {most} tokens");
                return Err(SamplingFault::model(text));
            }
            (None, _) => return Err(SamplingFault::model("the model answered nothing")),
        };
        let (text, stop) = match until_stop(&text, &request.stop_sequences) {
            Some(text) => (text.to_owned(), Some(SamplingStop::StopSequence)),
            None => (text, stop(answer.stop)),
        };
        let tokens = answer.usage.map(|usage| (usage.input, usage.output));
        Ok(Sampled { text, model: self.name.clone(), stop, tokens })
    }

    fn message(&self, message: SamplingMessage) -> Result<Message, SamplingFault> {
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        for part in message.content {
            match part {
                SamplingContent::Text(text) => texts.push(text),
                SamplingContent::Image { .. } if !self.llm.sees_images() => {
                    return Err(SamplingFault::request("the model takes no images"));
                }
                SamplingContent::Image { data, .. } => {
                    let image = Image::from_base64(&data);
                    images.push(image.map_err(|error| {
                        SamplingFault::request(format!("an image cannot be used: {error}"))
                    })?);
                }
            }
        }
        let content = texts.join("\n");
        Ok(match message.by_assistant {
            true => Message::assistant(content),
            false => Message::User { content, images },
        })
    }
}

/// The fault for the upstream. It has only the kind of the error, since the endpoint's own message is meant for the
/// operator.
fn gave_none(error: &LlmError) -> SamplingFault {
    let kind = error.kind.as_str();
    tracing::warn!(event = "sampling_model_failed", kind, error = %error);
    SamplingFault::model(match error.status {
        Some(status) => format!("the model gave no answer: {kind} (http {status})"),
        None => format!("the model gave no answer: {kind}"),
    })
}

fn stop(reason: StopReason) -> Option<SamplingStop> {
    match reason {
        StopReason::End => Some(SamplingStop::EndTurn),
        StopReason::Length => Some(SamplingStop::MaxTokens),
        StopReason::Refusal => Some(SamplingStop::Refusal),
        _ => None,
    }
}

/// The text before the first stop sequence; `None` if there is none in it. Not all providers support stop sequences,
/// nor as many, and those that do report less about them, so the answer is cut here.
fn until_stop<'t>(text: &'t str, sequences: &[String]) -> Option<&'t str> {
    let first = sequences.iter().filter_map(|sequence| text.find(sequence.as_str())).min()?;
    Some(&text[..first])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_agent::llm::{LlmErrorKind, LlmResponse, ScriptedLlm, Usage};
    use std::time::Duration;

    /// A PNG of one pixel.
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

    fn request(more: &str) -> SamplingRequest {
        let text = format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"image","data":"{PIXEL}","mimeType":"image/png"}},
            {{"type":"text","text":"What"}},{{"type":"text","text":"is it?"}}]}},
            {{"role":"assistant","content":{{"type":"text","text":"A"}}}}],"maxTokens":9,"systemPrompt":"Be brief."{more}}}"#
        );
        SamplingRequest::read(&text).unwrap()
    }

    fn model(results: Vec<Result<LlmResponse, LlmError>>) -> (SamplingModel, Arc<ScriptedLlm>) {
        let llm = Arc::new(ScriptedLlm::with_results(results));
        (SamplingModel { llm: llm.clone(), name: "m".into() }, llm)
    }

    async fn answer(response: LlmResponse, more: &str) -> Result<Sampled, SamplingFault> {
        let deadline = Instant::now() + Duration::from_secs(60);
        model(vec![Ok(response)]).0.sample(request(more), deadline).await
    }

    #[tokio::test]
    async fn the_model_is_shown_the_request_and_nothing_else() {
        let usage = Some(Usage { input: 10, output: 2, ..Usage::default() });
        let (model, llm) = model(vec![Ok(LlmResponse { usage, ..LlmResponse::text("pixel") })]);
        let deadline = Instant::now() + Duration::from_secs(60);
        let sampled = model.sample(request(r#","temperature":0.5"#), deadline).await.unwrap();
        let stop = Some(SamplingStop::EndTurn);
        assert_eq!(sampled, Sampled { text: "pixel".into(), model: "m".into(), stop, tokens: Some((10, 2)) });
        let asked = &llm.requests()[0];
        assert_eq!(
            (asked.system.as_str(), asked.max_tokens, asked.temperature),
            ("Be brief.", Some(9), Some(0.5))
        );
        assert_eq!(asked.deadline, Some(deadline));
        assert!(asked.tools.is_empty() && asked.schema.is_none());
        let image = Image::from_base64(PIXEL).unwrap();
        assert_eq!(
            asked.messages,
            [Message::User { content: "What\nis it?".into(), images: vec![image] }, Message::assistant("A")]
        );
    }

    #[tokio::test]
    async fn an_answer_ends_where_it_shall() {
        let of = |text: &str, stop: StopReason| LlmResponse { stop, ..LlmResponse::text(text) };
        let said = async |response: LlmResponse, more: &str| {
            let sampled = answer(response, more).await.unwrap();
            (sampled.text, sampled.stop)
        };
        let stops = r#","stopSequences":["END","\n\n"]"#;
        let cut = Some(SamplingStop::StopSequence);
        assert_eq!(said(of("a END b\n\nc", StopReason::End), stops).await, ("a ".to_owned(), cut));
        assert_eq!(said(of("a\n\nEND", StopReason::Length), stops).await, ("a".to_owned(), cut));
        assert_eq!(said(of("a", StopReason::Length), stops).await.1, Some(SamplingStop::MaxTokens));
        assert_eq!(said(of("no", StopReason::Refusal), "").await.1, Some(SamplingStop::Refusal));
        assert_eq!(said(of("a", StopReason::Other), "").await.1, None);
    }

    #[tokio::test]
    async fn no_answer_says_why_without_an_endpoints_words() {
        for (stop, told) in [
            (StopReason::End, "the model answered nothing"),
            (StopReason::Length, "the model came to no answer within 9 tokens"),
            (StopReason::Refusal, "the model declined to answer"),
        ] {
            let response = LlmResponse { stop, ..LlmResponse::default() };
            assert_eq!(answer(response, "").await, Err(SamplingFault::model(told)));
        }
        let busy = LlmError {
            status: Some(429),
            ..LlmError::new(LlmErrorKind::RateLimit, "key sk-123 is over its quota")
        };
        let (model, _) =
            model(vec![Err(busy), Err(LlmError::new(LlmErrorKind::Network, "10.0.0.7: refused"))]);
        let deadline = Instant::now() + Duration::from_secs(60);
        for told in ["the model gave no answer: rate_limit (http 429)", "the model gave no answer: network"] {
            assert_eq!(model.sample(request(""), deadline).await, Err(SamplingFault::model(told)));
        }
    }

    #[tokio::test]
    async fn images_need_a_model_that_takes_them() {
        let blind = |_: LlmRequest| async { Ok::<_, LlmError>(LlmResponse::text("x")) };
        let model = SamplingModel { llm: Arc::new(blind), name: "m".into() };
        let deadline = Instant::now() + Duration::from_secs(60);
        let fault = model.sample(request(""), deadline).await.unwrap_err();
        assert_eq!(fault, SamplingFault::request("the model takes no images"));
        let text = r#"{"messages":[{"role":"user","content":{"type":"image","data":"bm90IGFuIGltYWdl","mimeType":"image/png"}}],"maxTokens":9}"#;
        let (sees, llm) = super::tests::model(Vec::new());
        let fault = sees.sample(SamplingRequest::read(text).unwrap(), deadline).await.unwrap_err();
        assert!(fault.message.starts_with("an image cannot be used: "), "{fault}");
        assert!(llm.requests().is_empty());
    }

    #[test]
    fn a_name_that_is_none_is_told_before_anything_starts() {
        let env = ProcessEnv::default();
        let told = |name: &str| match open(name, &env, Client::new(), &Redactor::new()) {
            Ok(_) => panic!("{name}"),
            Err(why) => why,
        };
        assert!(told("nonsense").starts_with("unknown model 'nonsense'"), "{}", told("nonsense"));
        assert!(told("openai:gpt").contains("OPENAI_API_KEY"), "{}", told("openai:gpt"));
    }
}
