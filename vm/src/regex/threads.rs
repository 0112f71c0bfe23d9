//! A search that follows all ways to match at once, with their groups: a Pike machine.
//!
//! It supports everything that the automata do, at some ten times their price, so it is used for long texts only where
//! [`super::bounds`] has no answer: the groups of a long match, and word boundaries beside characters that are not ASCII. Each
//! alternative at each place is charged.

use super::sequence::Groups;
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;
use std::ops::Range;

/// States looked at, and eights of places copied, between two charges.
const CHARGED: usize = 4 << 10;
/// States looked at for a step.
const STATES_PER_STEP: usize = 8;
/// Bytes of memory that are cleared for a step.
const BYTES_PER_STEP: usize = 256;
/// A place that is not set.
const UNSET: usize = usize::MAX;

/// The ways that are open at a place, best first, and the places that each has stored.
struct OpenThreads {
    order: Vec<StateID>,
    /// Where in `order` a state is, if it is there.
    index: Vec<u32>,
    /// As many places for each state as the pattern has.
    places: Vec<usize>,
}

impl OpenThreads {
    fn new(states: usize, places: usize) -> OpenThreads {
        OpenThreads {
            order: Vec::with_capacity(states),
            index: vec![0; states],
            places: vec![0; states * places],
        }
    }

    /// Adds a state, unless it is there.
    fn insert(&mut self, state: StateID) -> bool {
        let index = self.index[state.as_usize()] as usize;
        if self.order.get(index) == Some(&state) {
            return false;
        }
        // There are no more states than this type can number.
        self.index[state.as_usize()] = self.order.len() as u32;
        self.order.push(state);
        true
    }
}

/// The pending work at a place.
enum Task {
    Visit(StateID),
    /// Puts a place back.
    Restore {
        slot: usize,
        place: usize,
    },
}

/// A search under way.
struct ThreadSearch<'a, C> {
    nfa: &'a NFA,
    bytes: &'a [u8],
    tasks: Vec<Task>,
    /// Work done and not charged yet.
    work: usize,
    charge: C,
}

/// Bytes that a search takes.
pub(super) fn bytes(nfa: &NFA) -> usize {
    let (states, places) = (nfa.states().len(), places(nfa));
    2 * states * (size_of::<StateID>() + size_of::<u32>() + places * size_of::<usize>())
        + 2 * states * size_of::<Task>()
}

fn places(nfa: &NFA) -> usize {
    nfa.group_info().slot_len()
}

/// The first match in `range` of `text`, at its beginning if it is `anchored`. `charge` is given steps before they are taken,
/// not all at once.
pub(super) fn find<R>(
    nfa: &NFA,
    text: &str,
    range: Range<usize>,
    anchored: bool,
    mut charge: impl FnMut(u64) -> Result<(), R>,
) -> Result<Option<Groups>, R> {
    let (states, places) = (nfa.states().len(), places(nfa));
    charge((bytes(nfa) / BYTES_PER_STEP) as u64)?;
    let (mut now, mut next) = (OpenThreads::new(states, places), OpenThreads::new(states, places));
    let mut search = ThreadSearch { nfa, bytes: text.as_bytes(), tasks: Vec::new(), work: 0, charge };
    let mut own = vec![UNSET; places];
    let mut found: Option<Vec<usize>> = None;
    for at in range.clone().chain([range.end]) {
        let may_begin = if anchored { at == range.start } else { text.is_char_boundary(at) };
        if found.is_none() && may_begin {
            own.fill(UNSET);
            search.open(&mut now, nfa.start_anchored(), at, &mut own)?;
        } else if now.order.is_empty() && (found.is_some() || anchored) {
            break;
        }
        search.count(1)?;
        for i in 0..now.order.len() {
            let state = now.order[i];
            let stored = state.as_usize() * places..(state.as_usize() + 1) * places;
            let to = match nfa.state(state) {
                State::Match { .. } => {
                    // What is less preferred is of no interest any more.
                    found = Some(now.places[stored].to_vec());
                    break;
                }
                _ if at == range.end => continue,
                State::ByteRange { trans } => trans.matches(search.bytes, at).then_some(trans.next),
                State::Sparse(sparse) => sparse.matches(search.bytes, at),
                State::Dense(dense) => dense.matches(search.bytes, at),
                _ => None,
            };
            search.count(1)?;
            if let Some(to) = to {
                own.copy_from_slice(&now.places[stored]);
                search.open(&mut next, to, at + 1, &mut own)?;
            }
        }
        std::mem::swap(&mut now, &mut next);
        next.order.clear();
    }
    let work = search.work;
    (search.charge)((work / STATES_PER_STEP) as u64)?;
    Ok(found.map(|places| places.chunks_exact(2).map(group).collect()))
}

fn group(places: &[usize]) -> Option<(usize, usize)> {
    match places {
        [start, end] if *start != UNSET && *end != UNSET => Some((*start, *end)),
        _ => None,
    }
}

impl<R, C: FnMut(u64) -> Result<(), R>> ThreadSearch<'_, C> {
    fn count(&mut self, work: usize) -> Result<(), R> {
        self.work += work;
        if self.work < CHARGED {
            return Ok(());
        }
        let work = std::mem::take(&mut self.work);
        (self.charge)((work / STATES_PER_STEP) as u64)
    }

    /// Adds the ways that lead on from `state` at `at` without taking a byte.
    fn open(
        &mut self,
        ways: &mut OpenThreads,
        state: StateID,
        at: usize,
        own: &mut [usize],
    ) -> Result<(), R> {
        self.tasks.push(Task::Visit(state));
        while let Some(task) = self.tasks.pop() {
            let mut state = match task {
                Task::Visit(state) => state,
                Task::Restore { slot, place } => {
                    own[slot] = place;
                    continue;
                }
            };
            while ways.insert(state) {
                self.count(1)?;
                state = match self.nfa.state(state) {
                    State::Look { look, next } => {
                        if !self.nfa.look_matcher().matches(*look, self.bytes, at) {
                            break;
                        }
                        *next
                    }
                    State::Union { alternates } => {
                        let Some((first, others)) = alternates.split_first() else { break };
                        self.tasks.extend(others.iter().rev().map(|other| Task::Visit(*other)));
                        *first
                    }
                    State::BinaryUnion { alt1, alt2 } => {
                        self.tasks.push(Task::Visit(*alt2));
                        *alt1
                    }
                    State::Capture { next, slot, .. } => {
                        let slot = slot.as_usize();
                        let place = std::mem::replace(&mut own[slot], at);
                        self.tasks.push(Task::Restore { slot, place });
                        *next
                    }
                    State::Fail => break,
                    State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Match { .. } => {
                        let stored = state.as_usize() * own.len();
                        ways.places[stored..stored + own.len()].copy_from_slice(own);
                        self.count(own.len() / 8)?;
                        break;
                    }
                };
            }
        }
        Ok(())
    }
}
