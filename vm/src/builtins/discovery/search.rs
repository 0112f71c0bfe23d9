//! The ranked search of `apropos` over local names (upstreams.md 13.4).

use super::catalog::{Listing, everything};
use crate::error::Result;
use crate::machine::Ctx;

/// Steps for one query word against one entry, which has a few dozen words.
const STEPS_PER_ENTRY: usize = 8;

/// Points added for words of the name.
const NAME_BOOST: u32 = 2;

/// The words of a text: camel case, hyphens and the like separate them.
fn tokens(text: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(text.len() + 8);
    let mut after_lower = false;
    for c in text.chars() {
        if after_lower && c.is_uppercase() {
            spaced.push(' ');
        }
        after_lower = c.is_lowercase();
        let separates = c.is_whitespace() || matches!(c, '_' | '-' | '.' | '/' | '(' | ')' | ',' | ':');
        spaced.push(if separates { ' ' } else { c });
    }
    spaced.to_lowercase().split_whitespace().map(str::to_owned).collect()
}

/// Points of a query against some words: for each query word the best of equal, beginning and containing.
fn score(query: &[String], words: &[String], boost: u32) -> u32 {
    query
        .iter()
        .map(|wanted| {
            let points = |word: &String| {
                if word == wanted {
                    10 + boost
                } else if word.starts_with(wanted) {
                    5 + boost
                } else if word.contains(wanted) {
                    2 + boost
                } else {
                    0
                }
            };
            words.iter().map(points).max().unwrap_or(0)
        })
        .sum()
}

fn entry_score(query: &[String], entry: &Listing<'_>) -> u32 {
    let mut names = tokens(entry.name);
    names.extend(tokens(entry.reference));
    let mut others = tokens(entry.doc);
    others.extend(tokens(entry.namespace));
    others.extend(tokens(entry.section));
    for signature in &entry.signatures {
        others.extend(tokens(signature));
    }
    score(query, &names, NAME_BOOST) + score(query, &others, 0)
}

/// The lines of the best `limit` local matches.
pub(super) fn local_matches(ctx: &mut Ctx<'_>, query: &str, limit: usize) -> Result<Vec<String>> {
    ctx.charge(query.len() / 8)?;
    let query = tokens(query);
    let own = ctx.namespace().bindings().len();
    let library = ctx.library().all().len();
    ctx.charge((query.len() + 1).saturating_mul(own + library).saturating_mul(STEPS_PER_ENTRY))?;
    let mut found: Vec<(u32, Listing<'_>)> = everything(ctx.namespace())
        .map(|entry| (entry_score(&query, &entry), entry))
        .filter(|(score, _)| *score > 0)
        .collect();
    found.sort_by(|(a_score, a), (b_score, b)| {
        b_score.cmp(a_score).then_with(|| a.namespace.cmp(b.namespace)).then_with(|| a.name.cmp(b.name))
    });
    found.truncate(limit);
    Ok(found.iter().map(|(_, entry)| line(entry)).collect())
}

fn line(entry: &Listing<'_>) -> String {
    if entry.doc.is_empty() {
        format!("local: {}", entry.reference)
    } else {
        format!("local: {} - {}", entry.reference, entry.doc.replace(['\n', '\r'], " "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_case_changes_and_punctuation() {
        assert_eq!(tokens("getPullRequest"), ["get", "pull", "request"]);
        assert_eq!(tokens("HTTPServer"), ["httpserver"]);
        assert_eq!(tokens("str/split-lines (a_b.c:d,e)"), ["str", "split", "lines", "a", "b", "c", "d", "e"]);
        assert!(tokens(" -/ ").is_empty());
    }

    #[test]
    fn the_best_word_counts_for_each_query_word() {
        let words = |text: &str| tokens(text);
        assert_eq!(score(&words("sort"), &words("sort by"), 2), 12);
        assert_eq!(score(&words("sort"), &words("sorted"), 2), 7);
        assert_eq!(score(&words("sort"), &words("resort"), 0), 2);
        assert_eq!(score(&words("sort sort"), &words("sort"), 0), 20);
        assert_eq!(score(&words("x"), &words("sort"), 2), 0);
    }
}
