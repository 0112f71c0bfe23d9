//! The ranked search of `apropos` over local names (upstreams.md 13.4).

use super::catalog::{Listing, everything};
use crate::builtins::words::{score, tokenize};
use crate::error::Result;
use crate::machine::Ctx;
use crate::meter;

/// Steps for one query word against one entry, which has a few dozen words.
const STEPS_PER_ENTRY: u64 = 8;

/// Query words that are looked up in an entry at a time.
const QUERY_WORDS: usize = 16;

/// Points added for words of the name.
const NAME_BOOST: u32 = 2;

fn entry_score(query: &[String], entry: &Listing<'_>) -> Result<u32> {
    meter::charge_steps(STEPS_PER_ENTRY)?;
    let mut names = tokenize(entry.name);
    names.extend(tokenize(entry.reference));
    let mut others = tokenize(entry.doc);
    others.extend(tokenize(entry.namespace));
    others.extend(tokenize(entry.section));
    for signature in &entry.signatures {
        others.extend(tokenize(signature));
    }
    let mut points = 0_u32;
    for words in query.chunks(QUERY_WORDS) {
        meter::charge_steps(words.len() as u64 * STEPS_PER_ENTRY)?;
        // A definition may have a long documentation.
        meter::uncharged(words.len() * (names.len() + others.len()));
        let more = score(words, names.iter(), NAME_BOOST).saturating_add(score(words, others.iter(), 0));
        points = points.saturating_add(more);
    }
    Ok(points)
}

/// The lines of the best `limit` local matches.
pub(super) fn local_matches(ctx: &mut Ctx<'_>, query: &str, limit: usize) -> Result<Vec<String>> {
    ctx.charge(query.len() / 8)?;
    let query = tokenize(query);
    let mut found: Vec<(u32, Listing<'_>)> = Vec::new();
    for entry in everything(ctx.namespace()) {
        let score = entry_score(&query, &entry)?;
        if score > 0 {
            found.push((score, entry));
        }
    }
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
