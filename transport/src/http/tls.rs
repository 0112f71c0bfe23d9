//! HTTPS, terminated by the listener itself.

use std::path::Path;
use std::sync::Arc;

use ptc_host::ordinary_file;
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use tracing::warn;

use ptc_protocol::settings::BootError;

/// Builds an acceptor from a certificate chain and its key, both PEM.
#[expect(clippy::disallowed_methods, reason = "entry point: acceptor()")]
pub(super) fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, BootError> {
    let read = |flag: &str, path: &Path| {
        ordinary_file::read(path, ordinary_file::MAX_PEM_BYTES).map_err(|fault| refused(flag, path, &fault))
    };
    let chain = CertificateDer::pem_slice_iter(&read("--http-tls-cert", cert)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| refused("--http-tls-cert", cert, &error))?;
    if chain.is_empty() {
        return Err(refused("--http-tls-cert", cert, &"the file holds no certificate"));
    }
    let key_der = PrivateKeyDer::from_pem_slice(&read("--http-tls-key", key)?)
        .map_err(|error| refused("--http-tls-key", key, &error))?;
    if ordinary_file::is_readable_by_all(key) {
        warn!(event = "http_tls_key_exposed", path = %key.display(), "everybody on this machine can read it: chmod o-r");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| BootError::new(format!("TLS cannot be set up: {error}")))?
        .with_no_client_auth()
        .with_single_cert(chain, key_der)
        .map_err(|error| refused("--http-tls-key", key, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn refused(flag: &str, path: &Path, detail: &dyn std::fmt::Display) -> BootError {
    BootError::new(format!("{flag} {}: {detail}", path.display()))
}
