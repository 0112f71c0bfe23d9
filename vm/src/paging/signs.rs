//! A page's signs about itself and its successor.

use super::address::{is_address, linked};
use super::names::{Plain, Sign, is_envelope, sign, total_of};
use super::page::{MOST_ENTRIES, entries, is_list};
use crate::value::{Map, Value};
use smallvec::SmallVec;

/// How deep maps that speak of pages lie in each other.
const MOST_DEPTH: usize = 3;
/// Most cursors of a page that are looked at, and most links of a list.
const MOST_CURSORS: usize = 4;
const MOST_LINKS: usize = 16;

/// An entry of a page that means something.
#[derive(Clone)]
pub(super) struct PageEntry<'v> {
    pub(super) key: &'v str,
    pub(super) plain: Plain,
    pub(super) value: &'v Value,
    pub(super) strong: bool,
}

/// A statement of a page, and the key that makes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageStatement<'v, T> {
    pub(super) key: &'v str,
    pub(super) what: T,
    pub(super) strong: bool,
}

/// All signs of a page. The sign nearest to the items counts.
#[derive(Default)]
pub(super) struct Signs<'v> {
    /// Candidates for the cursor of the next page, the surest first.
    pub(super) cursors: SmallVec<[PageEntry<'v>; 2]>,
    /// The address of the next page.
    pub(super) address: Option<(&'v str, &'v str)>,
    /// The key of a cursor or an address that is empty: nothing follows.
    pub(super) spent: Option<&'v str>,
    /// Whether there is more.
    pub(super) more: Option<PageStatement<'v, bool>>,
    pub(super) total: Option<PageStatement<'v, i64>>,
    pub(super) remaining: Option<PageStatement<'v, i64>>,
    pub(super) pages: Option<PageStatement<'v, i64>>,
    pub(super) page: Option<PageStatement<'v, i64>>,
    pub(super) offset: Option<PageStatement<'v, i64>>,
    pub(super) limit: Option<PageStatement<'v, i64>>,
    pub(super) last_id: Option<PageEntry<'v>>,
    /// The key of the items.
    items: Plain,
}

impl<'v> Signs<'v> {
    /// The signs in these maps, those around the items first, which lie under this key.
    pub(super) fn of(maps: impl IntoIterator<Item = &'v Map>, items: &str) -> Signs<'v> {
        let mut signs = Signs { items: Plain::of(items), ..Signs::default() };
        maps.into_iter().for_each(|map| signs.take(map, 0));
        signs.cursors.sort_by_key(|found| !found.strong);
        // `number` and `pages` mean much: they speak of pages where the other one is there too.
        if signs.page.is_some_and(|page| !page.strong) && signs.pages.is_none() {
            signs.page = None;
        }
        signs
    }

    /// Whether anything else than a weak name speaks of pages.
    pub(super) fn are_strong(&self) -> bool {
        self.cursors.iter().any(|found| found.strong)
            || self.address.is_some()
            || self.more.is_some_and(|more| more.strong)
            || self.total.is_some_and(|total| total.strong)
            || self.pages.is_some_and(|pages| pages.strong)
            || self.total.is_some() && (self.limit.is_some() || self.offset.is_some() || self.page.is_some())
    }

    fn take(&mut self, map: &'v Map, depth: usize) {
        for (key, value) in entries(map) {
            let plain = Plain::of(key);
            let known = sign(plain.as_str()).or_else(|| total_of(plain.as_str(), self.items.as_str()));
            match value {
                Value::Map(inner) => match known {
                    Some(Sign::Next) if depth < MOST_DEPTH => {
                        self.take_next(inner, PageEntry { key, plain, value, strong: false });
                    }
                    Some(Sign::Total { strong }) => {
                        if let Some(count @ Value::Int(_)) = entry(inner, "value") {
                            self.take_sign(Sign::Total { strong }, key, plain, count);
                        }
                    }
                    // Keys of several parts are cursors themselves; `continue` of MediaWiki holds the arguments.
                    Some(Sign::Cursor { .. })
                        if matches!(plain.as_str(), "lastevaluatedkey" | "continue") =>
                    {
                        self.cursor(PageEntry { key, plain, value, strong: true });
                    }
                    Some(Sign::Cursor { strong: true }) if depth < MOST_DEPTH => {
                        self.take_next(inner, PageEntry { key, plain, value, strong: true });
                    }
                    _ if is_envelope(plain.as_str()) && depth < MOST_DEPTH => self.take(inner, depth + 1),
                    _ => {}
                },
                _ if is_list(value) && matches!(plain.as_str(), "link" | "links") => {
                    self.take_links(key, value)
                }
                _ => {
                    if let Some(known) = known {
                        self.take_sign(known, key, plain, value);
                    }
                }
            }
        }
    }

    fn take_sign(&mut self, known: Sign, key: &'v str, plain: Plain, value: &'v Value) {
        match known {
            Sign::Cursor { strong } => self.take_cursor(PageEntry { key, plain, value, strong }),
            Sign::Next => match value {
                Value::True | Value::False => self.flag(key, matches!(value, Value::True), false),
                Value::Str(text) if is_address(text.as_str()) => self.point(key, text.as_str()),
                _ => self.take_cursor(PageEntry { key, plain, value, strong: false }),
            },
            Sign::Address => match value {
                Value::Str(text) if !text.as_str().is_empty() => self.point(key, text.as_str()),
                Value::Nil | Value::Str(_) => self.spend(key),
                _ => {}
            },
            Sign::Link => {
                if let Value::Str(header) = value
                    && let Some(address) = linked(header.as_str())
                {
                    self.point(key, address);
                }
            }
            Sign::Flag { is_more, strong } => match value {
                Value::True => self.flag(key, is_more, strong),
                Value::False => self.flag(key, !is_more, strong),
                _ => {}
            },
            Sign::Pages { .. } if matches!(value, Value::True | Value::False) => {
                self.flag(key, matches!(value, Value::False), true);
            }
            Sign::Offset if matches!(value, Value::Str(text) if text.as_str().parse::<i64>().is_err()) => {
                self.take_cursor(PageEntry { key, plain, value, strong: false });
            }
            Sign::LastId => {
                if matches!(value, Value::Str(_) | Value::Int(_)) && self.last_id.is_none() {
                    self.last_id = Some(PageEntry { key, plain, value, strong: false });
                }
            }
            Sign::Total { strong } => {
                let total = number(value).filter(|total| *total >= 0);
                let is_surer = self.total.is_none_or(|known| strong && !known.strong);
                if let (Some(what), true) =
                    (total, is_surer || plain.as_str() == "total" && !self.is_total_sure())
                {
                    self.total = Some(PageStatement { key, what, strong });
                }
            }
            Sign::Remaining => keep(&mut self.remaining, key, value, true),
            Sign::Pages { strong } => keep(&mut self.pages, key, value, strong),
            Sign::Page { strong } => {
                if self.page.is_none_or(|known| strong && !known.strong) {
                    self.page = None;
                    keep(&mut self.page, key, value, strong);
                }
            }
            Sign::Offset => keep(&mut self.offset, key, value, true),
            Sign::Limit => keep(&mut self.limit, key, value, true),
        }
    }

    fn is_total_sure(&self) -> bool {
        self.total.is_some_and(|total| total.strong)
    }

    /// `next` as a map: `{after link}`, `{href}`, `{page starting_after}`, `{offset path uri}`. One without any of these is an
    /// unreadable cursor.
    fn take_next(&mut self, next: &'v Map, found: PageEntry<'v>) {
        let mut is_read = false;
        for (inner, value) in entries(next) {
            let plain = Plain::of(inner);
            match (plain.as_str(), value) {
                ("href" | "url" | "uri" | "link" | "path", Value::Str(text)) if is_address(text.as_str()) => {
                    self.point(found.key, text.as_str());
                }
                (
                    "after" | "cursor" | "startingafter" | "token" | "pagetoken" | "nextcursor" | "offset"
                    | "page" | "start" | "skip" | "continuation" | "marker",
                    Value::Str(_) | Value::Int(_),
                ) => self.take_cursor(PageEntry { key: inner, plain, value, strong: true }),
                (_, Value::Nil) => {}
                _ => continue,
            }
            is_read = true;
        }
        match (is_read, next.is_empty()) {
            (true, _) => {}
            (false, true) => self.spend(found.key),
            (false, false) => self.cursor(found),
        }
    }

    /// `[{rel "next" href …}]`
    fn take_links(&mut self, key: &'v str, links: &'v Value) {
        let Value::Vector(links) = links else { return };
        let Some(links) = links.as_flat() else { return };
        for link in links.iter().take(MOST_LINKS) {
            let Value::Map(link) = link else { continue };
            let is_next = ["rel", "relation"].iter().any(
                |name| matches!(entry(link, name), Some(Value::Str(relation)) if relation.as_str() == "next"),
            );
            let address = ["href", "url", "uri"].iter().find_map(|name| match entry(link, name) {
                Some(Value::Str(address)) => Some(address.as_str()),
                _ => None,
            });
            if let (true, Some(address)) = (is_next, address) {
                self.point(key, address);
            }
        }
    }

    fn take_cursor(&mut self, found: PageEntry<'v>) {
        match found.value {
            Value::Nil | Value::False => self.spend(found.key),
            // Scans end with a cursor of zero, and so do the numbers of pages that are not there.
            Value::Int(..=0) => self.spend(found.key),
            Value::Str(text) if matches!(text.as_str(), "" | "0") => self.spend(found.key),
            Value::True => self.flag(found.key, true, found.strong),
            Value::Str(text) if text.as_str().contains("://") || has_query(text.as_str()) => {
                self.point(found.key, text.as_str());
            }
            Value::Str(_) | Value::Int(_) => self.cursor(found),
            _ => {}
        }
    }

    fn cursor(&mut self, found: PageEntry<'v>) {
        if self.cursors.len() < MOST_CURSORS {
            self.cursors.push(found);
        }
    }

    fn point(&mut self, key: &'v str, address: &'v str) {
        self.address.get_or_insert((key, address));
    }

    fn spend(&mut self, key: &'v str) {
        self.spent.get_or_insert(key);
    }

    fn flag(&mut self, key: &'v str, is_more: bool, strong: bool) {
        if self.more.is_none_or(|known| strong && !known.strong) {
            self.more = Some(PageStatement { key, what: is_more, strong });
        }
    }
}

fn has_query(text: &str) -> bool {
    is_address(text) && text.contains('?')
}

fn keep<'v>(into: &mut Option<PageStatement<'v, i64>>, key: &'v str, value: &Value, strong: bool) {
    if let (None, Some(what)) = (&into, number(value)) {
        *into = Some(PageStatement { key, what, strong });
    }
}

/// A number, which some write as a text.
fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Str(text) if text.len() < 20 => text.as_str().parse().ok(),
        _ => None,
    }
}

/// The value of a key of this very name.
fn entry<'v>(map: &'v Map, name: &str) -> Option<&'v Value> {
    if map.len() > MOST_ENTRIES {
        return None;
    }
    map.entry_named(name, false).map(|(_, value)| value)
}
