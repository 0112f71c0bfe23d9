//! HTTP proxies and Unix sockets, with a proxy and a socket of the test's own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use http::HeaderValue;
use libtest_mimic::Trial;
use ptc_host::config::Routing;
use ptc_host::http::{Proxy, Route};
use ptc_host::mcp::HttpUpstream;
use ptc_host::upstream::{FaultReason, Upstream as _};
use ptc_mcp::json::json;
use url::Url;

use crate::http::upstream_with;
use crate::support::{call, fault_of, json, trial};
use crate::tls;
use ptc_test_support::fake_http::{FakeHttp, Hit, Steps, reply};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("routes::http_goes_through_a_proxy_as_whole_urls", whole_urls),
        trial("routes::https_goes_through_a_proxy_by_connect", by_connect),
        trial("routes::a_proxy_that_refuses_is_named", a_proxy_that_refuses),
        trial("routes::a_unix_socket_carries_http", a_unix_socket),
    ]
}

/// A proxy on this machine that finds every host on this machine.
struct OwnProxy {
    url: Url,
    /// The heads of the requests it got.
    heads: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
}

impl Drop for OwnProxy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.url.authority());
    }
}

/// What a proxy that wants credentials answers without them.
const REFUSED: &str = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";

impl OwnProxy {
    /// `wants`: the credentials without which it refuses.
    fn start(wants: Option<&'static str>) -> OwnProxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (told, over) = (heads.clone(), Arc::<AtomicBool>::default());
        let ended = over.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let told = told.clone();
                std::thread::spawn(move || serve(stream, wants, &told));
            }
        });
        OwnProxy { url, heads, over }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    fn routing(&self, authorization: Option<&'static str>) -> Routing {
        let proxy = Proxy::new(&self.url, authorization.map(HeaderValue::from_static)).unwrap();
        Routing::Fixed(Route::Proxy(proxy))
    }
}

fn serve(stream: TcpStream, wants: Option<&str>, told: &Mutex<Vec<String>>) {
    let mut client = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        told.lock().unwrap().push(head.clone());
        let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let length = value("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let sent = value("proxy-authorization").or_else(|| value("Proxy-Authorization"));
        if wants.is_some_and(|wants| sent != Some(wants)) {
            client.write_all(REFUSED.as_bytes()).unwrap();
            continue;
        }
        let target = head.split(' ').nth(1).unwrap();
        if head.starts_with("CONNECT ") {
            let port: u16 = target.rsplit_once(':').unwrap().1.parse().unwrap();
            let mut origin = TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
            let mut back = origin.try_clone().unwrap();
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut back, &mut client);
                let _ = client.shutdown(std::net::Shutdown::Both);
            });
            let _ = std::io::copy(&mut reader, &mut origin);
            let _ = origin.shutdown(std::net::Shutdown::Both);
            return;
        }
        // One exchange, ended by the end of the connection: what an old proxy does.
        let url = Url::parse(target).unwrap();
        let mut origin = TcpStream::connect(("127.0.0.1", url.port().unwrap())).unwrap();
        let kept = head.lines().skip(1).filter(|line| !line.to_lowercase().starts_with("proxy-"));
        let lines: Vec<&str> = kept.filter(|line| !line.is_empty()).collect();
        write!(origin, "POST {} HTTP/1.1\r\n{}\r\n\r\n", url.path(), lines.join("\r\n")).unwrap();
        origin.write_all(&body).unwrap();
        origin.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _ = origin.read_to_end(&mut answer);
        // Told, so that no request is on its way here when it ends.
        let status = answer.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        answer.splice(status..status, *b"connection: close\r\n");
        let _ = client.write_all(&answer);
        let _ = client.shutdown(std::net::Shutdown::Both);
        return;
    }
}

fn echo(hit: &Hit) -> Steps {
    reply(200, &hit.result(json!({"structuredContent": hit.body["params"]["arguments"]})))
}

fn upstream(url: &Url, routing: Routing) -> HttpUpstream {
    upstream_with(url, |entry, _| entry.routing = routing)
}

async fn whole_urls() {
    let server = FakeHttp::handshake(echo);
    let proxy = OwnProxy::start(Some("Basic c2VrcmV0"));
    // A name that only the proxy could know.
    let mut url = server.url.clone();
    url.set_host(Some("upstream.invalid")).unwrap();
    let upstream = upstream(&url, proxy.routing(Some("Basic c2VrcmV0")));
    for n in 0..3 {
        let arguments = format!("{{\"n\":{n}}}");
        assert_eq!(json(&upstream, "t", &arguments).await, arguments);
    }
    upstream.shutdown().await;
    let place = format!("upstream.invalid:{}", url.port().unwrap());
    for head in proxy.heads() {
        assert!(head.contains(&format!(" http://{place}/mcp HTTP/1.1\r\n")), "{head}");
        assert!(head.contains("proxy-authorization: Basic c2VrcmV0\r\n"), "{head}");
        assert!(head.contains(&format!("host: {place}\r\n")), "{head}");
    }
    assert!(server.hits().iter().all(|hit| hit.header("proxy-authorization").is_none()));
}

async fn by_connect() {
    let authority = tls::Authority::new();
    for alpn in [&[&b"h2"[..]][..], &[b"http/1.1"]] {
        let server = tls::serve(authority.acceptor("localhost", alpn)).await;
        let proxy = OwnProxy::start(Some("Basic c2VrcmV0"));
        let (url, client) = (server.url.clone(), tls::trusting(&authority));
        let routing = proxy.routing(Some("Basic c2VrcmV0"));
        let upstream = tls::upstream_by(&url, client, routing);
        tls::calls(&upstream).await;
        upstream.shutdown().await;
        let place = format!("localhost:{}", url.port().unwrap());
        let heads = proxy.heads();
        assert!(!heads.is_empty());
        for head in heads {
            // Nothing but where to: what is sent to the upstream is its secret.
            let wanted = format!(
                "CONNECT {place} HTTP/1.1\r\nHost: {place}\r\nProxy-Authorization: Basic c2VrcmV0\r\n\r\n"
            );
            assert_eq!(head, wanted);
        }
    }
    // The upstream's certificate is checked, not the proxy's word.
    let other = tls::Authority::new();
    let server = tls::serve(other.acceptor("localhost", &[b"h2"])).await;
    let proxy = OwnProxy::start(None);
    let upstream = tls::upstream_by(&server.url, tls::trusting(&authority), proxy.routing(None));
    let (reason, message) = fault_of(call(&upstream, "t", "{}").await);
    assert_eq!(reason, FaultReason::UpstreamUnavailable);
    assert!(message.starts_with("tls: "), "{message}");
}

async fn a_proxy_that_refuses() {
    let server = FakeHttp::handshake(echo);
    let proxy = OwnProxy::start(Some("Basic c2VrcmV0"));
    let place = format!("proxy {}: ", proxy.url.authority());
    let mut https = server.url.clone();
    https.set_scheme("https").unwrap();
    for url in [&server.url, &https] {
        for (sent, said) in [
            (None, "it wants credentials (http 407): name a binding in proxy_auth"),
            (Some("Basic b3RoZXI="), "it did not accept the credentials (http 407)"),
        ] {
            let upstream = upstream(url, proxy.routing(sent));
            let (reason, message) = fault_of(call(&upstream, "t", "{}").await);
            assert_eq!((reason, message), (FaultReason::UpstreamUnavailable, format!("{place}{said}")));
        }
    }
    assert_eq!(server.connections(), 0);
    // Nobody there.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = Proxy::new(&Url::parse(&format!("http://{closed}")).unwrap(), None).unwrap();
    let upstream = upstream(&server.url, Routing::Fixed(Route::Proxy(nobody)));
    let (_, message) = fault_of(call(&upstream, "t", "{}").await);
    assert_eq!(message, format!("proxy {closed}: connection refused"));
}

async fn a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.sock");
    let by_socket = || Routing::Fixed(Route::UnixSocket(path.as_path().into()));
    let url = Url::parse("http://localhost/mcp").unwrap();
    let missing = upstream_with(&url, |entry, _| entry.routing = by_socket());
    let (_, message) = fault_of(call(&missing, "t", "{}").await);
    assert_eq!(message, format!("there is no socket at {}: is the server running?", path.display()));
    let server = FakeHttp::handshake(echo);
    let listener = UnixListener::bind(&path).unwrap();
    let behind = server.url.clone();
    std::thread::spawn(move || {
        // One connection is all that is needed.
        for mut stream in listener.incoming().map_while(Result::ok).take(1) {
            let mut tcp = TcpStream::connect(behind.authority()).unwrap();
            let (mut from_tcp, mut to_unix) = (tcp.try_clone().unwrap(), stream.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from_tcp, &mut to_unix);
                let _ = to_unix.shutdown(std::net::Shutdown::Both);
            });
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut stream, &mut tcp);
                let _ = tcp.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    let upstream = upstream(&url, by_socket());
    for n in 0..3 {
        let arguments = format!("{{\"n\":{n}}}");
        assert_eq!(json(&upstream, "t", &arguments).await, arguments);
    }
    assert_eq!(server.connections(), 1, "kept alive");
    assert_eq!(server.hits()[0].header("host"), Some("localhost"));
    upstream.shutdown().await;
}
