//! Certificates of the operator's own.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use ptc_base::ordinary_file;

/// A file of certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("ca file {path}: {detail}")]
pub struct TlsRootsError {
    path: String,
    detail: String,
}

/// The certificates of a PEM file: of authorities, or of servers themselves. Never empty.
#[derive(Clone, PartialEq)]
pub struct Certificates(Arc<[CertificateDer<'static>]>);

impl Certificates {
    /// Reads a file. Other content, keys for instance, is skipped.
    ///
    /// # Errors
    /// The file cannot be read, holds no certificate, or one that cannot be understood.
    #[expect(clippy::disallowed_methods, reason = "entry point: Certificates.read")]
    pub fn read(path: &Path) -> Result<Self, TlsRootsError> {
        let error = |detail: String| TlsRootsError { path: path.display().to_string(), detail };
        let text = ordinary_file::read(path, ordinary_file::MAX_PEM_BYTES)
            .map_err(|fault| error(fault.to_string()))?;
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        let certificates = read.map_err(|e| error(e.to_string()))?;
        if certificates.is_empty() {
            return Err(error(
                "no certificate in it; it must be PEM, with lines \"-----BEGIN CERTIFICATE-----\"".to_owned(),
            ));
        }
        let mut probe = RootCertStore::empty();
        for (number, certificate) in (1..).zip(&certificates) {
            probe
                .add(certificate.clone())
                .map_err(|e| error(format!("certificate {number} in it cannot be read: {e}")))?;
        }
        Ok(Self(certificates.into()))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &CertificateDer<'static>> {
        self.0.iter()
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificates({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let refusal = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            Certificates::read(file.path()).unwrap_err().to_string()
        };
        assert!(refusal("").contains("no certificate in it"));
        assert!(
            refusal("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
                .contains("no certificate")
        );
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(refusal(broken).contains("certificate 1 in it cannot be read"));
        let missing = Certificates::read(Path::new("/no/such/file")).unwrap_err().to_string();
        assert_eq!(missing, "ca file /no/such/file: no such file or directory");
    }
}
