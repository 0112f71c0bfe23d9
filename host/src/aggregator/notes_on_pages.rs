//! Notes on answers that are not all there is: one for a tool (decision 184).

use ptc_engine::{CallRecord, PageRecord};
use ptc_vm::paging::{More, RestMethod, Standing};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Pages of one thing: the answers to calls of a tool that differ in the page alone.
struct Pages<'r> {
    name: (&'r str, &'r str),
    /// Items of its different pages, if all are lists.
    items: Option<u64>,
    seen: Vec<u64>,
    /// The last page that says how much of all it is.
    last: &'r Standing,
    /// Whether one of them is the last, or `tool/pages` has gone through them.
    is_whole: bool,
}

/// `tickets.list_tickets: 30 of 412 items; (tool/pages …) gets all`, for the first tools with such an answer.
pub(super) fn notes_on_pages(calls: &[CallRecord]) -> Vec<String> {
    let mut all: Vec<Pages<'_>> = Vec::new();
    let mut places: BTreeMap<(&str, &str, u64), usize> = BTreeMap::new();
    let mut followed: Vec<(&str, &str, u64)> = Vec::new();
    for call in calls {
        let Some(page) = call.page.as_deref() else { continue };
        let key = (call.server.as_str(), call.tool.as_str(), page.group);
        if page.by_pages {
            followed.push(key);
        }
        let Some(standing) = &page.standing else { continue };
        let place = *places.entry(key).or_insert_with(|| {
            let (items, name) = (Some(0), (key.0, key.1));
            all.push(Pages { name, items, seen: Vec::new(), last: standing, is_whole: false });
            all.len() - 1
        });
        all[place].add(page, standing);
    }
    for key in followed {
        if let Some(place) = places.get(&key) {
            all[*place].is_whole = true;
        }
    }
    let mut told: Vec<(&str, &str)> = Vec::new();
    let mut notes = Vec::new();
    for pages in all.iter().filter(|pages| pages.is_partial()) {
        if told.contains(&pages.name) {
            continue;
        }
        if notes.len() == MOST {
            break;
        }
        told.push(pages.name);
        let more = all.iter().filter(|other| other.name == pages.name && other.is_partial()).count() - 1;
        notes.push(pages.note(more));
    }
    notes
}

impl<'r> Pages<'r> {
    fn add(&mut self, page: &PageRecord, standing: &'r Standing) {
        if !self.seen.contains(&page.whole) {
            self.seen.push(page.whole);
            self.items = self.items.zip(standing.items).map(|(before, items)| before.saturating_add(items));
        }
        self.is_whole |= standing.more == More::No && standing.clamped.is_none();
        self.last = standing;
    }

    fn is_partial(&self) -> bool {
        let has_all = self.items.zip(self.last.total).is_some_and(|(items, total)| items >= total);
        !self.is_whole && !has_all
    }

    fn note(&self, further: usize) -> String {
        let Standing { total, more, sign, way, clamped, .. } = self.last;
        let (server, tool) = self.name;
        let mut text = format!("{server}.{tool}: ");
        let _ = match (self.items, total) {
            (Some(items), Some(total)) => write!(text, "{items} of {total} items"),
            (Some(items), None) => write!(text, "{items} item{}", if items == 1 { "" } else { "s" }),
            (None, _) => write!(text, "not all"),
        };
        if let Some((asked, most)) = clamped {
            let _ = write!(text, ", {asked} asked for, and {most} is the most at a time");
        }
        match more {
            More::Yes if total.is_none() => {
                let _ = write!(text, ", and there is more ({sign})");
            }
            More::Yes => {}
            More::Perhaps => text.push_str(", as many as it gives at a time: there may be more"),
            More::No => text.push_str(": there may be more"),
        }
        match way {
            RestMethod::Pages => text.push_str("; (tool/pages …) gets all"),
            RestMethod::Limit(name) => {
                let _ = write!(text, "; a greater {name:?} may get all");
            }
            // Of a clamped number it is not known that there is more.
            RestMethod::Unknown if *more == More::Yes => {
                text.push_str("; no argument of it is known to get the rest")
            }
            RestMethod::Unknown => {}
        }
        if further > 0 {
            let _ = write!(text, " (and {further} more of its answers)");
        }
        text
    }
}

/// Most tools, kinds of failures and misses that notes name.
pub(super) const MOST: usize = 3;
