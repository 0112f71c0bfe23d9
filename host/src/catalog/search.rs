//! The lexical search of `apropos` (upstreams.md 13.4).

use super::entry::{Catalog, ServerEntry, ToolEntry};
use ptc_base::pace::Pace;
use ptc_base::text::{named, one_line, short_line};
use ptc_vm::builtins::words::{score, tokenize};
use std::cmp::Ordering;

/// Points for a match in a name, on top of those for its kind.
const NAME_BOOST: u32 = 2;
/// Longest description in a line, in characters.
const LINE_DESCRIPTION: usize = 120;
/// Longest description of a server in a line, in characters.
const SERVER_DESCRIPTION: usize = 80;

/// Comparisons of a word of the query with one of a tool that cost a step.
const COMPARISONS_PER_STEP: u64 = 4;
/// The cost of a comparison, as bytes copied.
const BYTES_PER_COMPARISON: usize = 16;

/// One match, and where it ranks.
struct Match<'c> {
    rank: u8,
    score: u32,
    server: &'c ServerEntry,
    tool: Option<&'c ToolEntry>,
}

/// A tool with its score without the name of its server, and with it.
type ScoredTool<'c> = (&'c ToolEntry, u32, u32);

/// The best `limit` lines for the words of a query: tools of loaded servers first, then, unless `load` is set, hints at servers
/// that are not loaded. Local builtins rank after both; the caller appends them while there is room. The steps of the search
/// are charged before it begins; there are no lines if `charge` refuses them. Yields regularly.
pub(super) async fn apropos(
    catalog: &Catalog,
    query: &[String],
    limit: usize,
    load: bool,
    charge: impl FnOnce(u64) -> bool,
) -> Vec<String> {
    let tokens = |server: &ServerEntry| {
        let of_tools = server.tools().iter().map(|tool| tool.tokens.len() + server.tokens.name.len());
        server.tokens.len() as u64 + of_tools.sum::<usize>() as u64
    };
    let comparisons = query.len() as u64 * catalog.servers().map(tokens).sum::<u64>();
    if !charge(comparisons / COMPARISONS_PER_STEP) {
        return Vec::new();
    }
    let (mut matches, mut pace) = (Vec::new(), Pace::default());
    for server in catalog.servers() {
        let mut scored = Vec::new();
        for tool in server.tools() {
            scored.push(score_of(server, tool, query));
            let comparisons = query.len() * (server.tokens.name.len() + tool.tokens.len());
            pace.worked(comparisons * BYTES_PER_COMPARISON).await;
        }
        if server.loaded {
            matches.extend(best_of(server, scored));
        } else if !load {
            matches.extend(server_match(server, query));
            pace.worked(query.len() * server.tokens.len() * BYTES_PER_COMPARISON).await;
        }
    }
    matches.sort_by(ranking);
    matches.truncate(limit);
    matches.iter().map(line).collect()
}

/// The tools of loaded servers that match `query`, the best first: server and tool.
pub fn find_tools<'c>(catalog: &'c Catalog, query: &str) -> Vec<(&'c ServerEntry, &'c ToolEntry)> {
    let query = tokenize(query);
    let loaded = catalog.servers().filter(|server| server.loaded);
    let mut matches: Vec<Match<'c>> = loaded
        .flat_map(|server| {
            let scored = server.tools().iter().map(|tool| score_of(server, tool, &query)).collect();
            best_of(server, scored)
        })
        .collect();
    matches.sort_by(ranking);
    matches.into_iter().filter_map(|found| Some((found.server, found.tool?))).collect()
}

fn ranking(a: &Match<'_>, b: &Match<'_>) -> Ordering {
    fn name<'c>(found: &Match<'c>) -> &'c str {
        found.tool.map_or("", |tool| &tool.name)
    }
    a.rank
        .cmp(&b.rank)
        .then(b.score.cmp(&a.score))
        .then_with(|| a.server.name.cmp(&b.server.name))
        .then_with(|| name(a).cmp(name(b)))
}

fn score_of<'c>(server: &'c ServerEntry, tool: &'c ToolEntry, query: &[String]) -> ScoredTool<'c> {
    let other = score(query, tool.tokens.other.iter(), 0);
    let own = score(query, tool.tokens.name.iter(), NAME_BOOST) + other;
    let full = score(query, server.tokens.name.iter().chain(&tool.tokens.name), NAME_BOOST) + other;
    (tool, own, full)
}

/// The tools of a server that match. A query that names the server would otherwise match all of its tools and bury the good
/// ones.
fn best_of<'c>(server: &'c ServerEntry, scored: Vec<ScoredTool<'c>>) -> impl Iterator<Item = Match<'c>> {
    let some_by_themselves = scored.iter().any(|(_, own, _)| *own > 0);
    let kept =
        scored.into_iter().filter(move |(_, own, full)| *full > 0 && (*own > 0 || !some_by_themselves));
    kept.map(move |(tool, _, score)| Match { rank: 0, score, server, tool: Some(tool) })
}

fn server_match<'c>(server: &'c ServerEntry, query: &[String]) -> Option<Match<'c>> {
    let score =
        score(query, server.tokens.name.iter(), NAME_BOOST) + score(query, server.tokens.other.iter(), 0);
    (score > 0).then_some(Match { rank: 1, score, server, tool: None })
}

fn line(found: &Match<'_>) -> String {
    let Match { server, tool, .. } = found;
    let name = &server.name;
    if let Some(tool) = tool {
        return named(&format!("{name}/{}", tool.name), &short_line(&tool.description, LINE_DESCRIPTION));
    }
    let description = server_description(server).unwrap_or_else(|| name.clone());
    if server.sign_in_needed {
        format!("{name}: {description}. Needs sign-in: a person must run ptc login {name}.")
    } else {
        let literal = ptc_base::text::string_literal(name);
        format!("{name}: {description}. Catalog not loaded. Use (dir {literal} {{:limit 20}}).")
    }
}

/// The server's description as a clause: one line, without dots at its end, at most 80 characters.
pub(super) fn server_description(server: &ServerEntry) -> Option<String> {
    let own = || first_sentence(&server.instructions).to_owned();
    let line = [one_line(&server.description), one_line(&server.title)]
        .into_iter()
        .find(|line| !line.is_empty())
        .unwrap_or_else(own);
    let text =
        ptc_base::text::cut(one_line(&line).trim_end_matches(['.', ' ']).to_owned(), SERVER_DESCRIPTION);
    (!text.is_empty()).then_some(text)
}

/// Up to the first full stop, question or exclamation mark that ends a word, or the first empty line.
fn first_sentence(text: &str) -> &str {
    let text = text.trim_start();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let end = paragraph
        .match_indices(['.', '!', '?'])
        .map(|(at, mark)| at + mark.len())
        .find(|end| paragraph[*end..].starts_with(char::is_whitespace));
    &paragraph[..end.unwrap_or(paragraph.len())]
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;
    use crate::catalog::fixtures;
    use ptc_base::pace::PIECE;
    use ptc_base::pace::work::take_work;

    fn apropos(catalog: &Catalog, query: &str, limit: usize, load: bool) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(super::apropos(catalog, &tokenize(query), limit, load, |_| true))
    }

    #[test]
    fn a_search_of_a_large_catalog_is_charged_and_gives_way() {
        let tool = |n: usize| {
            let words = |of: &str| (0..80).map(|word| format!("{of}{n}x{word} ")).collect::<String>();
            json!({"name": format!("tool{n}"), "description": words("d")})
        };
        let large = Catalog::new([fixtures::server("s", (0..1000).map(tool).collect())]);
        let query: Vec<String> = (0..32).map(|n| format!("z{n}")).collect();
        let mut charged = 0;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        take_work();
        let search = super::apropos(&large, &query, 8, false, |steps| {
            charged = steps;
            true
        });
        assert!(runtime.block_on(search).is_empty());
        let (work, a_tool) = (take_work(), 32 * 65 * BYTES_PER_COMPARISON);
        assert!(work.most < PIECE + a_tool && work.all == 1000 * a_tool, "{work:?}");
        assert_eq!(
            charged,
            32 * (1000 * 65 + 1) / COMPARISONS_PER_STEP,
            "64 words of each tool, one of its server"
        );
        let word = ["tool1".to_owned()];
        let refused = super::apropos(&large, &word, 8, false, |_| false);
        assert!(runtime.block_on(refused).is_empty(), "nothing is searched for who cannot pay");
    }

    #[test]
    fn words_split_at_case_and_punctuation() {
        assert_eq!(tokenize("getPullRequest"), ["get", "pull", "request"]);
        assert_eq!(tokenize("HTTPServer"), ["httpserver"]);
        assert_eq!(
            tokenize("read_text-file.v2/x (a,b):c  d"),
            ["read", "text", "file", "v2", "x", "a", "b", "c", "d"]
        );
        assert_eq!(tokenize(" ()_ "), [""; 0]);
    }

    #[test]
    fn scores_by_kind_of_match() {
        let targets = ["read", "reader", "spread"].map(str::to_owned);
        let of = |query: &str, boost| score(&tokenize(query), targets.iter(), boost);
        assert_eq!(of("read", 0), 10);
        assert_eq!(of("reade", 0), 5);
        assert_eq!(of("prea", 0), 2);
        assert_eq!(of("write", 2), 0);
        assert_eq!(of("read prea prea", 2), 12 + 4 + 4, "repeated query words count again");
    }

    fn catalog() -> Catalog {
        fixtures::catalog()
    }

    #[test]
    fn tools_rank_by_score_then_by_name() {
        assert_eq!(
            apropos(&catalog(), "list directory", 8, true),
            ["fs/list_directory - List the entries in a directory"]
        );
        let tie = Catalog::new(
            ["b", "a"].map(|s| fixtures::server(s, ["y", "x"].map(|t| json!({"name": t})).to_vec())),
        );
        assert_eq!(apropos(&tie, "x y", 8, true), ["a/x", "a/y", "b/x", "b/y"]);
        assert_eq!(apropos(&tie, "x y", 2, true), ["a/x", "a/y"]);
    }

    #[test]
    fn entries_are_found_in_the_order_of_the_lines() {
        let tie = Catalog::new(
            ["b", "a"].map(|s| fixtures::server(s, ["y", "x"].map(|t| json!({"name": t})).to_vec())),
        );
        let found = |query| -> Vec<String> {
            let entries = find_tools(&tie, query);
            entries.into_iter().map(|(server, tool)| format!("{}/{}", server.name, tool.name)).collect()
        };
        assert_eq!(found("x y"), apropos(&tie, "x y", 8, true));
        assert_eq!(found("b y"), ["b/y", "a/y"]);
        assert!(found("nothing").is_empty());
    }

    #[test]
    fn argument_keys_and_annotations_count() {
        assert_eq!(apropos(&catalog(), "diffContext", 8, true), ["github/get_pr - Get a pull request"]);
        assert_eq!(
            apropos(&catalog(), "readOnly", 8, true)[0],
            "fs/read_text_file - Read the contents of a UTF-8 text file"
        );
        assert!(
            apropos(&catalog(), "readOnlyHint", 8, true)
                .contains(&"github/get_pr - Get a pull request".to_owned())
        );
    }

    #[test]
    fn a_server_name_matches_its_tools_only_if_none_matches_itself() {
        assert_eq!(apropos(&catalog(), "github", 8, true).len(), 2);
        assert_eq!(
            apropos(&catalog(), "github search", 8, true),
            ["github/search_repos - Search repositories"]
        );
    }

    #[test]
    fn servers_that_are_not_loaded_give_a_hint() {
        assert_eq!(
            apropos(&catalog(), "tickets", 8, false),
            [r#"cold: Archive of old tickets. Catalog not loaded. Use (dir "cold" {:limit 20})."#]
        );
        assert_eq!(apropos(&catalog(), "tickets", 8, true), [""; 0]);
        let needy = Catalog::new([catalog().server("cold").unwrap().awaiting_sign_in()]);
        assert_eq!(
            apropos(&needy, "tickets", 8, false),
            ["cold: Archive of old tickets. Needs sign-in: a person must run ptc login cold."]
        );
        let bare = Catalog::new([ServerEntry::unloaded(&fixtures::upstream("bare", json!({})))]);
        assert_eq!(
            apropos(&bare, "bare", 8, false),
            [r#"bare: bare. Catalog not loaded. Use (dir "bare" {:limit 20})."#]
        );
    }

    #[test]
    fn loaded_tools_come_before_hints_whatever_the_score() {
        let lines = apropos(&catalog(), "old contents", 8, false);
        assert!(lines[0].starts_with("fs/read_text_file"), "{lines:?}");
        assert!(lines[1].starts_with("cold: "), "{lines:?}");
    }

    #[test]
    fn nothing_matches_nothing() {
        assert_eq!(apropos(&catalog(), "zzzz", 8, false), [""; 0]);
        assert_eq!(apropos(&catalog(), "()", 8, false), [""; 0]);
    }
}
