//! OpenAPI upstreams: selected GET operations of a REST service as tools.
//!
//! [`Document`] is the decoded description of the service. [`compile`] turns the operations that the configuration includes
//! into `Operation`s: a tool object of the same shape as an MCP server's, and the parts of a call's URL (`Operation::url`).
//! [`decode`] interprets the answer. All of that is synchronous code; `OpenApiUpstream` implements the
//! [`Upstream`](crate::upstream::Upstream) trait with it, over any `HttpGet`.

mod compile;
mod document;
mod get;
mod kinds;
mod parameter;
mod request;
mod response;
mod sendable;
mod style;
mod template;
#[cfg(test)]
mod tests;
mod upstream;

pub use compile::compile;
pub use document::Document;
pub use get::RoutedClient;
pub use kinds::misfit;
pub use response::decode;
pub(crate) use response::too_large;
pub use upstream::{GetFault, GetRequest, HttpAnswer, HttpGet, OpenApiUpstream};
