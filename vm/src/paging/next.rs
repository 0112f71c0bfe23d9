//! The next page.

use super::address::query;
use super::names::{Plain, Role};
use super::page::Page;
use super::parameters::{PageArguments, Parameter, ParameterKind, Parameters};
use super::signs::PageEntry;
use crate::value::Value;

/// Arguments by name.
pub(crate) type Arguments = Vec<(String, Value)>;

/// The page after a page.
pub(crate) enum NextPage {
    /// Nothing: the page says so, or nothing speaks of pages at all.
    End,
    /// The page says that there is more, and these arguments ask for it.
    Page {
        arguments: Arguments,
        /// The sign, for a reader.
        sign: String,
        /// Whether the number of the first page is unknown: the requested one may be the first once more.
        is_probe: bool,
        /// Whether a cursor or an address asks for it, so that one page may be like another.
        by_cursor: bool,
    },
    /// The page says that there is more, and nothing is known that asks for it.
    Stuck { sign: String },
    /// Nothing says whether there is more, and these arguments would ask for it.
    Perhaps { arguments: Arguments, is_full: bool, is_probe: bool },
    /// Nothing says whether there is more, no argument asks for it, and the page has all that it may have.
    Full { size: i64 },
}

/// The page after `page`, which has so many items. `before`: how many there were before it; `None` if unknown.
pub(crate) fn next(
    page: &Page<'_>,
    count: i64,
    parameters: &Parameters,
    sent: &PageArguments,
    before: Option<i64>,
) -> NextPage {
    Following { page, parameters, sent, count }.next(before)
}

/// Whether it is known how many items there are up to the end of a page.
pub(super) fn is_placed(
    page: &Page<'_>,
    count: i64,
    parameters: &Parameters,
    sent: &PageArguments,
    before: Option<i64>,
) -> bool {
    Following { page, parameters, sent, count }.consumed(before).is_some()
}

struct Following<'a, 'v> {
    page: &'a Page<'v>,
    parameters: &'a Parameters,
    sent: &'a PageArguments,
    /// Items of the page.
    count: i64,
}

/// The first number of a page or a place, where it is known.
fn first_of(parameter: Option<&Parameter>) -> Option<i64> {
    let parameter = parameter?;
    parameter.default.or(parameter.minimum).filter(|first| matches!(first, 0 | 1))
}

impl Following<'_, '_> {
    fn next(&self, before: Option<i64>) -> NextPage {
        let signs = &self.page.signs;
        if signs.more.is_some_and(|more| !more.what) {
            return NextPage::End;
        }
        let says_more = self.says_more(before);
        let mut without_way = None;
        // Some servers repeat the cursor that they were asked for; a scan may end with an empty page only.
        let cursors = || signs.cursors.iter().filter(|found| !self.is_echo(found) && !self.ends_empty(found));
        // One whose name an argument has comes before one that is taken for want of that.
        let (exact, other): (Vec<_>, Vec<_>) = cursors().partition(|found| self.is_named(found));
        for found in exact.into_iter().chain(other) {
            let sign = format!("{} is given", shown(found.key));
            match self.by_cursor(found) {
                Some(arguments) => return self.follow(arguments, sign),
                None => without_way = Some(sign),
            }
        }
        if let Some((key, address)) = signs.address {
            let sign = format!("{} is an address", shown(key));
            match self.by_address(key, address) {
                Some(arguments) => return self.follow(arguments, sign),
                None => without_way = Some(sign),
            }
        }
        if let Some(sign) = says_more.or(without_way) {
            let is_empty_by_count = self.count == 0 && signs.more.is_none();
            // A total may count what is not given out.
            if is_empty_by_count && signs.cursors.is_empty() && signs.address.is_none() {
                return NextPage::End;
            }
            let spent = signs.spent.is_some() && signs.more.is_none() && signs.address.is_none();
            if spent && signs.cursors.is_empty() {
                return NextPage::End;
            }
            if let Some((arguments, sign)) = self.by_state() {
                return self.follow(arguments, sign);
            }
            return match self.by_last_item().filter(|_| !self.speaks_of_places()) {
                Some(arguments) => self.follow(arguments, sign),
                None => match self.by_place() {
                    Some((arguments, is_probe)) => {
                        NextPage::Page { arguments, sign, is_probe, by_cursor: false }
                    }
                    None => match self.by_last_item() {
                        Some(arguments) => self.follow(arguments, sign),
                        None => NextPage::Stuck { sign },
                    },
                },
            };
        }
        let says_end = signs.spent.is_some()
            || signs.more.is_some()
            || !signs.cursors.is_empty()
            || signs.pages.is_some()
            || self.is_total_reached(before);
        if self.count == 0 {
            return NextPage::End;
        }
        match self.by_state() {
            _ if says_end => NextPage::End,
            Some((arguments, sign)) => self.follow(arguments, sign),
            None => self.silent(),
        }
    }

    fn follow(&self, arguments: Arguments, sign: String) -> NextPage {
        NextPage::Page { arguments, sign, is_probe: false, by_cursor: true }
    }

    /// The sign in the page that there is more, apart from cursors.
    fn says_more(&self, before: Option<i64>) -> Option<String> {
        let signs = &self.page.signs;
        if let Some(more) = signs.more.filter(|more| more.what) {
            return Some(format!("{} says so", shown(more.key)));
        }
        if let Some(rest) = signs.remaining.filter(|rest| rest.what > 0 && self.count > 0) {
            return Some(format!("{} is {}", shown(rest.key), rest.what));
        }
        if let (Some(total), Some(consumed)) = (signs.total, self.consumed(before))
            && total.what > consumed
        {
            return Some(format!("{} is {}", shown(total.key), total.what));
        }
        if let (Some(pages), Some(page)) = (signs.pages, self.page_from_one())
            && pages.what > page
            // A total that has been reached is the better word.
            && signs.total.is_none_or(|_| self.consumed(before).is_none())
        {
            return Some(format!("{} is {}", shown(pages.key), pages.what));
        }
        None
    }

    /// Whether a total says that this is all. Some count the items of the page under such a name: a full page with as many is
    /// no proof, nor is any page where the name is `count`.
    fn is_total_reached(&self, before: Option<i64>) -> bool {
        let (Some(total), Some(_)) = (self.page.signs.total, self.consumed(before)) else { return false };
        let is_page_count = !total.strong && total.what == self.count;
        let is_full = self.size().is_some_and(|(size, _)| self.count >= size);
        !is_page_count || Plain::of(total.key).as_str() == "total" && !is_full
    }

    /// Items up to the end of this page, from the very first one.
    fn consumed(&self, before: Option<i64>) -> Option<i64> {
        if let Some(before) = before {
            return before.checked_add(self.count);
        }
        let signs = &self.page.signs;
        if let Some((place, name)) = self.sent.number(Role::Offset) {
            return place.checked_sub(self.first_place(name))?.checked_add(self.count);
        }
        let (_, _) = self.sent.number(Role::Page)?;
        let size = signs.limit.map(|limit| limit.what).or_else(|| self.sent.limit())?;
        (self.page_from_one()? - 1).checked_mul(size)?.checked_add(self.count)
    }

    /// The number of this page, counted from one.
    fn page_from_one(&self) -> Option<i64> {
        let signs = &self.page.signs;
        let sent = self.sent.number(Role::Page).map(|(page, _)| page);
        let said = signs.page.map(|page| page.what);
        let number = match (said, sent) {
            (Some(said), _) => said,
            (None, Some(sent)) => sent,
            (None, None) if self.sent.chooses_a_place() => return None,
            (None, None) => return Some(1),
        };
        let parameter = self.parameters.of_role(Role::Page).next();
        let counts_from_zero = match (said, sent) {
            (Some(0), _) | (_, Some(0)) => said != Some(1),
            (Some(said), None) => said == 0,
            _ => first_of(parameter) == Some(0),
        };
        number.checked_add(i64::from(counts_from_zero))
    }

    fn is_echo(&self, found: &PageEntry<'_>) -> bool {
        let by_own_name =
            !found.plain.as_str().starts_with("next") && self.sent.has(found.plain.as_str(), found.value);
        // Solr repeats the mark when there is nothing behind it.
        by_own_name || found.plain.as_str() == "nextcursormark" && self.sent.has("cursormark", found.value)
    }

    /// Cursors of scans, which are given with every page.
    fn ends_empty(&self, found: &PageEntry<'_>) -> bool {
        self.count == 0
            && matches!(found.plain.as_str(), "scrollid" | "nextscrollid" | "bookmark" | "nextbookmark")
    }

    fn speaks_of_places(&self) -> bool {
        let signs = &self.page.signs;
        signs.page.is_some() || signs.pages.is_some() || signs.offset.is_some()
    }

    /// Whether an argument has the name of a cursor.
    fn is_named(&self, found: &PageEntry<'_>) -> bool {
        let plain = found.plain.as_str();
        let bare = plain.strip_prefix("next").unwrap_or(plain);
        [plain, bare].iter().any(|name| self.parameters.named(name).is_some())
    }

    fn by_cursor(&self, found: &PageEntry<'_>) -> Option<Arguments> {
        if let (Value::Map(spread), "continue") = (found.value, found.plain.as_str()) {
            let known = |name: &str| {
                !self.parameters.are_known() || self.parameters.named(Plain::of(name).as_str()).is_some()
            };
            let entries = super::page::entries(spread).filter(|(name, _)| known(name));
            let arguments: Arguments =
                entries.map(|(name, value)| (name.to_owned(), value.clone())).collect();
            return (!arguments.is_empty()).then_some(arguments);
        }
        let (name, value) = self.argument(found.key, found.value)?;
        Some(vec![(name, value)])
    }

    /// The argument that takes a cursor found under this key, and the cursor as it takes it.
    fn argument(&self, key: &str, value: &Value) -> Option<(String, Value)> {
        let plain = Plain::of(key);
        let plain = plain.as_str();
        if matches!(value, Value::Map(_)) && plain != "lastevaluatedkey" {
            return None;
        }
        if !self.parameters.are_known() {
            return Some((undescribed(key, value), value.clone()));
        }
        let take = |parameter: &Parameter| {
            let fitted = parameter.fitted(value);
            let fits = !(parameter.kind == ParameterKind::Number && matches!(fitted, Value::Str(_)));
            fits.then(|| (parameter.name.clone(), fitted))
        };
        let named = |name: &str| self.parameters.named(name).and_then(take);
        let is_page = plain.contains("page") && !plain.contains("token") && !plain.contains("cursor");
        let is_place = ["offset", "start", "startat", "startindex", "skip", "index", "from"]
            .iter()
            .any(|name| plain.strip_prefix("next").unwrap_or(plain) == *name);
        let bare =
            plain.strip_prefix("next").or_else(|| plain.strip_suffix("next")).filter(|bare| !bare.is_empty());
        let of_roles =
            |roles: &[Role]| roles.iter().find_map(|role| self.parameters.of_role(*role).find_map(take));
        named(plain)
            .or_else(|| bare.and_then(named))
            .or_else(|| if plain == "lastevaluatedkey" { named("exclusivestartkey") } else { None })
            .or_else(|| if is_page { of_roles(&[Role::Page]) } else { None })
            .or_else(|| if is_place { of_roles(&[Role::Offset]) } else { None })
            .or_else(|| of_roles(&[Role::Cursor]))
            .or_else(|| match value {
                Value::Int(_) => of_roles(&[Role::Page, Role::Offset]),
                _ => of_roles(&[Role::LastId]),
            })
    }

    /// The arguments that an address names in its query: those that choose a page, and those that the call has not given.
    fn by_address(&self, key: &str, address: &str) -> Option<Arguments> {
        let mut arguments: Arguments = Vec::new();
        for (name, text) in query(address) {
            let plain = Plain::of(&name);
            let role = self.parameters.role(&name);
            let value = match (text.parse::<i64>(), role) {
                (Ok(number), Some(Role::Page | Role::Offset | Role::Limit)) => Value::Int(number),
                _ => Value::str(&text),
            };
            let found = if self.parameters.are_known() {
                match (self.parameters.named(plain.as_str()), role) {
                    (Some(parameter), Some(_)) => Some((parameter.name.clone(), parameter.fitted(&value))),
                    (Some(parameter), None) if is_named_like_a_state(&parameter.name) => {
                        Some((parameter.name.clone(), parameter.fitted(&value)))
                    }
                    (None, Some(Role::Cursor | Role::LastId)) => self.argument(&name, &value),
                    (None, Some(role @ (Role::Page | Role::Offset))) => {
                        let parameter = self.parameters.of_role(role).next();
                        parameter.map(|parameter| (parameter.name.clone(), parameter.fitted(&value)))
                    }
                    _ => None,
                }
            } else {
                role.map(|_| (name.clone(), value))
            };
            // The size of the page stays the program's.
            if let Some((name, value)) = found.filter(|_| role != Some(Role::Limit)) {
                arguments.push((name, value));
            }
        }
        let moves = |(name, _): &(String, Value)| self.parameters.role(name).is_some();
        if arguments.iter().any(moves) || !arguments.is_empty() && self.parameters.are_known() {
            return Some(arguments);
        }
        let names = [
            Plain::of(key).as_str(),
            "nexturl",
            "nextlink",
            "nextpageurl",
            "url",
            "link",
            "uri",
            "href",
            "pageurl",
        ]
        .iter()
        .find_map(|name| self.parameters.named(name))
        .filter(|parameter| parameter.kind != ParameterKind::Number)
        .map(|parameter| vec![(parameter.name.clone(), Value::str(address))]);
        names.filter(|_| self.parameters.are_known())
    }

    /// A state that the page gives under the name of an argument which takes one.
    fn by_state(&self) -> Option<(Arguments, String)> {
        self.page.entries().find_map(|(key, value)| {
            let parameter = self.parameters.named(Plain::of(key).as_str())?;
            let is_state = parameter.kind != ParameterKind::Number
                && is_named_like_a_state(key)
                && matches!(value, Value::Str(text) if !text.as_str().is_empty())
                && !self.sent.has(parameter.plain().as_str(), value);
            let sign = || format!("{} is given", shown(key));
            is_state.then(|| (vec![(parameter.name.clone(), value.clone())], sign()))
        })
    }

    /// The id of the last item, where an argument takes it.
    fn by_last_item(&self) -> Option<Arguments> {
        let signs = &self.page.signs;
        let parameters = || {
            let of = |role| self.parameters.of_role(role);
            of(Role::LastId).chain(of(Role::Cursor).filter(|cursor| cursor.plain().as_str() == "after"))
        };
        if let (Some(last), Some(parameter)) = (&signs.last_id, parameters().next()) {
            return Some(vec![(parameter.name.clone(), parameter.fitted(last.value))]);
        }
        let cursors = || self.parameters.of_role(Role::Cursor);
        if let (Some(cursor), Some(parameter)) = (self.page.last_item(&["cursor"]), cursors().next()) {
            return Some(vec![(parameter.name.clone(), parameter.fitted(&cursor))]);
        }
        let parameter = parameters().next()?;
        let id = self.page.last_item(&["id", "_id", "gid", "uuid"])?;
        Some(vec![(parameter.name.clone(), parameter.fitted(&id))])
    }

    /// The next page by its number or its place; whether its number is a guess.
    fn by_place(&self) -> Option<(Arguments, bool)> {
        let signs = &self.page.signs;
        let by_page = || self.by_number();
        let by_offset = || self.by_offset();
        let page_first = self.sent.name(Role::Page).is_some()
            || self.sent.name(Role::Offset).is_none()
                && signs.offset.is_none()
                && (signs.page.is_some() || signs.pages.is_some());
        if page_first { by_page().or_else(by_offset) } else { by_offset().or_else(by_page) }
    }

    fn by_number(&self) -> Option<(Arguments, bool)> {
        let signs = &self.page.signs;
        let parameter = self.parameters.of_role(Role::Page).next();
        let sent = self.sent.number(Role::Page);
        let name = match (parameter, sent) {
            (_, Some((_, name))) => name.to_owned(),
            (Some(parameter), None) => parameter.name.clone(),
            (None, None) if !self.parameters.are_known() => {
                signs.page.filter(|page| page.strong).map(|_| "page".to_owned())?
            }
            (None, None) => return None,
        };
        let known = sent
            .map(|(page, _)| page)
            .or_else(|| parameter.and_then(|parameter| parameter.default))
            .or_else(|| signs.page.map(|page| page.what))
            .or_else(|| first_of(parameter));
        let number = known.map_or(Some(1), |page| page.checked_add(1))?;
        Some((vec![(name, Value::Int(number))], known.is_none()))
    }

    fn by_offset(&self) -> Option<(Arguments, bool)> {
        if self.count == 0 {
            return None;
        }
        let signs = &self.page.signs;
        let parameter = self.parameters.of_role(Role::Offset).next();
        let sent = self.sent.number(Role::Offset);
        let name = match (parameter, sent, signs.offset) {
            (_, Some((_, name)), _) => name.to_owned(),
            (Some(parameter), ..) => parameter.name.clone(),
            (None, None, Some(offset)) if !self.parameters.are_known() => offset.key.to_owned(),
            _ => return None,
        };
        let first = self.first_place(&name);
        let said = signs.offset.map(|offset| offset.what);
        let place = match (sent, said) {
            (Some((place, _)), _) => place.checked_add(self.count)?,
            (None, Some(place @ (0 | 1))) => place.checked_add(self.count)?,
            // Some say where to go on, and not where the page is.
            (None, _) => first.checked_add(self.count)?,
        };
        Some((vec![(name, Value::Int(place))], false))
    }

    /// The place of the very first item.
    fn first_place(&self, name: &str) -> i64 {
        let parameter = self.parameters.named(Plain::of(name).as_str());
        let counts_from_one =
            matches!(Plain::of(name).as_str(), "startindex" | "startrecord" | "startposition" | "startrow");
        first_of(parameter).unwrap_or(i64::from(counts_from_one))
    }

    /// The page has no signs: the arguments may tell how to continue.
    fn silent(&self) -> NextPage {
        let size = self.size();
        let is_full = size.is_some_and(|(size, _)| self.count >= size);
        if !is_full && size.is_some_and(|(_, is_sure)| is_sure) {
            return NextPage::End;
        }
        if let Some((arguments, is_probe)) = self.by_place() {
            return NextPage::Perhaps { arguments, is_full, is_probe };
        }
        let only_last = self.parameters.of_role(Role::LastId).next().is_some();
        match (self.by_last_item().filter(|_| only_last), size) {
            (Some(arguments), Some(_)) if is_full => {
                NextPage::Perhaps { arguments, is_full, is_probe: false }
            }
            (None, Some((size, _))) if is_full => NextPage::Full { size },
            _ => NextPage::End,
        }
    }

    /// How many items a full page has, and whether a shorter one is surely the last.
    fn size(&self) -> Option<(i64, bool)> {
        if let Some(limit) = self.page.signs.limit.filter(|limit| limit.what > 0) {
            return Some((limit.what, true));
        }
        let parameter = self.parameters.of_role(Role::Limit).next();
        let maximum = parameter.and_then(|parameter| parameter.maximum).filter(|most| *most > 0);
        match (self.sent.limit(), maximum) {
            (Some(asked), Some(most)) => Some((asked.min(most), true)),
            // A server may give less at a time than it is asked for.
            (Some(asked), None) => Some((asked, false)),
            (None, _) => parameter
                .and_then(|parameter| parameter.default)
                .filter(|size| *size > 0)
                .map(|size| (size, true)),
        }
    }
}

/// Whether an argument without a role may still take a value from a page, and is no credential.
fn is_named_like_a_state(name: &str) -> bool {
    let plain = Plain::of(name);
    let has = |parts: &[&str]| parts.iter().any(|part| plain.as_str().contains(part));
    has(&["token", "cursor"]) && !has(&["auth", "access", "api", "secret"])
}

/// A key as a reader is shown it.
fn shown(key: &str) -> String {
    crate::print::literal(&Value::str(key))
}

/// The argument of a tool that does not describe its parameters.
fn undescribed(key: &str, value: &Value) -> String {
    let plain = Plain::of(key);
    match plain.as_str() {
        "nexttoken" | "next" if !matches!(value, Value::Int(_)) && plain.as_str() == "next" => {
            "cursor".to_owned()
        }
        "nexttoken" => key.to_owned(),
        "endcursor" | "cursornext" | "aftercursor" => "after".to_owned(),
        "lastevaluatedkey" => "exclusive_start_key".to_owned(),
        "next" => "page".to_owned(),
        _ => match key.strip_prefix("next").map(|rest| rest.trim_start_matches(['_', '-'])) {
            Some(rest) if !rest.is_empty() => {
                let mut letters = rest.chars();
                letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
            }
            _ => key.to_owned(),
        },
    }
}

/// The requested and the received number, if a page has fewer items than the call requested because the tool limits them.
pub(super) fn clamped(page: &Page<'_>, parameters: &Parameters, sent: &PageArguments) -> Option<(i64, i64)> {
    let asked = sent.limit()?;
    let said = page.signs.limit.map(|limit| limit.what);
    let maximum = parameters.of_role(Role::Limit).next().and_then(|parameter| parameter.maximum);
    let most = [said, maximum].into_iter().flatten().filter(|most| *most > 0 && *most < asked).min()?;
    let count = i64::try_from(page.count()?).ok()?;
    (count == most).then_some((asked, most))
}

/// The arguments that the result of `:next` requests: an address is parsed, any other value goes to the argument that fits the
/// key it was read from. `None` if no argument of the tool does.
pub(crate) fn pairs(
    key: &str,
    value: &Value,
    parameters: &Parameters,
    sent: &PageArguments,
) -> Option<Arguments> {
    let page = Page::read(&Value::Nil, "", None);
    let following = Following { page: &page, parameters, sent, count: 0 };
    if let Value::Str(text) = value
        && super::address::is_address(text.as_str())
        && let Some(arguments) = following.by_address(key, text.as_str())
    {
        return Some(arguments);
    }
    following.argument(key, value).map(|pair| vec![pair])
}
