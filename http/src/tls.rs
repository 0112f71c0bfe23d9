//! TLS trust.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use tokio::sync::OnceCell;

use super::HttpError;
use super::certificates::{Certificates, TlsRootsError};
use super::shared::PROTOCOLS;
use super::verifier::ListedVerifier;
use ptc_base::time;

/// The system's root certificates and those of the operator. Read when the first connection needs them: reading them
/// takes longer than most programs.
#[derive(Debug, Default)]
pub(super) struct Trust {
    extra: Vec<CertificateDer<'static>>,
    /// Whether they are those of the only server that is asked.
    own: bool,
    config: OnceCell<Result<Arc<ClientConfig>, HttpError>>,
}

impl Trust {
    /// Trusts the certificates of a PEM file besides the system's.
    pub(super) fn with_file(path: &Path) -> Result<Self, TlsRootsError> {
        Ok(Self::default().and(&Certificates::read(path)?))
    }

    /// Trusts a server that shows a certificate of this PEM file, for any name and time.
    pub(super) fn of_own(path: &Path) -> Result<Self, TlsRootsError> {
        Ok(Self { own: true, ..Self::with_file(path)? })
    }

    /// Trusts these certificates besides.
    pub(super) fn and(&self, certificates: &Certificates) -> Self {
        let extra = self.extra.iter().chain(certificates.iter()).cloned().collect();
        Self { extra, own: self.own, config: OnceCell::new() }
    }

    pub(super) async fn config(&self) -> Result<Arc<ClientConfig>, HttpError> {
        self.config
            .get_or_init(|| async {
                let (extra, own) = (self.extra.clone(), self.own);
                time::spawn_blocking(move || build(extra, own))
                    .await
                    .unwrap_or_else(|e| Err(HttpError::Tls(e.to_string())))
            })
            .await
            .clone()
    }
}

fn build(extra: Vec<CertificateDer<'static>>, own: bool) -> Result<Arc<ClientConfig>, HttpError> {
    let tls = |error: rustls::Error| HttpError::Tls(error.to_string());
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        tracing::warn!(%error, "system_roots: some root certificates cannot be read");
    }
    roots.add_parsable_certificates(system.certs);
    roots.add_parsable_certificates(extra.iter().cloned());
    if roots.is_empty() {
        return Err(HttpError::Tls(
            "no root certificates on this system; name some with --ca-file, or with ca_file in the entry"
                .to_owned(),
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(tls)?;
    // rustls calls every verifier but its own dangerous. This one asks rustls's, and says more only of what is listed.
    let verifier = Arc::new(ListedVerifier::new(roots, extra, provider, own).map_err(tls)?);
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = PROTOCOLS.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}
