//! The operating system's figures for this process, under the conventional names.

use std::time::UNIX_EPOCH;

use super::{Exposition, MetricKind};
use ptc_host::time;

/// Clock ticks a second in `/proc`: fixed by the kernel's interface on every platform this runs on.
const TICKS: f64 = 100.0;

/// Writes the metric families of the process. Figures that cannot be read are omitted.
#[expect(clippy::disallowed_methods, reason = "entry point: write_process()")]
pub(crate) fn write_process(to: &mut Exposition) {
    if let Some(bytes) = resident_bytes() {
        to.family("process_resident_memory_bytes", "Resident memory.", MetricKind::Gauge).sample(&[], bytes);
    }
    if let Some(stat) = std::fs::read_to_string("/proc/self/stat").ok().as_deref().and_then(Stat::parse) {
        to.family("process_cpu_seconds", "User and system time spent.", MetricKind::Counter)
            .sample(&[], stat.cpu_ticks as f64 / TICKS);
        to.family("process_threads", "Threads.", MetricKind::Gauge).sample(&[], stat.threads);
        if let Some(start) = stat.started_at() {
            to.family(
                "process_start_time_seconds",
                "Start of the process, seconds since 1970.",
                MetricKind::Gauge,
            )
            .sample(&[], start);
        }
    }
    if let Ok(entries) = std::fs::read_dir("/proc/self/fd") {
        // One of them is the descriptor that lists them.
        let open = entries.count().saturating_sub(1);
        to.family("process_open_fds", "Open file descriptors.", MetricKind::Gauge).sample(&[], open);
    }
}

/// Resident memory of this process.
#[expect(clippy::disallowed_methods, reason = "entry point: resident_bytes()")]
pub(super) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    Some(kib?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Some fields of `/proc/self/stat`.
struct Stat {
    cpu_ticks: u64,
    threads: u64,
    /// Since the machine started.
    start_ticks: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Stat> {
        // The name of the command is in parentheses and may contain any character.
        let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Stat { cpu_ticks: number(11)? + number(12)?, threads: number(17)?, start_ticks: number(19)? })
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: Stat.started_at")]
    fn started_at(&self) -> Option<f64> {
        let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
        let uptime: f64 = uptime.split(' ').next()?.parse().ok()?;
        let now = time::time_of_day().duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
        Some(((now - uptime + self.start_ticks as f64 / TICKS) * 100.0).round() / 100.0)
    }
}
