//! The page: one file built from three.

use std::sync::OnceLock;

use crate::static_page::Page;

const HTML: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");

/// The page, built at its first use.
pub fn page() -> &'static Page {
    static PAGE: OnceLock<Page> = OnceLock::new();
    PAGE.get_or_init(|| Page::build(HTML, STYLE, SCRIPT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::static_page::assert_self_contained;

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        assert_self_contained(page(), HTML, STYLE, SCRIPT);
    }
}
