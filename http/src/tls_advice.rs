//! Advice on TLS errors.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use super::issuer::IssuerError;
use super::verifier::is_authority_as_server;

/// The text of an error, with advice on a second line if there is some.
pub(super) fn advised(error: &Error) -> String {
    if let Error::InvalidCertificate(CertificateError::Other(other)) = error
        && let Some(IssuerError { error, by }) = other.0.downcast_ref()
    {
        let advice = advice(error).unwrap_or_default();
        return format!("{error}\nThe certificate was issued by {by:?}. {advice}");
    }
    match advice(error) {
        Some(advice) => format!("{error}\n{advice}"),
        None => error.to_string(),
    }
}

fn advice(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "Nobody whom this system trusts has signed the server's certificate. If it is yours, name the PEM file of its \
             authority, or of the certificate itself, with ca_file in the entry or with --ca-file (PTC_CA_FILE)."
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "The certificate is for another host: write a name that it has into the URL.",
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "The server's certificate has run out: renew it there. If it has not, this machine's clock is wrong."
        }
        Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => "The server's certificate does not count yet: this machine's clock may be wrong.",
        Error::InvalidCertificate(CertificateError::Revoked) => {
            "The server's certificate was revoked: it needs a new one."
        }
        Error::InvalidCertificate(other) if is_authority_as_server(other) => {
            "The server's certificate is self-signed as that of an authority, and shown as its own. If it is yours, name a PEM file \
             that has this very certificate with ca_file in the entry or with --ca-file (PTC_CA_FILE)."
        }
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "The server answers without TLS: check the port of the URL, or write http:// and allow_insecure_http."
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "The server asks for a certificate of the client, which cannot be configured."
        }
        Error::AlertReceived(AlertDescription::UnrecognisedName) => {
            "The server has no certificate for this host: check the host of the URL."
        }
        Error::AlertReceived(AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure) => {
            "The server offers nothing that is safe enough: TLS 1.2 or 1.3 with today's ciphers is needed."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        for (error, words) in [
            (Error::InvalidCertificate(CertificateError::UnknownIssuer), "ca_file in the entry"),
            (Error::InvalidCertificate(CertificateError::NotValidForName), "into the URL"),
            (Error::InvalidCertificate(CertificateError::Expired), "renew it"),
            (Error::InvalidCertificate(CertificateError::NotValidYet), "clock"),
            (Error::InvalidMessage(InvalidMessage::InvalidContentType), "allow_insecure_http"),
            (Error::AlertReceived(AlertDescription::CertificateRequired), "of the client"),
        ] {
            let text = advised(&error);
            assert!(text.starts_with(&format!("{error}\n")) && text.contains(words), "{text}");
        }
        assert_eq!(advised(&Error::DecryptError), Error::DecryptError.to_string());
    }
}
