//! Handlers of Rust types.

use super::{JsonMap, ToolContext, ToolError, ToolHandler};
use futures_util::future::BoxFuture;
use ptc_base::json::{Value as Json, to_value};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

/// Accepted by [`ToolSpec::typed`](super::ToolSpec::typed): an async function or closure of the arguments, or of the arguments
/// and the [`ToolContext`]. `Form` tells the two apart and is never named.
pub trait TypedHandler<Args, Form>: Send + Sync + 'static {
    /// Runs the tool.
    fn run(&self, arguments: Args, context: ToolContext) -> BoxFuture<'static, Result<Json, ToolError>>;
}

impl<F, Fut, Args, Out, E> TypedHandler<Args, (Fut,)> for F
where
    F: Fn(Args) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out, E>> + Send + 'static,
    Out: Serialize,
    E: fmt::Display,
{
    fn run(&self, arguments: Args, _: ToolContext) -> BoxFuture<'static, Result<Json, ToolError>> {
        let running = self(arguments);
        Box::pin(async move { as_json(running.await) })
    }
}

impl<F, Fut, Args, Out, E> TypedHandler<Args, (ToolContext, Fut)> for F
where
    F: Fn(Args, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out, E>> + Send + 'static,
    Out: Serialize,
    E: fmt::Display,
{
    fn run(&self, arguments: Args, context: ToolContext) -> BoxFuture<'static, Result<Json, ToolError>> {
        let running = self(arguments, context);
        Box::pin(async move { as_json(running.await) })
    }
}

fn as_json<Out: Serialize, E: fmt::Display>(made: Result<Out, E>) -> Result<Json, ToolError> {
    let out = made.map_err(|error| ToolError(error.to_string()))?;
    to_value(&out).map_err(|error| ToolError(format!("the result is no JSON: {error}")))
}

/// A typed handler as one of JSON.
pub(super) struct TypedTool<H, Args, Form> {
    handler: H,
    types: PhantomData<fn(Args, Form)>,
}

impl<H, Args, Form> TypedTool<H, Args, Form> {
    pub(super) fn new(handler: H) -> Self {
        TypedTool { handler, types: PhantomData }
    }
}

impl<H, Args, Form> ToolHandler for TypedTool<H, Args, Form>
where
    H: TypedHandler<Args, Form>,
    Args: DeserializeOwned + Send + 'static,
    Form: 'static,
{
    #[expect(clippy::disallowed_methods, reason = "entry point: TypedTool.call")]
    fn call(&self, arguments: JsonMap, context: ToolContext) -> BoxFuture<'static, Result<Json, ToolError>> {
        match serde_json::from_str(&Json::Object(arguments).to_string()) {
            Ok(arguments) => self.handler.run(arguments, context),
            Err(error) => {
                let error = ToolError(format!("invalid arguments: {error}"));
                Box::pin(std::future::ready(Err(error)))
            }
        }
    }
}
