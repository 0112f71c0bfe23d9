//! The issuer of a certificate that is not trusted.

use std::fmt;

use ptc_mcp::text::clip;
use rustls::Error;

use ptc_base::visible::without_controls;

/// Characters of an issuer's name that are shown.
const MOST: usize = 100;

/// An error of the verification of a certificate, and who issued it.
#[derive(Debug)]
pub(super) struct IssuerError {
    pub(super) error: Error,
    pub(super) by: String,
}

impl fmt::Display for IssuerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for IssuerError {}

/// The name of the issuer of a certificate in DER (RFC 5280, 4.1): its common name, or else its organization.
pub(super) fn issuer_of(certificate: &[u8]) -> Option<String> {
    const SEQUENCE: u8 = 0x30;
    const VERSION: u8 = 0xa0;
    const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
    const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
    let (_, certificate, _) = element(certificate)?;
    let (_, mut fields, _) = element(certificate)?;
    if let Some((VERSION, _, rest)) = element(fields) {
        fields = rest;
    }
    let (_, _, fields) = element(fields)?;
    let (_, _, fields) = element(fields)?;
    let (SEQUENCE, mut names, _) = element(fields)? else { return None };
    let (mut common, mut organization) = (None, None);
    while let Some((_, set, rest)) = element(names) {
        names = rest;
        let Some((SEQUENCE, pair, _)) = element(set) else { continue };
        let Some((_, kind, value)) = element(pair) else { continue };
        let Some((_, text, _)) = element(value) else { continue };
        match kind {
            COMMON_NAME => common = Some(text),
            ORGANIZATION => organization = Some(text),
            _ => {}
        }
    }
    let name = String::from_utf8_lossy(common.or(organization)?);
    Some(clip(&without_controls(&name, &[]).collect::<String>(), MOST))
}

/// The first element of a text of DER: its tag, its content, and the rest.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut der = vec![tag, 0x82, (content.len() >> 8) as u8, content.len() as u8];
        der.extend_from_slice(content);
        der
    }

    fn certificate(names: &[(u8, &str)], version: bool) -> Vec<u8> {
        let names: Vec<u8> = names
            .iter()
            .flat_map(|(kind, name)| {
                let pair = [of(0x06, &[0x55, 0x04, *kind]), of(0x0c, name.as_bytes())].concat();
                of(0x31, &of(0x30, &pair))
            })
            .collect();
        let version = if version { of(0xa0, &of(0x02, &[2])) } else { Vec::new() };
        let fields = [version, of(0x02, &[7]), of(0x30, &[]), of(0x30, &names), of(0x30, &[])].concat();
        of(0x30, &of(0x30, &fields))
    }

    #[test]
    fn the_issuer_is_named_by_its_common_name_or_its_organization() {
        let both = [(0x0a, "Example Inc."), (0x03, "Example\u{7}Root")];
        for version in [true, false] {
            assert_eq!(issuer_of(&certificate(&both, version)).unwrap(), "Example Root");
            assert_eq!(issuer_of(&certificate(&both[..1], version)).unwrap(), "Example Inc.");
        }
        assert_eq!(issuer_of(&certificate(&[(0x06, "DE")], true)), None);
    }

    #[test]
    fn what_is_no_certificate_has_no_issuer() {
        let whole = certificate(&[(0x03, "x")], true);
        for end in 0..whole.len() {
            assert_eq!(issuer_of(&whole[..end]), None);
        }
        assert_eq!(issuer_of(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
        assert_eq!(issuer_of(&[0x30, 0x80, 0, 0]), None);
    }
}
