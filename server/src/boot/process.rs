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

/// Keeps signals without a meaning for the server from ending it without a drain: SIGUSR1 and SIGUSR2, and on HTTP
/// SIGHUP, on which other servers reload their files. On pipes SIGHUP means that the terminal is closed
/// ([`stop_signal`]).
pub(super) fn ignore_signals(is_http: bool) {
    let hangup = is_http.then_some((SignalKind::hangup(), "SIGHUP"));
    let user = [(SignalKind::user_defined1(), "SIGUSR1"), (SignalKind::user_defined2(), "SIGUSR2")];
    for (kind, name) in user.into_iter().chain(hangup) {
        match signal(kind) {
            Err(error) => warn!(event = "signal_handler_failed", signal = name, reason = %error),
            Ok(mut received) => {
                tokio::spawn(async move {
                    while received.recv().await.is_some() {
                        warn!(
                            event = "signal_ignored",
                            signal = name,
                            "restart the server to read its files again"
                        );
                    }
                });
            }
        }
    }
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
