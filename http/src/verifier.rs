//! Verification of servers, including those whose certificates the operator has listed.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::issuer::{IssuerError, issuer_of};

/// Verifies as usual, names the issuer of an unknown certificate, and has one addition: a server that shows a certificate which
/// is itself listed is recognised by that, even if the certificate is that of an authority, which usual rules do not take for a
/// server's (`CaUsedAsEndEntity`), or its authority is unknown. Its name and its time still have to be right, and the server
/// has to own its key.
#[derive(Debug)]
pub(super) struct ListedVerifier {
    usual: Arc<WebPkiServerVerifier>,
    listed: Vec<CertificateDer<'static>>,
    /// Whether the listed ones are the server's own, so that one of them suffices for any name.
    own: bool,
}

impl ListedVerifier {
    /// Trusts `roots`, to which `listed` belong.
    pub(super) fn new(
        roots: RootCertStore,
        listed: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
        own: bool,
    ) -> Result<Self, Error> {
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|e| Error::General(e.to_string()))?;
        Ok(Self { usual, listed, own })
    }
}

impl ServerCertVerifier for ListedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.own && self.listed.iter().any(|listed| listed == end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        match self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // Its time was looked at before: one that has run out is refused as such.
            Err(error)
                if is_about_authority(&error) && self.listed.iter().any(|listed| listed == end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            Err(error) if is_about_authority(&error) => {
                Err(match issuer_of(end_entity) {
                    Some(by) => Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(
                        IssuerError { error, by },
                    )))),
                    None => error,
                })
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Whether the only thing that is wrong is who has signed the certificate.
fn is_about_authority(error: &Error) -> bool {
    match error {
        // The signature is the authority's, of the certificate: that of the handshake is verified elsewhere. It does not fit
        // where another authority of the same name is trusted.
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => true,
        Error::InvalidCertificate(other) => is_authority_as_server(other),
        _ => false,
    }
}

/// Whether an authority's certificate was shown as a server's. rustls has no case of its own for it.
pub(super) fn is_authority_as_server(error: &CertificateError) -> bool {
    matches!(error, CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity"))
}
