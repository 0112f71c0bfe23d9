//! A server written with rmcp, the official Rust SDK: one tool with the same name, which answers the same text without
//! computing anything.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use tokio::net::TcpListener;

#[derive(Clone)]
struct Three;

impl ServerHandler for Three {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::success(vec![ContentBlock::text("user=> 3")]).into())
    }
}

/// Over Streamable HTTP, as lean as it can be set: no sessions, one JSON body for an answer.
pub(crate) async fn http(port: u16) {
    let config =
        StreamableHttpServerConfig::default().with_json_response(true).with_legacy_session_mode(false);
    let service = StreamableHttpService::new(|| Ok(Three), Arc::new(NeverSessionManager::default()), config);
    let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("a free port");
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let served: Result<(), hyper::Error> =
                http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            // A client that leaves is no fault.
            drop(served);
            Ok::<_, Infallible>(())
        });
    }
}

/// Over standard streams.
pub(crate) async fn pipes() {
    let running = Three.serve(rmcp::transport::stdio()).await.expect("a conversation");
    // It ends with its client.
    let _ = running.waiting().await;
}
