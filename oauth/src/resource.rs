//! The parameter `resource` (RFC 8707), exactly as it was written (`auth.md` 6.4). It never goes through a URL type:
//! `https://h` must not become `https://h/`.

/// `auth.resource`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Setting {
    /// `null`: the value in the metadata, or else the URL.
    #[default]
    Discovered,
    /// `""`: none is sent.
    Omitted,
    /// Any other text: this one.
    Exact(String),
}

impl Setting {
    /// The setting of a configured value.
    #[must_use]
    pub fn of(configured: Option<&str>) -> Self {
        match configured {
            None => Self::Discovered,
            Some("") => Self::Omitted,
            Some(text) => Self::Exact(text.to_owned()),
        }
    }

    /// The value that is sent. `metadata` is `resource` of the resource's metadata, `url` the upstream's as the configuration
    /// has it; `openapi` whether it is one of that transport.
    #[must_use]
    pub fn value(&self, metadata: Option<&str>, url: &str, openapi: bool) -> Option<String> {
        match (self, metadata) {
            (Self::Exact(text), _) => Some(text.clone()),
            (Self::Omitted, _) => None,
            (Self::Discovered, Some(metadata)) => Some(metadata.to_owned()),
            (Self::Discovered, None) if openapi => None,
            (Self::Discovered, None) => Some(url.split('#').next().unwrap_or(url).to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_leaves_as_it_came() {
        let value =
            |configured, metadata, url, openapi| Setting::of(configured).value(metadata, url, openapi);
        // Failure 6 of auth.md 18.5: no slash is added, and nothing is cut to the origin.
        for text in [
            "https://h",
            "https://h/",
            "HTTPS://H.Example:443/mcp/",
            "https://h/a/../b?x=%7e",
            "urn:x",
            "https://bücher.example",
        ] {
            assert_eq!(value(None, Some(text), "https://h/mcp", false).as_deref(), Some(text));
            assert_eq!(value(None, None, text, false).as_deref(), Some(text));
            assert_eq!(
                value(Some(text), Some("https://other"), "https://h/mcp", true).as_deref(),
                Some(text)
            );
        }
        assert_eq!(value(None, None, "https://h/mcp#part", false).as_deref(), Some("https://h/mcp"));
    }

    #[test]
    fn it_can_be_left_out() {
        assert_eq!(Setting::of(Some("")).value(Some("https://h"), "https://h", false), None);
        assert_eq!(Setting::of(None).value(None, "https://h", true), None);
        assert_eq!(
            Setting::of(None).value(Some("https://h"), "https://h", true).as_deref(),
            Some("https://h")
        );
    }
}
