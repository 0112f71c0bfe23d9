//! Sends spans and metrics to the collector, from a thread of its own.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::metrics::v1::{ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use ptc_host::http::{Client, HttpError, Limits, Request, Target};
use ptc_host::sync::Mutex;
use ptc_host::time::{self, sleep, sleep_until};
use ptc_protocol::identity;
use ptc_protocol::settings::Otlp;
use tokio::sync::watch;
use tracing::{info, warn};

use super::attribute::text;
use super::figures::of_families;
use super::queue::SpanQueue;
use super::spans::{export_request, now_nanos};
use crate::metrics::Exposition;

/// Bytes of an answer that are read: a refusal of a part says nothing that could be done again.
const MAX_ANSWER: usize = 64 << 10;
/// The pauses before the further attempts of a request.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// The longest pause that a collector may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Writes all metric families of the process.
pub type MetricSource = Box<dyn Fn(&mut Exposition) + Send + Sync>;

/// The sending side.
pub(super) struct Exporter {
    client: Client,
    /// Where spans go, and where metrics go.
    targets: [Option<Target>; 2],
    headers: HeaderMap,
    resource: Resource,
    /// The messages of the process and of what makes the spans.
    resource_text: Vec<u8>,
    scope_text: Vec<u8>,
    timeout: Duration,
    delay: Duration,
    interval: Duration,
    /// When the process began to count, in nanoseconds since 1970.
    began: u64,
    queue: Arc<SpanQueue>,
    /// What is told of the collector: whether the last request failed.
    is_failing: bool,
    /// Lost spans that have been told of.
    told: u64,
}

/// Why a request failed.
struct Failed {
    why: String,
    /// The pause before another attempt, where one may succeed; zero for the usual one.
    again: Option<Duration>,
}

impl Exporter {
    /// # Errors
    /// If a URL cannot be requested.
    pub(super) fn new(options: &Otlp, client: Client, queue: Arc<SpanQueue>) -> Result<Exporter, HttpError> {
        let target = |url: &Option<url::Url>| url.as_ref().map(Target::new).transpose();
        let mut headers: HeaderMap = options
            .headers
            .iter()
            .filter_map(|(name, value)| Some((HeaderName::try_from(&**name).ok()?, value.header_value("")?)))
            .collect();
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("ptc/", env!("CARGO_PKG_VERSION"))));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        let resource = resource(&options.resource);
        Ok(Exporter {
            client,
            targets: [target(&options.traces)?, target(&options.metrics)?],
            headers,
            resource_text: resource.encode_to_vec(),
            scope_text: scope().encode_to_vec(),
            resource,
            timeout: options.timeout,
            delay: options.delay,
            interval: options.interval,
            began: now_nanos(),
            queue,
            is_failing: false,
            told: 0,
        })
    }

    /// Sends until `closing` says so, then what is left.
    pub(super) async fn run(
        mut self,
        source: Arc<Mutex<Option<MetricSource>>>,
        mut closing: watch::Receiver<bool>,
    ) {
        let mut next_metrics = time::now() + self.interval;
        let mut next_spans = time::now() + self.delay;
        while !*closing.borrow() {
            tokio::select! {
                _ = closing.wait_for(|closing| *closing) => {}
                () = self.queue.is_worth_it.notified() => {}
                () = sleep_until(next_spans.min(next_metrics)) => {}
            }
            self.send_spans(&mut closing).await;
            next_spans = time::now() + self.delay;
            if time::now() >= next_metrics {
                self.send_metrics(&source, &mut closing).await;
                next_metrics = time::now() + self.interval;
            }
        }
        self.send_spans(&mut closing).await;
        self.send_metrics(&source, &mut closing).await;
        // What it reads may end now.
        source.lock().take();
        self.tell_lost();
    }

    /// Sends all spans that wait.
    async fn send_spans(&mut self, closing: &mut watch::Receiver<bool>) {
        loop {
            let spans = self.queue.take_batch();
            if spans.is_empty() {
                return self.tell_lost();
            }
            let count = spans.len() as u64;
            let request = export_request(&self.resource_text, &self.scope_text, &spans);
            let counted = match self.deliver(0, request.into(), closing).await {
                true => &self.queue.exported,
                false => &self.queue.failed,
            };
            counted.fetch_add(count, Ordering::Relaxed);
        }
    }

    async fn send_metrics(
        &mut self,
        source: &Mutex<Option<MetricSource>>,
        closing: &mut watch::Receiver<bool>,
    ) {
        if self.targets[1].is_none() {
            return;
        }
        let families = source.lock().as_ref().map(Exposition::collect);
        let Some(families) = families else { return };
        let metrics = of_families(families, self.began, now_nanos());
        let request = ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(self.resource.clone()),
                scope_metrics: vec![ScopeMetrics {
                    scope: Some(scope()),
                    metrics,
                    ..ScopeMetrics::default()
                }],
                ..ResourceMetrics::default()
            }],
        };
        self.deliver(1, request.encode_to_vec().into(), closing).await;
    }

    /// Delivers a message, with retries unless the process is about to end. Whether it was taken.
    async fn deliver(&mut self, target: usize, body: Bytes, closing: &mut watch::Receiver<bool>) -> bool {
        let Some(target) = self.targets[target].clone() else { return true };
        let mut pauses = PAUSES.into_iter();
        loop {
            let failed = match self.attempt(target.clone(), body.clone()).await {
                Ok(()) => {
                    if std::mem::take(&mut self.is_failing) {
                        info!(event = "otlp_export_recovered");
                    }
                    return true;
                }
                Err(failed) => failed,
            };
            if !std::mem::replace(&mut self.is_failing, true) {
                warn!(event = "otlp_export_failed", reason = failed.why);
            }
            let (Some(wanted), Some(pause)) = (failed.again, pauses.next()) else { return false };
            tokio::select! {
                // There is time for one more attempt.
                _ = closing.wait_for(|closing| *closing) => pauses.by_ref().for_each(drop),
                () = sleep(pause.max(wanted)) => {}
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: Exporter.attempt")]
    async fn attempt(&self, target: Target, body: Bytes) -> Result<(), Failed> {
        let failed = |error: HttpError| Failed { why: error.to_string(), again: Some(Duration::ZERO) };
        let request = Request { method: Method::POST, target, headers: self.headers.clone(), body };
        let limits = Limits {
            connect: self.timeout,
            first_byte: None,
            total: self.timeout,
            deadline: time::now() + self.timeout,
            max_bytes: MAX_ANSWER,
            allowance: 0,
        };
        let response = self.client.send(request, &limits).await.map_err(failed)?;
        let (status, again) = (response.status, may_pass(response.status, &response.headers));
        // Read to its end, so that the connection can be used again.
        let _ = response.body.collect().await;
        match status.is_success() {
            true => Ok(()),
            false => Err(Failed { why: status.to_string(), again }),
        }
    }

    /// Tells of spans that were lost since it was last told.
    fn tell_lost(&mut self) {
        let lost = self.queue.lost();
        let fresh = lost - std::mem::replace(&mut self.told, lost);
        if fresh > 0 {
            warn!(event = "otlp_spans_lost", spans = fresh, since_start = lost);
        }
    }
}

/// The pause that a collector wants before another attempt, which may succeed; `None` if none may.
fn may_pass(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let passing = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    let seconds = || headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok();
    passing.contains(&status).then(|| Duration::from_secs(seconds().unwrap_or(0)).min(LONGEST_PAUSE))
}

/// The attributes of this process.
fn resource(given: &[(String, String)]) -> Resource {
    let own = [
        ("service.name", "ptc".to_owned()),
        ("service.version", identity::VERSION.to_owned()),
        ("service.instance.id", format!("{:016x}", getrandom::u64().unwrap_or_default())),
        ("process.pid", std::process::id().to_string()),
    ];
    let own = own.into_iter().filter(|(name, _)| !given.iter().any(|(known, _)| known == name));
    let given = given.iter().map(|(name, value)| text(name, value.as_str()));
    let attributes = own.map(|(name, value)| text(name, value)).chain(given).collect();
    Resource { attributes, ..Resource::default() }
}

fn scope() -> InstrumentationScope {
    let (name, version) = ("ptc".to_owned(), identity::VERSION.to_owned());
    InstrumentationScope { name, version, ..InstrumentationScope::default() }
}
