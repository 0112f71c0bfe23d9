//! The listener to which the browser returns: on this machine only, for one sign-in.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use ptc_host::http::HyperTimer;
use ptc_host::time;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use ptc_transport::closing_page::ClosingPage;

/// How long a connection may take to send its request.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the last page may take to reach the browser.
const FAREWELL: Duration = Duration::from_secs(2);
/// Open connections; others wait. A browser opens a few in advance and sends nothing on them.
const MAX_CONNECTIONS: usize = 32;
/// Longest head of a request, in bytes: a query of 8 KiB and a browser's headers and cookies.
const MAX_HEAD: usize = 64 << 10;
/// Most attempts to bind a port of the system's choice on all addresses.
const TRIES: usize = 16;

/// A browser that came back.
pub(super) struct Visit {
    /// The query of the address, undecoded.
    pub(super) query: String,
    answer: oneshot::Sender<ClosingPage>,
}

impl Visit {
    /// Shows `page`.
    pub(super) fn show(self, page: ClosingPage) {
        // The browser may have closed the connection; the page is for it only.
        let _ = self.answer.send(page);
    }
}

/// The listener, on 127.0.0.1 and ::1, so that we own every address to which the redirect's host may resolve.
pub(super) struct Loopback {
    port: u16,
    visits: mpsc::Receiver<Visit>,
    /// Accepts on each address.
    accepting: JoinSet<()>,
    /// Ends when all connections have ended.
    connections: mpsc::Receiver<Infallible>,
}

impl Loopback {
    /// Listens on `port`, or one of the system's choice for 0, for requests of `path`. `host` is that of the redirect
    /// address.
    ///
    /// # Errors
    /// If the port cannot be bound on every address; `AddrInUse` if another process has it.
    pub(super) fn bind(host: &str, port: u16, path: &str) -> io::Result<Loopback> {
        let sockets = sockets(host, port)?;
        let port = match sockets.first() {
            Some(socket) => socket.local_addr()?.port(),
            None => return Err(ErrorKind::AddrNotAvailable.into()),
        };
        let (visit, visits) = mpsc::channel(1);
        let (open, connections) = mpsc::channel(1);
        let path: Arc<str> = path.into();
        let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut accepting = JoinSet::new();
        for socket in sockets {
            accepting.spawn(accept(socket, path.clone(), visit.clone(), room.clone(), open.clone()));
        }
        Ok(Loopback { port, visits, accepting, connections })
    }

    /// The port.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The next browser that requests the path.
    pub(super) async fn visit(&mut self) -> Visit {
        match self.visits.recv().await {
            Some(visit) => visit,
            // The listeners have ended, and no visit can come any more.
            None => std::future::pending().await,
        }
    }

    /// Stops accepting, and lets the last page reach the browser.
    pub(super) async fn close(mut self) {
        self.accepting.shutdown().await;
        drop(self.visits);
        // The command ends whether the browser has received it or not.
        let _ = time::timeout(FAREWELL, self.connections.recv()).await;
    }
}

/// One listener for each loopback address, all with the same port.
fn sockets(host: &str, port: u16) -> io::Result<Vec<TcpListener>> {
    let mut addresses = BTreeSet::from([IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]);
    let own = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    addresses.extend(own.filter(IpAddr::is_loopback));
    let mut refusal = None;
    for _ in 0..TRIES {
        match same_port(&addresses, own, port) {
            Err(error) if port == 0 && error.kind() == ErrorKind::AddrInUse => refusal = Some(error),
            bound => return bound,
        }
    }
    Err(refusal.unwrap_or_else(|| ErrorKind::AddrInUse.into()))
}

fn same_port(addresses: &BTreeSet<IpAddr>, own: Option<IpAddr>, port: u16) -> io::Result<Vec<TcpListener>> {
    let mut sockets: Vec<TcpListener> = Vec::new();
    for &address in addresses {
        let port = match sockets.first() {
            Some(first) => first.local_addr()?.port(),
            None => port,
        };
        match listen(SocketAddr::new(address, port)) {
            Ok(socket) => sockets.push(socket),
            // A machine without IPv6 has one address less. If another process has the port there, the browser might
            // connect to that process instead.
            Err(error)
                if address.is_ipv6() && own != Some(address) && error.kind() != ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sockets)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = std::net::TcpListener::bind(address)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket)
}

async fn accept(
    socket: TcpListener,
    path: Arc<str>,
    visit: mpsc::Sender<Visit>,
    room: Arc<Semaphore>,
    open: mpsc::Sender<Infallible>,
) {
    loop {
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = socket.accept().await else {
            // Too many open files, for instance: a temporary fault.
            time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        let (path, visit, open) = (path.clone(), visit.clone(), open.clone());
        tokio::spawn(async move {
            serve(stream, &path, &visit).await;
            drop((permit, open));
        });
    }
}

/// Answers one request.
async fn serve(stream: TcpStream, path: &str, visit: &mpsc::Sender<Visit>) {
    let service = service_fn(|request: http::Request<_>| {
        let asks = *request.method() == Method::GET && request.uri().path() == path;
        let query = request.uri().query().unwrap_or_default().to_owned();
        async move { Ok::<_, Infallible>(response(if asks { ask(query, visit).await } else { None })) }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.keep_alive(false).timer(HyperTimer).header_read_timeout(PATIENCE).max_buf_size(MAX_HEAD);
    // A broken connection concerns only the browser.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

/// The page that the command shows to a browser that returned with `query`.
async fn ask(query: String, visit: &mpsc::Sender<Visit>) -> Option<ClosingPage> {
    let (answer, page) = oneshot::channel();
    visit.send(Visit { query, answer }).await.ok()?;
    page.await.ok()
}

fn response(page: Option<ClosingPage>) -> Response<Full<Bytes>> {
    let page = page.unwrap_or(ClosingPage::Unknown);
    let mut response = Response::new(Full::new(Bytes::from_static(page.html().as_bytes())));
    *response.status_mut() = page.status();
    ClosingPage::set_headers(response.headers_mut());
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn ask(address: (IpAddr, u16), request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

    #[tokio::test]
    async fn a_browser_comes_back_and_sees_a_static_page() {
        for host in ["127.0.0.1", "localhost", "::1"] {
            let mut loopback = match Loopback::bind(host, 0, "/callback") {
                Err(error) if host == "::1" && error.kind() != ErrorKind::AddrInUse => continue,
                bound => bound.unwrap(),
            };
            let port = loopback.port();
            let both = if TcpStream::connect((V6, port)).await.is_ok() { vec![V4, V6] } else { vec![V4] };
            for address in both {
                let request = "GET /callback?code=c0de&state=%3Cb%3E HTTP/1.1\r\nHost: x\r\n\r\n";
                let browser = tokio::spawn(ask((address, port), request));
                let visit = loopback.visit().await;
                assert_eq!(visit.query, "code=c0de&state=%3Cb%3E");
                visit.show(ClosingPage::SignedIn);
                let answer = browser.await.unwrap();
                assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
                assert!(answer.contains("content-security-policy: default-src 'none'"), "{answer}");
                assert!(answer.contains("cache-control: no-store\r\n"), "{answer}");
                assert!(answer.contains("referrer-policy: no-referrer\r\n"), "{answer}");
                assert!(answer.contains("<p>Signed in. You can close this window.</p>"), "{answer}");
                assert!(!answer.contains("c0de") && !answer.contains("<b>"), "{answer}");
            }
            let browser = tokio::spawn(ask((V4, port), "GET /callback HTTP/1.1\r\nHost: x\r\n\r\n"));
            loopback.visit().await.show(ClosingPage::TerminalSaysWhy);
            loopback.close().await;
            assert!(browser.await.unwrap().contains("<p>The sign-in failed. The terminal says why.</p>"));
            assert!(TcpStream::connect((V4, port)).await.is_err(), "one shot");
        }
    }

    #[tokio::test]
    async fn nothing_but_the_path_is_answered() {
        let mut loopback = Loopback::bind("127.0.0.1", 0, "/callback").unwrap();
        for line in ["GET /", "GET /callback/", "GET /favicon.ico", "POST /callback?code=a", "HEAD /callback"]
        {
            let answer = ask((V4, loopback.port()), &format!("{line} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{line}: {answer}");
        }
        // None of them was a visit.
        let next = tokio::spawn(ask((V4, loopback.port()), "GET /callback?last HTTP/1.1\r\nHost: x\r\n\r\n"));
        let visit = loopback.visit().await;
        assert_eq!(visit.query, "last");
        visit.show(ClosingPage::Unknown);
        assert!(next.await.unwrap().starts_with("HTTP/1.1 400 "));
    }

    #[tokio::test]
    async fn a_port_that_somebody_has_is_refused_on_either_address() {
        for other in [V4, V6] {
            let Ok(taken) = std::net::TcpListener::bind((other, 0)) else { continue };
            let port = taken.local_addr().unwrap().port();
            let refused = Loopback::bind("127.0.0.1", port, "/callback").map(|loopback| loopback.port());
            assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::AddrInUse), "{other}");
        }
    }
}
