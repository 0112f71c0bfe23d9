//! TLS trust.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio::sync::OnceCell;

use super::HttpError;

/// A file of root certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("ca file {path}: {detail}")]
pub struct TlsRootsError {
    path: String,
    detail: String,
}

/// The system's root certificates and those of the operator. Read when the first connection needs them: reading them
/// takes longer than most programs.
#[derive(Debug, Default)]
pub(super) struct Trust {
    extra: Vec<CertificateDer<'static>>,
    config: OnceCell<Result<Arc<ClientConfig>, HttpError>>,
}

impl Trust {
    /// Trusts the certificates of a PEM file besides the system's.
    pub(super) fn with_file(path: &Path) -> Result<Self, TlsRootsError> {
        let error = |detail: String| TlsRootsError { path: path.display().to_string(), detail };
        let extra: Vec<_> = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect)
            .map_err(|e| error(e.to_string()))?;
        if extra.is_empty() {
            return Err(error("no certificate in it".to_owned()));
        }
        let mut probe = RootCertStore::empty();
        for certificate in &extra {
            probe.add(certificate.clone()).map_err(|e| error(e.to_string()))?;
        }
        Ok(Self { extra, config: OnceCell::new() })
    }

    pub(super) async fn config(&self) -> Result<Arc<ClientConfig>, HttpError> {
        self.config
            .get_or_init(|| async {
                let extra = self.extra.clone();
                tokio::task::spawn_blocking(move || build(extra))
                    .await
                    .unwrap_or_else(|e| Err(HttpError::Tls(e.to_string())))
            })
            .await
            .clone()
    }
}

fn build(extra: Vec<CertificateDer<'static>>) -> Result<Arc<ClientConfig>, HttpError> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        tracing::warn!(%error, "system_roots: some root certificates cannot be read");
    }
    roots.add_parsable_certificates(system.certs);
    roots.add_parsable_certificates(extra);
    if roots.is_empty() {
        return Err(HttpError::Tls(
            "no root certificates on this system; name some with --ca-file".to_owned(),
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| HttpError::Tls(e.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Trust::with_file(file.path()).unwrap_err().to_string();
        assert!(error.ends_with("no certificate in it"), "{error}");
        assert!(Trust::with_file(Path::new("/no/such/file")).is_err());
        std::fs::write(file.path(), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
            .unwrap();
        assert!(Trust::with_file(file.path()).is_err(), "not a certificate");
    }
}
