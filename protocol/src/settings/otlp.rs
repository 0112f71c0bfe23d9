//! What an OpenTelemetry collector is told.

use std::path::PathBuf;
use std::time::Duration;

use ptc_host::credentials::Secret;
use url::Url;

/// The export of spans and metrics by OTLP over HTTP.
#[derive(Debug, Clone, PartialEq)]
pub struct Otlp {
    /// The URL for spans; `None` if none are exported.
    pub traces: Option<Url>,
    /// The URL for metrics; `None` if none are exported.
    pub metrics: Option<Url>,
    /// Headers of each request: valid names and values.
    pub headers: Vec<(String, Secret)>,
    /// PEM file of an authority that the collector's certificate may be from, besides the system's.
    pub certificate: Option<PathBuf>,
    /// The time limit of a request.
    pub timeout: Duration,
    /// `service.name` and the other attributes of this process, without those that it knows itself.
    pub resource: Vec<(String, String)>,
    /// Which traces are recorded.
    pub sampler: Sampler,
    /// Most spans that wait for being sent.
    pub queue: usize,
    /// Most spans of one request.
    pub batch: usize,
    /// The longest wait of a span.
    pub delay: Duration,
    /// The time between two exports of metrics.
    pub interval: Duration,
}

/// Which traces are recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// True if the decision of the client counts, where it sent one.
    pub asks_client: bool,
    /// The share of the others that is recorded, 0 to 1.
    pub ratio: f64,
}

impl Default for Sampler {
    /// `parentbased_always_on`
    fn default() -> Self {
        Sampler { asks_client: true, ratio: 1.0 }
    }
}
