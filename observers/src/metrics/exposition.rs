//! Writes metric families in the Prometheus text format, or in OpenMetrics, which adds exemplars.

use std::fmt::{Display, Write};

use super::histogram::Histogram;

/// The two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// The format that `Accept` asks for: OpenMetrics if it is listed and not less preferred than plain text.
    pub fn negotiate<'a>(accept: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut open_metrics, mut text) = (0.0, 0.0);
        for range in accept.into_iter().flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default().to_ascii_lowercase();
            let weight = parts
                .filter_map(|part| part.strip_prefix("q="))
                .find_map(|weight| weight.parse::<f64>().ok())
                .unwrap_or(1.0);
            match media.as_str() {
                "application/openmetrics-text" => open_metrics = weight.max(open_metrics),
                "text/plain" | "text/*" => text = weight.max(text),
                _ => {}
            }
        }
        if open_metrics > 0.0 && open_metrics >= text { Format::OpenMetrics } else { Format::Text }
    }

    /// The media type of the format.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows. Its name is given without `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution.
    Histogram,
}

/// The text being written.
#[derive(Debug)]
pub struct Exposition {
    out: String,
    format: Format,
    /// The families so far, where they are not written as a text.
    #[cfg(feature = "otel")]
    collected: Option<Vec<CollectedFamily>>,
}

/// A family whose samples are being written.
#[derive(Debug)]
pub struct Family<'e> {
    out: &'e mut String,
    format: Format,
    name: &'static str,
    kind: MetricKind,
    #[cfg(feature = "otel")]
    collected: Option<&'e mut CollectedFamily>,
}

/// A family as data.
#[cfg(feature = "otel")]
#[derive(Debug)]
pub(crate) struct CollectedFamily {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: MetricKind,
    /// The labels and the value of each sample.
    pub(crate) samples: Vec<(Vec<(String, String)>, CollectedValue)>,
}

/// The value of a sample as data.
#[cfg(feature = "otel")]
#[derive(Debug)]
pub(crate) enum CollectedValue {
    /// A number as it would be printed.
    Number(String),
    /// The bounds of the buckets but for the last one, the counts of all buckets, and the sum of the values.
    Histogram(Vec<f64>, Vec<u64>, f64),
}

impl Exposition {
    /// An empty text.
    pub fn new(format: Format) -> Self {
        Exposition {
            out: String::with_capacity(16 << 10),
            format,
            #[cfg(feature = "otel")]
            collected: None,
        }
    }

    /// The families that `write` writes, as data.
    #[cfg(feature = "otel")]
    pub(crate) fn collect(write: impl FnOnce(&mut Exposition)) -> Vec<CollectedFamily> {
        let mut to = Exposition { out: String::new(), format: Format::Text, collected: Some(Vec::new()) };
        write(&mut to);
        to.collected.unwrap_or_default()
    }

    /// Begins a family. Help is one plain sentence.
    pub fn family(&mut self, name: &'static str, help: &'static str, kind: MetricKind) -> Family<'_> {
        #[cfg(feature = "otel")]
        if let Some(families) = &mut self.collected {
            families.push(CollectedFamily { name, help, kind, samples: Vec::new() });
            let collected = families.last_mut();
            return Family { out: &mut self.out, format: self.format, name, kind, collected };
        }
        // The two formats name a counter differently in its head, and alike in its samples.
        let shown = match (kind, self.format) {
            (MetricKind::Counter, Format::Text) => format!("{name}_total"),
            _ => name.to_owned(),
        };
        let word = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        self.out.push_str(&format!("# HELP {shown} {help}\n# TYPE {shown} {word}\n"));
        Family {
            out: &mut self.out,
            format: self.format,
            name,
            kind,
            #[cfg(feature = "otel")]
            collected: None,
        }
    }

    /// The whole text.
    pub fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }
}

impl Family<'_> {
    /// One sample of a counter or gauge.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        #[cfg(feature = "otel")]
        if let Some(collected) = &mut self.collected {
            collected.samples.push((owned(labels), CollectedValue::Number(value.to_string())));
            return;
        }
        let suffix = if self.kind == MetricKind::Counter { "_total" } else { "" };
        self.head(suffix, labels, None);
        self.put(value);
        self.out.push('\n');
    }

    /// The samples of a distribution.
    pub fn histogram(&mut self, labels: &[(&str, &str)], histogram: &Histogram) {
        let buckets = histogram.buckets();
        #[cfg(feature = "otel")]
        if let Some(collected) = &mut self.collected {
            let mut below = 0;
            let counts = buckets.iter().map(|bucket| {
                let before = std::mem::replace(&mut below, bucket.cumulative);
                bucket.cumulative.saturating_sub(before)
            });
            let bounds = buckets.iter().filter_map(|bucket| bucket.bound).collect();
            let value = CollectedValue::Histogram(bounds, counts.collect(), histogram.sum());
            collected.samples.push((owned(labels), value));
            return;
        }
        for bucket in &buckets {
            let bound = bucket.bound.map_or_else(|| "+Inf".to_owned(), float);
            self.head("_bucket", labels, Some(&bound));
            self.put(bucket.cumulative);
            if let (Some((eval_id, value)), Format::OpenMetrics) = (bucket.example, self.format) {
                self.put(format_args!(" # {{eval_id=\"{eval_id}\"}} {}", float(value)));
            }
            self.out.push('\n');
        }
        self.head("_sum", labels, None);
        self.put(float(histogram.sum()));
        self.out.push('\n');
        self.head("_count", labels, None);
        self.put(buckets.last().map_or(0, |all| all.cumulative));
        self.out.push('\n');
    }

    fn head(&mut self, suffix: &str, labels: &[(&str, &str)], bound: Option<&str>) {
        self.out.push_str(self.name);
        self.out.push_str(suffix);
        let mut separator = '{';
        for (name, value) in labels.iter().copied().chain(bound.map(|bound| ("le", bound))) {
            self.out.push(separator);
            self.out.push_str(name);
            self.out.push_str("=\"");
            for c in value.chars() {
                match c {
                    '\\' => self.out.push_str("\\\\"),
                    '"' => self.out.push_str("\\\""),
                    '\n' => self.out.push_str("\\n"),
                    other => self.out.push(other),
                }
            }
            self.out.push('"');
            separator = ',';
        }
        self.out.push_str(if separator == ',' { "} " } else { " " });
    }

    fn put(&mut self, value: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{value}");
    }
}

/// The labels of a sample, as data.
#[cfg(feature = "otel")]
fn owned(labels: &[(&str, &str)]) -> Vec<(String, String)> {
    labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A number in the form of both formats: with a point, so that a bound is spelled the same way everywhere.
fn float(value: f64) -> String {
    format!("{value:?}")
}
