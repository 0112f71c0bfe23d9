//! Signatures under the operator's secret: HMAC-SHA256, which every holder of the secret makes and checks.

use ring::hmac::{Context, HMAC_SHA256, Key, verify};

use super::Secret;

impl Secret {
    /// The HMAC-SHA256 of a text, given in `parts`, under the first line of the file.
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut signature = [0; 32];
        if let Some(line) = self.lines().first() {
            let mut context = Context::with_key(&Key::new(HMAC_SHA256, line.text()));
            parts.iter().for_each(|part| context.update(part));
            signature.copy_from_slice(context.sign().as_ref());
        }
        signature
    }

    /// Whether `tag` is a prefix of the signature of the text under one of the lines. Compares in constant time.
    #[must_use]
    pub fn has_tagged(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        let by = |line: &super::secret::SecretLine| {
            let mut context = Context::with_key(&Key::new(HMAC_SHA256, line.text()));
            parts.iter().for_each(|part| context.update(part));
            let signature = context.sign();
            let differences =
                signature.as_ref().iter().zip(tag).fold(0, |all, (one, other)| all | (one ^ other));
            tag.len() <= signature.as_ref().len() && differences == 0
        };
        !tag.is_empty() && self.lines().iter().any(by)
    }

    /// Whether this is the text's signature under one of the lines. Compares in constant time.
    #[must_use]
    pub fn has_signed(&self, parts: &[&[u8]], signature: &[u8; 32]) -> bool {
        let text = parts.concat();
        let by = |line: &super::secret::SecretLine| {
            verify(&Key::new(HMAC_SHA256, line.text()), &text, signature).is_ok()
        };
        self.lines().iter().any(by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::hex;

    #[test]
    fn a_signature_is_the_hmac_of_the_text_under_the_line() {
        // The second case of RFC 4231 has a shorter key than a secret may have; its sixth has one of 131 bytes.
        let secret = Secret::of(&[&[0xaa; 131]]).unwrap();
        let text: &[u8] = b"Test Using Larger Than Block-Size Key - Hash Key First";
        let signature = secret.sign(&[&text[..10], &text[10..]]);
        assert_eq!(hex(&signature), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
        assert!(secret.has_signed(&[text], &signature));
        let mut other = signature;
        other[31] ^= 1;
        assert!(!secret.has_signed(&[text], &other) && !secret.has_signed(&[&text[1..]], &signature));
        assert!(
            secret.has_tagged(&[text], &signature[..9])
                && secret.has_tagged(&[&text[..3], &text[3..]], &signature)
        );
        let beyond = [&signature[..], &[0]].concat();
        for tag in [&other[..], &signature[1..10], &beyond, &[]] {
            assert!(!secret.has_tagged(&[text], tag));
        }
    }

    #[test]
    fn both_lines_are_known_and_the_first_signs() {
        let (old, new) = ([b'o'; 32], [b'n'; 32]);
        let both = Secret::of(&[&new, &old]).unwrap();
        let (old, new) = (Secret::of(&[&old]).unwrap(), Secret::of(&[&new]).unwrap());
        let signature = old.sign(&[b"text"]);
        assert!(both.has_signed(&[b"text"], &signature) && !new.has_signed(&[b"text"], &signature));
        assert_eq!(both.sign(&[b"text"]), new.sign(&[b"text"]));
    }
}
