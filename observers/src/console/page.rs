//! The page of the console. It contains no data of any caller.

use crate::static_page::PageFiles;

/// The files.
pub static PAGE: PageFiles = PageFiles::new(
    include_str!("page/index.html"),
    include_str!("page/style.css"),
    include_str!("page/script.js"),
);

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        crate::static_page::assert_self_contained(&super::PAGE);
    }
}
