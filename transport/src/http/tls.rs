//! HTTPS, terminated by the listener itself.

use std::path::Path;
use std::sync::Arc;

use ptc_host::digest::sha256_of_parts;
use ptc_host::ordinary_file;
use ptc_host::sync::RwLock;
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use tracing::warn;

use ptc_protocol::settings::BootError;

/// A certificate chain and its key, checked.
pub struct Certificate {
    acceptor: TlsAcceptor,
    digest: [u8; 32],
}

impl Certificate {
    /// Reads a certificate chain and its key, both PEM.
    ///
    /// # Errors
    /// A file cannot be read, holds something else, or the key is another certificate's.
    #[expect(clippy::disallowed_methods, reason = "entry point: Certificate.read")]
    pub fn read(cert: &Path, key: &Path) -> Result<Certificate, BootError> {
        let read = |flag: &str, path: &Path| {
            ordinary_file::read(path, ordinary_file::MAX_PEM_BYTES)
                .map_err(|fault| refused(flag, path, &fault))
        };
        let chain_pem = read("--http-tls-cert", cert)?;
        let chain = CertificateDer::pem_slice_iter(&chain_pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| refused("--http-tls-cert", cert, &error))?;
        if chain.is_empty() {
            return Err(refused("--http-tls-cert", cert, &"the file holds no certificate"));
        }
        let key_pem = read("--http-tls-key", key)?;
        let key_der = PrivateKeyDer::from_pem_slice(&key_pem)
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
        let digest = sha256_of_parts(&[&chain_pem, &key_pem]);
        Ok(Certificate { acceptor: TlsAcceptor::from(Arc::new(config)), digest })
    }
}

/// The certificate of a listener, which may be exchanged while it listens: connections that come later see the new one.
#[derive(Clone)]
pub struct CurrentCertificate(Arc<RwLock<Certificate>>);

impl CurrentCertificate {
    pub(super) fn new(certificate: Certificate) -> Self {
        CurrentCertificate(Arc::new(RwLock::new(certificate)))
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.0.read().acceptor.clone()
    }

    /// Whether these are the same files as those that are shown now.
    #[must_use]
    pub fn is(&self, certificate: &Certificate) -> bool {
        self.0.read().digest == certificate.digest
    }

    /// Shows another certificate from the next connection on.
    pub fn replace(&self, certificate: Certificate) {
        *self.0.write() = certificate;
    }
}

fn refused(flag: &str, path: &Path, detail: &dyn std::fmt::Display) -> BootError {
    BootError::new(format!("{flag} {}: {detail}", path.display()))
}
