//! A provider on a loopback socket, in its own thread: gives scripted answers and keeps what it was asked.

use ptc_mcp::json::{Value, json};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Request line and headers, in lower case.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: Value,
}

/// A provider that answers one request a connection; asked more often than scripted, it repeats its last answer.
pub(crate) struct Provider {
    /// Its base URL.
    pub(crate) base: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Provider {
    /// A provider with these whole HTTP answers.
    pub(crate) fn start(answers: Vec<String>) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(mut stream) = stream else { return };
                let Some(request) = read(&mut stream) else { continue };
                log.lock().unwrap().push(request);
                let answer = &answers[number.min(answers.len() - 1)];
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Provider { base, asked }
    }

    /// As [`start`](Provider::start), over TLS; comes with the authority that a client must trust, as PEM.
    pub(crate) fn start_tls(answers: Vec<String>) -> (Provider, String) {
        let (config, authority) = certified();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("https://localhost:{}", listener.local_addr().expect("an address").port());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let session = rustls::ServerConnection::new(config.clone()).expect("settings");
                let mut stream = rustls::StreamOwned::new(session, stream);
                let Some(request) = read(&mut stream) else { continue };
                let number = log.lock().unwrap().len();
                log.lock().unwrap().push(request);
                let _ = stream.write_all(answers[number.min(answers.len() - 1)].as_bytes());
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        });
        (Provider { base, asked }, authority)
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// A certificate for `localhost` by an authority of its own, as a server's settings, and the authority as PEM.
fn certified() -> (rustls::ServerConfig, String) {
    let mut params = rcgen::CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    let authority = rcgen::CertifiedIssuer::self_signed(params, rcgen::KeyPair::generate().expect("a key"))
        .expect("signed");
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = certificate.signed_by(&key, &authority).expect("signed");
    let chain = vec![CertificateDer::from(certificate.der().to_vec())];
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a certificate and its key");
    (config, authority.pem())
}

fn read(stream: &mut impl Read) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|text| text.parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let body = serde_json::from_slice(&bytes[end + 4..]).unwrap_or_default();
                return Some(Asked { head, body });
            }
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

/// An answer of this status line (with headers) and body.
pub(crate) fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// A chat completion that is text.
pub(crate) fn says(text: &str) -> String {
    finished("stop", text)
}

/// A chat completion that is text of which the rest was cut.
pub(crate) fn cut(text: &str) -> String {
    finished("length", text)
}

fn finished(reason: &str, text: &str) -> String {
    let body = json!({"choices": [{"finish_reason": reason, "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5}});
    answer("200 OK\r\ncontent-type: application/json", &body.to_string())
}

/// A chat completion that is one tool call.
pub(crate) fn calls(name: &str, arguments: &Value) -> String {
    let call = json!({"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
    let body = json!({"choices": [{"finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": null, "tool_calls": [call]}}]});
    answer("200 OK\r\ncontent-type: application/json", &body.to_string())
}
