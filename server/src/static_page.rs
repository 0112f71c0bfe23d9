//! A page built from three texts, with a content security policy that allows exactly these.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

/// The page and its browser policy.
#[derive(Debug)]
pub struct Page {
    /// The document.
    pub html: String,
    /// `Content-Security-Policy`
    pub policy: String,
}

impl Page {
    /// The page of `html`, with `style` and `script` in the places that it names.
    pub(crate) fn build(html: &str, style: &str, script: &str) -> Page {
        Page {
            html: html.replace("/*STYLE*/", style).replace("/*SCRIPT*/", script),
            policy: format!(
                "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; connect-src 'self'; \
                 base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                 trusted-types 'none'",
                hash(script),
                hash(style)
            ),
        }
    }
}

fn hash(text: &str) -> String {
    BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()))
}

/// Fails unless the parts of a page need nothing from elsewhere and no hole in the policy.
#[cfg(test)]
pub(crate) fn assert_self_contained(page: &Page, html: &str, style: &str, script: &str) {
    assert!(page.html.contains(style) && page.html.contains(script));
    for part in [html, style, script] {
        assert!(!part.contains("//cdn") && !part.contains("@import") && !part.contains("innerHTML"));
        // The only addresses are names of XML vocabularies.
        for scheme in ["http://", "https://", "ws:", "wss:"] {
            for (at, _) in part.match_indices(scheme) {
                let vocabulary = part[at..].starts_with("http://www.w3.org/2000/svg");
                assert!(vocabulary, "{}", part[at..].lines().next().unwrap_or_default());
            }
        }
    }
    // Inline handlers and styles would need holes in the policy.
    let handler = |(at, _): (usize, &str)| {
        html[at + 3..].trim_start_matches(|c: char| c.is_ascii_lowercase()).starts_with('=')
    };
    assert!(!html.contains(" style=") && !html.match_indices(" on").any(handler));
    assert!(!page.policy.contains("unsafe"));
}
