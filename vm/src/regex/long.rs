//! Searches in long texts, in the middle of which others may have the thread.
//!
//! The time of a search by the automata of [`super::linear`] is bounded by the states of the pattern times the bytes of the
//! text, and it cannot be interrupted. So where that product is large the ends of the match are found [in
//! steps](super::bounds). Its groups are left to those automata if it is short, and to [`super::threads`] otherwise.

use super::bounds::{Bounds, FirstMatch, TextWalk};
use super::engine::{Engine, Stepper};
use super::linear::{Linear, SearchResult, Variant};
use super::meter::{CompiledForm, Meter};
use super::sequence::Groups;
use super::threads;
use std::ops::Range;

/// States times bytes of a search that may be made in one go: some 5 ms at the very most.
const ONE_GO: usize = 500_000;
/// States times bytes between two pauses, each of which may build a state of an automaton.
const BETWEEN_PAUSES: usize = 32_000;
/// Fewest bytes between two pauses.
const SMALLEST_BLOCK: usize = 8;
/// States times bytes of a match whose groups are found in one go.
const GROUPS_IN_ONE_GO: usize = 64_000;

/// A search by automata that find bounds alone.
struct BoundedSearch<'a> {
    bounds: &'a Bounds,
    variant: Variant,
    text: &'a str,
    /// Where it begins.
    from: usize,
}

impl Engine {
    /// Whether a search in so many bytes is one in a long text.
    pub(super) fn is_long(&self, bytes: usize) -> bool {
        bytes.saturating_mul(self.0.effort) > ONE_GO
    }

    /// Bytes between two pauses; a multiple of eight, like the bytes that have a price.
    pub(super) fn block(&self) -> usize {
        (BETWEEN_PAUSES / self.0.effort / 8 * 8).max(SMALLEST_BLOCK)
    }

    /// The first match at or after `from`. `None` if the automata are too large.
    pub(super) fn find_in_steps<M: Meter>(
        &self,
        meter: &M,
        linear: &Linear,
        variant: Variant,
        text: &str,
        from: usize,
    ) -> Result<Option<SearchResult>, M::Refusal> {
        let Some(bounds) = self.bounds(meter, linear, variant)? else { return Ok(None) };
        let held = meter.hold(bounds.scratch_bytes())?;
        let mut walk = TextWalk { text, block: self.block(), pause: || meter.pause() };
        let bound = self.stepping(Stepper::Forward(variant), bounds.forward(), |forward| {
            self.stepping(Stepper::Reverse(variant), bounds.reverse(), |reverse| {
                bounds.find(forward, reverse, &mut walk, from)
            })
        })?;
        drop(held);
        self.with_groups(meter, linear, &BoundedSearch { bounds, variant, text, from }, bound).map(Some)
    }

    /// The match of the whole text. `None` if the automata are too large.
    pub(super) fn matches_in_steps<M: Meter>(
        &self,
        meter: &M,
        linear: &Linear,
        text: &str,
    ) -> Result<Option<SearchResult>, M::Refusal> {
        if linear.is_whole_in_doubt(text) {
            return Ok(Some(SearchResult::Unsure));
        }
        let variant = Variant::Whole;
        let Some(bounds) = self.bounds(meter, linear, variant)? else { return Ok(None) };
        let held = meter.hold(bounds.scratch_bytes())?;
        let mut walk = TextWalk { text, block: self.block(), pause: || meter.pause() };
        let bound = self.stepping(Stepper::Forward(variant), bounds.forward(), |forward| {
            bounds.matches(forward, &mut walk)
        })?;
        drop(held);
        self.with_groups(meter, linear, &BoundedSearch { bounds, variant, text, from: 0 }, bound).map(Some)
    }

    /// The automata that find matches in long texts, built at first use.
    fn bounds<'l, M: Meter>(
        &self,
        meter: &M,
        linear: &'l Linear,
        variant: Variant,
    ) -> Result<Option<&'l Bounds>, M::Refusal> {
        let part = match variant {
            Variant::Find => CompiledForm::Bounds,
            Variant::Marked => CompiledForm::MarkedBounds,
            Variant::Whole => CompiledForm::WholeBounds,
        };
        self.part(meter, part, self.0.price, |_| {
            linear.bounds(variant);
        })?;
        Ok(linear.bounds(variant))
    }

    /// The match with its groups of a search that found `bound`.
    fn with_groups<M: Meter>(
        &self,
        meter: &M,
        linear: &Linear,
        search: &BoundedSearch<'_>,
        bound: FirstMatch,
    ) -> Result<SearchResult, M::Refusal> {
        let BoundedSearch { bounds, variant, text, from } = *search;
        let is_whole = variant == Variant::Whole;
        let in_doubt = |end: usize| !is_whole && linear.is_in_doubt(text, end);
        let (range, anchored) = match bound {
            FirstMatch::No => return Ok(SearchResult::No),
            FirstMatch::Match(_, end) if in_doubt(end) => return Ok(SearchResult::Unsure),
            FirstMatch::Match(start, end) if linear.groups() == 0 => {
                return Ok(SearchResult::Match([Some((start, end))].into_iter().collect()));
            }
            FirstMatch::Match(start, end) => (start..end, true),
            FirstMatch::Unsure => (from..text.len(), is_whole),
        };
        if let FirstMatch::Match(start, end) = bound
            && (end - start).saturating_mul(self.0.effort) <= GROUPS_IN_ONE_GO
            && let Some(automaton) = self.automaton(meter, variant)?
        {
            let groups = self.run(automaton, variant, |cache| {
                linear
                    .groups_of(automaton, cache, text, start..end)
                    .map_or(SearchResult::Unsure, SearchResult::Match)
            });
            if let Some(Some(groups)) = groups {
                return Ok(SearchResult::Match(groups));
            }
        }
        Ok(match follow_all(meter, bounds, linear.groups(), text, range, anchored)? {
            None => SearchResult::No,
            Some(groups) if groups[0].is_some_and(|(_, end)| in_doubt(end)) => SearchResult::Unsure,
            Some(groups) => SearchResult::Match(groups),
        })
    }
}

/// The first match in `range` with all its groups.
fn follow_all<M: Meter>(
    meter: &M,
    bounds: &Bounds,
    groups: usize,
    text: &str,
    range: Range<usize>,
    anchored: bool,
) -> Result<Option<Groups>, M::Refusal> {
    let _held = meter.hold(threads::bytes(bounds.nfa()))?;
    let mut found = threads::find(bounds.nfa(), text, range, anchored, |steps| meter.charge(steps))?;
    if let Some(found) = &mut found {
        // The automata forget groups that are repeated no times.
        found.resize(groups + 1, None);
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
