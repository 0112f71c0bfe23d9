use super::{Recorder, ReplayError, Replayer};
use crate::llm::testing::full_request;
use crate::llm::{Llm, LlmError, LlmErrorKind, LlmRequest, LlmResponse, ScriptedLlm, ToolCall, Usage};
use ptc_base::json::json;
use ptc_base::redactor::Redactor;
use ptc_base::secret::Secret;
use std::time::Duration;

fn redactor() -> Redactor {
    let redactor = Redactor::new();
    redactor.register([&Secret::new("s3cret-s3cret")]).unwrap();
    redactor
}

fn asks(text: &str) -> LlmRequest {
    LlmRequest { system: text.into(), schema: Some(json!({"max": 1e3})), ..full_request() }
}

/// A recording of three exchanges in its file, and what the model answered.
async fn recording(folder: &std::path::Path) -> (std::path::PathBuf, Vec<Result<LlmResponse, LlmError>>) {
    let usage = Usage { input: 1, output: 2, total_cost: Some(0.125), ..Usage::default() };
    let calls = vec![
        ToolCall::from_text(Some("c".into()), "t", "{\"n\": 12345678901234567890123, \"d\": 1.10}"),
        ToolCall::from_text(None, "u", "{oops"),
    ];
    let refused = LlmError {
        status: Some(429),
        retry_after: Some(Duration::from_millis(1500)),
        ..LlmError::new(LlmErrorKind::RateLimit, "slow down")
    };
    let answers = vec![
        Ok(LlmResponse { usage: Some(usage), ..LlmResponse::calls(calls) }),
        Err(refused),
        Ok(LlmResponse::text("s3cret-s3cret is out")),
    ];
    let path = folder.join("talk.jsonl");
    let recorder = Recorder::create(&path, ScriptedLlm::with_results(answers.clone())).unwrap();
    let recorder = recorder.redactor(redactor());
    for text in ["one", "two", "my s3cret-s3cret"] {
        let _ = recorder.complete(asks(text)).await;
    }
    (path, answers)
}

#[tokio::test]
async fn a_conversation_is_replayed_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (path, answers) = recording(folder.path()).await;
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    assert_eq!(text.lines().count(), 3);
    let replayer = Replayer::open(&path).unwrap().redactor(redactor());
    // In another order: concurrent runs find their own answers.
    let deadline = Some(tokio::time::Instant::now());
    let third = replayer.complete(asks("my s3cret-s3cret")).await.unwrap();
    assert_eq!(third.content.as_deref(), Some("[REDACTED] is out"));
    assert!(matches!(replayer.finish(), Err(ReplayError::Unused { unused: 2, first: 1 })));
    assert_eq!(replayer.complete(LlmRequest { deadline, ..asks("one") }).await, answers[0]);
    assert_eq!(replayer.complete(asks("two")).await, answers[1]);
    replayer.finish().unwrap();
    let again = replayer.complete(asks("two")).await.unwrap_err();
    assert_eq!(again.to_string(), "the recording has no further exchange");
}

#[tokio::test]
async fn a_request_that_was_not_recorded_says_where_it_differs() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = recording(folder.path()).await;
    let replayer = Replayer::open(&path).unwrap().redactor(redactor());
    let error = replayer.complete(asks("other")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the request is not the recorded one of line 1: at /system, character 1, it has \"other\" instead of \"one\""
    );
}

#[test]
fn files_are_not_overwritten_and_lines_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let recorder = Recorder::create(&path, ScriptedLlm::new([])).unwrap();
    drop(recorder);
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    assert!(Recorder::create(&path, ScriptedLlm::new([])).is_err());
    let error = Replayer::parse("\n{\"request\":{}}").unwrap_err().to_string();
    assert_eq!(error, "recording, line 2: needs either a response or an error");
    assert!(Replayer::parse("oops").unwrap_err().to_string().starts_with("recording, line 1: "));
    assert!(Replayer::open(&folder.path().join("none")).is_err());
}
