//! The page at which a sign-in begins. It contains no data of any upstream or caller.

use ptc_observers::static_page::PageFiles;

pub(super) static PAGE: PageFiles = PageFiles::new(
    include_str!("page/index.html"),
    include_str!("page/style.css"),
    include_str!("page/script.js"),
);

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        ptc_observers::static_page::assert_self_contained(&super::PAGE);
    }
}
