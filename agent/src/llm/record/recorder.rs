//! Recording a conversation.

use super::super::{EventSink, Llm, LlmError, LlmRequest, LlmResponse};
use super::Exchange;
use futures_util::future::BoxFuture;
use ptc_base::redactor::Redactor;
use ptc_base::sync::Mutex;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A model whose conversations are written to a file.
///
/// A request holds no key of the provider. Results of tools may hold other secrets: the redactor that [`Recorder::redactor`]
/// sets scrubs every text before it is written. Each exchange is written as soon as it ends, so a recording of a killed process
/// is complete up to that point.
#[derive(Debug)]
pub struct Recorder<L> {
    inner: L,
    file: Mutex<File>,
    redactor: Redactor,
    broken: AtomicBool,
}

impl<L: Llm> Recorder<L> {
    /// Records the exchanges with `inner` into a new file that only this user can read.
    ///
    /// # Errors
    /// The file exists already, or cannot be made.
    pub fn create(path: &Path, inner: L) -> io::Result<Recorder<L>> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = Mutex::new(options.open(path)?);
        Ok(Recorder { inner, file, redactor: Redactor::new(), broken: AtomicBool::new(false) })
    }

    /// Scrubs the recorded texts.
    #[must_use]
    pub fn redactor(mut self, redactor: Redactor) -> Recorder<L> {
        self.redactor = redactor;
        self
    }

    /// Writes one exchange. A failed write is reported once and does not end the conversation.
    fn write(&self, request: &LlmRequest, result: &Result<LlmResponse, LlmError>) {
        let exchange = Exchange {
            request: ptc_base::json::to_value(request).unwrap_or_default(),
            response: result.as_ref().ok().cloned(),
            error: result.as_ref().err().cloned(),
        };
        let mut line = ptc_base::json::to_value(&exchange).unwrap_or_default();
        self.redactor.scrub_json(&mut line);
        let mut file = self.file.lock();
        let written = file.write_all(format!("{line}\n").as_bytes());
        if let Err(error) = written
            && !self.broken.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(target: "ptc_runner.llm", %error, "the recording cannot be written and is incomplete");
        }
    }
}

impl<L: Llm> Llm for Recorder<L> {
    fn complete(&self, request: LlmRequest) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        Box::pin(async move {
            let result = self.inner.complete(request.clone()).await;
            self.write(&request, &result);
            result
        })
    }

    fn stream(&self, request: LlmRequest, sink: EventSink) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        Box::pin(async move {
            let result = self.inner.stream(request.clone(), sink).await;
            self.write(&request, &result);
            result
        })
    }

    fn model(&self) -> Option<&str> {
        self.inner.model()
    }

    fn sees_images(&self) -> bool {
        self.inner.sees_images()
    }
}
