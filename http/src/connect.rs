//! Opening a connection: DNS, TCP, TLS, HTTP.

use super::exchange::{H1, IdleConnection};
use super::host::Host;
use super::stream::{MAX_HEAD, Stream};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio_rustls::TlsConnector;

use super::HttpError;
use super::route::Route;
use super::shared::H2;
use super::socket::{MonitoredSocket, Socket};
use super::target::Origin;
use super::tls::Trust;
use super::tls_advice::advised;
use ptc_base::time;

/// How long one address may stay silent before the next is tried beside it.
const STAGGER: Duration = Duration::from_millis(250);
/// The pause before a socket whose queue was full is tried again.
const FULL_PAUSE: Duration = Duration::from_millis(5);
/// Most addresses of a name that are tried.
const MAX_ADDRESSES: usize = 8;
/// Opens a connection to `origin`, of the version that TLS negotiates.
pub(super) async fn connect(origin: &Origin, trust: &Trust) -> Result<IdleConnection, HttpError> {
    let socket = match &origin.route {
        Route::Direct => Socket::new(dial_tcp(&origin.host, origin.port).await?),
        Route::Addresses(addresses) => Socket::new(dial_now(addresses.iter().copied().collect()).await?),
        Route::UnixSocket(path) => {
            Socket::unix(dial_unix(path).await.map_err(|error| unix_error(path, &error))?)
        }
        Route::Proxy(proxy) => {
            let tcp = dial_tcp(&proxy.host, proxy.port).await.map_err(|error| proxy.failed(error))?;
            let mut socket = Socket::of_proxy(tcp);
            if origin.tls {
                proxy.tunnel(&mut socket, &origin.host, origin.port).await?;
            }
            socket
        }
    };
    if !origin.tls {
        return http1(MaybeHttpsStream::Http(TokioIo::new(socket.clone())), socket).await;
    }
    let name = match &origin.host {
        Host::Domain(name) => {
            ServerName::try_from(name.clone()).map_err(|e| HttpError::Tls(e.to_string()))?
        }
        Host::Ipv4(address) => IpAddr::from(*address).into(),
        Host::Ipv6(address) => IpAddr::from(*address).into(),
    };
    let connector = TlsConnector::from(trust.config().await?);
    let plain = TokioIo::new(TokioIo::new(socket.clone()));
    let stream = connector.connect(name, plain).await.map_err(|e| tls_error(&e))?;
    let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = MaybeHttpsStream::from(stream);
    if h2 {
        Ok(IdleConnection::H2(H2::over(watched(stream, socket)).await?))
    } else {
        http1(stream, socket).await
    }
}

fn watched(stream: MaybeHttpsStream<TokioIo<Socket>>, socket: Socket) -> Stream {
    TokioIo::new(MonitoredSocket::new(TokioIo::new(stream), socket))
}

async fn http1(
    stream: MaybeHttpsStream<TokioIo<Socket>>,
    socket: Socket,
) -> Result<IdleConnection, HttpError> {
    let stream = watched(stream, socket.clone());
    let handshake = hyper::client::conn::http1::Builder::new().max_buf_size(MAX_HEAD).handshake(stream).await;
    let (sender, driver) = handshake.map_err(|e| HttpError::of_hyper(&e))?;
    Ok(IdleConnection::H1(Box::new(H1::new(sender, driver, socket))))
}

async fn dial_tcp(host: &Host, port: u16) -> Result<TcpStream, HttpError> {
    dial_now(addresses(host, port).await?).await
}

async fn dial_now(addresses: VecDeque<SocketAddr>) -> Result<TcpStream, HttpError> {
    let tcp = dial(addresses).await?;
    tcp.set_nodelay(true).map_err(|e| HttpError::of_io(&e))?;
    Ok(tcp)
}

async fn addresses(host: &Host, port: u16) -> Result<VecDeque<SocketAddr>, HttpError> {
    match host {
        Host::Ipv4(address) => Ok([SocketAddr::new((*address).into(), port)].into()),
        Host::Ipv6(address) => Ok([SocketAddr::new((*address).into(), port)].into()),
        Host::Domain(name) if is_localhost(name) => {
            // The hosts file may name one of them only, or none, and the server listen on the other one.
            let found: Vec<SocketAddr> = match lookup_host((name.as_str(), port)).await {
                Ok(found) => found.filter(|address| address.ip().is_loopback()).take(MAX_ADDRESSES).collect(),
                Err(_) => Vec::new(),
            };
            let both = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
            let mut all = VecDeque::from(found);
            for address in both.map(|ip: IpAddr| SocketAddr::new(ip, port)) {
                if !all.contains(&address) {
                    all.push_back(address);
                }
            }
            Ok(all)
        }
        Host::Domain(name) => {
            let found: Vec<SocketAddr> = lookup_host((name.as_str(), port))
                .await
                .map_err(|e| dns_error(&e))?
                .take(MAX_ADDRESSES)
                .collect();
            if found.is_empty() { Err(HttpError::Dns("nxdomain".to_owned())) } else { Ok(interleave(found)) }
        }
    }
}

/// Whether a name means this machine wherever it is asked for (RFC 6761, 6.3).
fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

/// Alternates between the address families, in the order that the resolver prefers.
fn interleave(found: Vec<SocketAddr>) -> VecDeque<SocketAddr> {
    let first_is_v6 = found[0].is_ipv6();
    let (first, second): (Vec<_>, Vec<_>) = found.into_iter().partition(|a| a.is_ipv6() == first_is_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut out = VecDeque::new();
    loop {
        let pair = (first.next(), second.next());
        if pair == (None, None) {
            return out;
        }
        out.extend(pair.0.into_iter().chain(pair.1));
    }
}

/// Tries the addresses one after the other, the next as soon as one fails or stays silent for a moment.
async fn dial(mut addresses: VecDeque<SocketAddr>) -> Result<TcpStream, HttpError> {
    let mut attempts = FuturesUnordered::new();
    let (mut failure, mut is_refused) = (HttpError::Refused, false);
    loop {
        if let Some(address) = addresses.pop_front() {
            attempts.push(TcpStream::connect(address));
        }
        let stagger = async {
            if addresses.is_empty() {
                std::future::pending::<()>().await;
            }
            time::sleep(STAGGER).await;
        };
        let Either::Left((attempt, _)) = select(attempts.next(), pin!(stagger)).await else { continue };
        match attempt {
            Some(Ok(stream)) => return Ok(stream),
            Some(Err(error)) => {
                let told = HttpError::of_io(&error);
                // A machine that is there says more than a family of addresses that is not.
                is_refused |= told == HttpError::Refused;
                failure = if is_refused { HttpError::Refused } else { told };
                if attempts.is_empty() && addresses.is_empty() {
                    return Err(failure);
                }
            }
            None => return Err(failure),
        }
    }
}

/// A server whose queue is full refuses at once; over TCP one would wait. The caller bounds the time.
async fn dial_unix(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => time::sleep(FULL_PAUSE).await,
            other => return other,
        }
    }
}

fn unix_error(path: &Path, error: &io::Error) -> HttpError {
    let path = path.display();
    HttpError::Io(match error.kind() {
        io::ErrorKind::NotFound => format!("there is no socket at {path}: is the server running?"),
        io::ErrorKind::ConnectionRefused => format!("nobody listens at {path}: is the server running?"),
        io::ErrorKind::PermissionDenied => format!("no permission to connect to {path}"),
        _ => format!("{path}: {error}"),
    })
}

fn dns_error(error: &io::Error) -> HttpError {
    let text = error.to_string();
    let short = text.strip_prefix("failed to lookup address information: ").unwrap_or(&text);
    let unknown = ["not known", "No address associated", "nodename nor servname"];
    if unknown.iter().any(|u| short.contains(u)) {
        return HttpError::Dns("nxdomain".to_owned());
    }
    HttpError::Dns(short.to_owned())
}

fn tls_error(error: &io::Error) -> HttpError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(error) => HttpError::Tls(advised(error)),
        None => match HttpError::of_io(error) {
            HttpError::Closed => HttpError::Tls(
                "connection closed in the handshake\nPerhaps this port does not speak TLS: check the port of the URL, or write http:// and allow_insecure_http.".to_owned(),
            ),
            other => other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_alternate() {
        let parse = |list: &[&str]| -> Vec<SocketAddr> { list.iter().map(|a| a.parse().unwrap()).collect() };
        let mixed = parse(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1"]);
        assert_eq!(interleave(mixed), parse(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "[::3]:1"]));
    }

    #[tokio::test]
    async fn a_refused_address_does_not_hide_the_next() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let closed = {
            let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            gone.local_addr().unwrap()
        };
        let good = listener.local_addr().unwrap();
        assert!(dial([closed, good].into()).await.is_ok());
        assert_eq!(dial([closed].into()).await.unwrap_err(), HttpError::Refused);
    }

    #[tokio::test]
    async fn an_unknown_name_is_told() {
        let host = Host::Domain("no-such-host.invalid".to_owned());
        assert!(matches!(addresses(&host, 80).await, Err(HttpError::Dns(_))));
        for name in ["localhost", "LOCALHOST.", "app.localhost"] {
            let all = addresses(&Host::Domain(name.to_owned()), 80).await.unwrap();
            let has = |ip: IpAddr| all.contains(&SocketAddr::new(ip, 80));
            assert!(has(Ipv4Addr::LOCALHOST.into()) && has(Ipv6Addr::LOCALHOST.into()), "{name} {all:?}");
        }
    }
}
