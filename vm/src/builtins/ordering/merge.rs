//! A stable merge sort that asks one question at a time, so that the answer may come from a program.
//!
//! It never looks at the keys itself: any answers, contradictory ones included, give some permutation.

use crate::builtins::support::Held;
use crate::error::Result;

/// A bottom-up merge sort of the indices `0..n`, in the middle of a merge.
pub(super) struct Merge {
    from: Vec<u32>,
    into: Vec<u32>,
    /// Length of the runs that are sorted.
    width: usize,
    /// Next of the left run, and its end.
    left: (usize, usize),
    /// Next of the right run, and its end.
    right: (usize, usize),
    _held: Held,
}

impl Merge {
    /// A sort of `count` items.
    pub(super) fn new(count: usize) -> Result<Merge> {
        let held = Held::new(count.saturating_mul(2 * size_of::<u32>()))?;
        let from = (0..count as u32).collect();
        let mut merge = Merge {
            from,
            into: Vec::with_capacity(count),
            width: 1,
            left: (0, 0),
            right: (0, 0),
            _held: held,
        };
        merge.start_pair(0);
        Ok(merge)
    }

    fn start_pair(&mut self, start: usize) {
        let count = self.from.len();
        let middle = (start + self.width).min(count);
        self.left = (start, middle);
        self.right = (middle, (middle + self.width).min(count));
    }

    /// The next question: whether the second item must come before the first, which is the earlier one. `None`
    /// when the items are sorted.
    #[inline]
    pub(super) fn question(&mut self) -> Option<(usize, usize)> {
        loop {
            if self.left.0 < self.left.1 && self.right.0 < self.right.1 {
                return Some((self.from[self.left.0] as usize, self.from[self.right.0] as usize));
            }
            if self.width >= self.from.len() {
                return None;
            }
            self.into.extend_from_slice(&self.from[self.left.0..self.left.1]);
            self.into.extend_from_slice(&self.from[self.right.0..self.right.1]);
            let done = self.right.1;
            if done < self.from.len() {
                self.start_pair(done);
            } else {
                std::mem::swap(&mut self.from, &mut self.into);
                self.into.clear();
                self.width *= 2;
                self.start_pair(0);
                if self.width >= self.from.len() {
                    return None;
                }
            }
        }
    }

    /// Answers the question.
    #[inline]
    pub(super) fn answer(&mut self, second_first: bool) {
        let run = if second_first { &mut self.right } else { &mut self.left };
        self.into.push(self.from[run.0]);
        run.0 += 1;
    }

    /// The sorted indices, once there are no questions left.
    pub(super) fn order(&self) -> &[u32] {
        &self.from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(keys: &[i32], mut second_first: impl FnMut(i32, i32) -> bool) -> Vec<u32> {
        let mut merge = Merge::new(keys.len()).unwrap();
        while let Some((a, b)) = merge.question() {
            merge.answer(second_first(keys[a], keys[b]));
        }
        merge.order().to_vec()
    }

    #[test]
    fn it_sorts_stably_at_every_length() {
        for count in 0..70i32 {
            let keys: Vec<i32> = (0..count).map(|i| (i * 37 + 11) % 7).collect();
            let order = sort(&keys, |a, b| b < a);
            let mut expected: Vec<u32> = (0..count as u32).collect();
            expected.sort_by_key(|i| keys[*i as usize]);
            assert_eq!(order, expected, "{count} keys");
        }
    }

    #[test]
    fn contradictory_answers_give_a_permutation() {
        for answer in [true, false] {
            let mut order = sort(&[0; 50], |_, _| answer);
            order.sort_unstable();
            assert_eq!(order, (0..50).collect::<Vec<u32>>());
        }
        let mut flip = false;
        let mut order = sort(&[0; 50], |_, _| {
            flip = !flip;
            flip
        });
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<u32>>());
    }
}
