//! The families of `/metrics` as OTLP has them.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, Sum,
};

use super::attribute::text;
use crate::metrics::{CollectedFamily, CollectedValue, MetricKind};

/// The families as metrics. `began`: when the process began to count, `now`: both in nanoseconds since 1970.
pub(super) fn of_families(families: Vec<CollectedFamily>, began: u64, now: u64) -> Vec<Metric> {
    let times = (began, now);
    families
        .into_iter()
        .filter(|family| !family.samples.is_empty())
        .map(|family| metric(family, times))
        .collect()
}

fn metric(family: CollectedFamily, times: (u64, u64)) -> Metric {
    let CollectedFamily { name, help, kind, samples } = family;
    let cumulative = AggregationTemporality::Cumulative.into();
    let data = match kind {
        MetricKind::Gauge => Data::Gauge(Gauge { data_points: numbers(samples, times) }),
        MetricKind::Counter => Data::Sum(Sum {
            data_points: numbers(samples, times),
            aggregation_temporality: cumulative,
            is_monotonic: true,
        }),
        MetricKind::Histogram => Data::Histogram(Histogram {
            data_points: samples.into_iter().filter_map(|sample| distribution(sample, times)).collect(),
            aggregation_temporality: cumulative,
        }),
    };
    Metric {
        name: name.to_owned(),
        description: help.to_owned(),
        unit: unit(name).to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

/// The unit that the end of a family's name says.
fn unit(name: &str) -> &'static str {
    match name.rsplit('_').next() {
        Some("seconds") => "s",
        Some("bytes") => "By",
        _ => "1",
    }
}

fn numbers(
    samples: Vec<(Vec<(String, String)>, CollectedValue)>,
    (began, now): (u64, u64),
) -> Vec<NumberDataPoint> {
    let point = |(labels, value)| {
        let CollectedValue::Number(printed) = value else { return None };
        let value = match printed.parse() {
            Ok(whole) => Value::AsInt(whole),
            Err(_) => Value::AsDouble(printed.parse().ok()?),
        };
        Some(NumberDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: began,
            time_unix_nano: now,
            value: Some(value),
            ..NumberDataPoint::default()
        })
    };
    samples.into_iter().filter_map(point).collect()
}

fn distribution(
    (labels, value): (Vec<(String, String)>, CollectedValue),
    (began, now): (u64, u64),
) -> Option<HistogramDataPoint> {
    let CollectedValue::Histogram(explicit_bounds, bucket_counts, sum) = value else { return None };
    Some(HistogramDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: began,
        time_unix_nano: now,
        count: bucket_counts.iter().sum(),
        sum: Some(sum),
        bucket_counts,
        explicit_bounds,
        ..HistogramDataPoint::default()
    })
}

fn attributes(labels: Vec<(String, String)>) -> Vec<KeyValue> {
    labels.into_iter().map(|(name, value)| text(&name, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Exposition, Histogram};

    #[test]
    fn families_become_metrics_of_their_kind() {
        let metrics = of_families(
            Exposition::collect(|to| {
                to.family("a", "Help.", MetricKind::Counter).sample(&[("l", "x\"")], 3);
                to.family("b_bytes", "Help.", MetricKind::Gauge).sample(&[], 1.5);
                let histogram = Histogram::of_durations();
                histogram.observe(250, None);
                histogram.observe(90_000_000, None);
                to.family("c_seconds", "Help.", MetricKind::Histogram).histogram(&[], &histogram);
                to.family("none", "Help.", MetricKind::Gauge);
            }),
            1,
            2,
        );
        let units: Vec<(&str, &str)> = metrics.iter().map(|metric| (&*metric.name, &*metric.unit)).collect();
        assert_eq!(units, [("a", "1"), ("b_bytes", "By"), ("c_seconds", "s")]);
        let Some(Data::Sum(sum)) = &metrics[0].data else { panic!("{metrics:?}") };
        assert!(sum.is_monotonic);
        assert_eq!(sum.data_points[0].value, Some(Value::AsInt(3)));
        assert_eq!(sum.data_points[0].attributes, [text("l", "x\"")]);
        assert_eq!((sum.data_points[0].start_time_unix_nano, sum.data_points[0].time_unix_nano), (1, 2));
        let Some(Data::Gauge(gauge)) = &metrics[1].data else { panic!("{metrics:?}") };
        assert_eq!(gauge.data_points[0].value, Some(Value::AsDouble(1.5)));
        let Some(Data::Histogram(histogram)) = &metrics[2].data else { panic!("{metrics:?}") };
        let point = &histogram.data_points[0];
        assert_eq!((point.count, point.sum), (2, Some(90.00025)));
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        assert_eq!((point.bucket_counts[2], point.bucket_counts.last()), (1, Some(&1)));
    }
}
