//! What one round of load measures, and how rounds are told.

/// What one round measured.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Round {
    pub(crate) requests_per_second: f64,
    /// Microseconds of latency: median, 99th and 99.9th percentile.
    pub(crate) latency: [f64; 3],
    /// CPU seconds of the server for 10 000 requests.
    pub(crate) cpu: f64,
    /// Most memory the server ever had, in MiB.
    pub(crate) memory: f64,
}

/// Begins a table.
pub(crate) fn head(title: &str) {
    println!("\n| {title} | requests/s | p50 µs | p99 µs | p99.9 µs | CPU s per 10 000 | peak MiB |");
    println!("|---|---|---|---|---|---|---|");
}

/// One side's row.
pub(crate) fn report(name: &str, rounds: &[Round]) {
    let Round { requests_per_second, latency: [p50, p99, p999], cpu, memory } = median(rounds);
    println!(
        "| {name} | {requests_per_second:.0} | {p50:.0} | {p99:.0} | {p999:.0} | {cpu:.3} | {memory:.1} |"
    );
}

/// Both sides' rows, and the first as a part of the second.
pub(crate) fn compare(name: &str, own: (&str, &[Round]), other: (&str, &[Round])) {
    report(&format!("{name}, {}", own.0), own.1);
    report(&format!("{name}, {}", other.0), other.1);
    ratio(name, own, other);
}

/// The first side as a part of the second.
pub(crate) fn ratio(name: &str, own: (&str, &[Round]), other: (&str, &[Round])) {
    let (ours, theirs) = (median(own.1), median(other.1));
    println!(
        "| {name}, {} : {} | {:.0} % | | | | {:.2} × | |",
        own.0,
        other.0,
        100.0 * ours.requests_per_second / theirs.requests_per_second,
        ours.cpu / theirs.cpu
    );
}

/// The median of each figure.
fn median(rounds: &[Round]) -> Round {
    let of = |figure: fn(&Round) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(figure).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    Round {
        requests_per_second: of(|round| round.requests_per_second),
        latency: [of(|round| round.latency[0]), of(|round| round.latency[1]), of(|round| round.latency[2])],
        cpu: of(|round| round.cpu),
        memory: of(|round| round.memory),
    }
}

/// Percentiles of latencies in microseconds.
pub(crate) fn percentiles(mut latencies: Vec<u32>) -> [f64; 3] {
    latencies.sort_unstable();
    let at = |q: f64| {
        latencies.get(((latencies.len() as f64 * q) as usize).min(latencies.len().saturating_sub(1)))
    };
    [0.5, 0.99, 0.999].map(|q| at(q).copied().map_or(f64::NAN, f64::from))
}
