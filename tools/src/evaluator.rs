//! The port through which tools run programs.

use ptc_host::engine::{Engine, EvalFuture, EvalRequest};

/// Runs programs. It is an engine in the server and a predictable stub in tests.
pub trait Evaluator: Send + Sync {
    /// Runs one program; dropping the future cancels it.
    fn eval(&self, request: EvalRequest) -> EvalFuture;
}

impl Evaluator for Engine {
    fn eval(&self, request: EvalRequest) -> EvalFuture {
        Box::pin(Engine::eval(self, request))
    }
}
