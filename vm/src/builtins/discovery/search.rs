//! The ranked search of `apropos` over local names (upstreams.md 13.4).

use super::catalog::{Listing, everything};
use crate::builtins::words::{score, tokenize};
use crate::error::Result;
use crate::machine::Ctx;

/// Steps for one query word against one entry, which has a few dozen words.
const STEPS_PER_ENTRY: usize = 8;

/// Points added for words of the name.
const NAME_BOOST: u32 = 2;

fn entry_score(query: &[String], entry: &Listing<'_>) -> u32 {
    let mut names = tokenize(entry.name);
    names.extend(tokenize(entry.reference));
    let mut others = tokenize(entry.doc);
    others.extend(tokenize(entry.namespace));
    others.extend(tokenize(entry.section));
    for signature in &entry.signatures {
        others.extend(tokenize(signature));
    }
    score(query, names.iter(), NAME_BOOST) + score(query, others.iter(), 0)
}

/// The lines of the best `limit` local matches.
pub(super) fn local_matches(ctx: &mut Ctx<'_>, query: &str, limit: usize) -> Result<Vec<String>> {
    ctx.charge(query.len() / 8)?;
    let query = tokenize(query);
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
