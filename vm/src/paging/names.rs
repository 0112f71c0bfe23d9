//! The names that public APIs have for their signs of pages, without regard to case and punctuation.

use smallvec::SmallVec;

/// Longest name that is looked at, in bytes.
const LONGEST: usize = 64;

/// A name as it is compared: `next_cursor`, `nextCursor` and `next-cursor` are one, as are `page[after]` and `pageAfter`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plain(SmallVec<[u8; 24]>);

impl Plain {
    pub(super) fn of(name: &str) -> Plain {
        if name.len() > LONGEST {
            return Plain::default();
        }
        let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
        Plain(letters.map(|byte| byte.to_ascii_lowercase()).collect())
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// The role of a tool's argument in paging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Takes a value from the page before.
    Cursor,
    /// Takes the id of the last item.
    LastId,
    /// Takes the place of the first item.
    Offset,
    /// Takes the number of the page.
    Page,
    /// Takes the size of a page.
    Limit,
}

/// The role of an argument of this name. Names are listed with the surest first.
pub(super) fn role(plain: &str) -> Option<Role> {
    Some(match plain {
        "cursor"
        | "nextcursor"
        | "pagecursor"
        | "startcursor"
        | "aftercursor"
        | "cursorafter"
        | "endcursor"
        | "cursormark"
        | "pageafter"
        | "after"
        | "pagetoken"
        | "nextpagetoken"
        | "nexttoken"
        | "paginationtoken"
        | "pagingtoken"
        | "continuationtoken"
        | "nextcontinuationtoken"
        | "continuation"
        | "continue"
        | "continuetoken"
        | "marker"
        | "nextmarker"
        | "startmarker"
        | "startingtoken"
        | "scrollid"
        | "scrolltoken"
        | "bookmark"
        | "skiptoken"
        | "startkey"
        | "nextkey"
        | "exclusivestartkey"
        | "resumptiontoken"
        | "pagingstate"
        | "pagekey"
        | "pagestate"
        | "nextpageid"
        | "iterator"
        | "querylocator"
        | "positiontoken" => Role::Cursor,
        "startingafter" | "startafter" | "startafterid" | "afterid" | "sinceid" | "lastid" | "lastseenid"
        | "lastitemid" => Role::LastId,
        "offset" | "skip" | "start" | "startat" | "startindex" | "startrow" | "startrecord"
        | "startposition" | "startoffset" | "recordoffset" | "resultoffset" | "pageoffset"
        | "firstresult" | "from" => Role::Offset,
        "page" | "pagenumber" | "pagenum" | "pageno" | "pagenr" | "pageindex" | "currentpage" | "pageid"
        | "pg" => Role::Page,
        "limit" | "pagesize" | "perpage" | "pagelimit" | "maxresults" | "maxitems" | "maxrecords"
        | "maxcount" | "maxkeys" | "resultsperpage" | "itemsperpage" | "recordsperpage" | "hitsperpage"
        | "numresults" | "batchsize" | "count" | "size" | "top" | "take" | "first" | "rows" | "pagelen" => {
            Role::Limit
        }
        _ => return None,
    })
}

/// The meaning of an entry of a page, by its name. `strong`: the name has no other meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// A cursor for the next page.
    Cursor { strong: bool },
    /// The address of the next page.
    Address,
    /// `next`, which may be any of these.
    Next,
    /// A flag; `is_more`: true says that there is more, else that there is not.
    Flag { is_more: bool, strong: bool },
    /// How many items there are in all.
    Total { strong: bool },
    /// How many there are after this page.
    Remaining,
    /// How many pages there are; a flag where it is one (`last_page`).
    Pages { strong: bool },
    /// The number of this page.
    Page { strong: bool },
    /// The place of its first item; a cursor where it is a text.
    Offset,
    /// The size of a page.
    Limit,
    /// The id of its last item.
    LastId,
    /// The header `Link`.
    Link,
}

/// The meaning of an entry of this name.
pub(super) fn sign(plain: &str) -> Option<Sign> {
    Some(match plain {
        "nextcursor"
        | "nextpagetoken"
        | "nexttoken"
        | "nextpagecursor"
        | "nextcursorid"
        | "nextcursormark"
        | "nextcontinuationtoken"
        | "continuationtoken"
        | "nextcontinuation"
        | "nextmarker"
        | "nextoffset"
        | "nextpage"
        | "nextpagenumber"
        | "nextpageno"
        | "nextpageindex"
        | "nextstart"
        | "nextstartat"
        | "nextstartindex"
        | "nextskip"
        | "nextpageid"
        | "nextafter"
        | "nextpageafter"
        | "nextscrollid"
        | "nextbookmark"
        | "nextiterator"
        | "nextsinceid"
        | "nextstartingafter"
        | "nextpaginationtoken"
        | "endcursor"
        | "cursornext"
        | "aftercursor"
        | "cursorafter"
        | "scrollid"
        | "lastevaluatedkey"
        | "paginationtoken"
        | "pagingtoken"
        | "pagingstate"
        | "resumptiontoken"
        | "skiptoken"
        | "odataskiptoken" => Sign::Cursor { strong: true },
        "nextid" | "nextkey" | "nextindex" | "nextposition" | "nextfrom" | "bookmark" | "startingafter"
        | "cursor" | "after" | "marker" | "continuation" | "continue" | "pagetoken" => {
            Sign::Cursor { strong: false }
        }
        "nextlink" | "odatanextlink" | "nexturl" | "nexturi" | "nexthref" | "nextpageurl" | "nextpageuri"
        | "nextpagelink" | "nextpagepath" | "nextrecordsurl" | "nextresultsurl" | "nexturlpath"
        | "linknext" => Sign::Address,
        "next" => Sign::Next,
        "link" | "links" | "linkheader" => Sign::Link,
        "hasmore"
        | "hasnext"
        | "hasnextpage"
        | "hasmoreitems"
        | "hasmorepages"
        | "hasmoreresults"
        | "hasmorerecords"
        | "hasmoredata"
        | "hasmoreentries"
        | "hasmorerows"
        | "moreavailable"
        | "moreresults"
        | "morerecords"
        | "moreitems"
        | "moredata"
        | "moreresultsavailable"
        | "moreitemsincollection"
        | "thereismore"
        | "istruncated"
        | "truncated"
        | "resultstruncated"
        | "nextpageavailable"
        | "nextpageexists"
        | "ismore" => Sign::Flag { is_more: true, strong: true },
        "more" => Sign::Flag { is_more: true, strong: false },
        "islast" | "islastpage" | "endofresults" | "endoflist" | "nomore" | "isend" | "isfinal"
        | "isdone" => Sign::Flag { is_more: false, strong: true },
        "last" | "done" | "exhausted" | "finished" | "eof" => Sign::Flag { is_more: false, strong: false },
        "totalcount"
        | "totalresults"
        | "totalitems"
        | "totalrecords"
        | "totalrows"
        | "totalhits"
        | "totalsize"
        | "totalelements"
        | "totalobjects"
        | "totalentries"
        | "totalnum"
        | "totalnumber"
        | "totalmatches"
        | "totaldocs"
        | "totaldocuments"
        | "numfound"
        | "nbhits"
        | "numberofresults"
        | "numberofrecords"
        | "objectcount"
        | "estimatedtotalhits"
        | "opensearchtotalresults"
        | "odatacount"
        | "resultstotal"
        | "itemstotal" => Sign::Total { strong: true },
        "totalmatched" | "totalavailable" | "totalfound" => Sign::Total { strong: true },
        "total" | "count" | "found" | "matches" | "matched" | "hits" | "matchcount" | "resultcount"
        | "recordcount" | "itemcount" | "rowcount" => Sign::Total { strong: false },
        "remaining" | "remainingcount" | "remainingitems" | "remainingitemcount" | "itemsremaining"
        | "moreitemscount" => Sign::Remaining,
        "totalpages" | "totalpage" | "totalpagecount" | "pagecount" | "numpages" | "nbpages"
        | "numberofpages" | "pagetotal" | "pagestotal" | "lastpage" | "lastpagenumber" | "maxpage" => {
            Sign::Pages { strong: true }
        }
        "pages" => Sign::Pages { strong: false },
        "page" | "currentpage" | "pagenumber" | "pagenum" | "pageno" | "pageindex" | "thispage" => {
            Sign::Page { strong: true }
        }
        "number" | "current" => Sign::Page { strong: false },
        "offset" | "skip" | "start" | "startat" | "startindex" | "from" | "startrecord" => Sign::Offset,
        "limit" | "perpage" | "pagesize" | "pagelen" | "maxresults" | "itemsperpage" | "resultsperpage"
        | "hitsperpage" | "recordsperpage" | "pagelimit" => Sign::Limit,
        "lastid" => Sign::LastId,
        _ => return other_sign(plain),
    })
}

/// The meaning of an entry whose name is not among the known ones: it may be made of their words.
fn other_sign(plain: &str) -> Option<Sign> {
    const PARTS: [&str; 9] = ["page", "cursor", "token", "offset", "marker", "link", "url", "start", "batch"];
    let rest = plain.strip_prefix("next").or_else(|| plain.strip_suffix("next"));
    if rest.is_some_and(|rest| PARTS.iter().any(|part| rest.contains(part))) {
        return Some(Sign::Cursor { strong: true });
    }
    (role(plain) == Some(Role::Cursor)).then_some(Sign::Cursor { strong: false })
}

/// Whether a name says how many items there are that lie under this key: `total_tickets`, `ticketCount`; and whether that may
/// be of the page alone.
pub(super) fn total_of(plain: &str, items: &str) -> Option<Sign> {
    let one = items.trim_end_matches('s');
    if one.is_empty() {
        return None;
    }
    if let Some(rest) = plain.strip_prefix("total").or_else(|| plain.strip_suffix("total")) {
        return (rest == items || rest == one).then_some(Sign::Total { strong: true });
    }
    let rest = plain.strip_suffix("count").or_else(|| plain.strip_prefix("num"));
    let rest = rest.or_else(|| plain.strip_prefix("numberof"))?;
    let rest = rest.strip_prefix("total").unwrap_or(rest);
    (rest == items || rest == one).then_some(Sign::Total { strong: false })
}

/// Maps of a page that speak of the page and hold no items.
pub(super) fn is_envelope(plain: &str) -> bool {
    matches!(
        plain,
        "pagination"
            | "paging"
            | "pageinfo"
            | "paginginfo"
            | "paginationinfo"
            | "pagingmetadata"
            | "paginationmetadata"
            | "page"
            | "pages"
            | "pager"
            | "meta"
            | "metadata"
            | "cursor"
            | "cursors"
            | "link"
            | "links"
            | "responsemetadata"
            | "responsemeta"
            | "resultinfo"
            | "info"
            | "additionaldata"
            | "listmeta"
            | "listinfo"
            | "searchinfo"
            | "resultset"
    )
}

/// Maps around items, those first that others lie in.
pub(super) const WRAPPERS: [&str; 16] = [
    "data", "result", "results", "response", "payload", "body", "d", "hits", "message", "value", "output",
    "embedded", "content", "feed", "search", "query",
];

/// The list of items, where a page has several lists.
pub(super) const LISTS: [&str; 20] = [
    "items",
    "results",
    "data",
    "records",
    "entries",
    "rows",
    "values",
    "nodes",
    "edges",
    "hits",
    "value",
    "documents",
    "docs",
    "objects",
    "resources",
    "elements",
    "content",
    "list",
    "result",
    "members",
];

/// Lists beside the items.
pub(super) fn is_side_list(plain: &str) -> bool {
    matches!(
        plain,
        "warnings"
            | "errors"
            | "links"
            | "link"
            | "included"
            | "includes"
            | "facets"
            | "aggregations"
            | "columns"
            | "fields"
            | "headers"
            | "schema"
            | "filters"
            | "sort"
            | "suggestions"
            | "notices"
    )
}
