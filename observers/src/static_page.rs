//! A page built from three texts, with a content security policy that allows exactly these.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ptc_host::digest::sha256;

/// A page and its browser policy.
#[derive(Debug)]
pub struct Page {
    /// The document.
    pub html: String,
    /// `Content-Security-Policy`
    pub policy: String,
}

/// The three files of a page, which is built at its first use.
pub struct PageFiles {
    html: &'static str,
    style: &'static str,
    script: &'static str,
    built: OnceLock<Page>,
}

impl PageFiles {
    /// The files; `html` names the places of the two others.
    pub const fn new(html: &'static str, style: &'static str, script: &'static str) -> PageFiles {
        PageFiles { html, style, script, built: OnceLock::new() }
    }

    /// The page.
    pub fn page(&self) -> &Page {
        self.built.get_or_init(|| Page::build(self.html, self.style, self.script))
    }
}

impl Page {
    fn build(html: &str, style: &str, script: &str) -> Page {
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
    BASE64_STANDARD.encode(sha256(text.as_bytes()))
}

/// Checks that the parts of a page need no other resources and no exception from the policy.
#[cfg(any(test, feature = "testing"))]
pub fn assert_self_contained(files: &PageFiles) {
    let PageFiles { html, style, script, .. } = files;
    let page = files.page();
    assert!(page.html.contains(*style) && page.html.contains(*script));
    for part in [*html, style, script] {
        assert!(!part.contains("//cdn") && !part.contains("@import") && !part.contains("innerHTML"));
        // The only addresses are names of XML vocabularies.
        for scheme in ["http://", "https://", "ws:", "wss:"] {
            for (at, _) in part.match_indices(scheme) {
                let vocabulary = part[at..].starts_with("http://www.w3.org/2000/svg");
                assert!(vocabulary, "{}", part[at..].lines().next().unwrap_or_default());
            }
        }
    }
    // Inline handlers and styles would need exceptions from the policy.
    let handler = |(at, _): (usize, &str)| {
        html[at + 3..].trim_start_matches(|c: char| c.is_ascii_lowercase()).starts_with('=')
    };
    assert!(!html.contains(" style=") && !html.match_indices(" on").any(handler));
    assert!(!page.policy.contains("unsafe"));
}
