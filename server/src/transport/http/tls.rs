//! HTTPS, terminated by the listener itself.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::settings::BootError;

/// Builds an acceptor from a certificate chain and its key, both PEM.
pub(super) fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, BootError> {
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| refused("--http-tls-cert", cert, &error))?;
    if chain.is_empty() {
        return Err(refused("--http-tls-cert", cert, &"the file holds no certificate"));
    }
    let key_der =
        PrivateKeyDer::from_pem_file(key).map_err(|error| refused("--http-tls-key", key, &error))?;
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
