//! A stable merge sort, bottom up: of runs that are sorted already, or of single items. It proceeds in small pieces.
//!
//! It never looks at the items itself: any answers, contradictory ones included, give some permutation.

use std::mem::swap;
use std::ops::Range;

/// A sort in the middle of its work.
///
/// It either asks [one question at a time](Merge::question), so that the answers may come from a program, or is
/// [advanced](Merge::advance) by a caller that can answer at once.
pub(super) struct Merge<T> {
    from: Vec<T>,
    /// The output of the present round of merging.
    into: Vec<T>,
    /// Items of a run as it comes to merging, and most that are merged at once.
    run: usize,
    /// How many items of `from` lie in runs that are sorted.
    sorted: usize,
    /// Length of the runs that are being merged.
    width: usize,
    /// Next of the left run, and its end.
    left: (usize, usize),
    /// Next of the right run, and its end.
    right: (usize, usize),
}

impl<T: Copy> Merge<T> {
    /// A sort of `items` by questions.
    pub(super) fn by_questions(items: Vec<T>) -> Merge<T> {
        let mut merge = Merge::by_runs(items, 1);
        merge.sorted = merge.from.len();
        merge.start_merging();
        merge
    }

    /// A sort of `items` that sorts runs of `run` items first.
    pub(super) fn by_runs(items: Vec<T>, run: usize) -> Merge<T> {
        Merge { from: items, into: Vec::new(), run, sorted: 0, width: run, left: (0, 0), right: (0, 0) }
    }

    /// The state of a sort by questions: the items, the output of this round, the length of the runs, and how far two of them
    /// have been merged.
    pub(super) fn progress(&self) -> (&[T], &[T], usize, (usize, usize)) {
        (&self.from, &self.into, self.width, (self.left.0, self.right.0))
    }

    /// The sort by questions with this [`progress`](Merge::progress), if it is one that has a question to ask.
    pub(super) fn resumed(
        from: Vec<T>,
        mut into: Vec<T>,
        width: usize,
        left: usize,
        right: usize,
    ) -> Option<Merge<T>> {
        let count = from.len();
        // A round merges pairs of runs; there is more than one as long as runs are shorter than all.
        if !width.is_power_of_two() || width >= count || left >= count {
            return None;
        }
        let start = left - left % (2 * width);
        let middle = (start + width).min(count);
        let end = (middle + width).min(count);
        if !(left < middle && (middle..end).contains(&right) && into.len() == left + right - middle) {
            return None;
        }
        into.reserve_exact(count - into.len());
        let (left, right) = ((left, middle), (right, end));
        Some(Merge { from, into, run: 1, sorted: count, width, left, right })
    }

    fn start_merging(&mut self) {
        self.into.reserve_exact(self.from.len());
        self.start_pair(0);
    }

    fn start_pair(&mut self, start: usize) {
        let count = self.from.len();
        let middle = (start + self.width).min(count);
        self.left = (start, middle);
        self.right = (middle, (middle + self.width).min(count));
    }

    /// Takes over the rest of two runs of which one is used up, and moves to the next two. Returns whether that begins another
    /// round.
    fn next_pair(&mut self) -> bool {
        self.into.extend_from_slice(&self.from[self.left.0..self.left.1]);
        self.into.extend_from_slice(&self.from[self.right.0..self.right.1]);
        let done = self.right.1;
        if done < self.from.len() {
            self.start_pair(done);
            return false;
        }
        swap(&mut self.from, &mut self.into);
        self.into.clear();
        self.width *= 2;
        self.start_pair(0);
        true
    }

    /// The next question: whether the second item must come before the first, which is the earlier one. `None`
    /// when the items are sorted.
    #[inline]
    pub(super) fn question(&mut self) -> Option<(T, T)> {
        loop {
            if self.left.0 < self.left.1 && self.right.0 < self.right.1 {
                return Some((self.from[self.left.0], self.from[self.right.0]));
            }
            if self.is_done() {
                return None;
            }
            self.next_pair();
        }
    }

    /// Answers the question.
    #[inline]
    pub(super) fn answer(&mut self, second_first: bool) {
        let run = if second_first { &mut self.right } else { &mut self.left };
        self.into.push(self.from[run.0]);
        run.0 += 1;
    }

    /// Items that are sorted or merged at once.
    pub(super) fn run(&self) -> usize {
        self.run
    }

    /// The run that [`advance`](Merge::advance) is going to sort, if it is not going to merge.
    pub(super) fn unsorted_run(&self) -> Option<Range<usize>> {
        let end = self.from.len().min(self.sorted + self.run);
        (self.sorted < end).then_some(self.sorted..end)
    }

    /// Sorts the next run or, when all are sorted, merges until a run's worth of items is in order or the round is over.
    /// Whether all is done.
    pub(super) fn advance(
        &mut self,
        sort: impl FnOnce(&mut [T]),
        second_first: impl Fn(T, T) -> bool,
    ) -> bool {
        match self.unsorted_run() {
            Some(run) => {
                self.sorted = run.end;
                sort(&mut self.from[run]);
                if self.sorted == self.from.len() && !self.is_done() {
                    self.start_merging();
                }
            }
            None => self.merge(second_first),
        }
        self.is_done()
    }

    fn is_done(&self) -> bool {
        self.sorted == self.from.len() && self.width >= self.from.len()
    }

    fn merge(&mut self, second_first: impl Fn(T, T) -> bool) {
        let batch = self.into.len() + self.run;
        loop {
            let left = &self.from[self.left.0..self.left.1];
            let right = &self.from[self.right.0..self.right.1];
            let (mut i, mut j) = (0, 0);
            loop {
                // So many are certainly there, without a look at the ends for each.
                let certain =
                    (left.len() - i).min(right.len() - j).min(batch.saturating_sub(self.into.len()));
                if certain == 0 {
                    break;
                }
                self.into.extend((0..certain).map(|_| {
                    let (a, b) = (left[i], right[j]);
                    // No branch: with most keys there is no telling which one comes first.
                    let second = second_first(a, b);
                    i += usize::from(!second);
                    j += usize::from(second);
                    if second { b } else { a }
                }));
            }
            self.left.0 += i;
            self.right.0 += j;
            if self.left.0 < self.left.1 && self.right.0 < self.right.1 {
                return;
            }
            if self.next_pair() {
                return;
            }
        }
    }

    /// The sorted items, once all is done.
    pub(super) fn sorted(&self) -> &[T] {
        &self.from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sort_goes_on_from_its_progress_and_from_nothing_else() {
        let items: Vec<u32> = vec![5, 2, 9, 1, 7, 3, 8];
        let mut merge = Merge::by_questions(items.clone());
        let mut questions = 0;
        while let Some((first, second)) = merge.question() {
            let (from, into, width, places) = merge.progress();
            let again = Merge::resumed(from.to_vec(), into.to_vec(), width, places.0, places.1);
            let mut again = again.expect("the same progress");
            assert_eq!(again.question(), Some((first, second)));
            for other in [(places.0 + 1, places.1), (places.0, places.1 + 1), (items.len(), places.1)] {
                assert!(Merge::resumed(from.to_vec(), into.to_vec(), width, other.0, other.1).is_none());
            }
            for other in [0, 3, 2 * width, items.len()] {
                assert!(
                    Merge::resumed(from.to_vec(), into.to_vec(), other, places.0, places.1).is_none(),
                    "{other}"
                );
            }
            again.answer(second < first);
            merge = again;
            questions += 1;
        }
        assert!(questions > 8 && merge.sorted().is_sorted());
    }

    fn sort(keys: &[i32], mut second_first: impl FnMut(i32, i32) -> bool) -> Vec<u32> {
        let mut merge = Merge::by_questions((0..keys.len() as u32).collect());
        while let Some((a, b)) = merge.question() {
            merge.answer(second_first(keys[a as usize], keys[b as usize]));
        }
        merge.sorted().to_vec()
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
    fn runs_are_merged_stably_and_a_batch_at_a_time() {
        for (count, run) in [(0, 4), (1, 4), (4, 4), (5, 4), (31, 4), (64, 4), (70, 8), (9, 100)] {
            let keys: Vec<i32> = (0..count).map(|i| (i * 37 + 11) % 7).collect();
            let key = |i: &u32| keys[*i as usize];
            let mut merge = Merge::by_runs((0..count as u32).collect(), run);
            let mut before = 0;
            while !merge.advance(|items| items.sort_by_key(key), |a, b| key(&b) < key(&a)) {
                let merged = merge.into.len();
                assert!(merged <= before + run || merged == 0, "{merged} after {before}");
                before = merged;
            }
            let mut expected: Vec<u32> = (0..count as u32).collect();
            expected.sort_by_key(key);
            assert_eq!(merge.sorted(), expected, "{count} keys in runs of {run}");
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
