//! The server's arrangements with the operating system: signals and file limits.

use std::future::poll_fn;
use std::task::{Context, Poll};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::warn;

/// Makes a write beyond the file size limit (`ulimit -f`) fail like a write to a full disk. By default it would end the
/// process. The signal handler stays once it is installed.
pub(super) fn survive_file_limits() {
    if let Err(error) = signal(SignalKind::from_raw(nix::libc::SIGXFSZ)) {
        warn!(event = "signal_handler_failed", signal = "SIGXFSZ", reason = %error);
    }
}

/// Completes when the process is asked to stop.
pub(super) async fn stop_signal() {
    let mut terminate = signal(SignalKind::terminate()).ok();
    let mut interrupt = signal(SignalKind::interrupt()).ok();
    let received = |stream: &mut Option<Signal>, context: &mut Context<'_>| {
        stream.as_mut().is_some_and(|stream| stream.poll_recv(context).is_ready())
    };
    poll_fn(|context| {
        if received(&mut terminate, context) | received(&mut interrupt, context) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}
