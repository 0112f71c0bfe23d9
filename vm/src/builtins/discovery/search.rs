//! The ranked search of `apropos` over local names (upstreams.md 13.4).

use super::catalog::{Listing, everything};
use crate::builtins::words::{MAX_QUERY_WORDS, score, tokenize};
use crate::error::Result;
use crate::machine::Ctx;
use crate::meter;

/// Steps for one query word against one entry, which has a few dozen words.
const STEPS_PER_ENTRY: u64 = 8;

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
    meter::charge_steps(query.len() as u64 * STEPS_PER_ENTRY)?;
    // A definition may have a long documentation.
    meter::uncharged(query.len() * (names.len() + others.len()));
    Ok(score(query, names.iter(), NAME_BOOST).saturating_add(score(query, others.iter(), 0)))
}

/// The lines of the best `limit` local matches of these words, of which there are at most [`MAX_QUERY_WORDS`].
pub(super) fn local_matches(ctx: &mut Ctx<'_>, query: &[String], limit: usize) -> Result<Vec<String>> {
    debug_assert!(query.len() <= MAX_QUERY_WORDS);
    let mut found: Vec<(u32, Listing<'_>)> = Vec::new();
    for entry in everything(ctx.namespace()) {
        let score = entry_score(query, &entry)?;
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
