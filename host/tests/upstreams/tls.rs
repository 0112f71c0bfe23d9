//! TLS with a CA of the test's own: trust, versions, and how connections are shared.

use std::convert::Infallible;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use libtest_mimic::Trial;
use ptc_host::config::{HttpConfig, Routing, Transport, UpstreamConfig};
use ptc_host::credentials::CredentialStore;
use ptc_host::http::Client;
use ptc_host::mcp::{ClientRoots, HttpUpstream};
use ptc_host::upstream::{FaultReason, Upstream};
use ptc_mcp::json::{Value, json};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio_rustls::TlsAcceptor;
use url::Url;

use crate::support::{json, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("tls::http2_is_shared_where_it_is_offered", http2_is_shared),
        trial("tls::http1_is_kept_alive_where_it_is_not", http1_is_kept_alive),
        trial("tls::a_refused_stream_is_sent_once_more", a_refused_stream_is_sent_once_more),
        trial("tls::a_stream_behind_a_goaway_is_sent_once_more", a_stream_behind_a_goaway_is_sent_once_more),
        trial("tls::other_resets_are_not_sent_again", other_resets_are_not_sent_again),
        trial("tls::an_unknown_authority_is_refused", an_unknown_authority_is_refused),
        trial("tls::a_certificate_of_another_name_is_refused", another_name_is_refused),
        trial("tls::a_plain_server_is_told", a_plain_server_is_told),
    ]
}

pub(crate) struct Authority {
    issuer: rcgen::CertifiedIssuer<'static, rcgen::KeyPair>,
    file: tempfile::NamedTempFile,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
        let issuer =
            rcgen::CertifiedIssuer::self_signed(params, rcgen::KeyPair::generate().unwrap()).unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(issuer.pem().as_bytes()).unwrap();
        Self { issuer, file }
    }

    pub(crate) fn acceptor(&self, name: &str, alpn: &[&[u8]]) -> TlsAcceptor {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = certificate.signed_by(&key, &self.issuer).unwrap();
        let chain = vec![CertificateDer::from(certificate.der().to_vec())];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|p| p.to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}

pub(crate) struct Server {
    pub(crate) url: Url,
    connections: Arc<AtomicUsize>,
    versions: Arc<std::sync::Mutex<Vec<http::Version>>>,
}

/// A modern MCP server over TLS.
pub(crate) async fn serve(acceptor: TlsAcceptor) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url =
        Url::parse(&format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port())).unwrap();
    let server = Server { url, connections: Arc::default(), versions: Arc::default() };
    let (connections, versions) = (server.connections.clone(), server.versions.clone());
    tokio::spawn(async move {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            let (acceptor, connections, versions) = (acceptor.clone(), connections.clone(), versions.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(tcp).await else { return };
                connections.fetch_add(1, Ordering::SeqCst);
                let service = service_fn(move |request| {
                    versions.lock().unwrap().push(http::Request::version(&request));
                    answer(request)
                });
                let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    server
}

async fn answer(request: http::Request<Incoming>) -> Result<http::Response<Full<Bytes>>, Infallible> {
    let authority = request.uri().authority().map(ToString::to_string);
    let host = request.headers().get("host").map(|h| h.to_str().unwrap().to_owned());
    assert!(authority.or(host).is_some_and(|host| host.starts_with("localhost:")));
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let message: Value = serde_json::from_slice(&body).unwrap();
    let result = match message["method"].as_str().unwrap() {
        "server/discover" => json!({"supportedVersions": ["2026-07-28"]}),
        "tools/list" => json!({"tools": [{"name": "t"}]}),
        _ => {
            // Calls that were sent together are in flight together.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            json!({"structuredContent": message["params"]["arguments"]})
        }
    };
    let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
    Ok(http::Response::builder().header("content-type", "application/json").body(Full::from(reply)).unwrap())
}

fn upstream(url: &Url, client: Client) -> HttpUpstream {
    upstream_by(url, client, Routing::Direct)
}

pub(crate) fn upstream_by(url: &Url, client: Client, routing: Routing) -> HttpUpstream {
    let entry = HttpConfig { routing, ..HttpConfig::for_url(url.clone()) };
    let config = UpstreamConfig::new("fake", Transport::Http(entry.clone()));
    let (store, roots) = (Arc::new(CredentialStore::default()), ClientRoots::default());
    HttpUpstream::new(&config, &entry, store, client, &roots, Handle::current()).unwrap()
}

pub(crate) fn trusting(authority: &Authority) -> Client {
    Client::with_ca_file(authority.file.path()).unwrap()
}

pub(crate) async fn calls(upstream: &HttpUpstream) {
    for round in 0..3 {
        let calls = (0..20).map(|n| {
            let arguments = format!(r#"{{"n":{}}}"#, round * 100 + n);
            async move { assert_eq!(json(upstream, "t", &arguments).await, arguments) }
        });
        futures_util::future::join_all(calls).await;
    }
}

async fn http2_is_shared() {
    let authority = Authority::new();
    let server = serve(authority.acceptor("localhost", &[b"h2", b"http/1.1"])).await;
    let upstream = upstream(&server.url, trusting(&authority));
    calls(&upstream).await;
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    assert!(server.versions.lock().unwrap().iter().all(|v| *v == http::Version::HTTP_2));
    upstream.shutdown().await;
}

async fn http1_is_kept_alive() {
    let authority = Authority::new();
    let server = serve(authority.acceptor("localhost", &[b"http/1.1"])).await;
    let upstream = upstream(&server.url, trusting(&authority));
    calls(&upstream).await;
    assert!(server.connections.load(Ordering::SeqCst) <= 20, "three rounds of twenty");
    assert!(server.versions.lock().unwrap().iter().all(|v| *v == http::Version::HTTP_11));
    upstream.shutdown().await;
}

/// A frame of HTTP/2 with a payload of four-byte numbers.
fn frame(kind: u8, stream: u32, payload: &[u32]) -> Vec<u8> {
    let mut frame = ((payload.len() * 4) as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, 0]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload.iter().flat_map(|number| number.to_be_bytes()));
    frame
}

const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// A server whose first connection answers the first request, of which it reads the head, with `frame` of the request's
/// stream; all later connections serve. Yields it and the requests that were answered so.
async fn balking(authority: &Authority, frame: fn(u32) -> Vec<u8>) -> (Server, Arc<AtomicUsize>) {
    let behind = serve(authority.acceptor("localhost", &[b"h2"])).await;
    let behind_port = behind.url.port().unwrap();
    let acceptor = authority.acceptor("localhost", &[b"h2"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut url = behind.url.clone();
    url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
    let balked = Arc::new(AtomicUsize::new(0));
    let count = balked.clone();
    tokio::spawn(async move {
        let (tcp, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut stream = acceptor.accept(tcp).await.unwrap();
            stream.write_all(&self::frame(SETTINGS, 0, &[])).await.unwrap();
            let mut preface = [0; 24];
            stream.read_exact(&mut preface).await.unwrap();
            loop {
                let mut head = [0; 9];
                if stream.read_exact(&mut head).await.is_err() {
                    return;
                }
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                stream.read_exact(&mut vec![0; length]).await.unwrap();
                // The head of a request.
                if head[3] == 1 {
                    count.fetch_add(1, Ordering::SeqCst);
                    let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
                    stream.write_all(&frame(id)).await.unwrap();
                }
            }
        });
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            let mut far = tokio::net::TcpStream::connect(("127.0.0.1", behind_port)).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
        }
    });
    (Server { url, ..behind }, balked)
}

async fn sent_once_more(frame: fn(u32) -> Vec<u8>) {
    let authority = Authority::new();
    let (server, balked) = balking(&authority, frame).await;
    let upstream = upstream(&server.url, trusting(&authority));
    calls(&upstream).await;
    assert_eq!(balked.load(Ordering::SeqCst), 1, "nobody comes back to that connection");
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    upstream.shutdown().await;
}

async fn a_refused_stream_is_sent_once_more() {
    sent_once_more(|stream| frame(RST_STREAM, stream, &[7])).await;
}

async fn a_stream_behind_a_goaway_is_sent_once_more() {
    sent_once_more(|_| frame(GOAWAY, 0, &[0, 0])).await;
}

async fn other_resets_are_not_sent_again() {
    let authority = Authority::new();
    // INTERNAL_ERROR: the server may have begun.
    let (server, balked) = balking(&authority, |stream| frame(RST_STREAM, stream, &[2])).await;
    let message = start_fault(&server.url, trusting(&authority)).await;
    assert_eq!(message, "connection closed");
    assert_eq!((balked.load(Ordering::SeqCst), server.connections.load(Ordering::SeqCst)), (1, 0));
}

async fn start_fault(url: &Url, client: Client) -> String {
    let fault = upstream(url, client).ensure_started().await.unwrap_err();
    assert_eq!(fault.reason, FaultReason::UpstreamUnavailable);
    fault.message
}

async fn an_unknown_authority_is_refused() {
    let server = serve(Authority::new().acceptor("localhost", &[])).await;
    let message = start_fault(&server.url, trusting(&Authority::new())).await;
    assert!(message.starts_with("tls: invalid peer certificate"), "{message}");
    assert!(message.contains("\n") && message.contains("ca_file in the entry"), "{message}");
}

async fn another_name_is_refused() {
    let authority = Authority::new();
    let server = serve(authority.acceptor("other.example", &[])).await;
    let message = start_fault(&server.url, trusting(&authority)).await;
    assert!(message.starts_with("tls: invalid peer certificate"), "{message}");
    assert!(
        message.ends_with("\nThe certificate is for another host: write a name that it has into the URL."),
        "{message}"
    );
}

async fn a_plain_server_is_told() {
    let plain = ptc_test_support::fake_http::FakeHttp::start(|_| Vec::new());
    let mut url = plain.url.clone();
    url.set_scheme("https").unwrap();
    let message = start_fault(&url, trusting(&Authority::new())).await;
    assert!(message.starts_with("tls: ") && message.contains("allow_insecure_http"), "{message}");
}
