//! `tool/pages` against the paginations of public APIs, each as its documents show it.

use crate::tools::{paged_by, success_of};
use ptc_vm::paging::{CallFacts, Parameter, ParameterKind, Parameters};
use std::sync::Arc;

/// What a tool takes: names with `!` behind a number's, `=n` its default and `<n` its maximum.
fn parameters(written: &str) -> Arc<Parameters> {
    let parameter = |word: &str| {
        let (word, maximum) =
            word.split_once('<').map_or((word, None), |(word, most)| (word, most.parse().ok()));
        let (word, default) =
            word.split_once('=').map_or((word, None), |(word, first)| (word, first.parse().ok()));
        let (name, kind) = match word.strip_suffix('!') {
            Some(name) => (name, ParameterKind::Number),
            None => (word, ParameterKind::Text),
        };
        Parameter { name: name.to_owned(), kind, default, minimum: None, maximum }
    };
    Arc::new(Parameters::new(written.split_whitespace().map(parameter)))
}

/// The arguments of one request.
struct Args<'a>(&'a str);

impl Args<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let rest = self.0.split_once(&format!("\"{name}\":"))?.1;
        let end = rest.find([',', '}']).unwrap_or(rest.len());
        Some(rest[..end].trim_matches('"'))
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.text(name)?.parse().ok()
    }
}

const ALL: usize = 7;
const EACH: usize = 3;

/// Items from this place on, of at most one page.
fn items(from: usize) -> String {
    let ids: Vec<String> = (from..ALL.min(from + EACH)).map(|at| format!("{{\"id\":{}}}", at + 1)).collect();
    format!("[{}]", ids.join(","))
}

/// The place behind this page, if there is anything.
fn behind(from: usize) -> Option<usize> {
    Some(from + EACH).filter(|next| *next < ALL)
}

/// `written` of the place behind this page, or `none`.
fn or(from: usize, none: &str, written: impl Fn(usize) -> String) -> String {
    behind(from).map_or_else(|| none.to_owned(), written)
}

/// What a server answers, by name, parameters, and the answer to a request.
type Scheme = (&'static str, &'static str, fn(&Args<'_>) -> String);

/// The place of a cursor `c3`.
fn place(args: &Args<'_>, name: &str) -> usize {
    args.text(name).and_then(|text| text.strip_prefix('c')).map_or(0, |at| at.parse().expect("a cursor"))
}

/// The place of a page that is counted from one.
fn paged_from_one(args: &Args<'_>, name: &str) -> usize {
    (args.number(name).unwrap_or(1) - 1) * EACH
}

const SCHEMES: &[Scheme] = &[
    ("MCP", "cursor", |args| {
        let at = place(args, "cursor");
        format!(
            r#"{{"resources":{}{}}}"#,
            items(at),
            or(at, "", |next| format!(r#","nextCursor":"c{next}""#))
        )
    }),
    ("Slack", "channel limit! cursor", |args| {
        let at = place(args, "cursor");
        let next = or(at, "", |next| format!("c{next}"));
        format!(r#"{{"ok":true,"channels":{},"response_metadata":{{"next_cursor":"{next}"}}}}"#, items(at))
    }),
    ("Notion", "start_cursor page_size!", |args| {
        let at = place(args, "start_cursor");
        let next = or(at, "null", |next| format!("\"c{next}\""));
        format!(
            r#"{{"object":"list","results":{},"next_cursor":{next},"has_more":{}}}"#,
            items(at),
            behind(at).is_some()
        )
    }),
    ("GitHub GraphQL", "query first! after", |args| {
        let at = place(args, "after");
        let end = format!("\"c{}\"", (at + EACH).min(ALL));
        format!(
            r#"{{"data":{{"repository":{{"name":"r","owner":{{"login":"o"}},"issues":{{"totalCount":7,"nodes":{},"pageInfo":{{"hasNextPage":{},"endCursor":{end}}}}}}}}}}}"#,
            items(at),
            behind(at).is_some()
        )
    }),
    ("Relay edges", "after first!", |args| {
        let at = place(args, "after");
        let edges: Vec<String> = (at..ALL.min(at + EACH))
            .map(|at| format!(r#"{{"cursor":"c{}","node":{{"id":{}}}}}"#, at + 1, at + 1))
            .collect();
        format!(
            r#"{{"issues":{{"edges":[{}],"pageInfo":{{"hasNextPage":{}}}}}}}"#,
            edges.join(","),
            behind(at).is_some()
        )
    }),
    ("Stripe", "limit! starting_after ending_before", |args| {
        let at = args.number("starting_after").unwrap_or(0);
        format!(r#"{{"object":"list","data":{},"has_more":{}}}"#, items(at), behind(at).is_some())
    }),
    ("OpenAI", "limit! after before", |args| {
        let at = args.number("after").unwrap_or(0);
        let last = (at + EACH).min(ALL);
        format!(
            r#"{{"data":{},"first_id":"{}","last_id":"{last}","has_more":{}}}"#,
            items(at),
            at + 1,
            behind(at).is_some()
        )
    }),
    ("Google", "pageToken maxResults!", |args| {
        let at = place(args, "pageToken");
        format!(
            r#"{{"kind":"list","files":{}{}}}"#,
            items(at),
            or(at, "", |next| format!(r#","nextPageToken":"c{next}""#))
        )
    }),
    ("Google in Python's spelling", "page_token page_size!", |args| {
        let at = place(args, "page_token");
        let next = or(at, "", |next| format!("c{next}"));
        format!(r#"{{"events":{},"nextPageToken":"{next}","resultSizeEstimate":7}}"#, items(at))
    }),
    ("AWS", "NextToken MaxResults!", |args| {
        let at = place(args, "NextToken");
        format!(r#"{{"Instances":{}{}}}"#, items(at), or(at, "", |next| format!(r#","NextToken":"c{next}""#)))
    }),
    ("S3", "prefix continuation_token max_keys!", |args| {
        let at = place(args, "continuation_token");
        let next = or(at, "", |next| format!(r#","NextContinuationToken":"c{next}""#));
        format!(r#"{{"KeyCount":3,"IsTruncated":{},"Contents":{}{next}}}"#, behind(at).is_some(), items(at))
    }),
    ("Twitter", "query pagination_token max_results!", |args| {
        let at = place(args, "pagination_token");
        let next = or(at, "", |next| format!(r#","next_token":"c{next}""#));
        format!(r#"{{"data":{},"meta":{{"result_count":3{next}}}}}"#, items(at))
    }),
    ("Airtable", "pageSize! offset", |args| {
        let at = place(args, "offset");
        format!(r#"{{"records":{}{}}}"#, items(at), or(at, "", |next| format!(r#","offset":"c{next}""#)))
    }),
    ("HubSpot", "limit! after", |args| {
        let at = place(args, "after");
        let next = or(at, "", |next| {
            format!(r#","paging":{{"next":{{"after":"c{next}","link":"https://h/x?after=c{next}"}}}}"#)
        });
        format!(r#"{{"results":{}{next}}}"#, items(at))
    }),
    ("Intercom", "starting_after per_page!", |args| {
        let at = place(args, "starting_after");
        let next = or(at, "null", |next| format!(r#"{{"page":2,"starting_after":"c{next}"}}"#));
        format!(
            r#"{{"contacts":{},"pages":{{"type":"pages","next":{next},"page":1,"per_page":3,"total_pages":3}},"total_count":7}}"#,
            items(at)
        )
    }),
    ("Asana", "limit! offset", |args| {
        let at = place(args, "offset");
        let next = or(at, "null", |next| {
            format!(
                r#"{{"offset":"c{next}","path":"/tasks?offset=c{next}","uri":"https://h/tasks?offset=c{next}"}}"#
            )
        });
        format!(r#"{{"data":{},"next_page":{next}}}"#, items(at))
    }),
    ("Square", "cursor", |args| {
        let at = place(args, "cursor");
        format!(r#"{{"customers":{}{}}}"#, items(at), or(at, "", |next| format!(r#","cursor":"c{next}""#)))
    }),
    ("Zendesk", "page_after page_size!", |args| {
        let at = place(args, "page_after");
        format!(
            r#"{{"tickets":{},"meta":{{"has_more":{},"after_cursor":"c{}"}},"links":{{"next":"https://h/tickets?page%5Bafter%5D=c{}"}}}}"#,
            items(at),
            behind(at).is_some(),
            at + EACH,
            at + EACH
        )
    }),
    ("Microsoft Graph", "top! skiptoken", |args| {
        let at = place(args, "skiptoken");
        let next = or(at, "", |next| {
            format!(r#","@odata.nextLink":"https://h/v1.0/me/messages?$top=3&$skiptoken=c{next}""#)
        });
        format!(r#"{{"@odata.context":"x","value":{}{next}}}"#, items(at))
    }),
    ("OData, by skip", "top! skip!", |args| {
        let at = args.number("skip").unwrap_or(0);
        let next = or(at, "", |next| format!(r#","@odata.nextLink":"https://h/x?$top=3&$skip={next}""#));
        format!(r#"{{"@odata.count":7,"value":{}{next}}}"#, items(at))
    }),
    ("Django", "search page! page_size!", |args| {
        let at = paged_from_one(args, "page");
        let next = or(at, "null", |next| format!("\"http://h/api/tickets/?page={}\"", next / EACH + 1));
        format!(r#"{{"count":7,"next":{next},"previous":null,"results":{}}}"#, items(at))
    }),
    ("JSON:API", "page_number! page_size!", |args| {
        let at = paged_from_one(args, "page_number");
        let next = or(at, "null", |next| {
            format!("\"/articles?page%5Bnumber%5D={}&page%5Bsize%5D=3\"", next / EACH + 1)
        });
        format!(
            r#"{{"data":{},"included":[{{"id":9}}],"links":{{"self":"/articles","next":{next}}}}}"#,
            items(at)
        )
    }),
    ("HAL", "page! size!", |args| {
        let at = paged_from_one(args, "page");
        let next =
            or(at, "", |next| format!(r#","next":{{"href":"https://h/orders?page={}"}}"#, next / EACH + 1));
        format!(
            r#"{{"_links":{{"self":{{"href":"/orders"}}{next}}},"_embedded":{{"orders":{}}}}}"#,
            items(at)
        )
    }),
    ("FHIR", "_offset! _count!", |args| {
        let at = args.number("_offset").unwrap_or(0);
        let next =
            or(at, "", |next| format!(r#",{{"relation":"next","url":"https://h/Patient?_offset={next}"}}"#));
        format!(
            r#"{{"resourceType":"Bundle","total":7,"link":[{{"relation":"self","url":"https://h/Patient"}}{next}],"entry":{}}}"#,
            items(at)
        )
    }),
    ("Link header in the body", "page! per_page!", |args| {
        let at = paged_from_one(args, "page");
        let next = or(at, "", |next| format!("<https://h/x?page={}>; rel=\\\"next\\\", ", next / EACH + 1));
        format!(r#"{{"items":{},"link":"{next}<https://h/x?page=3>; rel=\"last\""}}"#, items(at))
    }),
    ("Jira", "jql startAt!=0 maxResults!=50", |args| {
        let at = args.number("startAt").unwrap_or(0);
        format!(r#"{{"startAt":{at},"maxResults":3,"total":7,"issues":{},"names":[]}}"#, items(at))
    }),
    ("Confluence", "start! limit!", |args| {
        let at = args.number("start").unwrap_or(0);
        format!(
            r#"{{"results":{},"start":{at},"limit":3,"size":3,"isLast":{}}}"#,
            items(at),
            behind(at).is_none()
        )
    }),
    ("PagerDuty", "offset! limit!", |args| {
        let at = args.number("offset").unwrap_or(0);
        format!(
            r#"{{"incidents":{},"limit":3,"offset":{at},"total":null,"more":{}}}"#,
            items(at),
            behind(at).is_some()
        )
    }),
    ("Pipedrive", "start! limit!", |args| {
        let at = args.number("start").unwrap_or(0);
        let next = or(at, "", |next| format!(r#","next_start":{next}"#));
        format!(
            r#"{{"success":true,"data":{},"additional_data":{{"pagination":{{"start":{at},"limit":3,"more_items_in_collection":{}{next}}}}}}}"#,
            items(at),
            behind(at).is_some()
        )
    }),
    ("SCIM", "startIndex! count!", |args| {
        let at = args.number("startIndex").unwrap_or(1) - 1;
        format!(
            r#"{{"schemas":["x"],"totalResults":7,"startIndex":{},"itemsPerPage":3,"Resources":{}}}"#,
            at + 1,
            items(at)
        )
    }),
    ("Elasticsearch", "query from! size!", |args| {
        let at = args.number("from").unwrap_or(0);
        format!(
            r#"{{"took":3,"_shards":{{"total":5}},"hits":{{"total":{{"value":7,"relation":"eq"}},"hits":{}}}}}"#,
            items(at)
        )
    }),
    ("Solr", "q start! rows!", |args| {
        let at = args.number("start").unwrap_or(0);
        format!(
            r#"{{"responseHeader":{{"status":0}},"response":{{"numFound":7,"start":{at},"docs":{}}}}}"#,
            items(at)
        )
    }),
    ("Solr marks", "q cursorMark", |args| {
        let at = place(args, "cursorMark");
        let next = or(at, &format!("c{at}"), |next| format!("c{next}"));
        format!(r#"{{"response":{{"numFound":7,"docs":{}}},"nextCursorMark":"{next}"}}"#, items(at))
    }),
    ("Laravel", "page! per_page!", |args| {
        let at = paged_from_one(args, "page");
        format!(
            r#"{{"current_page":{},"data":{},"last_page":3,"per_page":3,"total":7}}"#,
            at / EACH + 1,
            items(at)
        )
    }),
    ("Spring", "page! size!", |args| {
        let page = args.number("page").unwrap_or(0);
        let at = page * EACH;
        format!(
            r#"{{"content":{},"totalElements":7,"totalPages":3,"number":{page},"size":3,"first":{},"last":{},"pageable":{{"offset":{at}}}}}"#,
            items(at),
            page == 0,
            behind(at).is_none()
        )
    }),
    ("Algolia", "query page! hitsPerPage!", |args| {
        let page = args.number("page").unwrap_or(0);
        format!(r#"{{"hits":{},"page":{page},"nbPages":3,"nbHits":7,"hitsPerPage":3}}"#, items(page * EACH))
    }),
    ("Zoho", "page! per_page!", |args| {
        let at = paged_from_one(args, "page");
        format!(
            r#"{{"data":{},"info":{{"per_page":3,"count":3,"page":{},"more_records":{}}}}}"#,
            items(at),
            at / EACH + 1,
            behind(at).is_some()
        )
    }),
    ("Eventbrite", "continuation page!", |args| {
        let at = place(args, "continuation");
        let next = or(at, "", |next| format!(r#","continuation":"c{next}""#));
        format!(
            r#"{{"pagination":{{"object_count":7,"page_number":{},"page_size":3,"page_count":3,"has_more_items":{}{next}}},"events":{}}}"#,
            at / EACH + 1,
            behind(at).is_some(),
            items(at)
        )
    }),
    ("ClickUp", "list_id page!", |args| {
        let page = args.number("page").unwrap_or(0);
        format!(r#"{{"tasks":{},"last_page":{}}}"#, items(page * EACH), behind(page * EACH).is_none())
    }),
    ("MediaWiki", "srsearch sroffset!", |args| {
        let at = args.number("sroffset").unwrap_or(0);
        let next = or(at, "", |next| format!(r#","continue":{{"sroffset":{next},"continue":"-||"}}"#));
        format!(
            r#"{{"batchcomplete":true{next},"query":{{"searchinfo":{{"totalhits":7}},"search":{}}}}}"#,
            items(at)
        )
    }),
    ("Crossref", "query cursor rows!", |args| {
        let at = place(args, "cursor");
        let next = or(at, "", |next| format!(r#","next-cursor":"c{next}""#));
        format!(r#"{{"status":"ok","message":{{"total-results":7,"items":{}{next}}}}}"#, items(at))
    }),
    ("Kubernetes", "limit! continue", |args| {
        let at = place(args, "continue");
        let next = or(at, "", |next| format!("c{next}"));
        format!(
            r#"{{"kind":"PodList","metadata":{{"resourceVersion":"1","continue":"{next}"}},"items":{}}}"#,
            items(at)
        )
    }),
    ("DynamoDB", "table exclusive_start_key", |args| {
        let at = args.number("n").unwrap_or(0);
        let next = or(at, "", |next| format!(r#","LastEvaluatedKey":{{"n":{next}}}"#));
        format!(r#"{{"Count":3,"ScannedCount":3,"Items":{}{next}}}"#, items(at))
    }),
    ("Reddit", "subreddit after limit!", |args| {
        let at = place(args, "after");
        let next = or(at, "null", |next| format!("\"c{next}\""));
        format!(r#"{{"kind":"Listing","data":{{"after":{next},"before":null,"children":{}}}}}"#, items(at))
    }),
    ("Spotify", "q limit! offset!", |args| {
        let at = args.number("offset").unwrap_or(0);
        let next = or(at, "null", |next| format!("\"https://h/search?q=x&offset={next}&limit=3\""));
        format!(
            r#"{{"albums":{{"href":"https://h","items":{},"limit":3,"next":{next},"offset":{at},"total":7}}}}"#,
            items(at)
        )
    }),
    ("Elasticsearch scroll", "index scroll_id", |args| {
        let at = place(args, "scroll_id");
        let (at, left) = (at, items(at));
        format!(r#"{{"_scroll_id":"c{}","hits":{{"total":{{"value":7}},"hits":{left}}}}}"#, at + EACH)
    }),
    ("GitHub lists, which say nothing", "owner page!=1 per_page!=3<100", |args| {
        items(paged_from_one(args, "page"))
    }),
    ("lists of which nobody knows how long they may be", "offset!", |args| {
        items(args.number("offset").unwrap_or(0))
    }),
    ("pages counted from one, which nobody says", "page!", |args| items(paged_from_one(args, "page"))),
    ("pages counted from zero, which nobody says", "page!", |args| {
        items(args.number("page").unwrap_or(0) * EACH)
    }),
    ("a count of the page", "page!=1 page_size!=3", |args| {
        let at = paged_from_one(args, "page");
        let list = items(at);
        format!(r#"{{"count":{},"tickets":{list}}}"#, list.matches("id").count())
    }),
    ("a total that counts the page", "offset!=0 limit!=3", |args| {
        let list = items(args.number("offset").unwrap_or(0));
        format!(r#"{{"total":{},"tickets":{list}}}"#, list.matches("id").count())
    }),
    ("an address in a parameter", "project next_page_url", |args| {
        let at = args
            .text("next_page_url")
            .map_or(0, |address| address.rsplit_once('/').expect("a path").1.parse().expect("a place"));
        let next = or(at, "null", |next| format!("\"https://h/items/from/{next}\""));
        format!(r#"{{"items":{},"next_page_url":{next}}}"#, items(at))
    }),
    ("a place to go on", "offset!", |args| {
        let at = args.number("offset").unwrap_or(0);
        format!(r#"{{"rows":{},"offset":{},"total_rows":7}}"#, items(at), at + EACH)
    }),
    ("a token of a name of its own", "walk_token", |args| {
        let at = place(args, "walk_token");
        let token = or(at, "", |next| format!(r#","walk_token":"c{next}""#));
        format!(r#"{{"rows":{},"state":"open"{token}}}"#, items(at))
    }),
    ("a cursor in a map", "cursor", |args| {
        let at = place(args, "cursor");
        let next = or(at, "null", |next| format!("\"c{next}\""));
        format!(r#"{{"rows":{},"cursor":{{"next":{next},"prev":null}}}}"#, items(at))
    }),
    ("words of the field in other names", "offset!=0", |args| {
        let at = args.number("offset").unwrap_or(0);
        format!(r#"{{"tickets":{},"ticketCount":7}}"#, items(at))
    }),
    ("a flag and a page", "page!=1", |args| {
        let at = paged_from_one(args, "page");
        format!(r#"{{"rows":{},"hasMore":{}}}"#, items(at), behind(at).is_some())
    }),
    ("a flag and a place", "offset! limit!", |args| {
        let at = args.number("offset").unwrap_or(0);
        format!(r#"{{"rows":{},"truncated":{}}}"#, items(at), behind(at).is_some())
    }),
];

/// Runs a program against a tool with these parameters: what it gives, its notes, and how often the tool was called.
fn run(program: &str, written: &str, answer: impl Fn(&Args<'_>) -> String) -> (String, Vec<String>, usize) {
    let asked = || CallFacts {
        tool: "list_things".into(),
        parameters: parameters(written),
        by_pages: true,
        ..CallFacts::default()
    };
    paged_by(program, |json| success_of(&answer(&Args(json)), asked()))
}

#[test]
fn the_paginations_of_the_field_are_followed_to_the_end() {
    for (name, written, answer) in SCHEMES {
        let (got, notes, calls) = run("(mapv :id (tool/pages 's/list_things {}))", written, answer);
        assert_eq!(got, "[1 2 3 4 5 6 7]", "{name}: {notes:?}");
        assert!(notes.is_empty(), "{name}: {notes:?}");
        assert!((3..=5).contains(&calls), "{name}: {calls}");
    }
}

#[test]
fn a_reply_that_says_more_without_a_way_on_fails() {
    for (page, sign) in [
        (r#"{"tickets":[{"id":1}],"has_more":true}"#, "\"has_more\" says so"),
        (r#"{"tickets":[{"id":1}],"total":412}"#, "\"total\" is 412"),
        (r#"{"tickets":[{"id":1}],"next_cursor":"abc"}"#, "\"next_cursor\" is given"),
        (r#"{"tickets":[{"id":1}],"meta":{"page":1,"total_pages":9}}"#, "\"total_pages\" is 9"),
        (r#"{"tickets":[{"id":1}],"next":"https://h/x?page=2"}"#, "\"next\" is an address"),
        (r#"{"tickets":[{"id":1}],"next_cursor":{"value":"abc"}}"#, "\"next_cursor\" is given"),
    ] {
        let (got, ..) = run("(tool/pages 's/list_things {})", "status limit!", |_| page.to_owned());
        assert!(got.contains(&format!("says that there is more ({sign})")), "{got}");
        for part in ["\"tickets\"", "\"status\", \"limit\"", "{:next (fn [page] {:argument value})}"] {
            assert!(got.contains(part), "{part} is not in {got}");
        }
        let (got, ..) =
            run("(tool/pages 's/list_things {} {:next (fn [_] nil)})", "status limit!", |_| page.to_owned());
        assert_eq!(got, r#"[{"id" 1}]"#);
    }
}

#[test]
fn loops_end_in_an_error() {
    for (written, page, text) in [
        ("cursor", r#"{"items":[{"id":1}],"next_cursor":"c"}"#, "the same page came twice"),
        ("cursor", r#"{"items":[],"next_cursor":"c"}"#, "the page asks for itself again"),
        ("page!=1", r#"{"items":[1,2],"has_more":true}"#, "the same page came twice"),
        ("offset!", r#"{"items":[1,2],"total":9}"#, "the same page came twice"),
    ] {
        let (got, ..) = run("(tool/pages 's/list_things {})", written, |_| page.to_owned());
        assert!(got.contains(text), "{page}: {got}");
    }
    // Two cursors that lead to each other.
    let (got, ..) = run("(tool/pages 's/list_things {})", "cursor", |args| {
        let at = place(args, "cursor");
        format!(r#"{{"items":[{{"id":{at}}}],"next_cursor":"c{}"}}"#, if at == 1 { 2 } else { 1 })
    });
    assert!(got.contains("the page asks for itself again"), "{got}");
}

#[test]
fn less_than_all_is_told() {
    let (got, notes, _) =
        run("(count (tool/pages 's/list_things {}))", "offset!", |args| match args.number("offset") {
            None => r#"{"items":[{"id":1}],"total":3}"#.to_owned(),
            Some(_) => r#"{"items":[],"total":3}"#.to_owned(),
        });
    assert_eq!((got.as_str(), notes.len()), ("1", 1));
    assert!(notes[0].contains("got 1 items to the end, and the replies say \"total\" 3"), "{notes:?}");
    let (got, notes, _) = run("(count (tool/pages 's/list_things {}))", "limit!=3", |_| items(0));
    assert_eq!((got.as_str(), notes.len()), ("3", 1));
    assert!(
        notes[0].contains("the page is full (3 items), and nothing says whether there are more"),
        "{notes:?}"
    );
    // Of a page that is not full nothing is to be told, and none is asked for.
    let (got, notes, calls) =
        run("(count (tool/pages 's/list_things {:per_page 50}))", "page! per_page!<100", |_| items(0));
    assert_eq!((got.as_str(), notes.len(), calls), ("3", 0, 1));
}

#[test]
fn what_next_reads_is_taken_by_the_argument_that_fits() {
    let by_token = |args: &Args<'_>| {
        let at = place(args, "token");
        format!(
            r#"{{"stuff":{},"other":[{{"id":8}}],"goOn":{{"from":{}}}}}"#,
            items(at),
            or(at, "null", |next| format!("\"c{next}\""))
        )
    };
    for options in [
        "{:items :stuff :next [:goOn :from] :cursor :token}",
        "{:items [:stuff] :next (fn [page] (when-let [t (:from (:goOn page))] {:token t}))}",
        "{:items \"stuff\" :next #(get-in % [:goOn :from]) :cursor \"token\"}",
    ] {
        let (got, ..) =
            run(&format!("(mapv :id (tool/pages 's/list_things {{}} {options}))"), "token", by_token);
        assert_eq!(got, "[1 2 3 4 5 6 7]", "{options}");
    }
    // Items that only the program finds move the place, too.
    let by_place = |args: &Args<'_>| {
        let list = items(args.number("offset").unwrap_or(0));
        format!(r#"{{"one":{list},"two":[[9]],"total":7}}"#)
    };
    let (got, ..) = run("(mapv :id (tool/pages 's/list_things {} {:items :one}))", "offset!", by_place);
    assert_eq!(got, "[1 2 3 4 5 6 7]");
    let (got, ..) =
        run("(tool/pages 's/list_things {} {:items :stuff :next [:goOn :from]})", "status", by_token);
    assert!(
        got.contains("which argument of \"s.list_things\" takes it is not plain; arguments: \"status\""),
        "{got}"
    );
    let by_address = |args: &Args<'_>| {
        let at = paged_from_one(args, "page");
        let next = or(at, "null", |next| format!("\"https://h/x?page={}\"", next / EACH + 1));
        format!(r#"{{"stuff":{},"further":{next}}}"#, items(at))
    };
    let (got, ..) = run("(mapv :id (tool/pages 's/list_things {} {:next :further}))", "page!", by_address);
    assert_eq!(got, "[1 2 3 4 5 6 7]");
}
