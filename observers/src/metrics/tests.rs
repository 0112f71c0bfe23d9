use super::*;

#[test]
fn the_format_follows_accept() {
    for (accept, format) in [
        (vec![], Format::Text),
        (vec!["*/*"], Format::Text),
        (vec!["text/plain"], Format::Text),
        (vec!["application/openmetrics-text"], Format::OpenMetrics),
        (
            vec!["application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5"],
            Format::OpenMetrics,
        ),
        (vec!["application/openmetrics-text;q=0.2", "text/plain;q=0.9"], Format::Text),
        (vec!["application/openmetrics-text;q=0"], Format::Text),
    ] {
        assert_eq!(Format::negotiate(accept.iter().copied()), format, "{accept:?}");
    }
}

#[test]
fn a_histogram_is_cumulative_and_shows_its_latest_examples() {
    let histogram = Histogram::new(&STEPS);
    for (value, number) in [(10, 1), (11, 2), (100, 3), (2_000_000_000, 4)] {
        histogram.observe(value, Some(EvalId::from_number(number)));
    }
    let buckets = histogram.buckets();
    let counts: Vec<u64> = buckets.iter().map(|bucket| bucket.cumulative).collect();
    assert_eq!(counts, [1, 3, 3, 3, 3, 3, 3, 3, 3, 4]);
    assert_eq!(buckets[1].example, Some((EvalId::from_number(3), 100.0)));
    assert_eq!((buckets[2].example, buckets[9].bound), (None, None));
    assert_eq!(histogram.sum(), 2_000_000_121.0);
}

#[test]
fn both_formats_are_written_as_their_readers_expect() {
    let write = |format| {
        let mut out = Exposition::new(format);
        out.family("a", "Help.", MetricKind::Counter).sample(&[("l", "x\"\\\n")], 3);
        let histogram = Histogram::of_durations();
        histogram.observe(250, Some(EvalId::from_number(7)));
        out.family("b_seconds", "Help.", MetricKind::Histogram).histogram(&[("s", "t")], &histogram);
        out.finish()
    };
    let text = write(Format::Text);
    assert!(
        text.starts_with("# HELP a_total Help.\n# TYPE a_total counter\na_total{l=\"x\\\"\\\\\\n\"} 3\n")
    );
    assert!(text.contains("b_seconds_bucket{s=\"t\",le=\"0.00025\"} 1\n"));
    assert!(text.ends_with("b_seconds_sum{s=\"t\"} 0.00025\nb_seconds_count{s=\"t\"} 1\n"));
    let open = write(Format::OpenMetrics);
    assert!(open.starts_with("# HELP a Help.\n# TYPE a counter\na_total{"));
    assert!(open.contains("le=\"0.00025\"} 1 # {eval_id=\"ev_00000007\"} 0.00025\n"));
    assert!(open.contains("le=\"+Inf\"} 1\n") && open.ends_with("# EOF\n"));
}

#[test]
fn labels_are_a_closed_set() {
    let metrics = Metrics::new(["lisp_eval".into()], ["fs".to_owned()]);
    let id = EvalId::from_number(1);
    metrics.count("lisp_eval", "ok", id, None);
    metrics.count("lisp_eval", "a reason nobody knows", id, None);
    metrics.count("not a tool", "ok", id, None);
    let mut out = Exposition::new(Format::Text);
    metrics.write(&mut out);
    let text = out.finish();
    assert!(text.contains("ptc_evals_total{tool=\"lisp_eval\",outcome=\"ok\"} 1\n"));
    assert!(text.contains("ptc_evals_total{tool=\"lisp_eval\",outcome=\"other\"} 1\n"));
    assert!(!text.contains("nobody") && !text.contains("not a tool"));
    assert!(text.contains("ptc_upstream_calls_total{server=\"fs\",outcome=\"timeout\"} 0\n"));
}

#[test]
fn tools_of_upstreams_have_labels_of_their_own_up_to_a_limit() {
    let metrics = Metrics::new(["lisp_eval".into()], ["fs".to_owned()]);
    let upstream = &metrics.upstreams["fs"];
    for number in 0..MAX_TOOLS + 3 {
        upstream.count_tool(&metrics.labelled_tools, &format!("tool{number}"), 0, 1_500_000);
    }
    for name in ["tool7", "tool7", "tool 9999", "a\u{202e}b\n"] {
        upstream.count_tool(&metrics.labelled_tools, name, 1, 0);
    }
    assert_eq!(upstream.tools.read().len(), MAX_TOOLS + 1, "and one for all others");
    let mut out = Exposition::new(Format::Text);
    metrics.write(&mut out);
    let text = out.finish();
    for line in [
        "ptc_upstream_tool_calls_total{server=\"fs\",tool=\"tool7\",outcome=\"ok\"} 1\n",
        "ptc_upstream_tool_calls_total{server=\"fs\",tool=\"tool7\",outcome=\"upstream_unavailable\"} 2\n",
        "ptc_upstream_tool_calls_total{server=\"fs\",tool=\"other\",outcome=\"ok\"} 3\n",
        "ptc_upstream_tool_calls_total{server=\"fs\",tool=\"other\",outcome=\"upstream_unavailable\"} 2\n",
        "ptc_upstream_tool_seconds_total{server=\"fs\",tool=\"tool7\"} 1.5\n",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    let fresh = Metrics::new([], ["fs".to_owned()]);
    fresh.upstreams["fs"].count_tool(&fresh.labelled_tools, "a\u{202e}b\n", 0, 0);
    let mut out = Exposition::new(Format::Text);
    fresh.write(&mut out);
    let text = out.finish();
    let line = text.lines().find(|line| line.starts_with("ptc_upstream_tool_calls_total{")).unwrap();
    assert!(line.is_ascii() && line.contains("202e"), "{line}");
}
