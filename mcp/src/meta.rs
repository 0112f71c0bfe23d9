//! Names in `_meta`, and of extensions.

/// The revision of a modern request, by which it is recognised.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The client's capabilities, which every modern request must carry besides [`PROTOCOL_VERSION`].
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The client's identity in a modern request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The server's identity in a modern result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Which subscription a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The least severity of the log messages that a modern request asks for.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The token under which a client wants progress.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The parent span of a request in W3C Trace Context; the HTTP header has the same name.
pub const TRACE_PARENT: &str = "traceparent";
/// What the systems of a trace have noted, beside [`TRACE_PARENT`].
pub const TRACE_STATE: &str = "tracestate";
/// The name of the tasks extension among the `extensions` of capabilities.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";
