//! The page: one file built from three, with a content security policy that allows exactly these texts.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

const HTML: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");

/// The page and its browser policy.
#[derive(Debug)]
pub struct Page {
    /// The document.
    pub html: String,
    /// `Content-Security-Policy`
    pub policy: String,
}

/// The page, built at its first use.
pub fn page() -> &'static Page {
    static PAGE: OnceLock<Page> = OnceLock::new();
    PAGE.get_or_init(|| Page {
        html: HTML.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT),
        policy: format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
             trusted-types 'none'",
            hash(SCRIPT),
            hash(STYLE)
        ),
    })
}

fn hash(text: &str) -> String {
    BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let page = page();
        assert!(page.html.contains(STYLE) && page.html.contains(SCRIPT));
        for part in [HTML, STYLE, SCRIPT] {
            assert!(!part.contains("//cdn") && !part.contains("@import") && !part.contains("innerHTML"));
            // The only addresses are names of XML vocabularies.
            for scheme in ["http:", "https:", "ws:", "wss:"] {
                for (at, _) in part.match_indices(scheme) {
                    let vocabulary = part[at..].starts_with("http://www.w3.org/2000/svg");
                    assert!(vocabulary, "{}", part[at..].lines().next().unwrap_or_default());
                }
            }
        }
        // Inline handlers and styles would need holes in the policy.
        let handler = |(at, _): (usize, &str)| {
            HTML[at + 3..].trim_start_matches(|c: char| c.is_ascii_lowercase()).starts_with('=')
        };
        assert!(!HTML.contains(" style=") && !HTML.match_indices(" on").any(handler));
        assert!(!page.policy.contains("unsafe"));
    }
}
