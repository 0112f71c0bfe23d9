//! Puts a server together from its settings, and runs it.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions, Limits};
use tokio::signal::unix::{SignalKind, signal};

use crate::options::{BootError, Settings};
use crate::protocol::Service;
use crate::tools::lisp_eval::{ArgumentCaps, EvalOptions, LispEval};
use crate::tools::shaping::Shaper;
use crate::tools::{Registry, cards};
use crate::transport::http::{HttpServer, Listening};
use crate::transport::stdio::{StdioOptions, run_stdio, standard_streams};

/// Time of a call besides its program's own: compiling it, and a second for everything else.
const CALL_OVERHEAD: Duration = Duration::from_secs(6);

/// Serves on the transport that the settings name, until it ends.
///
/// # Errors
/// If the server cannot be started.
pub fn serve(settings: Settings, redactor: Redactor) -> Result<(), BootError> {
    let engine =
        Engine::start(EngineOptions::default()).map_err(|error| BootError::new(error.to_string()))?;
    let service = Arc::new(service(&settings, &engine, &redactor));
    let (done, ended) = mpsc::channel();
    match &settings.http {
        Some(http) => {
            let listening = Listening {
                call_budget: settings.limits.program_timeout + CALL_OVERHEAD,
                max_total_memory_bytes: settings.limits.max_total_memory_bytes,
            };
            let server = HttpServer::bind(http, listening, service, engine.clone())?;
            engine.spawn_on(0, move || async move {
                let outcome = server.run(stop_signal).await;
                // The receiver waits for exactly this.
                let _ =
                    done.send(outcome.map_err(|error| BootError::new(format!("cannot serve HTTP: {error}"))));
            });
        }
        None => {
            let options = StdioOptions { max_frame_bytes: settings.limits.max_frame_bytes };
            // On a driver's thread, so that a short program starts and ends without a change of threads.
            engine.spawn_on(0, move || async move {
                let (reader, writer) = standard_streams();
                run_stdio(service, options, reader, writer, stop_signal()).await;
                let _ = done.send(Ok(()));
            });
        }
    }
    ended.recv().unwrap_or_else(|_| Err(BootError::new("the server's thread ended unexpectedly")))
}

/// The service under these settings.
pub fn service(settings: &Settings, engine: &Engine, redactor: &Redactor) -> Service {
    let limits = &settings.limits;
    let has_upstreams = settings.is_aggregator();
    let options = EvalOptions {
        limits: Limits {
            timeout: limits.program_timeout,
            memory_bytes: limits.program_memory_bytes,
            steps: limits.program_steps,
            program_bytes: limits.max_program_bytes,
        },
        caps: ArgumentCaps {
            max_program_bytes: limits.max_program_bytes,
            max_context_bytes: limits.max_context_bytes,
        },
        shaper: Shaper { profile: settings.profile, max_result_bytes: limits.max_result_bytes },
        upstreams: None,
        catalog: None,
        read_only: settings.aggregator.read_only,
        redactor: redactor.clone(),
    };
    let tools = Registry::new(vec![Box::new(LispEval::new(Arc::new(engine.clone()), options))]);
    let mut service = Service::new(tools, limits.max_concurrent_calls);
    service.instructions = cards::instructions(has_upstreams, settings.sessions.enabled);
    if settings.http.as_ref().is_some_and(|http| !http.tokens.is_empty()) {
        service.cache_scope = "private";
    }
    service
}

/// Completes when the process is asked to stop.
pub(crate) async fn stop_signal() {
    let mut terminate = signal(SignalKind::terminate()).ok();
    let mut interrupt = signal(SignalKind::interrupt()).ok();
    let received = |stream: &mut Option<tokio::signal::unix::Signal>,
                    context: &mut std::task::Context<'_>| {
        stream.as_mut().is_some_and(|stream| stream.poll_recv(context).is_ready())
    };
    std::future::poll_fn(|context| {
        if received(&mut terminate, context) | received(&mut interrupt, context) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}
