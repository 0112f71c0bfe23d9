//! An answer's share of the whole, for notes to its reader.

use super::names::Role;
use super::next::{NextPage, clamped, is_placed, next};
use super::page::Page;
use super::parameters::{PageArguments, Parameters};
use crate::value::Value;
use std::sync::Arc;

/// Longest sentence of a page's own that is passed on, in characters.
const MOST_SIGN: usize = 80;

/// The known facts of a call before its answer arrives.
#[derive(Clone, Debug, Default)]
pub struct CallFacts {
    /// The tool.
    pub tool: Box<str>,
    /// Its parameters.
    pub parameters: Arc<Parameters>,
    /// The call's arguments for them.
    pub sent: PageArguments,
    /// Whether `tool/pages` made the call, which follows pages by itself.
    pub by_pages: bool,
}

/// Whether there is more than an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// There is not, or nothing speaks of it.
    No,
    /// The answer says so.
    Yes,
    /// Nothing says so, but it has as many items as the tool gives at a time.
    Perhaps,
}

/// How to get the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestMethod {
    /// `tool/pages` gets all.
    Pages,
    /// A greater number of items at a time may: the argument for that.
    Limit(Box<str>),
    /// Unknown.
    Unknown,
}

/// How much of all an answer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Items of the answer, if it is a list of them.
    pub items: Option<u64>,
    /// Items in all, if it says so.
    pub total: Option<u64>,
    /// Whether there is more.
    pub more: More,
    /// The sign in the answer.
    pub sign: Box<str>,
    /// How to get the rest.
    pub way: RestMethod,
    /// Items that the call asked for, and those that the tool gives at most, where these are fewer and came.
    pub clamped: Option<(u64, u64)>,
}

impl Standing {
    /// That of an answer; `None` where it is no page of anything.
    pub(crate) fn of(value: &Value, asked: &CallFacts) -> Option<Standing> {
        let (parameters, sent) = (&asked.parameters, &asked.sent);
        let page = Page::read(value, &asked.tool, None);
        let signs = &page.signs;
        // What a weak name says may be of something else, as the total of an order is.
        let is_paged = parameters.choose_pages() || signs.are_strong();
        let items = page.count();
        if !is_paged || items.is_none() && signs.more.is_none_or(|more| !more.what || !more.strong) {
            return None;
        }
        let count = items.map_or(0, |items| i64::try_from(items).unwrap_or(i64::MAX));
        let before = (!sent.chooses_a_place()).then_some(0);
        let is_greater =
            |total: i64| items.is_none_or(|items| total > i64::try_from(items).unwrap_or(i64::MAX));
        let total = signs.total.map(|total| total.what).filter(|total| is_greater(*total));
        let without_way = || match parameters.of_role(Role::Limit).next() {
            Some(limit)
                if limit
                    .maximum
                    .is_none_or(|most| sent.limit().or(limit.default).is_none_or(|size| size < most)) =>
            {
                RestMethod::Limit(limit.name.as_str().into())
            }
            _ => RestMethod::Unknown,
        };
        let is_ended = signs.more.is_some_and(|more| !more.what) || signs.spent.is_some();
        let is_all = total.is_none() && signs.total.is_some_and(|total| total.strong);
        let clamped = clamped(&page, parameters, sent).filter(|_| !is_ended && !is_all);
        let is_beyond = || total.is_some() && !is_placed(&page, count, parameters, sent, before);
        let (more, sign, way) = match next(&page, count, parameters, sent, before) {
            NextPage::Page { sign, .. } => (More::Yes, sign, RestMethod::Pages),
            // A cursor of a weak name that no argument takes may be anything.
            NextPage::Stuck { sign } if signs.are_strong() || signs.more.is_some() || total.is_some() => {
                (More::Yes, sign, without_way())
            }
            // Who names a number knows that there may be more.
            NextPage::Perhaps { is_full: true, .. } if sent.limit().is_none() || clamped.is_some() => {
                (More::Perhaps, String::new(), RestMethod::Pages)
            }
            NextPage::Full { .. } if sent.limit().is_none() => (More::Perhaps, String::new(), without_way()),
            // A page of which nobody knows whether it is the last: its items alone are not all.
            NextPage::End | NextPage::Perhaps { .. } if !is_ended && is_beyond() => {
                (More::Yes, String::new(), RestMethod::Pages)
            }
            NextPage::End | NextPage::Stuck { .. } | NextPage::Perhaps { .. } | NextPage::Full { .. } => {
                (More::No, String::new(), RestMethod::Unknown)
            }
        };
        Some(Standing {
            items: items.map(|items| items as u64),
            total: total.and_then(|total| u64::try_from(total).ok()),
            more,
            sign: sign.chars().take(MOST_SIGN).collect::<String>().into(),
            way,
            clamped: clamped.and_then(|(asked, most)| Some((asked.try_into().ok()?, most.try_into().ok()?))),
        })
    }
}
