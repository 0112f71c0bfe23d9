//! The server's arrangements with the operating system: signals and file limits.

use std::future::poll_fn;
use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::warn;

/// Makes a write beyond the file size limit (`ulimit -f`) fail like a write to a full disk. By default it would end the
/// process. The signal handler stays once it is installed.
pub(super) fn survive_file_limits() {
    if let Err(error) = signal(SignalKind::from_raw(nix::libc::SIGXFSZ)) {
        warn!(event = "signal_handler_failed", signal = "SIGXFSZ", reason = %error);
    }
}

/// Keeps signals without a meaning for the server from ending it without a drain: SIGUSR1 and SIGUSR2.
pub(super) fn ignore_signals() {
    for (kind, name) in [(SignalKind::user_defined1(), "SIGUSR1"), (SignalKind::user_defined2(), "SIGUSR2")] {
        if let Some(mut received) = signals(kind, name) {
            tokio::spawn(async move {
                while received.recv().await.is_some() {
                    warn!(event = "signal_ignored", signal = name, "it has no meaning here");
                }
            });
        }
    }
}

/// SIGHUP, which has a server over HTTP read files again ([`reload`](super::reload)). On pipes it means that the terminal is
/// closed ([`stop_signal`]). From here on the signal does not end the process; one that comes early is heard later.
pub(super) fn hangups(is_http: bool) -> Option<Signal> {
    is_http.then(|| signals(SignalKind::hangup(), "SIGHUP")).flatten()
}

/// The signals of a kind; `None` if they cannot be had, which is logged.
fn signals(kind: SignalKind, name: &str) -> Option<Signal> {
    signal(kind)
        .inspect_err(|error| warn!(event = "signal_handler_failed", signal = name, reason = %error))
        .ok()
}

/// Completes when the process is asked to stop: by SIGTERM or SIGINT, and on pipes by SIGHUP.
pub(super) async fn stop_signal(is_http: bool) {
    let hangup = (!is_http).then(SignalKind::hangup);
    let kinds = [SignalKind::terminate(), SignalKind::interrupt()].into_iter().chain(hangup);
    let mut streams: Vec<Signal> = kinds.filter_map(|kind| signal(kind).ok()).collect();
    poll_fn(|context| {
        // Every stream is polled, so that each wakes this future.
        let received =
            streams.iter_mut().map(|stream| stream.poll_recv(context)).filter(Poll::is_ready).count();
        if received > 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
